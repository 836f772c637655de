"""The namespace in which gradient rules are run behind a choice.

``where(x > 0, log(x), 0)`` at x = 0 has the slope 0, but the chain rule's product for the logarithm is 0
times infinity. Behind a ``where``, the cotangents of elements that were not chosen are 0 because of the mask;
so there products by 0 are 0, and quotients of 0, whatever the other operand is. Where the choice is safe,
matrix products and convolutions leave out terms with a factor 0 as well.
"""

from __future__ import annotations

import math
from typing import Any

from ..dtypes import NUMBERS
from ..kinds import Strength


def with_zeros(b: Any, strength: Strength) -> Any:
    """The ops of the namespace `b` for gradients whose zeros have the `strength`, which is not none."""
    return _StrongZeros(_SafeZeros(b) if strength is Strength.PRODUCTS else b)


class _StrongZeros:
    """The ops of the namespace `b`, whose products and quotients have strong zeros."""

    def __init__(self, b: Any) -> None:
        self.b = b

    def __getattr__(self, name: str) -> Any:
        return getattr(self.b, name)

    def without_factor(self, product: Any, factor: Any) -> Any:
        """Return None: the other factors of a strong product may be infinite where one is 0."""
        return None

    def mul(self, x: Any, y: Any) -> Any:
        """x y; `strong_mul` unless that is the same."""
        return (
            self.b.mul(x, y) if _is_plain(x) or _is_plain(y) or _is_other(x, y) else self.b.strong_mul(x, y)
        )

    def div(self, x: Any, y: Any) -> Any:
        """x / y; `strong_div` unless that is the same."""
        return self.b.div(x, y) if _is_plain(y) or _is_other(x, y) else self.b.strong_div(x, y)


class _SafeZeros:
    """The ops of the namespace `b`, in which matrix products and convolutions have strong zeros, and
    gradients behind products and quotients with strong zeros have safe ones."""

    def __init__(self, b: Any) -> None:
        self.b = b

    def __getattr__(self, name: str) -> Any:
        return getattr(self.b, name)

    def strong_mul(self, x: Any, y: Any) -> Any:
        """x y, and 0 where either is 0."""
        return self.b.strong_mul(self._candidate(x), self._candidate(y))

    def strong_div(self, x: Any, y: Any) -> Any:
        """x / y, and 0 where x is 0."""
        return self.b.strong_div(self._candidate(x), self._candidate(y))

    def matmul(self, x: Any, y: Any) -> Any:
        """The matrix product without terms that have a factor 0."""
        return self.b.strong_matmul(x, y)

    def convolve(self, x: Any, w: Any, **attrs: Any) -> Any:
        """The convolution without terms that have a factor 0."""
        return self.b.strong_convolve(x, w, **attrs)

    def _candidate(self, x: Any) -> Any:
        return x if type(x) in NUMBERS else self.b.safe_candidate(x)


def _is_plain(value: Any) -> bool:
    """Whether 0 times `value`, and 0 over it, are 0 in any case."""
    return type(value) in NUMBERS and value != 0 and abs(value) < math.inf


def _is_other(*values: Any) -> bool:
    """Whether one of `values` is an array of integers, which have no strong zeros."""
    return any(value.dtype.kind not in "fc" for value in values if hasattr(value, "dtype"))
