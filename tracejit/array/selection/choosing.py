"""Elements chosen by conditions: case by case, by number, or those for which a condition holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...base.errors import DomainError, DTypeError, IndexValueError, ShapeError
from ...ir.dtypes import BOOL, INT64
from ...ir.types import normalize_axis
from ...tensors.tensor import Tensor, as_array
from ..copying import in_order
from ..indexing.access import getitem
from ..indexing.nonzero import indices_of_nonzero
from ..indexing.taking import take
from ..joining import stack
from ..manipulation import broadcast_arrays, broadcast_to, ravel
from ..numpy_calls.options import write_out
from ..operands import (
    as_tensor,
    candidate,
    cast,
    choice,
    filled,
    given_as_array,
    holds_tensors,
    promoted,
    reshaped,
    run,
    sliced,
)
from . import sized


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Tensor:
    """Select each element from the first choice whose condition is true there, or `default` where none is.

    Example:
        >>> import tracejit as tj
        >>> x = tj.arange(4)
        >>> tj.select([x < 1, x > 2], [x, x * 10], 42)
        tensor([ 0, 42, 42, 30])

    Raises ShapeError for lists of different lengths, DTypeError for conditions that are not bools. Semantics:
    ``numpy.select``.
    """
    if len(condlist) != len(choicelist):
        raise ShapeError(
            f"select: expected as many choices as conditions, got {len(condlist)} and {len(choicelist)}"
        )
    if not len(condlist):
        raise ShapeError("select: expected at least one condition")
    conditions = [as_tensor(condition) for condition in condlist]
    for condition in conditions:
        if condition.dtype is not BOOL:
            raise DTypeError(f"select: condlist must hold bools, got dtype {condition.dtype.name}")
    *choices, result = promoted(*choicelist, default)
    for condition, value in reversed(list(zip(conditions, choices, strict=True))):
        result = choice(condition, value, result)
    return given_as_array(in_order(result))


def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Tensor:
    """A function that is another one, or a number, where each condition holds: the last that does decides.

    With a function more than conditions, that is for the elements for which none holds; otherwise these
    are 0. Each function is called with all of `x`, as under a trace it has to be.

    Example:
        >>> import tracejit as tj
        >>> x = tj.tensor([-2.0, 3.0])
        >>> tj.piecewise(x, [x < 0, x >= 0], [lambda v: -v, 10.0])
        tensor([ 2., 10.])

    Raises ShapeError for lists of lengths that do not fit. Semantics: ``numpy.piecewise``.
    """
    x = as_tensor(x)
    several = isinstance(condlist, (list, tuple)) and len(condlist) > 0
    if several and (x.ndim == 0 or isinstance(condlist[0], (list, np.ndarray, Tensor))):
        conditions = [cast(as_tensor(condition), BOOL) for condition in condlist]
    else:
        single = cast(as_tensor(condlist), BOOL)
        conditions = (
            [single] if single.ndim <= max(x.ndim, 1) else [single[row] for row in range(len(single))]
        )
    functions = list(funclist)
    if len(functions) not in (len(conditions), len(conditions) + 1):
        count = len(conditions)
        raise ShapeError(
            f"piecewise: {count} conditions need {count} or {count + 1} functions, got {len(functions)}"
        )
    result = filled(0, x.shape, x.dtype)
    if len(functions) > len(conditions):
        result = broadcast_to(cast(_value(functions.pop(), x, args, kw), x.dtype), x.shape)
    for condition, function in zip(conditions, functions, strict=True):
        result = choice(condition, cast(_value(function, x, args, kw), x.dtype), result)
    return result


def _value(function: Any, x: Tensor, args: Any, kw: Any) -> Tensor:
    return as_tensor(function(x, *args, **kw) if isinstance(function, Callable) else function)  # type: ignore[arg-type]


def choose(x: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """Select each element from the choice whose number `x` has at that place.

    `out` is a tensor that takes the result. `mode` for numbers outside: ``raise`` (OutOfBoundsError),
    ``wrap`` around or ``clip`` to the ends.

    Example:
        >>> import tracejit as tj
        >>> tj.choose([1, 0, 1], [[0, 1, 2], [10, 11, 12]])
        tensor([10,  1, 12])

    Raises DTypeError unless `x` holds integers. Semantics: ``numpy.choose``.
    """
    numbers = as_tensor(x)
    if numbers.dtype.kind not in "iub":
        raise DTypeError(f"choose: x must be integers, got dtype {numbers.dtype.name}")
    parts = list(choices)
    if not parts:
        raise ShapeError("choose: expected at least one choice")
    numbers, *arrays = broadcast_arrays(cast(numbers, INT64), *promoted(*parts))
    count = len(arrays)
    if mode == "wrap":
        numbers = run("remainder", numbers, count)
    elif mode == "clip":
        numbers = run("clip", numbers, 0, count - 1)
    elif mode != "raise":
        raise DomainError(f"choose: mode must be 'raise', 'wrap' or 'clip', got {mode!r}")
    elif numbers.is_traced:
        numbers = take(np.arange(count), run("where", run("lt", numbers, 0), as_tensor(count), numbers))
    elif np.any((numbers._data < 0) | (numbers._data >= count)):
        raise IndexValueError(f"choose: a number is not between 0 and {count - 1}")
    if count <= _MAX_CASES:
        result = arrays[0]
        for number, array in enumerate(arrays[1:], 1):
            result = choice(run("eq", numbers, number), array, result)
        result = run("copy", result) if count == 1 else in_order(result)
        return result if out is None else write_out("choose", out, result)
    lines = candidate(reshaped(stack(arrays), (count * numbers.size,)))
    flat = run("add", run("mul", ravel(numbers), numbers.size), as_tensor(np.arange(numbers.size)))
    result = reshaped(take(lines, flat), numbers.shape)
    return result if out is None else write_out("choose", out, result)


#: More choices are gathered, fewer are chosen one after the other.
_MAX_CASES = 16


def compress(
    condition: Any,
    x: Any,
    axis: int | None = None,
    out: Any = None,
    *,
    size: int | None = None,
    fill_value: Any = 0,
) -> Tensor:
    """The slices of `x` along `axis` for which the line `condition` is true; of the raveled array by default.

    How many these are depends on values. With `size` there are just so many: the first ones, and behind them
    `fill_value`. Without, what a trace does with them is that with ``x[mask]``.

    Example:
        >>> import tracejit as tj
        >>> tj.compress([True, False, True], [1, 2, 3])
        tensor([1, 3])
        >>> tj.jit(lambda x: tj.compress(x > 1, x, size=3))(tj.tensor([1, 2, 3]))
        tensor([2, 3, 0])

    Raises AxisError and ShapeError. Semantics: ``numpy.compress``; `size` as in ``jax.numpy.compress``.
    """
    mask = as_tensor(condition)
    if mask.ndim != 1:
        raise ShapeError(f"compress: condition must be a line of rank 1, got shape {mask.shape}")
    result = _compressed("compress", condition, mask, as_tensor(x), axis, size, fill_value)
    return result if out is None else write_out("compress", out, result)


def _compressed(
    name: str, condition: Any, mask: Tensor, x: Tensor, axis: int | None, size: Any, fill_value: Any
) -> Tensor:
    """``compress`` by `mask`, the tensor of `condition`, on behalf of the function `name`."""
    if axis is None:
        x, axis = ravel(x), 0
    place = normalize_axis(name, axis, x.ndim)
    if size is None:
        if isinstance(condition, Tensor) or holds_tensors(condition):
            if mask.is_traced and mask.shape[0] == x.shape[place]:
                return getitem(x, (*[slice(None)] * place, cast(mask, BOOL)))
            data = mask._concrete(name, f"{name}(..., size=n), whose shape is known")
        else:
            data = as_array(condition)
        return take(candidate(x), np.flatnonzero(data), place)
    mask = cast(mask, BOOL)
    if mask.shape[0] > x.shape[place]:
        mask = sliced(mask, 0, 0, x.shape[place])
    return sized.kept(name, x, mask, place, size, fill_value)


def extract(condition: Any, x: Any, *, size: int | None = None, fill_value: Any = 0) -> Tensor:
    """The elements of the raveled `x` for which `condition` is true; see ``compress`` for `size`.

    Example:
        >>> import tracejit as tj
        >>> tj.extract([[True, False]], [[5, 6]])
        tensor([5])

    Semantics: ``numpy.extract``.
    """
    mask = ravel(as_tensor(condition))
    return _compressed("extract", condition, mask, ravel(as_tensor(x)), 0, size, fill_value)


def flatnonzero(x: Any, *, size: int | None = None, fill_value: Any = 0) -> Tensor:
    """The places of the elements of the raveled `x` that are not zero.

    With `size` there are just so many: the first ones, and behind them `fill_value`. Without, what a trace
    does with them is that with ``x[mask]``.

    Example:
        >>> import tracejit as tj
        >>> tj.flatnonzero([0, 7, 0, 8])
        tensor([1, 3])

    Semantics: ``numpy.flatnonzero``; `size` as in ``jax.numpy.flatnonzero``.
    """
    return indices_of_nonzero("flatnonzero", ravel(as_tensor(x)), size, fill_value)[0]
