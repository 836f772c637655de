"""``autograd.tracer``: what programs ask of the values that a derivative follows."""

from __future__ import annotations

from typing import Any

from ...tensors.tensor import Tensor
from .arrays import values_of
from .primitives import notrace_primitive, primitive

__all__ = ["getval", "isbox", "notrace_primitive", "primitive"]


def isbox(x: Any) -> bool:
    """Whether `x` is a tensor, as arrays are where a derivative or a trace follows them.

    Semantics: ``autograd.tracer.isbox``.
    """
    return isinstance(x, Tensor)


def getval(x: Any) -> Any:
    """`x` with the values of its tensors as arrays, which no derivative follows. Semantics:
    ``autograd.tracer.getval``."""
    return values_of(x)
