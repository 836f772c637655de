"""What a jitted function closes over, and where it is found again at each call.

A captured Tensor or array is looked up by the name under which the function sees it, so that a name that is
bound to another tensor later is read afresh, not only a tensor that is changed in place. What has no name
(an element of a container, an attribute) is looked up through the container where it was found.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType
from typing import Any

import numpy as np

from .ir.records import record
from .pytree import flatten
from .tensor import Tensor

_MISSING = object()


@record
class Source:
    """Where a captured value lives: a closure `cell`, a `global` name, or just the `object` itself; inside a
    container, `leaf` is its position among the container's leaves."""

    kind: str
    holder: Any
    key: str = ""
    leaf: int | None = None

    def read(self) -> Any:
        """The value there now; `_MISSING` if there is none."""
        if self.kind == "object":
            return self.holder
        if self.kind == "cell":
            try:
                found = self.holder.cell_contents
            except ValueError:
                return _MISSING
        else:
            found = self.holder.get(self.key, _MISSING)
        if self.leaf is None:
            return found
        leaves, _ = flatten(found)
        return leaves[self.leaf] if self.leaf < len(leaves) else _MISSING


def locate(fn: Any, holders: list[Any]) -> list[Source]:
    """For each captured object, where `fn` gets it from."""
    found: dict[int, Source] = {}
    wanted = {id(holder) for holder in holders}
    for kind, holder, key, value in _names(fn):
        if isinstance(value, (Tensor, np.ndarray)):
            if id(value) in wanted:
                found.setdefault(id(value), Source(kind, holder, key))
        elif isinstance(value, (dict, list, tuple)):
            for position, leaf in enumerate(flatten(value)[0]):
                if id(leaf) in wanted:
                    found.setdefault(id(leaf), Source(kind, holder, key, position))
    return [found.get(id(holder), Source("object", holder)) for holder in holders]


def _names(fn: Any) -> Iterator[tuple[str, Any, str, Any]]:
    """The names `fn`'s code can read, with where they are bound: (kind, holder, key, value)."""
    while hasattr(fn, "__wrapped__") and not hasattr(fn, "__code__"):
        fn = fn.__wrapped__
    fn = getattr(fn, "__func__", fn)
    code = getattr(fn, "__code__", None)
    if code is None:
        return
    for name, cell in zip(code.co_freevars, fn.__closure__ or (), strict=True):
        try:
            yield "cell", cell, name, cell.cell_contents
        except ValueError:
            continue
    for name in _global_names(code):
        if name in fn.__globals__:
            # the dict's own key object, which the native entry can look up by identity
            yield "global", fn.__globals__, name, fn.__globals__[name]


def _global_names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _global_names(constant)
