"""Random choices of a program's sizes, dtypes and forms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

Choice = TypeVar("Choice")


class Choices:
    """Random choices of a family; the same for the same numbers."""

    def __init__(self, *numbers: int) -> None:
        self.rng = np.random.default_rng(numbers)

    def one_of(self, values: Sequence[Choice]) -> Choice:
        return values[int(self.rng.integers(len(values)))]

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def integer(self, low: int, high: int) -> int:
        """An integer from `low` to `high`, both included."""
        return int(self.rng.integers(low, high + 1))

    def size(self, low: int, high: int) -> int:
        """A size from `low` to `high`, small ones as often as large ones, and round ones now and then."""
        number = round(float(np.exp(self.rng.uniform(np.log(low), np.log(high)))))
        power = 1 << max(0, number.bit_length() - 1)
        return power if self.chance(0.3) and low <= power <= high else number

    def number(self) -> str:
        """The text of a factor."""
        return f"{float(self.rng.uniform(0.1, 0.9)):.2f}"
