"""The nodes of arrays that were joined: the gradient of each is a piece of the result's.

They know the built-in gradient of ``concat`` by heart, so that the time of a node grows with the number of
its operands and not with its square. Where somebody has registered another one, the op is recorded by itself.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from ..eager.tensor import Tensor, wrap
from ..ir.registry import OPS
from ..location import user_location
from ..state import STATE
from .nodes import OpNode, Wanted
from .plans import SavePlan
from .recording import memory_of, record

if TYPE_CHECKING:
    from .cotangents import Cotangents

_CONCAT: Final = OPS["concat"]
_RESHAPE: Final = OPS["reshape"]
_BUILTIN: Final = _CONCAT.vjp
_PLAN: Final = SavePlan(_CONCAT, ())
_new = object.__new__


class JoinedNode(OpNode):
    """The node of arrays joined along an axis that they have."""

    __slots__ = ()

    def pulled(
        self, engine: Cotangents, cotangents: Any, inputs: Sequence[Any], out: Any, wanted: Wanted
    ) -> Sequence[Any]:
        cut, axis, at = engine.namespace.slice, self.attrs["axis"], 0
        start, step = [0] * len(cotangents.shape), (1,) * len(cotangents.shape)
        found: list[Any] = []
        for parent, (shape, _) in zip(self.parents, self.types, strict=True):
            part = None
            if parent is not None and (wanted is None or wanted(parent)):
                start[axis] = at
                part = cut(cotangents, start=tuple(start), size=shape, step=step)
            found.append(part)
            at += shape[axis]
        return found


class StackedNode(OpNode):
    """The node of arrays joined along a new axis: concat of the arrays with that axis."""

    __slots__ = ()

    def name(self) -> str:
        return "StackBackward"

    def rows(self, namespace: Any, operands: Sequence[Any]) -> list[Any]:
        """The operands with the new axis: what the op joins."""
        axis, (shape, _) = self.attrs["axis"], self.types[0]
        size = (*shape[:axis], 1, *shape[axis:])
        return [namespace.reshape(operand, shape=size) for operand in operands]

    def pulled(
        self, engine: Cotangents, cotangents: Any, inputs: Sequence[Any], out: Any, wanted: Wanted
    ) -> Sequence[Any]:
        b, axis, (shape, _) = engine.namespace, self.attrs["axis"], self.types[0]
        size = (*shape[:axis], 1, *shape[axis:])
        start, step = [0] * len(size), (1,) * len(size)
        found: list[Any] = []
        for at, parent in enumerate(self.parents):
            part = None
            if parent is not None and (wanted is None or wanted(parent)):
                start[axis] = at
                part = b.slice(cotangents, start=tuple(start), size=size, step=step)
                part = b.reshape(part, shape=shape)
            found.append(part)
        return found


def record_concat(axis: int, result: Tensor, *parts: Tensor) -> None:
    """Make `result` remember that it is `parts`, some of which require gradients, joined along `axis`, where
    this thread records and does not trace."""
    if not STATE.recording:
        return
    if _CONCAT.vjp is not _BUILTIN:
        record(_CONCAT, parts, {"axis": axis}, result)
        return
    types = []
    for part in parts:
        data = part._data
        types.append((data.shape, data.dtype))
    _put(_new(JoinedNode), axis, result, parts, tuple(types))


def record_stack(axis: int, result: Tensor, *parts: Tensor) -> None:
    """The same of parts joined along the new `axis`."""
    if not STATE.recording:
        return
    if _CONCAT.vjp is not _BUILTIN:
        record(_CONCAT, _rows(axis, parts), {"axis": axis}, result)
        return
    data = parts[0]._data
    _put(_new(StackedNode), axis, result, parts, ((data.shape, data.dtype),) * len(parts))


def _put(node: OpNode, axis: int, result: Tensor, parts: tuple[Tensor, ...], types: tuple[Any, ...]) -> None:
    parents: list[Any] = []
    constants: dict[int, weakref.ref[Any]] | None = None
    for part in parts:
        if part._requires_grad:
            parents.append(part._node or part)
        else:
            constants = constants or {}
            constants[len(parents)] = weakref.ref(part)
            parents.append(None)
    node.plan, node.attrs, node.parents, node.types = _PLAN, {"axis": axis}, tuple(parents), types
    node.saved, node.memories, node.constants = (None,) * len(parents), (), constants
    node.output = node.hooks = None
    node.location = None if STATE.anomaly is None else user_location()
    result._node = node
    result._requires_grad = True


def _rows(axis: int, parts: Sequence[Tensor]) -> list[Tensor]:
    """`parts` with the new `axis`, recorded."""
    shape = parts[0]._data.shape
    size = (*shape[:axis], 1, *shape[axis:])
    rows = []
    for part in parts:
        row = wrap(part._data.reshape(size))
        row._version = memory_of(part)
        if part._requires_grad:
            record(_RESHAPE, (part,), {"shape": size}, row)
        rows.append(row)
    return rows
