"""Traced scalars as Python's numbers and truth values."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.errors import OneElementError
from ..dispatch.dispatch import apply
from ..ir.dtypes import BOOL, COMPLEX128, FLOAT64, INT64, DType
from ..ir.registry import OPS
from ..state import STATE
from ..tensors.python_values import note_number
from ..tensors.tensor import Tensor
from ..tracing.regions import RegionTracer
from .reports import LoopError
from .variables import is_traced


def python_number(value: Any, dtype: DType) -> Any:
    """A traced scalar as what Python's `int` or `float` makes of it."""
    if value.size != 1:
        raise LoopError(f"a tensor of type {value.type} is used as a number")
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
    note_number(copied._data)
    return copied


def python_integer(value: Any) -> Any:
    """``int(value)`` of a traced integer; other values as they are."""
    return python_number(value, INT64) if is_traced(value) else value


def as_int(*arguments: Any) -> Any:
    """``int(value)``, for a traced scalar a traced number."""
    if len(arguments) != 1 or not is_traced(arguments[0]):
        return int(*arguments)
    return python_number(_only("int", arguments[0]), INT64)


def as_float(*arguments: Any) -> Any:
    """``float(value)``, for a traced scalar a traced number."""
    if len(arguments) != 1 or not is_traced(arguments[0]):
        return float(*arguments)
    return python_number(_only("float", arguments[0]), FLOAT64)


def _only(name: str, value: Any) -> Any:
    if value.size != 1:
        raise OneElementError(f"{name}(x): expected one element, got shape {value.shape}; reduce it first")
    return value


def as_complex(*arguments: Any) -> Any:
    """``complex(real, imag)``, for traced scalars a traced number."""
    if not 1 <= len(arguments) <= 2 or not any(map(is_traced, arguments)):
        return complex(*arguments)
    if len(arguments) == 1 and arguments[0].dtype.kind == "c":
        return python_number(arguments[0], COMPLEX128)
    if any(isinstance(part, complex) or (is_traced(part) and part.dtype.kind == "c") for part in arguments):
        raise LoopError("complex() has a complex number as its real or imaginary part")
    number = apply(OPS["complex"], tuple(map(as_float, (*arguments, 0.0)[:2])), {})
    STATE.tracer.mark_weak(number._data)
    note_number(number._data)
    return number


def as_bool(*arguments: Any) -> Any:
    """``bool(value)``, for a traced scalar a traced number."""
    if len(arguments) != 1 or not is_traced(arguments[0]):
        return bool(*arguments)
    return python_number(truth(arguments[0]), BOOL)


def opposite(value: Any) -> Tensor:
    """``not value`` of a traced tensor of one element."""
    result: Tensor = apply(OPS["logical_not"], (truth(value),), {})
    STATE.tracer.mark_weak(result._data)
    return result


def truth(value: Any) -> Tensor:
    """Whether a traced tensor of one element is true."""
    if value.size != 1:
        raise LoopError(f"a tensor of type {value.type} is used as a condition")
    scalar = value.reshape(()) if value.shape else value
    result: Tensor = scalar if scalar.dtype is BOOL else apply(OPS["ne"], (scalar, 0), {})
    return result


def contains(value: Any, container: Any) -> Any:
    """``value in container``; in a region, of traced values, whether an element is equal."""
    if not isinstance(STATE.tracer, RegionTracer):
        return value in container
    if is_traced(container) or (is_traced(value) and isinstance(container, np.ndarray)):
        return as_bool((container == value).any())
    if is_traced(value) and isinstance(container, range):
        if not container:
            return False
        first, last = sorted((container[0], container[-1]))
        inside: Any = truth(value >= first) & truth(value <= last)
        return inside & truth((value - first) % abs(container.step) == 0)
    if not isinstance(container, (tuple, list, set, frozenset)):
        return value in container
    result: Any = False
    for element in container:
        equal = value is element or value == element
        if not is_traced(equal):
            if equal:
                return True
        elif result is False:
            result = as_bool(equal)
        else:
            result = result | as_bool(equal)
    return result
