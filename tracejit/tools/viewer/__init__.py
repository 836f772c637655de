"""``tracejit view``: every stage of a function, from its source to assembly, as one HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir.graph import Function
from ...ir.types import TensorType
from ...jitted.function import JitFunction
from ...jitted.signatures import as_input
from ...loops.reports import LoopReport
from ...pytree import flatten
from ...tracing.branches import array_of
from .document import ViewedFunction, document_of
from .views import View

__all__ = ["View", "input_values", "view", "view_function"]

Array = np.ndarray[Any, Any]


def view(fn: Any, *args: Any, **kwargs: Any) -> View:
    """Show the compilation of ``fn(*args, **kwargs)``: every stage, pass and kernel, with times on `args`.

    Arguments are as for a call, or `TensorType`s, for which random values are timed.

    Example:
        >>> import tracejit as tj
        >>> from tracejit.tools.viewer import view
        >>> shown = view(tj.jit(lambda x: tj.exp(x).sum()), tj.ones(100))
        >>> [stage["id"] for stage in shown.document["stages"]]
        ['trace', 'optimized', 'fused', 'loops', 'llvm', 'asm']

    Raises what tracing raises, and TracejitError for a function that is too large to show.
    """
    target = fn if isinstance(fn, JitFunction) else JitFunction(fn)
    traced = target._trace(args, kwargs)
    _, dynamic = target._split(args, kwargs)
    values = [*input_values(flatten(dynamic)[0]), *map(array_of, traced.captured)]
    return view_function(
        traced.function,
        values,
        target._name,
        loops=traced.loops,
        flush_denormals=target._flush_denormals,
    )


def view_function(
    function: Function,
    inputs: Sequence[np.ndarray[Any, Any] | None] = (),
    label: str = "",
    *,
    timing: bool = True,
    loops: Sequence[LoopReport] = (),
    flush_denormals: bool = False,
) -> View:
    """Show the compilation of a traced `function`.

    `inputs` are the values to time it on, as far as they are known. `loops` are the reports on the loops in
    its source. `flush_denormals` says whether calls take denormal numbers for zero.

    Raises TracejitError for a function that is too large to show.
    """
    subject = ViewedFunction(label or function.name, function, inputs, tuple(loops), flush_denormals)
    return View(document_of(subject, timing=timing))


def input_values(leaves: Sequence[Any]) -> list[Array | None]:
    """The arrays that stand for the leaves of a call's arguments; None for types."""
    return [None if isinstance(leaf, TensorType) else as_input(leaf)._data for leaf in leaves]
