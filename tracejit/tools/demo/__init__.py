"""``tracejit demo``: a small network learns handwritten digits, eagerly and with its update step jitted.

``data`` has the images, ``train`` the network and the two ways to train it, ``bar`` the progress bar, and
``report`` the command line and what it prints.
"""

from __future__ import annotations

from .data import Digits, load_digits
from .report import main, run
from .train import Run, train_eager, train_jit

__all__ = ["Digits", "Run", "load_digits", "main", "run", "train_eager", "train_jit"]
