"""Passes on loops and branches: their carries, invariants, repetitions and stacks."""

from __future__ import annotations

from typing import Final

#: Instructions that `rerolling` makes a loop of at least.
MIN_OPS: Final = 256
