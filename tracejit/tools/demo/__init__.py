"""``tracejit demo``: a small network learns handwritten digits, eagerly and with its update step jitted.

``train`` has the images, the network and the two ways to train it, and ``report`` the command line and what
it prints.
"""

from __future__ import annotations

from .report import main, run
from .train import Digits, Run, load_digits, train_eager, train_jit

__all__ = ["Digits", "Run", "load_digits", "main", "run", "train_eager", "train_jit"]
