"""Recording: puts what an eager op did on the tape.

`record` serves every op; `recorder` makes the straight-line version for elementwise ops, which small eager
operations are bound by.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ir.dtypes import FLOAT64
from ..ir.graph import Value
from ..ir.registry import Attrs, Op
from ..location import user_location
from ..state import STATE
from ..tensor import Tensor
from .nodes import OpNode, Plan
from .saved import PackedOpNode, pack

_SCALARS = frozenset((bool, int, float))
#: The type of a Python number among the operands; no rule asks for it.
_SCALAR = ((), FLOAT64)
_PLANS: dict[tuple[Op, tuple[bool, ...]], Plan] = {}


def _plan(op: Op, tracked: tuple[bool, ...]) -> Plan:
    plan = _PLANS.get((op, tracked))
    if plan is None:
        plan = _PLANS[(op, tracked)] = Plan(op, tracked)
    return plan


def memory_of(tensor: Tensor) -> list[int]:
    """The count of writes to the memory of `tensor`, begun when first asked for."""
    memory = tensor._version
    if memory is None:
        memory = tensor._version = [0]
    return memory


def record(op: Op, operands: Sequence[Any], attrs: Attrs, result: Tensor) -> None:
    """Make `result` remember that it is `op` of `operands`, some of which require gradients."""
    tracked = tuple([isinstance(one, Tensor) and one._requires_grad for one in operands])
    plan = _plan(op, tracked)
    tracer = STATE.tracer
    node = OpNode.__new__(OpNode if STATE.saved_hooks is None else PackedOpNode)
    parents: list[Any] = []
    types: list[Any] = []
    saved: list[Any] = []
    memories: list[list[int]] = []
    constants: dict[int, weakref.ref[Any]] | None = None
    for position, operand in enumerate(operands):
        is_tensor = isinstance(operand, Tensor)
        parents.append((operand._node or operand) if tracked[position] else None)
        if is_tensor:
            types.append((operand._data.shape, operand._data.dtype))
        elif type(operand) in _SCALARS:
            types.append(_SCALAR)
        else:
            types.append((np.shape(operand), np.asarray(operand).dtype))
        if type(operand) in _SCALARS:
            saved.append(operand)
            continue
        if not tracked[position]:
            constants = constants or {}
            constants[position] = weakref.ref(operand)
        if not plan.inputs[position]:
            saved.append(None)
        elif not is_tensor:
            saved.append(operand)
        elif tracer is None:
            saved.append(operand._data)
            memories.append(memory_of(operand))
        elif isinstance(operand._data, Value):
            saved.append(operand._data)  # a symbol: nothing can be written to it
        else:
            saved.append(operand)  # a capture of the trace: its holder says where it is read
    node.plan, node.attrs, node.parents, node.types = plan, attrs, tuple(parents), tuple(types)
    node.hooks, node.constants, node.output = None, constants, None
    if plan.output:
        node.output = result._data
        if tracer is None:
            memories.append(memory_of(result))
    node.memories, node.versions = memories, [memory[0] for memory in memories]
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


#: The plans of `recorder`s, by op.
_FAST_PLANS: dict[Op, list[dict[int, Plan]]] = {}


def forget_plans(op: Op) -> None:
    """Plan `op` anew from now on: it has got another gradient."""
    for key in [one for one in _PLANS if one[0] is op]:
        del _PLANS[key]
    for plans in _FAST_PLANS.get(op, ()):
        plans.clear()


#: How many threads want every node to go through `record`: they look at what is saved, or at where.
_observers = [0]


def observe_recording(change: int) -> None:
    """Switch the straight-line recorders off (+1) and on again (-1)."""
    _observers[0] += change


_NO_ATTRS: dict[str, Any] = {}
_NEW = object.__new__


def recorder(op: Op) -> Callable[[Sequence[Any], Tensor], None]:
    """`record` for an elementwise op without attributes, with its plans looked up beforehand.

    Takes the common case (Tensors and numbers, no trace, nobody watching) in a straight line and leaves
    everything else to `record`.
    """
    plans: dict[int, Plan] = {}
    _FAST_PLANS.setdefault(op, []).append(plans)
    observers = _observers

    def fast(operands: Sequence[Any], result: Tensor) -> None:
        if observers[0]:
            record(op, operands, _NO_ATTRS, result)
            return
        parents: list[Any] = []
        types: list[Any] = []
        tracked = 1
        for one in operands:
            if type(one) is Tensor:
                if one._requires_grad:
                    data = one._data
                    parents.append(one._node or one)
                    types.append((data.shape, data.dtype))
                    tracked += tracked + 1
                    continue
            elif type(one) not in _SCALARS:
                record(op, operands, _NO_ATTRS, result)
                return
            parents.append(None)
            types.append(None)
            tracked += tracked
        plan = plans.get(tracked)
        if plan is None:
            plan = plans[tracked] = _plan(op, tuple([one is not None for one in parents]))
        saved: list[Any] = []
        memories: list[list[int]] = []
        versions: list[int] = []
        constants: dict[int, weakref.ref[Any]] | None = None
        for one, keep, parent in zip(operands, plan.inputs, parents, strict=True):
            if type(one) is not Tensor:
                saved.append(one)
            elif keep:
                saved.append(one._data)
                memory = one._version
                if memory is None:
                    memory = one._version = [0]
                memories.append(memory)
                versions.append(memory[0])
            else:
                saved.append(None)
            if parent is None and type(one) is Tensor:
                constants = constants or {}
                constants[len(saved) - 1] = weakref.ref(one)
        node = _NEW(OpNode)
        if plan.output:
            node.output = result._data
            result._version = memory = [0]
            memories.append(memory)
            versions.append(0)
        else:
            node.output = None
        node.plan, node.attrs, node.parents, node.types = plan, _NO_ATTRS, tuple(parents), types
        node.saved, node.memories, node.versions = tuple(saved), memories, versions
        node.hooks = node.location = None
        node.constants = constants
        result._node = node
        result._requires_grad = True

    return fast
