"""Python functions on Tensors put into a graph under construction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..eager.tensor import Tensor
from ..generator import Draws
from ..ir.builder import Builder, inline
from ..ir.errors import TraceError
from ..ir.graph import Value
from ..tracing.traces import trace_flat


def append_function(
    b: Builder, what: str, fn: Callable[..., tuple[list[Any], Any]], operands: Sequence[Value]
) -> tuple[list[Value], Any]:
    """Trace ``fn(*symbols) -> (tensors, rest)`` and append it to `b` on `operands`; its results, and `rest`.

    Tensors that `fn` closes over become constants with the values they have now. `what` names `fn` in errors.
    """
    location = b.location
    traced = trace_flat(fn, [(operand.type, False, "") for operand in operands])
    captured = [_constant(b, what, holder) for holder in traced.captured]
    results = inline(b, traced.function, [*operands, *captured])
    b.location = location
    return list(results), traced.rest


def _constant(b: Builder, what: str, holder: Any) -> Value:
    if isinstance(holder, Draws):
        raise TraceError(f"{what} draws random numbers; give it a key as an input instead")
    data = holder._data if isinstance(holder, Tensor) else np.asarray(holder)
    if isinstance(data, Value):
        raise TraceError(
            f"{what} closes over a traced tensor of type {data.type}; give it as an input instead"
        )
    elements = tuple(data.ravel().tolist())
    value: Value = b.constant(data=elements, shape=data.shape, dtype=data.dtype)
    return value
