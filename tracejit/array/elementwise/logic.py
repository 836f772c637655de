"""Predicates composed of several ops: infinities by sign, and closeness. None has a gradient."""

from __future__ import annotations

from typing import Any

from ...ir.dtypes import BOOL, is_inexact
from ...tensors.tensor import Tensor
from ..operands import as_tensor, filled, require_real, run, write_out
from .ufuncs import equal, greater, isinf, isnan, less, less_equal, logical_and, logical_or


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
