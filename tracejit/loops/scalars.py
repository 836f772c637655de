"""Python's functions of numbers, for traced scalars: ``min``, ``abs``, ``int``, ``math.sqrt``, ..."""

from __future__ import annotations

import builtins
import functools
import math
import operator
from collections.abc import Callable
from typing import Any, Final

from ..array.elementwise import arithmetic, floats, transcendental
from ..eager.dispatch import apply
from ..eager.tensor import Tensor
from ..ir.dtypes import BOOL, FLOAT64, INT64, DType
from ..ir.registry import OPS
from ..state import STATE
from .reports import LoopError
from .variables import is_traced


def _python_number(value: Any, dtype: DType) -> Any:
    """A traced scalar as what Python's `int` or `float` makes of it."""
    if value.size != 1:
        raise LoopError(f"a tensor of type {value.type} is taken for a number")
    tracer = STATE.tracer
    number = value.reshape(()) if value.shape else value
    if number.dtype is dtype and tracer.is_weak(tracer.lift(number)):
        return number
    copied = apply(OPS["cast"], (number,), {"dtype": dtype})
    if copied._data is number._data:
        copied = apply(OPS["reshape"], (number,), {"shape": ()})
    if copied._data is number._data:  # to mark it weak would mark the tensor, too
        copied = apply(OPS["copy"], (number,), {})
    tracer.mark_weak(copied._data)
    return copied


def python_integer(value: Any) -> Any:
    """``int(value)`` of a traced integer; other values as they are."""
    return _python_number(value, INT64) if is_traced(value) else value


def _int(*arguments: Any) -> Any:
    if len(arguments) != 1 or not is_traced(arguments[0]):
        return int(*arguments)
    value = arguments[0]
    return _python_number(arithmetic.trunc(value) if value.dtype.kind == "f" else value, INT64)


def _float(*arguments: Any) -> Any:
    if len(arguments) != 1 or not is_traced(arguments[0]):
        return float(*arguments)
    return _python_number(arguments[0], FLOAT64)


def _bool(*arguments: Any) -> Any:
    if len(arguments) != 1 or not is_traced(arguments[0]):
        return bool(*arguments)
    return truth(arguments[0])


def truth(value: Any) -> Tensor:
    """Whether a traced tensor of one element is true."""
    if value.size != 1:
        raise LoopError(f"the truth of a tensor of type {value.type} is asked for")
    scalar = value.reshape(()) if value.shape else value
    result: Tensor = scalar if scalar.dtype is BOOL else apply(OPS["ne"], (scalar, 0), {})
    return result


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
    return _python_number(floats.round(value) if value.dtype.kind == "f" else value, INT64)


def _divmod(x: Any, y: Any) -> Any:
    return (x // y, x % y) if is_traced(x) or is_traced(y) else divmod(x, y)


def _math(name: str, function: Any) -> Any:
    python = getattr(math, name)

    def call(*arguments: Any) -> Any:
        if not any(map(is_traced, arguments)):
            return python(*arguments)
        return function(*[_float(argument) for argument in arguments])

    return call


def _floating(name: str, function: Any) -> Any:
    """``math.name`` that returns a float."""
    call = _math(name, function)

    def checked(*arguments: Any) -> Any:
        result = call(*arguments)
        return _float(result)

    return checked


def _rounded(name: str, function: Any) -> Any:
    """``math.name`` that returns an integer."""
    call = _math(name, function)

    def checked(*arguments: Any) -> Any:
        result = call(*arguments)
        return _int(result)

    return checked


_FLOATING: Final[dict[str, Any]] = {
    "acos": transcendental.arccos,
    "asin": transcendental.arcsin,
    "atan": transcendental.arctan,
    "atan2": transcendental.arctan2,
    "cos": transcendental.cos,
    "cosh": transcendental.cosh,
    "exp": transcendental.exp,
    "expm1": transcendental.expm1,
    "fabs": arithmetic.absolute,
    "hypot": arithmetic.hypot,
    "log1p": transcendental.log1p,
    "log2": transcendental.log2,
    "log10": transcendental.log10,
    "pow": arithmetic.power,
    "sin": transcendental.sin,
    "sinh": transcendental.sinh,
    "sqrt": arithmetic.sqrt,
    "tan": transcendental.tan,
    "tanh": transcendental.tanh,
}
_ROUNDED: Final[dict[str, Any]] = {
    "ceil": arithmetic.ceil,
    "floor": arithmetic.floor,
    "trunc": arithmetic.trunc,
}


def _log(x: Any, *base: Any) -> Any:
    if not any(map(is_traced, (x, *base))):
        return math.log(x, *base)
    result = transcendental.log(_float(x))
    return _float(result / transcendental.log(_float(base[0])) if base else result)


#: What stands in for a function of Python's where a loop is traced.
STAND_INS: Final[dict[Any, Any]] = {
    builtins.min: _extreme(operator.lt, min),
    builtins.max: _extreme(operator.gt, max),
    builtins.sum: _sum,
    builtins.round: _round,
    builtins.divmod: _divmod,
    builtins.int: _int,
    builtins.float: _float,
    builtins.bool: _bool,
    math.log: _log,
    **{getattr(math, name): _floating(name, function) for name, function in _FLOATING.items()},
    **{getattr(math, name): _rounded(name, function) for name, function in _ROUNDED.items()},
}
