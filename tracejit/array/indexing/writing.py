"""Writing in place, seen by everything that shares the memory. Semantics: NumPy's memory, PyTorch's autograd.

Where nothing records, a write goes to memory and is counted. Where a gradient must flow, the new value is
computed as a new tensor; then it goes to memory, the written tensor takes its place in the graph, and so do
the tensors that share the memory: a written view is put back into its base, and every view of the base is
read from it anew. Under a trace, where there is no memory, the same steps make all of them symbols of the
new value.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ...base.errors import GradientError, TraceError, TracejitError
from ...dispatch.dispatch import apply
from ...ir.dtypes import is_differentiable
from ...ir.graph import Value
from ...ir.registry import OPS, Attrs, Kind, Op, OpNamespace
from ...state import STATE
from ...tape.hooks import move_retained
from ...tape.liveness import InputNode
from ...tape.plans import Composite, Written
from ...tape.recording import memory_of, record
from ...tape.views import (
    UNRECORDED,
    IndexedStep,
    NativeStep,
    ViewStep,
    array_of_steps,
    chain_of,
    made_step,
    views_of,
)
from ...tensors.tensor import Tensor, noted_array, wrap
from ...tracing.regions import note_written

#: An op of a view with its attributes, or an index.
_OpStep = tuple[Op, Attrs] | IndexedStep
_SLICE: Final = OPS["slice"]
_RESHAPE: Final = OPS["reshape"]
_UPDATE: Final = OPS["update"]
_UNRECORDED_WRITE: Final = (
    "a view was created while gradients were not recorded, of a tensor that requires grad, and is being "
    "modified in place while they are. Make the view where gradients are recorded, or write it under "
    "tj.no_grad()"
)


class OutsideWriteError(TraceError):
    """A traced tensor is written in a region that it does not belong to."""

    def __init__(self, name: str, tensor: Tensor) -> None:
        hint = getattr(tensor._data, "hint", "")
        shown = f"{hint}, a tensor of type {tensor.type}," if hint else f"a tensor of type {tensor.type}"
        super().__init__(
            f"{name}: {shown} from outside a loop body, a branch or a mapped function is being "
            "written inside it. Carry it through, or return the new value"
        )
        self.tensor = tensor


def writes_memory(x: Tensor, value: Any, name: str) -> bool:
    """Whether writing `value` to `x` is a write to memory alone. Raises where it may not be written."""
    chain = chain_of(x)
    base = x if chain is None else chain[0]
    if STATE.tracer is not None and not (isinstance(x._data, Value) and isinstance(base._data, Value)):
        what = "a tensor" if base is x else "a view of a tensor"
        raise TraceError(
            f"{name}: {what} of type {base.type} from outside the traced function is being written inside "
            "it. Return the new value instead, or pass the tensor as an argument."
        )
    traced = isinstance(x._data, Value)
    if traced and STATE.tracer is not None:
        for tensor in (x, base):
            if not STATE.tracer.owns(tensor._data):
                raise OutsideWriteError(name, tensor)
    if not traced:
        take_memory(base)
    if not STATE.recording:
        return not traced
    needed = x._requires_grad or (is_differentiable(x.dtype) and _requires_grad(value))
    if chain is not None and UNRECORDED in chain[1] and (needed or base._requires_grad):
        raise GradientError(f"{name}: {_UNRECORDED_WRITE}")
    if needed and base._requires_grad and base._node is None:
        what = "a leaf tensor" if base is x else "a view of a leaf tensor"
        raise GradientError(
            f"{name}: {what} that requires grad is being modified in place. Do it under tj.no_grad(), or "
            "compute a new tensor"
        )
    return not (needed or traced)


def take_memory(x: Tensor) -> None:
    """Copy the caller's memory if `x` is an input of a transform or a view of one. The input and all views of
    it then share the copy."""
    chain = chain_of(x)
    base = x if chain is None else chain[0]
    if type(base._node) is not InputNode:
        return
    views = [(view, chain_of(view)) for view in views_of(base)]
    caller = before(base, keep=False)
    base._data = base._data.copy(order="K")
    record(OPS["copy"], (caller,), {}, base)
    base._memory = [0]
    for view, steps in views:
        assert steps is not None
        view._data, view._memory = array_of_steps(base._data, steps[1]), base._memory


def _requires_grad(value: Any) -> bool:
    if isinstance(value, Tensor):
        return value._requires_grad
    return isinstance(value, (list, tuple)) and any(_requires_grad(item) for item in value)


def before(x: Tensor, *, keep: bool = True) -> Tensor:
    """The value of `x` that a write replaces, in its place in the graph; a copy if `keep`, so that the write
    does not reach it."""
    data = x._data
    old = wrap(data.copy() if keep and isinstance(data, np.ndarray) else data)
    old._node, old._requires_grad = x._node, x._requires_grad
    return old if isinstance(data, Value) else noted_array(old)  # whose views are in its memory


def count_write(x: Tensor, name: str) -> None:
    """Count a write to the memory of `x` by the operation `name`."""
    memory: list[Any] = memory_of(x)
    memory[0] += 1
    memory[1:] = [name]


def check_writeable(x: Tensor, name: str) -> None:
    """Raise TracejitError where the memory of `x` is read-only."""
    if not x._data.flags.writeable:
        raise TracejitError(
            f"{name}: the memory of this tensor of shape {x.shape} is read-only; use x.copy()"
        )


def replace(x: Tensor, new: Tensor, name: str) -> None:
    """`x`, and all that shares its memory, take over the value `new`, of the same type, and its gradient.

    To be called where `writes_memory` said no.
    """
    if not isinstance(x._data, Value):
        if x._requires_grad and not new._requires_grad:
            new = _overwritten(x, new)
        check_writeable(x, name)
        np.copyto(x._data, new._data)
        count_write(x, name)
    adopt(x, new)


def adopt(x: Tensor, new: Tensor) -> None:
    """`x`, whose memory holds the value of `new` already, and all that shares it, take over its gradient."""
    chain = chain_of(x)
    if isinstance(x._data, Value):
        _note_order(x if chain is None else chain[0])
    if chain is None:
        if isinstance(x._data, Value) and not x.shape:
            STATE.tracer.note_array(x)  # which its value does not tell any more
        _move(x, new)
        refresh_views(x)
        return
    base, steps = chain
    whole = _put_back(base, _expanded(base, steps), new)
    if UNRECORDED in steps and STATE.recording:
        whole = _guarded(base, whole)
        x._aliases = tuple(alias for alias in x._aliases if alias is not UNRECORDED)
    _move(base, whole)
    refresh_views(base)


def _note_order(base: Tensor) -> None:
    """Note where a write to the memory of the traced `base` reaches its views, which are such where it lies
    in C order in memory."""
    tracer = STATE.tracer
    while tracer is not None:
        shown = tracer.shown_in_order.get(id(base))
        if shown is not None:
            tracer.taken_in_order.update(shown[1])
        tracer = tracer.parent


def _guarded(base: Tensor, whole: Tensor) -> Tensor:
    """`whole`, which is written over the traced `base` through a view made under no_grad: an error if `base`
    has a gradient, which differentiating the trace will tell. If it has none, the view is one like others."""
    guard = apply(OPS["undifferentiable"], (base,), {"message": _UNRECORDED_WRITE})
    result: Tensor = apply(_UPDATE, (guard, whole), _everything(base))
    return result


def _everything(x: Tensor) -> dict[str, Any]:
    """The attributes of an update of all of `x`."""
    return {"start": (0,) * x.ndim, "step": (1,) * x.ndim}


def _overwritten(x: Tensor, new: Tensor) -> Tensor:
    """`new` as an update of all of `x`: what is overwritten has a gradient still, of zeros."""
    return recorded(_UPDATE, (before(x, keep=False), new), _everything(x), new._data)


def recorded(op: Op, operands: tuple[Any, ...], attrs: Attrs, data: Any) -> Tensor:
    """The result of `op`, which some other way has put in `data`."""
    result = wrap(data)
    record(op, operands, attrs, result)
    return result


def _move(x: Tensor, new: Tensor) -> None:
    """`x` takes the place of `new` in the graph and, under a trace, its symbol."""
    if STATE.tracer is not None:
        note_written(STATE.tracer, x._data)
        if isinstance(new._data, Value):
            STATE.tracer.orders.setdefault(new._data, x._data)
    if STATE.blocked and STATE.tracer is not None:
        # as in memory: the value changes, and the place in the graph does not
        x._data = STATE.tracer.run(OPS["rewritten"], (x, new), {})
        return
    if new._node is not None:
        move_retained(x, new._node)
    x._node, x._requires_grad = new._node, new._requires_grad
    if isinstance(x._data, Value):
        x._data = new._data


def refresh_views(base: Tensor) -> None:
    """Read the views of `base` anew."""
    tracer = STATE.tracer
    for view in views_of(base):
        chain = chain_of(view)
        assert chain is not None
        unrecorded = UNRECORDED in chain[1]
        if unrecorded and not isinstance(base._data, Value):
            continue
        if not _is_readable(chain[1]):
            continue
        fresh = base
        for step in _expanded(base, chain[1]):
            fresh = _read_step(step, fresh)
        if unrecorded:
            assert tracer is not None
            fresh = wrap(tracer.run(OPS["stop_gradient"], (fresh,), {}))
        _move(view, fresh)


def _read_step(step: _OpStep, source: Tensor) -> Tensor:
    if isinstance(step, IndexedStep):
        return step.read(source)
    result: Tensor = apply(step[0], (source,), step[1])
    return result


def _is_readable(steps: tuple[ViewStep | NativeStep, ...]) -> bool:
    """Whether the running trace has the indices of `steps`: a view that a region made may outlive it."""
    indices = [index for step in steps if isinstance(step, IndexedStep) for index in step.indices]
    return all(is_seen(index) for index in indices)


def is_seen(value: Value) -> bool:
    """Whether `value` belongs to the running trace, or to one around it."""
    tracer = STATE.tracer
    while tracer is not None and not tracer.owns(value):
        tracer = tracer.parent
    return tracer is not None


def _expanded(base: Tensor, steps: tuple[ViewStep | NativeStep, ...]) -> list[_OpStep]:
    """`steps` from `base` as ops."""
    expanded: list[_OpStep] = []
    shape = base.shape
    for noted in steps:
        if noted is UNRECORDED:
            continue
        step = made_step(noted, shape)
        if isinstance(step, IndexedStep):
            expanded.append(step)
            shape = step.shape
        elif isinstance(step.op, Composite):
            written = step.op.written(((shape, base.dtype),), step.attrs)
            assert isinstance(written, Written)
            for inner in written.operands or ():
                expanded.append((_RESHAPE, {"shape": inner}))
            expanded.append((written.op, written.attrs))
            if written.inner != written.result:
                expanded.append((_RESHAPE, {"shape": written.result}))
            shape = written.result
        else:
            expanded.append((step.op, step.attrs))
            shape = step.attrs["size"] if step.op is _SLICE else step.attrs.get("shape", shape)
            if "perm" in step.attrs:
                shape = tuple(shape[axis] for axis in step.attrs["perm"])
    return expanded


def _put_back(base: Tensor, steps: list[_OpStep], new: Tensor) -> Tensor:
    """`base` with `new` where `steps` read from it."""
    ops = _TRACED if isinstance(base._data, Value) else _WRITTEN
    sources = [before(base, keep=False)]
    for step in steps[:-1]:
        sources.append(_read_step(step, sources[-1]))
    for source, step in zip(reversed(sources), reversed(steps), strict=True):
        if isinstance(step, IndexedStep):
            new = step.put(source, new)
            continue
        op, attrs = step
        if op.put is None:
            raise TracejitError(f"a view made by {op.name} cannot be written; use copy()")
        new = op.put(ops, source, new, **attrs)
    return new


class _Traced(OpNamespace):
    """Ops that put a view back, into the graph."""

    def apply(self, op: Op, operands: tuple[Any, ...], attrs: Attrs) -> Any:
        return apply(op, operands, attrs)


class _Written(OpNamespace):
    """Ops that put a view back, where memory holds the result: an update is recorded, not computed."""

    def apply(self, op: Op, operands: tuple[Any, ...], attrs: Attrs) -> Any:
        if op.kind is not Kind.UPDATE:
            return apply(op, operands, attrs)
        return recorded(op, operands, attrs, operands[0]._data)


_TRACED: Final = _Traced()
_WRITTEN: Final = _Written()
