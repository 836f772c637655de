"""Functions of Python and NumPy that take numbers, for traced scalars: ``min``, ``int``, ``numpy.float32``."""

from __future__ import annotations

import builtins
import functools
import math
import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ..array import creation
from ..array.elementwise import arithmetic, floats
from ..eager.dispatch import apply
from ..eager.tensor import Tensor
from ..ir.dtypes import INT64, as_dtype
from ..ir.registry import OPS
from ..pytree import tree_leaves
from ..state import STATE
from .maths import MATH
from .scalars import as_bool, as_float, as_int, python_number, truth
from .variables import is_traced


def _extreme(compare: Callable[[Any, Any], Any], function: Any) -> Any:
    def call(*arguments: Any, **options: Any) -> Any:
        values = arguments
        container = arguments[0] if len(arguments) == 1 else None
        if not options and (is_traced(container) or isinstance(container, (list, tuple))):
            values = tuple(arguments[0])
        if options or not any(map(is_traced, values)):
            return function(*arguments, **options)
        return functools.reduce(_better(compare), values)

    return call


def _better(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def choose(best: Any, value: Any) -> Any:
        test = compare(value, best)
        if not is_traced(test):
            return value if test else best
        result = floats.where(truth(test), value, best)
        tracer = STATE.tracer
        if all(not isinstance(x, Tensor) or tracer.is_weak(tracer.lift(x)) for x in (value, best)):
            tracer.mark_weak(result._data)
        return result

    return choose


def _sum(iterable: Any, start: Any = 0) -> Any:
    if is_traced(iterable) and iterable.ndim:
        return iterable.sum(0) + start if not isinstance(start, int) or start else iterable.sum(0)
    return sum(iterable, start)


def _round(value: Any, digits: Any = None) -> Any:
    if not is_traced(value):
        return round(value) if digits is None else round(value, digits)
    if digits is not None:
        return floats.round(value, digits)
    return python_number(floats.round(value) if value.dtype.kind == "f" else value, INT64)


def _divmod(x: Any, y: Any) -> Any:
    return (x // y, x % y) if is_traced(x) or is_traced(y) else divmod(x, y)


def _numpy_scalar(scalar: type[np.generic]) -> Any:
    """``numpy.float32`` and its like."""
    dtype = as_dtype(scalar)

    def call(*arguments: Any) -> Any:
        if len(arguments) != 1 or not is_traced(arguments[0]):
            return scalar(*arguments)
        value = arguments[0]
        if value.dtype.kind == "f" and dtype.kind in "iu":
            value = arithmetic.trunc(value)
        if value.dtype is not dtype:
            return apply(OPS["cast"], (value,), {"dtype": dtype})
        return apply(OPS["copy"], (value,), {})  # of a Python number, one that is none

    return call


def _numpy_array(function: Any, ours: Any) -> Any:
    """``numpy.array`` and ``asarray`` of lists with traced elements: NumPy would ask for their values."""

    def call(*arguments: Any, **options: Any) -> Any:
        data = arguments[0] if arguments else None
        traced = is_traced(data) or (isinstance(data, (list, tuple)) and any(map(is_traced, tree_leaves(data))))
        return (ours if traced else function)(*arguments, **options)

    return call


_SCALARS: Final = (
    np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
    np.float16, np.float32, np.float64,
)  # fmt: skip
#: Those that stand in where a loop runs step by step, too, and around loops: Python's own would ask for the
#: value there, and the function would be compiled for each value.
EVERYWHERE: Final[dict[Any, Any]] = {
    builtins.round: _round,
    np.array: _numpy_array(np.array, creation.array),
    np.asarray: _numpy_array(np.asarray, creation.asarray),
    **{scalar: _numpy_scalar(scalar) for scalar in _SCALARS},
    **{function: MATH[function] for function in MATH if function not in (math.floor, math.ceil)},
}


def everywhere(function: Any) -> Any:
    """`function`, or what stands in for it in all rewritten code."""
    try:
        return EVERYWHERE.get(function, function)
    except TypeError:  # not hashable
        return function


#: What stands in for a function where a loop is traced once.
STAND_INS: Final[dict[Any, Any]] = {
    builtins.min: _extreme(operator.lt, min),
    builtins.max: _extreme(operator.gt, max),
    builtins.sum: _sum,
    builtins.divmod: _divmod,
    builtins.int: as_int,
    builtins.float: as_float,
    builtins.bool: as_bool,
    **EVERYWHERE,
    **MATH,
}
