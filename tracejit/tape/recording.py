"""Recording: puts what an eager op did on the tape.

`record` serves every op; `unary_recorder` and `binary_recorder` make its straight-line version for
elementwise ops.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..eager.tensor import Tensor
from ..ir.dtypes import FLOAT64
from ..ir.graph import Value
from ..ir.registry import Attrs, Op
from ..location import user_location
from ..state import STATE
from .nodes import OpNode
from .plans import _PLANS, plan_of
from .saved import PackedOpNode, pack

_SCALARS = frozenset((bool, int, float))
#: The type of a Python number among the operands; no rule asks for it.
_SCALAR = ((), FLOAT64)


def memory_of(tensor: Tensor) -> list[Any]:
    """The count of writes to the memory of `tensor`, begun when first asked for."""
    memory = tensor._version
    if memory is None:
        memory = tensor._version = [0]
    return memory


def _saved(tensor: Tensor, memories: list[Any]) -> Any:
    """The array of `tensor`, whose count of writes is noted in `memories`."""
    memory = tensor._version
    if memory is None:
        memory = tensor._version = [0]
    memories += (memory, memory[0])
    return tensor._data


def record(op: Op, operands: Sequence[Any], attrs: Attrs, result: Tensor) -> None:
    """Make `result` remember that it is `op` of `operands`, some of which require gradients."""
    tracked = tuple([isinstance(operand, Tensor) and operand._requires_grad for operand in operands])
    plan, tracer = plan_of(op, tracked), STATE.tracer
    node = OpNode.__new__(OpNode if STATE.saved_hooks is None else PackedOpNode)
    parents: list[Any] = []
    types: list[Any] = []
    saved: list[Any] = []
    memories: list[Any] = []
    constants: dict[int, weakref.ref[Any]] | None = None
    for position, operand in enumerate(operands):
        if type(operand) in _SCALARS:
            parents.append(None)
            types.append(_SCALAR)
            saved.append(operand)
            continue
        is_tensor = isinstance(operand, Tensor)
        if is_tensor:
            data = operand._data
            types.append((data.shape, data.dtype))
        else:
            types.append((np.shape(operand), np.asarray(operand).dtype))
        if tracked[position]:
            parents.append(operand._node or operand)
        else:
            parents.append(None)
            if is_tensor or isinstance(operand, np.ndarray):
                constants = constants or {}
                constants[position] = weakref.ref(operand)
        if not plan.inputs[position]:
            saved.append(None)
        elif not is_tensor:
            # the user's own array, which nobody counts the writes to: a copy, except for captures of a trace
            saved.append(np.array(operand) if tracer is None else operand)
        elif tracer is None:
            saved.append(_saved(operand, memories))
        elif isinstance(data, Value):
            saved.append(data)  # a symbol: nothing can be written to it
        else:
            saved.append(operand)  # a capture of the trace: its holder says where it is read
    node.plan, node.attrs, node.parents, node.types = plan, attrs, tuple(parents), tuple(types)
    node.hooks, node.constants, node.output = None, constants, None
    if plan.output:
        node.output = result._data if tracer is not None else _saved(result, memories)
    node.memories = memories
    node.saved = tuple(saved)
    node.location = None
    if tracer is not None:
        node.location = tracer.location
    elif STATE.anomaly is not None:
        node.location = user_location()
    if isinstance(node, PackedOpNode):
        pack(node)
    result._node = node
    result._requires_grad = True


#: How many threads want every node to go through `record`: they look at what is saved, or at where.
_observers = [0]


def recording_is_observed() -> bool:
    """Whether every node has to go through `record`."""
    return _observers[0] != 0


def observe_recording(change: int) -> None:
    """Switch the straight-line recorders off (+1) and on again (-1)."""
    _observers[0] += change


_NO_ATTRS: dict[str, Any] = {}
_NEW = object.__new__


def unary_recorder(op: Op, node_type: type[OpNode] = OpNode) -> Callable[..., bool]:
    """`record` for a unary op as ``(operand, result, attributes)``, of an operand that requires a gradient,
    where this thread records; it returns whether it does.

    Small eager operations are bound by this function and `binary_recorder`, so they take the common case
    (no trace, nobody watching) in a straight line, and leave everything else to `record`.
    """
    observers, key = _observers, (op, _UNARY)

    def fast(x: Tensor, result: Tensor, attrs: Attrs = _NO_ATTRS) -> bool:
        if not STATE.recording:
            return False
        if observers[0]:
            record(op, (x,), attrs, result)
            return True
        plan = _PLANS.get(key) or plan_of(op, _UNARY)
        data = x._data
        node = _NEW(node_type)
        if plan.saves:
            memories: list[Any] = []
            node.saved = (_saved(x, memories) if plan.inputs[0] else None,)
            node.output = _saved(result, memories) if plan.output else None
            node.memories = memories
        else:
            node.saved, node.output, node.memories = _NOTHING, None, ()
        node.plan, node.attrs = plan, attrs
        node.parents, node.types = (x._node or x,), ((data.shape, data.dtype),)
        node.hooks = node.location = node.constants = None
        result._node = node
        result._requires_grad = True
        return True

    return fast


_UNARY = (True,)
_NOTHING = (None,)


def several_recorder(op: Op) -> Callable[..., None]:
    """`record` for an op of any number of Tensors and Python numbers as ``(operands, result, attributes)``,
    of which some require gradients, where this thread records and does not trace."""
    observers = _observers

    def fast(operands: Sequence[Any], result: Tensor, attrs: Attrs = _NO_ATTRS) -> None:
        if not STATE.recording:
            return
        tracked = tuple([type(operand) is Tensor and operand._requires_grad for operand in operands])
        plan = _PLANS.get((op, tracked)) or plan_of(op, tracked)
        if observers[0]:
            record(op, operands, attrs, result)
            return
        node = _NEW(OpNode)
        memories: list[Any] = []
        constants: dict[int, weakref.ref[Any]] = {}
        parents: list[Any] = []
        types: list[Any] = []
        saved: list[Any] = []
        for position, operand in enumerate(operands):
            if type(operand) is not Tensor:
                parents.append(None)
                types.append(_SCALAR)
                saved.append(operand)
                continue
            data = operand._data
            types.append((data.shape, data.dtype))
            saved.append(_saved(operand, memories) if plan.inputs[position] else None)
            if tracked[position]:
                parents.append(operand._node or operand)
            else:
                parents.append(None)
                constants[position] = weakref.ref(operand)
        node.output = _saved(result, memories) if plan.output else None
        node.plan, node.attrs, node.memories = plan, attrs, memories
        node.parents, node.types, node.saved = tuple(parents), tuple(types), tuple(saved)
        node.constants = constants or None
        node.hooks = node.location = None
        result._node = node
        result._requires_grad = True

    return fast


def binary_recorder(op: Op) -> Callable[[Any, Any, Tensor], None]:
    """`record` for a binary elementwise op without attributes, where an operand requires a gradient and this
    thread records."""
    observers = _observers

    def fast(x: Any, y: Any, result: Tensor) -> None:
        if not STATE.recording:
            return
        of_x, of_y = type(x) is Tensor, type(y) is Tensor
        if observers[0] or not ((of_x or type(x) in _SCALARS) and (of_y or type(y) in _SCALARS)):
            record(op, (x, y), _NO_ATTRS, result)
            return
        tracked = (of_x and x._requires_grad, of_y and y._requires_grad)
        plan = _PLANS.get((op, tracked)) or plan_of(op, tracked)
        keep_x, keep_y = plan.inputs
        node = _NEW(OpNode)
        memories: list[Any] = []
        node.constants = None
        if tracked[0]:
            data = x._data
            parent_x, type_x = x._node or x, (data.shape, data.dtype)
        else:
            parent_x = type_x = None
            if of_x:
                node.constants = {0: weakref.ref(x)}
        if tracked[1]:
            data = y._data
            parent_y, type_y = y._node or y, (data.shape, data.dtype)
        else:
            parent_y = type_y = None
            if of_y:
                node.constants = {1: weakref.ref(y)}
        node.saved = (
            (_saved(x, memories) if keep_x else None) if of_x else x,
            (_saved(y, memories) if keep_y else None) if of_y else y,
        )
        node.output = _saved(result, memories) if plan.output else None
        node.plan, node.attrs, node.memories = plan, _NO_ATTRS, memories
        node.parents, node.types = (parent_x, parent_y), (type_x, type_y)
        node.hooks = node.location = None
        result._node = node
        result._requires_grad = True

    return fast
