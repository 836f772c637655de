"""Traced integers where Python and NumPy want a number: as keys, and as sizes, shifts and seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..ir.graph import Value
from ..state import STATE

if TYPE_CHECKING:
    from .tensor import Tensor


def hash_of(x: Tensor) -> int:
    """By identity; of a traced integer or bool of rank 0 by value, as of NumPy's and Python's."""
    if isinstance(x._data, Value) and not x.shape and x.dtype.kind in "iub":
        return hash(x._concrete("looking x up in a dict or set", "tj operations", decides=True).item())
    return object.__hash__(x)


def is_python_integer(data: Any) -> bool:
    """Whether `data` stands for an integer of Python's in a trace: what asks for the value, a size or an axis
    mostly, is compiled for it."""
    tracer = STATE.tracer
    return isinstance(data, Value) and data.dtype.kind == "i" and tracer is not None and tracer.is_weak(data)
