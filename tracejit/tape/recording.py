"""Recording: puts what an eager op did on the tape.

`record` serves every op, wherever it runs. Small eager operations are bound by it, so `recorder` generates a
straight line of code for ops of few operands, which leaves everything out of the ordinary to `record`.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable, Sequence
from types import CodeType
from typing import Any, Final

import numpy as np

from ..ir.dtypes import FLOAT64, NUMBERS
from ..ir.graph import Value
from ..ir.registry import Attrs, Builtin, Op
from ..location import user_location
from ..state import STATE
from ..tensors.tensor import Tensor
from .nodes import OpNode
from .plans import GENERATED, Composite, functions_of, plan_of, plans_of, with_kept_axes
from .saved import pack
from .views import UNRECORDED

_SCALARS: Final = NUMBERS
#: The type of a Python number among the operands; no rule asks for it.
_SCALAR: Final = ((), FLOAT64)
_NEW: Final = object.__new__
_NO_ATTRS: Final[dict[str, Any]] = {}
#: The tracked operands of an op of one operand, and of one whose joint rule serves all.
_TRACKED: Final = (True,)


def memory_of(tensor: Tensor) -> list[Any]:
    """The count of writes to the memory of `tensor`, begun when first asked for."""
    memory = tensor._memory
    if memory is None:
        memory = tensor._memory = [0]
    return memory


def versions_of(tensors: Iterable[Tensor]) -> list[tuple[list[Any], int]]:
    """The counts of writes to `tensors`, and what they are now."""
    return [(memory, memory[0]) for memory in map(memory_of, tensors)]


class ForeignMemory(list[Any]):
    """The count of writes to the memory of an array of the user's, who may write it uncounted."""

    __slots__ = ()


def _saved(tensor: Tensor, memories: list[Any]) -> Any:
    """The array of `tensor`, whose count of writes is noted in `memories`; a copy of one of the user's."""
    memory = tensor._memory
    if memory is None:
        memory = tensor._memory = [0]
    elif type(memory) is ForeignMemory:
        return np.array(tensor._data)
    memories.append((memory, memory[0]))
    return tensor._data


def record(op: Op | Composite, operands: Sequence[Any], attrs: Attrs, result: Tensor) -> None:
    """Make `result` remember that it is `op` of `operands`, some of which require gradients."""
    tracked = tuple([isinstance(operand, Tensor) and operand._requires_grad for operand in operands])
    plan, tracer = plan_of(op, tracked), STATE.tracer
    inputs = plan.inputs
    parents: list[Any] = []
    types: list[Any] = []
    saved: list[Any] = []
    memories: list[Any] = []
    constants: dict[int, weakref.ref[Any]] | None = None
    for position, operand in enumerate(operands):
        if tracer is not None and type(operand) is Tensor and type(data := operand._data) is Value:
            saved.append(data if inputs[position] else None)  # a symbol: nothing can be written to it
            type_ = data.type
            types.append((type_.shape, type_.dtype))
            if tracked[position]:
                parents.append(operand._node or operand)
            else:
                parents.append(None)
                constants = constants or {}
                constants[position] = weakref.ref(operand)
            continue
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
        if not inputs[position]:
            saved.append(None)
        elif not is_tensor:
            # the user's own array, which nobody counts the writes to: a copy, except for captures of a trace
            saved.append(np.array(operand) if tracer is None else operand)
        elif tracer is None:
            saved.append(_saved(operand, memories))
        else:
            saved.append(operand)  # a capture of the trace: its holder says where it is read
    node = _NEW(OpNode)
    node.plan, node.attrs, node.parents, node.types = plan, attrs, tuple(parents), tuple(types)
    node.hooks, node.location, node.constants, node.output = None, None, constants, None
    if plan.output:
        node.output = result._data if tracer is not None else _saved(result, memories)
    node.memories = memories or ()
    node.saved = tuple(saved)
    if tracer is not None:
        node.location = tracer.location
    elif STATE.anomaly is not None:
        node.location = user_location()
    if STATE.saved_hooks is not None:
        pack(node)
    result._node = node
    result._requires_grad = True


#: Number of threads that want every node to go through `record`: they look at what is saved, or at where.
_observers = [0]


def observe_recording(change: int) -> None:
    """Switch the straight-line recorders off (+1) and on again (-1)."""
    _observers[0] += change


def recorder(op: Op | Composite, builtin: Builtin | None = None) -> Callable[..., None]:
    """`record` for `op` as ``(result, *arguments)``, where an operand requires a gradient and this thread
    does not trace. The arguments are those of `builtin` or of the op's own builtin function, else its
    operands.

    A view that is made while nothing is recorded is marked as such.
    """
    if op.params[0].startswith("*"):
        return _joint_recorder(op)
    builtin = builtin or op.builtin or _PLAIN
    code = _recorder_code(len(op.params), builtin.arguments, computed=builtin.attrs is not None)
    kept = with_kept_axes(op) if "keepdims" in builtin.arguments and isinstance(op, Op) else op
    scope: dict[str, Any] = {
        "ATTRS": builtin.attrs, "KEPT": kept, "KEPT_PLANS": plans_of(kept), "NEW": _NEW,
        "NO_ATTRS": _NO_ATTRS, "OP": op, "OpNode": OpNode, "PLANS": plans_of(op), "SCALAR": _SCALAR,
        "SCALARS": _SCALARS, "STATE": STATE, "TRACKED": _TRACKED, "Tensor": Tensor,
        "UNRECORDED": UNRECORDED, "observers": _observers, "plan_of": plan_of, "record": record,
        "ref": weakref.ref, "save": _saved,
    }  # fmt: skip
    (generated,) = functions_of(code, scope, "recorder")
    return generated


#: The builtin function of an op whose arguments are its operands.
_PLAIN: Final = Builtin(record)

#: Generated code that records a Tensor which requires a gradient, and one of several operands; # is its
#: place.
_OF_TRACKED: Final = """
    data = x#._data
    type# = data.shape, data.dtype
    parent# = x#._node or x#"""
_OF_OPERAND: Final = """
    if is#:
        data = x#._data
        type# = data.shape, data.dtype
        if tracked[#]:
            parent# = x#._node or x#
        else:
            parent# = None
            constants = {**constants, #: ref(x#)} if constants else {#: ref(x#)}
    else:
        parent#, type# = None, SCALAR"""


@functools.cache
def _recorder_code(count: int, arguments: tuple[str, ...], *, computed: bool) -> CodeType:
    """The code of a recorder of an op of `count` operands and further `arguments`, which are its attributes
    unless those are `computed`. A single operand is a Tensor that requires a gradient; several are Tensors
    and Python numbers, of which some do."""

    def each(text: str, joined_by: str = "") -> str:
        return joined_by.join(text.replace("#", str(place)) for place in range(count))

    attrs = "NO_ATTRS"
    if computed:
        attrs = f"ATTRS({', '.join(['x0.shape', *arguments])})"
    elif arguments:
        attrs = f"{{{', '.join(f'{name!r}: {name}' for name in arguments)}}}"
    op, plans = "OP", "PLANS"
    if "keepdims" in arguments:
        op, plans = "(KEPT if keepdims else OP)", "(KEPT_PLANS if keepdims else PLANS)"
    if count == 1:
        facts, unusual, plan = "", "observers[0]", f"{plans}.get(TRACKED) or plan_of({op}, TRACKED)"
        notes, saved, bare = each(_OF_TRACKED), "save(x#, memories) if keep[#] else None, ", "None, "
    else:
        facts = f"{each('is#, ')} = {each('type(x#) is Tensor, ')}"
        unusual = "observers[0] or not " + each("(is# or type(x#) in SCALARS)", " or not ")
        flags, notes = each("is# and x#._requires_grad, "), each(_OF_OPERAND)
        plan = f"{plans}.get(tracked := ({flags})) or plan_of({op}, tracked)"
        saved = "(save(x#, memories) if keep[#] else None) if is# else x#, "
        bare = "None if is# else x#, "
    source = f"""
def recorder(result, {each("x#, ")}{"".join(f"{name}, " for name in arguments)}):
    if not STATE.recording:
        if type(result._aliases) is tuple:
            result._aliases = (*result._aliases, UNRECORDED)
        return
    {facts}
    if {unusual}:
        record({op}, ({each("x#, ")}), {attrs}, result)
        return
    plan = {plan}
    node = NEW(OpNode)
    constants = node.hooks = node.location = None
    {notes}
    if plan.saves:
        keep, memories = plan.inputs, []
        node.saved = ({each(saved)})
        node.output = save(result, memories) if plan.output else None
        node.memories = memories
    else:
        node.saved, node.output, node.memories = ({each(bare)}), None, ()
    node.plan, node.attrs, node.constants = plan, {attrs.replace("x0.shape", "type0[0]")}, constants
    node.parents, node.types = ({each("parent#, ")}), ({each("type#, ")})
    result._node = node
    result._requires_grad = True
"""
    return compile(source, GENERATED, "exec")


def _joint_recorder(op: Op | Composite) -> Callable[..., None]:
    """`recorder` of an op that joins any number of Tensors, as ``(result, axis, *operands)``. What a
    composite joins has one type."""
    plans, alike = plans_of(op), isinstance(op, Composite)

    def joint(result: Tensor, axis: int, *operands: Tensor) -> None:
        if not STATE.recording:
            return
        if axis < 0:
            axis += result._data.ndim
        plan = plans.get(_TRACKED) or plan_of(op, _TRACKED)
        if _observers[0] or not plan.joint:
            record(op, operands, {"axis": axis}, result)
            return
        parents: list[Any] = []
        types: list[Any] = []
        constants: dict[int, weakref.ref[Any]] | None = None
        for operand in operands:
            if operand._requires_grad:
                parents.append(operand._node or operand)
            else:
                constants = constants or {}
                constants[len(parents)] = weakref.ref(operand)
                parents.append(None)
            if not alike:
                data = operand._data
                types.append((data.shape, data.dtype))
        if alike:
            data = operands[0]._data
            types = [(data.shape, data.dtype)] * len(operands)
        node = _NEW(OpNode)
        node.plan, node.attrs, node.constants = plan, {"axis": axis}, constants
        node.parents, node.types = tuple(parents), tuple(types)
        node.saved, node.memories = (None,) * len(operands), ()
        node.output = node.hooks = node.location = None
        result._node = node
        result._requires_grad = True

    return joint
