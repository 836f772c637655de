"""The node of ``x[key]`` where the key holds no arrays: one node for a slice and a change of shape."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..eager.tensor import Tensor
from ..ir.types import Shape
from ..location import user_location
from ..state import STATE
from .nodes import Node, Wanted

if TYPE_CHECKING:
    from ..array.indexing.keys import KeyPlan
    from .cotangents import Cotangents

_new = object.__new__


class KeyNode(Node):
    """The elements that a key selects; what is not selected has the gradient 0."""

    __slots__ = ("key", "shape")

    #: What was asked for, of ints, slices between ints, None and Ellipsis; and the shape of the result.
    key: Any
    shape: Shape

    def name(self) -> str:
        return "GetitemBackward"

    def _plan(self) -> KeyPlan:
        module: Any = import_module("..array.indexing.access", __package__)  # it imports this module
        plan: KeyPlan = module.known_plan(self.types[0][0], self.key)
        return plan

    def elements(self, namespace: Any, x: Any) -> Any:
        """The value, of the operand `x`, in ops."""
        plan = self._plan()
        if not plan.whole:
            x = namespace.slice(x, start=plan.start, size=plan.size, step=plan.step)
        return x if x.shape == self.shape else namespace.reshape(x, shape=self.shape)

    def pull(self, engine: Cotangents, cotangents: Any, wanted: Wanted) -> Sequence[Any]:
        b, plan, (shape, dtype) = engine.namespace, self._plan(), self.types[0]
        cotangent = cotangents
        if cotangent.shape != plan.size:
            cotangent = b.reshape(cotangent, shape=plan.size)
        if plan.whole:
            return (cotangent,)
        nothing = b.full(value=0.0, shape=shape, dtype=dtype)
        return (b.update(nothing, cotangent, start=plan.start, step=plan.step),)

    def free(self) -> None:
        """It saved nothing."""


def key_node(x: Tensor, key: Any, shape: Shape) -> KeyNode:
    """The node of ``x[key]``, of `shape`, of `x`, which requires a gradient."""
    node = _new(KeyNode)
    node.key, node.shape = key, shape
    data = x._data
    node.parents, node.types = (x._node or x,), ((data.shape, data.dtype),)
    node.hooks = None
    node.location = None if STATE.anomaly is None else user_location()
    return node


def record_key(x: Tensor, key: Any, result: Tensor) -> None:
    """Make `result` remember that it is ``x[key]`` of `x`, which requires a gradient."""
    result._node = key_node(x, key, result._data.shape)
    result._requires_grad = True
