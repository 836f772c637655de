"""``autograd.misc``: containers as vectors, optimizers, fixed points."""

from __future__ import annotations

from . import fixed_points, optimizers
from .flatten import flatten

__all__ = ["fixed_points", "flatten", "optimizers"]
