"""Differences that random calls may show: each rule is a row of docs/differences.md, by its expression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tracejit.base.errors import ConcretizationError, OutOfBoundsError, ShapeError

from .oracle import Call, Outcome


@dataclass(frozen=True)
class Rule:
    """`names` may differ where ``holds(call, actual, expected)``; `row` is the expression of the row."""

    row: str
    names: frozenset[str]
    holds: Callable[[Call, Outcome, Outcome], bool]


def _rule(row: str, names: str, holds: Callable[[Call, Outcome, Outcome], bool]) -> Rule:
    return Rule(row, frozenset(names.split()), holds)


def _base(name: str) -> str:
    return name.removeprefix("ndarray.")


def _has_infinity(call: Call) -> bool:
    return any(array.dtype.kind == "f" and np.isinf(array).any() for array in call.arrays())


def _has_wide_integers(call: Call) -> bool:
    wide = [array for array in call.arrays() if array.dtype.kind in "iu" and array.dtype.itemsize == 8]
    return any(array.size and max(abs(int(array.max())), abs(int(array.min()))) >= 2**53 for array in wide)


def _overflows(call: Call) -> bool:
    """Whether the elements of `x` are integers whose differences do not fit."""
    x = call.args[0]
    return x.dtype.kind in "iu" and int(x.max()) - int(x.min()) > np.iinfo(x.dtype).max


def _has_one_element(call: Call, expected: Outcome) -> bool:
    return isinstance(expected, TypeError) and np.size(call.args[0]) == 1


def _is_square_root(call: Call) -> bool:
    return isinstance(call.args[1], float) and call.args[1] == 0.5


def _half_in_an_array(call: Call) -> bool:
    exponent = np.asarray(call.args[1])
    return exponent.dtype.kind == "f" and bool((exponent == 0.5).any())


ALLOWED: tuple[Rule, ...] = (
    _rule(
        "xp.ldexp(1, 2).dtype",
        "ldexp",
        lambda call, actual, expected: isinstance(call.args[0], (bool, int)),
    ),
    _rule("(x ** 2).dtype", "**", lambda call, actual, expected: _squares_bools(call)),
    _rule("xp.float_power(x, 0.5)", "float_power", lambda call, actual, expected: _is_square_root(call)),
    _rule(
        "x ** xp.asarray(0.5)",
        "power pow ** float_power",
        lambda call, actual, expected: _half_in_an_array(call),
    ),
    _rule("xp.quantile(x, 0.0)", "quantile percentile", lambda call, actual, expected: _has_infinity(call)),
    _rule(
        "xp.quantile(x, 0.5)",
        "quantile percentile",
        lambda call, actual, expected: (
            (isinstance(expected, TypeError) and "boolean subtract" in str(expected)) or _overflows(call)
        ),
    ),
    _rule("float(x)", "float int", lambda call, actual, expected: _has_one_element(call, expected)),
    _rule(
        "x.copy().__setitem__(0, xp.ones(1))",
        "setitem setitem+=",
        lambda call, actual, expected: (
            isinstance(expected, (ValueError, TypeError)) and np.shape(call.args[2])[:1] == (1,)
        ),
    ),
    _rule(
        "xp.average(x, weights=x)",
        "average",
        lambda call, actual, expected: isinstance(expected, ZeroDivisionError),
    ),
    _rule(
        "xp.repeat(x, -1)",
        "repeat",
        lambda call, actual, expected: isinstance(actual, ShapeError) and "negative" in str(actual),
    ),
    _rule(
        "xp.nanmean(x, axis=0)",
        "nanmean",
        lambda call, actual, expected: isinstance(expected, np.exceptions.AxisError) and _is_scalar(call),
    ),
    _rule("xp.round(x, -2)", "round around", lambda call, actual, expected: _has_wide_integers(call)),
    _rule(
        "x[x > 1.0][[0]]",  # and under vmap, where each example has another number of elements
        "getitem setitem setitem+= argwhere nonzero unique union1d intersect1d setdiff1d setxor1d "
        "ndarray.nonzero ndarray.compress",
        lambda call, actual, expected: isinstance(actual, ConcretizationError),
    ),
    _rule(
        "xp.take(xp.zeros((0, 3)), 7, axis=-1)",
        "take getitem setitem setitem+=",
        lambda call, actual, expected: (
            _picks_nothing(call, actual, expected) or _picks_nothing(call, expected, actual)
        ),
    ),
)

#: Functions whose results may be either zero.
_EITHER_ZERO = """max min amax amin maximum minimum fmax fmin ptp clip sort partition median quantile
percentile dot inner vdot vecdot matmul tensordot einsum outer kron @ power pow float_power **"""
ZERO_SIGNS_DIFFER = frozenset(_EITHER_ZERO.split())


def _squares_bools(call: Call) -> bool:
    x, y = call.args
    return type(y) in (int, bool) and getattr(x, "dtype", None) == np.bool_


def _is_scalar(call: Call) -> bool:
    return np.ndim(call.args[0]) == 0


def _picks_nothing(call: Call, error: Outcome, other: Outcome) -> bool:
    """Whether one way an index is outside, and the other way nothing is read or written at all."""
    if not isinstance(error, OutOfBoundsError) or isinstance(other, Exception):
        return False
    if call.name.startswith("setitem"):
        return np.array_equal(other[0], call.args[0], equal_nan=call.args[0].dtype.kind == "f")
    return other[0].size == 0


def is_allowed(call: Call, actual: Outcome, expected: Outcome) -> bool:
    """Whether a rule is for this difference."""
    name = _base(call.name)
    return any(name in rule.names and rule.holds(call, actual, expected) for rule in ALLOWED)


def zero_signs_count(call: Call) -> bool:
    """Whether the signs of zeros are to be equal, too."""
    return _base(call.name) not in ZERO_SIGNS_DIFFER
