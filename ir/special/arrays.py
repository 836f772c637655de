"""The evaluator that computes on one-dimensional float64 arrays with NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ..dtypes import FLOAT64
from .error_function import erf, erfc
from .evaluator import Array, Evaluator
from .jets import Index

_UFUNCS: Final[dict[str, np.ufunc]] = {
    "exp": np.exp, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "sin": np.sin, "cos": np.cos,
    "sqrt": np.sqrt, "pow": np.power, "abs": np.abs, "floor": np.floor, "rint": np.rint,
    "copysign": np.copysign,
}  # fmt: skip
_ERROR_FUNCTIONS: Final = {"erf": erf, "erfc": erfc}
#: Veltkamp's constant: the upper half of a float's bits.
_SPLIT: Final = 2.0**27 + 1.0
#: Elements that are computed at a time, so that intermediate arrays stay in the cache.
BLOCK: Final = 1 << 13


class ArrayEvaluator(Evaluator):
    """Computes on arrays of `size` elements; ``special(name, orders, operands)`` runs a whole function."""

    def __init__(
        self, size: int, special: Callable[[ArrayEvaluator, str, Index, Sequence[Any]], Any]
    ) -> None:
        self.size, self._special = size, special

    def full(self, value: Any) -> Array:
        """`value`, repeated where it is one number."""
        array = np.asarray(value, np.float64)
        return array if array.ndim else np.full(self.size, array)

    def elementary(self, name: str, *operands: Any) -> Any:
        if name in _ERROR_FUNCTIONS:
            return _ERROR_FUNCTIONS[name](operands[0], FLOAT64)
        return _UFUNCS[name](*operands)

    def select(self, condition: Any, x: Any, y: Any) -> Any:
        return np.where(condition, x, y)

    def eq(self, x: Any, y: Any) -> Any:
        return np.equal(x, y)

    def two_product(self, x: Any, y: Any) -> tuple[Any, Any]:
        high = x * y
        (x1, x2), (y1, y2) = _halves(x), _halves(y)
        low = ((x1 * y1 - high) + x1 * y2 + x2 * y1) + x2 * y2
        return high, np.where(np.isfinite(low), low, 0.0)

    def two_sum(self, x: Any, y: Any) -> tuple[Any, Any]:
        high = x + y
        part = high - x
        return high, (x - (high - part)) + (y - part)

    def loop_values(
        self, condition: Callable[..., Any], body: Callable[..., Any], state: list[Any], limit: int
    ) -> list[Any]:
        state = [self.full(value) for value in state]
        for _ in range(limit):
            going = np.broadcast_to(condition(*state), (self.size,))
            if not going.any():
                break
            state = [np.where(going, new, old) for new, old in zip(body(*state), state, strict=True)]
        return state

    def choose_values(
        self, operands: list[Any], branches: list[tuple[Any, Callable[..., list[Any]]]]
    ) -> list[Any]:
        size, rest = self.size, np.ones(self.size, bool)
        results: list[Array] | None = None
        for mask, function in branches:
            chosen = rest if mask is None else rest & mask
            rest = rest & ~chosen
            where = np.flatnonzero(chosen)
            if not where.size and (mask is not None or results is not None):
                continue
            self.size = where.size
            parts = function(*[x if np.ndim(x) == 0 else x[where] for x in operands])
            self.size = size
            if results is None:
                results = [np.zeros(size) for _ in parts]
            for result, part in zip(results, parts, strict=True):
                result[where] = part
        assert results is not None
        return list(results)

    def call_values(self, name: str, orders: Index, operands: Sequence[Any]) -> Any:
        return self._special(self, name, orders, [self.full(x) for x in operands])


def _halves(x: Any) -> tuple[Any, Any]:
    scaled = x * _SPLIT
    high = scaled - (scaled - x)
    return high, x - high
