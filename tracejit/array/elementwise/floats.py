"""Elementwise functions composed of several ops: choice, limits and rounding."""

from __future__ import annotations

import builtins
import math
import operator
from typing import Any, Final, overload

import numpy as np

from ...arguments.errors import checks_itself, named
from ...base.errors import ArgumentError, DTypeError, ShapeError
from ...dispatch.dispatch import elementwise
from ...dispatch.eager_functions import EagerFunction
from ...ir.dtypes import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT64,
    DType,
    Operand,
    is_complex,
    is_real_floating,
    result_type,
)
from ...ir.registry import OPS
from ...state import STATE
from ...tensors.tensor import Tensor, as_array
from ..indexing.nonzero import indices_of_nonzero
from ..memory_order import as_in_memory
from ..operands import (
    SCALARS,
    as_tensor,
    candidate,
    cast,
    choice,
    filled,
    floating,
    given_as_array,
    is_tracing,
    kind_of,
    require_real,
    run,
    tensor_argument,
    write_out,
)
from .powers import power

_floor_divide = elementwise(OPS["floor_divide"])
_remainder = elementwise(OPS["remainder"])
#: Ten to this power is the largest that is a float.
_MAX_DECIMALS: Final = 308


@named("where")
def _choice(condition: Any, x: Any, y: Any) -> Tensor:
    if is_tracing():
        kinds = kind_of(x), kind_of(y)
        if kinds[0] is int:
            x = _adopting(x, kinds[1])
        elif kinds[1] is int:
            y = _adopting(y, kinds[0])
    return run("where", as_tensor(condition), x, y)


def _adopting(value: Any, dtype: Operand) -> Any:
    """The Python integer `value`, converted to the `dtype` that it meets, where that is one of integers.

    ``numpy.where`` is no ufunc: it takes over the integer's lowest bits, whether it fits or not.
    """
    if not isinstance(dtype, np.dtype) or dtype.kind not in "iu":
        return value
    return cast(value, dtype) if isinstance(value, Tensor) else as_array(value).astype(dtype).item()


def _array_of_choices(condition: Any, x: Any, y: Any) -> Tensor:
    return given_as_array(_choice(condition, x, y))


_WHERE: Final = EagerFunction(OPS["where"], _array_of_choices)
_CHOSEN: Final = EagerFunction(OPS["where"], _choice)


def chosen(condition: Any, x: Any, y: Any) -> Tensor:
    """`where` of values with finite derivatives, whose gradients need no strong zeros."""
    result: Tensor = _CHOSEN.run(condition, x, y)
    return result


@named("where")
def _of_condition(condition: Any, *, size: int | None, fill_value: Any) -> tuple[Tensor, ...]:
    condition = tensor_argument("where", condition, "condition")
    return indices_of_nonzero("where", condition, size, fill_value)


@overload
def where(condition: Any, *, size: int | None = ..., fill_value: Any = ...) -> tuple[Tensor, ...]: ...
@overload
def where(
    condition: Any, x: Any, y: Any, *, size: int | None = ..., fill_value: Any = ..., safe: bool = ...
) -> Tensor: ...
@checks_itself
def where(
    condition: Any,
    x: Any = None,
    y: Any = None,
    *,
    size: int | None = None,
    fill_value: Any = 0,
    safe: bool = False,
) -> Any:
    """`x` where `condition` is true, else `y`; the three broadcast.

    With the condition alone, the indices of its true elements; `size` and `fill_value` as in ``nonzero``.

    Gradients flow to the chosen elements alone: where ``tj.log(x)`` is not chosen, its gradient is 0, and not
    0 times infinity, at x = 0 too. That holds up to the next product of matrices, convolution or
    factorization behind the choice. With ``safe=True`` it holds through products and convolutions as well:
    their gradients leave out terms in which a factor is 0. It costs a look at each of these gradients, and
    code for those that are not finite: docs/explanation/numerics.md.

    Example:
        >>> import numpy as np
        >>> import tracejit as tj
        >>> tj.where([True, False], [1.0, 2.0], 0.0)
        tensor([1., 0.])
        >>> mask, m = np.array([True, False]), np.array([[1.0, np.inf], [2.0, 3.0]])
        >>> tj.grad(lambda w: tj.where(mask, w @ m, 0.0).sum())(np.ones(2))
        tensor([nan,  2.])
        >>> tj.grad(lambda w: tj.where(mask, w @ m, 0.0, safe=True).sum())(np.ones(2))
        tensor([1., 2.])

    Raises ShapeError where the three do not broadcast, ArgumentError for `safe` with the condition alone.
    Semantics: ``numpy.where``.
    """
    if x is None and y is None:
        if safe:
            raise ArgumentError("where: safe= is for a choice between x and y, not for a condition alone")
        return _of_condition(condition, size=size, fill_value=fill_value)
    if size is not None:
        raise ShapeError("where: size= is for a condition alone, x and y have a shape")
    if x is None or y is None:
        raise DTypeError("where: give both x and y, or neither")
    if type(x) in SCALARS and type(y) in SCALARS:
        x = filled(x, (), result_type(kind_of(x), kind_of(y)))
    if isinstance(x, Tensor):
        x = candidate(x, safe=safe)
    if isinstance(y, Tensor):
        y = candidate(y, safe=safe)
    return _WHERE.run(condition, x, y)


def clip(x: Any, min: Any = None, max: Any = None, out: Any = None) -> Tensor:
    """`x` limited to the range from `min` to `max`, either of which may be None.

    Slope 1 inside and on the bounds; the bounds have gradients too where they limit.

    Example:
        >>> import tracejit as tj
        >>> tj.clip([-2.0, 0.5, 3.0], 0, 1)
        tensor([0. , 0.5, 1. ])

    Semantics: ``numpy.clip``.
    """
    if out is not None:
        return write_out("clip", out, clip(x, min, max))
    x = as_tensor(x)
    if x.dtype.kind in "iu":
        # NumPy: a Python int beyond the dtype's range does not limit
        limits = np.iinfo(x.dtype)
        min = None if type(min) is int and min <= limits.min else _within(min, x.dtype)
        max = None if type(max) is int and max >= limits.max else _within(max, x.dtype)
    if min is None and max is None:
        return positive(x)
    if min is None:
        return run("minimum", x, max)
    if max is None:
        return run("maximum", x, min)
    return run("clip", x, min, max)


def _within(bound: Any, dtype: DType) -> Any:
    """`bound`; an integer argument of the traced function is limited to the range of `dtype`."""
    if not isinstance(bound, Tensor) or kind_of(bound) is not int:
        return bound
    limits, widest = np.iinfo(dtype), np.iinfo(INT64)
    low, high = builtins.max(limits.min, widest.min), builtins.min(limits.max, widest.max)
    return cast(run("clip", bound, int(low), int(high)), dtype)


def positive(x: Any) -> Tensor:
    """A copy of `x`. Bools have no +x: DTypeError.

    Example:
        >>> import tracejit as tj
        >>> tj.positive([1.0, -2.0])
        tensor([ 1., -2.])

    Semantics: ``numpy.positive``.
    """
    x = as_tensor(x)
    if x.dtype is BOOL:
        raise DTypeError("positive: no meaning for operands of type (bool)")
    return cast(x, x.dtype, copy=True)


def divmod(x: Any, y: Any) -> tuple[Tensor, Tensor]:
    """``(floor_divide(x, y), remainder(x, y))``.

    Example:
        >>> import tracejit as tj
        >>> tj.divmod([7, -7], 3)
        (tensor([ 2, -3]), tensor([1, 2]))

    Semantics: ``numpy.divmod``.
    """
    return _floor_divide(x, y), _remainder(x, y)


def float_power(x: Any, y: Any) -> Tensor:
    """x to the power y, in float64, or complex128.

    Example:
        >>> import tracejit as tj
        >>> tj.float_power([1, 2], -1)
        tensor([1. , 0.5])

    Semantics: ``numpy.float_power``.
    """
    base = as_tensor(x)
    base = cast(base, result_type(base.dtype, FLOAT64))
    exponent = y if type(y) in SCALARS else as_tensor(y)
    if isinstance(exponent, Tensor):
        exponent = cast(exponent, result_type(exponent.dtype, FLOAT64))
    return power(base, exponent)  # type: ignore[no-any-return]


def fabs(x: Any) -> Tensor:
    """The absolute value as a float.

    Example:
        >>> import tracejit as tj
        >>> tj.fabs([-1, 2])
        tensor([1., 2.])

    Semantics: ``numpy.fabs``.
    """
    x = floating(x)
    require_real("fabs", x)
    return run("abs", x)


def fix(x: Any, out: Any = None) -> Tensor:
    """`x` rounded towards zero: another name of ``trunc``.

    Example:
        >>> import tracejit as tj
        >>> tj.fix([1.7, -1.7])
        tensor([ 1., -1.])

    Semantics: ``numpy.fix``.
    """
    result = run("trunc", as_tensor(x))
    return result if out is None else write_out("fix", out, result)


def round(x: Any, decimals: int = 0, out: Any = None) -> Tensor:
    """`x` rounded to `decimals` decimals, ties to even; negative counts round tens, hundreds and so on.

    Integers stay integers; bools become floats, and have no decimals. Slope 0.

    Example:
        >>> import tracejit as tj
        >>> tj.round([1.25, 2.5, 3.14159], 1)
        tensor([1.2, 2.5, 3.1])

    Semantics: ``numpy.round``.
    """
    if out is not None:
        return write_out("round", out, round(x, decimals))
    x = as_tensor(x)
    if type(decimals) is not int or not -_MAX_DECIMALS <= decimals <= _MAX_DECIMALS:
        decimals = max(operator.index(decimals), -_MAX_DECIMALS)
        if decimals > _MAX_DECIMALS and x.dtype is not BOOL:
            return positive(x)
    if x.dtype.kind in "iu":
        if decimals >= 0:
            return positive(x)
        unit = 10**-decimals
        whole = run("rint", run("div", x, float(unit)))
        return _in_order_of(x, cast(run("mul", whole, float(unit)), x.dtype))
    if decimals == 0:
        return run("rint", x)
    if x.dtype is BOOL:
        raise DTypeError(f"round: bools have no decimals, got decimals={decimals}; use x.astype(float)")
    if decimals > 0:
        unit_float = float(10**decimals)
        return _in_order_of(x, run("div", run("rint", run("mul", x, unit_float)), unit_float))
    unit_float = float(10**-decimals)
    return _in_order_of(x, run("mul", run("rint", run("div", x, unit_float)), unit_float))


#: The largest number of decimals that `nearest_decimal` takes: products of half a float's digits with so many
#: tens are exact.
_EXACT_DECIMALS: Final = 7


def nearest_decimal(x: Tensor, decimals: int) -> Tensor:
    """The number with so many `decimals` that is nearest to `x`, of float64, ties to even: ``round`` of
    Python's floats. NumPy's rounds the product of `x`, which makes a tie of 2.675. With more than 7 decimals
    it is NumPy's."""
    unit = float(10 ** abs(decimals))
    if not 0 < abs(decimals) <= _EXACT_DECIMALS:
        return round(x, decimals)
    if decimals < 0:
        whole = run("rint", run("div", x, unit))
        rest = run("sub", x, run("mul", whole, unit))
        return run("mul", _moved(whole, run("gt", rest, unit / 2), run("lt", rest, -unit / 2)), unit)
    # the product with the unit as a sum of its rounded value and the rest, which both are exact
    high = cast(cast(x, FLOAT32), FLOAT64)
    first, second = run("mul", high, unit), run("mul", run("sub", x, high), unit)
    product = run("add", first, second)
    part = run("sub", product, first)
    rest = run("add", run("sub", first, run("sub", product, part)), run("sub", second, part))
    whole = run("rint", product)
    tie = run("sub", product, whole)
    above = run("logical_and", run("eq", tie, 0.5), run("gt", rest, 0.0))
    below = run("logical_and", run("eq", tie, -0.5), run("lt", rest, 0.0))
    result = run("div", _moved(whole, above, below), unit)
    return run("where", run("lt", run("abs", product), 2.0**53), result, x)


def _moved(whole: Tensor, above: Tensor, below: Tensor) -> Tensor:
    """`whole`, and 1 more or less where the number that it is nearest to is `above` or `below` a tie."""
    step = run("sub", cast(above, FLOAT64), cast(below, FLOAT64))
    return run("where", run("ne", step, 0.0), run("add", whole, step), whole)


def _in_order_of(x: Tensor, result: Tensor) -> Tensor:
    """`result` in memory as NumPy has it, of two steps: in Fortran order if `x` is, else in C order."""
    return as_in_memory("round", result, "A", x)


def deg2rad(x: Any) -> Tensor:
    """Degrees to radians.

    Example:
        >>> import tracejit as tj
        >>> tj.deg2rad([0.0, 180.0])
        tensor([0.        , 3.14159265])

    Semantics: ``numpy.deg2rad``.
    """
    x = floating(x)
    require_real("deg2rad", x)
    return run("mul", x, math.pi / 180.0)


def rad2deg(x: Any) -> Tensor:
    """Radians to degrees.

    Example:
        >>> import tracejit as tj
        >>> tj.rad2deg([0.0, tj.pi])
        tensor([  0., 180.])

    Semantics: ``numpy.rad2deg``.
    """
    x = floating(x)
    require_real("rad2deg", x)
    return run("mul", x, 180.0 / math.pi)


def sinc(x: Any) -> Tensor:
    """sin(pi x) / (pi x), and 1 at 0, with all derivatives right there too.

    Example:
        >>> import tracejit as tj
        >>> tj.sinc([0.0, 0.5])
        tensor([1.        , 0.63661977])

    Semantics: ``numpy.sinc``.
    """
    x = as_tensor(x)
    y = run("mul", x if is_real_floating(x.dtype) else cast(x, result_type(x.dtype, float)), math.pi)
    return run("special1", y, function="sinc", orders=(0,))


def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Tensor:
    """`x` with NaN and infinities replaced: by `nan`, `posinf` and `neginf`.

    None stands for the largest and the lowest finite number. The slope at replaced elements is 0.
    Without `copy` they are replaced in the array `x` itself.

    Example:
        >>> import tracejit as tj
        >>> tj.nan_to_num([1.0, float("nan")], nan=-1.0)
        tensor([ 1., -1.])

    Semantics: ``numpy.nan_to_num``.
    """
    result = _with_numbers(as_tensor(x), nan, posinf, neginf)
    if copy or not isinstance(x, (Tensor, np.ndarray)):
        return result
    if not (isinstance(x, Tensor) and x.is_traced and STATE.tracer.is_scalar(x)):
        x[...] = result
    return as_tensor(x) if x.shape else result


def _with_numbers(x: Tensor, nan: Any, posinf: Any, neginf: Any) -> Tensor:
    if is_complex(x.dtype):
        parts = [_with_numbers(run(part, x), nan, posinf, neginf) for part in ("real", "imag")]
        return run("complex", *parts)
    if not is_real_floating(x.dtype):
        return cast(x, x.dtype, copy=True)
    limits = np.finfo(x.dtype)
    highest = float(limits.max) if posinf is None else posinf
    lowest = float(limits.min) if neginf is None else neginf
    infinite = run("isinf", x)
    replacement = run("where", run("gt", x, 0.0), as_tensor(highest), as_tensor(lowest))
    result = choice(infinite, cast(replacement, x.dtype), x)
    return choice(run("isnan", x), cast(as_tensor(nan), x.dtype), result)


# NumPy's second names.
around = round
degrees = rad2deg
radians = deg2rad
