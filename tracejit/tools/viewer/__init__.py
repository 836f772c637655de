"""``tracejit view``: every stage of a function, from its source to assembly, as one HTML file."""

from __future__ import annotations

import html
import os
import pathlib
import tempfile
import webbrowser
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base.process.locks import computed_once
from ...ir.graph import Function
from ...ir.types import TensorType
from ...jitted.function import JitFunction
from ...jitted.signatures import as_input
from ...loops.reports import LoopReport
from ...pytree import flatten
from ...tracing.branches import array_of
from .document import ViewedFunction, document_of
from .page import page_of

__all__ = ["View", "input_values", "view", "view_function"]

Array = np.ndarray[Any, Any]


class View:
    """The viewer's page of one function. In a notebook it shows itself.

    Attributes:
        document: everything as plain data; docs/view.md lists the fields.
        html: the page, one self-contained file.
    """

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document

    @computed_once
    def html(self) -> str:
        """The page."""
        return page_of(self.document)

    def save(self, path: str | os.PathLike[str]) -> pathlib.Path:
        """Write the page to `path`. Raises OSError where it cannot be written."""
        target = pathlib.Path(path)
        target.write_text(self.html, encoding="utf-8")
        return target

    def write_temporary(self) -> pathlib.Path:
        """Write the page to a new temporary file, which stays."""
        handle, name = tempfile.mkstemp(prefix="tracejit-", suffix=".html")
        os.close(handle)
        return self.save(name)

    def open(self, path: str | os.PathLike[str] | None = None) -> pathlib.Path:
        """Show the page in the browser; returns its file, a temporary one unless it was saved to `path`."""
        shown = self.write_temporary() if path is None else pathlib.Path(path)
        webbrowser.open(shown.resolve().as_uri())
        return shown

    def _repr_html_(self) -> str:
        """The HTML for notebooks: the page in a frame."""
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" style="width:100%;height:720px;border:0;'
            'border-radius:8px" sandbox="allow-scripts" title="tracejit view"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<view of {self.document['title']}: {len(self.document['ops'])} ops, .save(path) or .open()>"


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
