"""Comparison, logic, bits and predicates under NumPy's names. None has a gradient.

Comparisons give bools; ``x == y`` on tensors is elementwise as in NumPy.
"""

from __future__ import annotations

from typing import Any

from ...ir.dtypes import BOOL, is_inexact
from ...tensors.tensor import Tensor
from ..operands import as_tensor, filled, require_real, run, write_out
from .arithmetic import documented

__all__ = [
    "allclose",
    "array_equal",
    "bitwise_and",
    "bitwise_count",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "equal",
    "gcd",
    "greater",
    "greater_equal",
    "invert",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "lcm",
    "left_shift",
    "less",
    "less_equal",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "nextafter",
    "not_equal",
    "right_shift",
    "signbit",
    "spacing",
]

equal = documented(
    "eq", "Whether x and y are equal.", "tj.equal([1, 2, 3], [1, 0, 3])", "tensor([ True, False,  True])"
)
not_equal = documented(
    "ne",
    "Whether x and y differ; NaN differs from itself.",
    "tj.not_equal([1, 2, 3], [1, 0, 3])",
    "tensor([False,  True, False])",
)
less = documented("lt", "Whether x < y.", "tj.less([1, 2, 3], 2)", "tensor([ True, False, False])")
less_equal = documented(
    "le", "Whether x <= y.", "tj.less_equal([1, 2, 3], 2)", "tensor([ True,  True, False])"
)
greater = documented("gt", "Whether x > y.", "tj.greater([1, 2, 3], 2)", "tensor([False, False,  True])")
greater_equal = documented(
    "ge", "Whether x >= y.", "tj.greater_equal([1, 2, 3], 2)", "tensor([False,  True,  True])"
)
logical_and = documented(
    "logical_and",
    "Whether both are true; numbers are true unless zero.",
    "tj.logical_and([True, True], [True, False])",
    "tensor([ True, False])",
)
logical_or = documented(
    "logical_or",
    "Whether either is true; numbers are true unless zero.",
    "tj.logical_or([True, False], [False, False])",
    "tensor([ True, False])",
)
logical_xor = documented(
    "logical_xor",
    "Whether exactly one is true; numbers are true unless zero.",
    "tj.logical_xor([True, True], [True, False])",
    "tensor([False,  True])",
)
bitwise_and = documented(
    "bitwise_and", "x & y, bit by bit. Integers and bools.", "tj.bitwise_and([12, 10], 6)", "tensor([4, 2])"
)
bitwise_or = documented(
    "bitwise_or", "x OR y, bit by bit. Integers and bools.", "tj.bitwise_or([12, 10], 6)", "tensor([14, 14])"
)
bitwise_xor = documented(
    "bitwise_xor", "x ^ y, bit by bit. Integers and bools.", "tj.bitwise_xor([12, 10], 6)", "tensor([10, 12])"
)
left_shift = documented(
    "shift_left", "x times 2 to the power y. Integers.", "tj.left_shift([1, 3], 2)", "tensor([ 4, 12])"
)
right_shift = documented(
    "shift_right",
    "x divided by 2 to the power y, rounded down. Integers.",
    "tj.right_shift([16, -16], 2)",
    "tensor([ 4, -4])",
)
gcd = documented("gcd", "The greatest common divisor. Integers.", "tj.gcd([12, 18], 8)", "tensor([4, 2])")
lcm = documented("lcm", "The least common multiple. Integers.", "tj.lcm([4, 6], 10)", "tensor([20, 30])")
nextafter = documented(
    "nextafter",
    "The next float after x towards y. No gradient.",
    "tj.nextafter([1.0], 2.0)",
    "tensor([1.])",
)
logical_not = documented(
    "logical_not",
    "Whether x is false; numbers are true unless zero.",
    "tj.logical_not([True, False])",
    "tensor([False,  True])",
)
bitwise_not = documented(
    "bitwise_not",
    "~x, bit by bit. Integers and bools.",
    "tj.bitwise_not([0, 5])",
    "tensor([-1, -6])",
    name="bitwise_not",
)
bitwise_count = documented(
    "bitwise_count",
    "The number of set bits of the absolute value, as uint8. Integers.",
    "tj.bitwise_count([0, 5, -1])",
    "tensor([0, 2, 1], dtype=uint8)",
)
isnan = documented("isnan", "Whether x is NaN.", "tj.isnan([1.0, float('nan')])", "tensor([False,  True])")
isinf = documented(
    "isinf", "Whether x is infinite.", "tj.isinf([1.0, float('inf')])", "tensor([False,  True])"
)
isfinite = documented(
    "isfinite",
    "Whether x is neither infinite nor NaN.",
    "tj.isfinite([1.0, float('inf')])",
    "tensor([ True, False])",
)
signbit = documented(
    "signbit",
    "Whether the sign bit of x is set; that of -0.0 is.",
    "tj.signbit([-0.0, 1.0])",
    "tensor([ True, False])",
)
spacing = documented(
    "spacing",
    "The distance from x to the next float away from zero. No gradient.",
    "tj.spacing([1.0])",
    "tensor([2.22044605e-16])",
)

# Names of the Array API standard, and NumPy's second names.
bitwise_invert = bitwise_not
invert = bitwise_not
bitwise_left_shift = left_shift
bitwise_right_shift = right_shift


def isposinf(x: Any, out: Any = None) -> Tensor:
    """Whether x is positive infinity.

    Example:
        >>> import tracejit as tj
        >>> tj.isposinf([float("inf"), float("-inf"), 1.0])
        tensor([ True, False, False])

    Semantics: ``numpy.isposinf``.
    """
    x = as_tensor(x)
    require_real("isposinf", x)
    result = logical_and(isinf(x), greater(x, 0))
    return result if out is None else write_out("isposinf", out, result)


def isneginf(x: Any, out: Any = None) -> Tensor:
    """Whether x is negative infinity.

    Example:
        >>> import tracejit as tj
        >>> tj.isneginf([float("inf"), float("-inf"), 1.0])
        tensor([False,  True, False])

    Semantics: ``numpy.isneginf``.
    """
    x = as_tensor(x)
    require_real("isneginf", x)
    result = logical_and(isinf(x), less(x, 0))
    return result if out is None else write_out("isneginf", out, result)


def isclose(x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """Whether |x - y| <= atol + rtol |y|, or both are the same infinity.

    NaNs are close to each other only with `equal_nan`.

    Example:
        >>> import tracejit as tj
        >>> tj.isclose([1.0, 2.0], [1.0 + 1e-9, 2.1])
        tensor([ True, False])

    Semantics: ``numpy.isclose``.
    """
    x, y = as_tensor(x), as_tensor(y)
    reference = y if is_inexact(y.dtype) else run("div", y, 1.0)
    # infinities are handled apart: inf - inf would be NaN
    infinite = logical_or(isinf(x), isinf(reference))
    gap = run("abs", run("sub", run("where", infinite, 0.0, x), run("where", infinite, 0.0, reference)))
    bound = run("add", run("mul", run("abs", run("where", infinite, 0.0, reference)), rtol), atol)
    close = run("where", infinite, equal(x, reference), less_equal(gap, bound))
    if not equal_nan:
        return close
    both = logical_and(isnan(x), isnan(y))
    return logical_or(close, both)


def allclose(x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """Whether ``isclose`` holds everywhere, as a bool tensor of rank 0.

    Example:
        >>> import tracejit as tj
        >>> tj.allclose([1.0, 2.0], [1.0, 2.0 + 1e-9])
        tensor(True)

    Semantics: ``numpy.allclose``, which gives a Python bool.
    """
    close = isclose(x, y, rtol, atol, equal_nan)
    return run("all", close, axes=tuple(range(close.ndim)))


def array_equal(x: Any, y: Any, equal_nan: bool = False) -> Tensor:
    """Whether x and y have the same shape and elements, as a bool tensor of rank 0.

    Example:
        >>> import tracejit as tj
        >>> tj.array_equal([1, 2], [1, 2])
        tensor(True)

    Semantics: ``numpy.array_equal``, which gives a Python bool.
    """
    x, y = as_tensor(x), as_tensor(y)
    if x.shape != y.shape:
        return filled(False, (), BOOL)
    same = equal(x, y)
    if equal_nan:
        same = logical_or(same, logical_and(isnan(x), isnan(y)))
    return run("all", same, axes=tuple(range(same.ndim)))
