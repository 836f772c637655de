"""Views: tensors that share memory know of each other.

A view holds its base (the tensor at the root, never another view) and the steps that lead to it; a base
holds a list with the length at which it is made shorter, and weak references to its views. These have no
callbacks, which would take longer than the view: native code puts the next view's in the place of that of a
view that died at once, and those of others are left out when the list is long. Whoever writes one of them in
place brings the others up to date (`array.writing`); here the relation is made.
"""

from __future__ import annotations

import math
import sys
import weakref
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ..ir.dtypes import is_differentiable
from ..ir.graph import Value
from ..ir.registry import OPS, Attrs, Builtin, Op
from ..ir.types import Shape
from ..state import STATE
from ..tensors.tensor import SHORTEST, Tensor, is_eager_scalar
from .plans import Composite

#: Effort that NumPy spends on two arrays that lie between one another, as columns of a matrix do.
_MAX_WORK: Final = 10_000


def overlapping(arrays: Sequence[Any], chosen: Collection[int]) -> tuple[int, int] | None:
    """The positions of two arrays that share memory, the first of them `chosen`; None where there are none.

    Entries of `arrays` may be None.
    """
    spans = sorted(
        (*byte_bounds(array), position)
        for position, array in enumerate(arrays)
        if array is not None and array.size
    )
    open_spans: list[tuple[int, int]] = []
    for low, high, position in spans:
        open_spans = [(end, other) for end, other in open_spans if end > low]
        for _, other in open_spans:
            for first, second in ((position, other), (other, position)):
                if first in chosen and _share(arrays[first], arrays[second]):
                    return first, second
        open_spans.append((high, position))
    return None


def overlaps_itself(array: Any) -> bool:
    """Whether several elements of `array` may share memory, as those of broadcast views and of windows do."""
    reach = array.itemsize
    for step, size in sorted(
        (abs(step), size) for step, size in zip(array.strides, array.shape, strict=True)
    ):
        if size > 1:
            if step < reach:
                return bool(array.size)
            reach += step * (size - 1)
    return False


def _share(first: Any, second: Any) -> bool:
    try:
        return np.shares_memory(first, second, max_work=_MAX_WORK)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


_RESHAPE: Final = OPS["reshape"]
#: The length at which a list is made shorter while that happens.
_BUSY: Final = sys.maxsize


class ViewStep:
    """One step from a tensor to a view of it: an op and its attributes."""

    __slots__ = ("attrs", "op")

    def __init__(self, op: Op | Composite, attrs: Attrs) -> None:
        self.op = op
        self.attrs = attrs


class IndexedStep(ViewStep):
    """Steps from a traced tensor to the part that traced integers select.

    Attributes:
        key: the index, of integers of Python's and traced ones, slices, None and Ellipsis.
        source: the symbol that the tensor had when the view was made.
        shape: that of the part.
    """

    __slots__ = ("_put", "_read", "key", "shape", "source")

    def __init__(
        self,
        key: tuple[Any, ...],
        source: Value,
        shape: Shape,
        read: Callable[[Tensor, Any], Tensor],
        put: Callable[[Tensor, Any, Any], Tensor],
    ) -> None:
        """`read` and `put` read and write elements at a key, as new tensors."""
        self.key, self.source, self.shape = key, source, shape
        self._read, self._put = read, put

    def read(self, source: Tensor) -> Tensor:
        """The part of `source`."""
        return self._read(source, self.key)

    def put(self, source: Tensor, new: Tensor) -> Tensor:
        """`source` with `new` as the part."""
        return self._put(source, self.key, new)

    @property
    def indices(self) -> list[Value]:
        """The traced integers of the key."""
        return [symbol for part in self.key for symbol in _symbols(part)]

    def of_array(self, array: Any) -> Any:
        """A part of `array` that lies in memory as the view does: its index is not known."""
        return array[tuple([_first(part) for part in self.key])]


def _symbols(part: Any) -> list[Value]:
    if isinstance(part, slice):
        return [symbol for bound in (part.start, part.stop, part.step) for symbol in _symbols(bound)]
    return [part._data] if isinstance(part, Tensor) and isinstance(part._data, Value) else []


def _first(part: Any) -> Any:
    return slice(0, 1) if isinstance(part, slice) and _symbols(part) else 0 if _symbols(part) else part


#: A step as native code notes it, as two items behind the base: a function, and what to call it with before
#: the shape of what it is a step from.
NativeStep = tuple[Callable[[Any, Shape], ViewStep], Any]


def step_of(op: Op | Composite, builtin: Builtin) -> Callable[[Any, Shape], ViewStep]:
    """The function that makes the steps of `op` for a `NativeStep`. It takes the argument of the `builtin`
    function (None if there is none, a tuple of several) and the shape of the array that the step starts
    from."""
    names, attrs = builtin.arguments, builtin.attrs

    def step(argument: Any, shape: Shape) -> ViewStep:
        arguments = argument if len(names) > 1 else (argument,) * len(names)
        if attrs is None:
            return ViewStep(op, dict(zip(names, arguments, strict=True)))
        return ViewStep(op, attrs(shape, *arguments))

    return step


def made_step(step: ViewStep | NativeStep, shape: Shape) -> ViewStep:
    """`step`, from something of `shape`, as a record."""
    if isinstance(step, ViewStep):
        return step
    how, argument = step
    return how(argument, shape)


#: Marker after the step of a view that was made unrecorded from a tensor that requires grad. The view shares
#: the memory, and no gradient.
UNRECORDED = ViewStep.__new__(ViewStep)


def share(source: Tensor, view: Tensor, step: ViewStep | NativeStep) -> None:
    """`view` is `step` of `source` and shares its memory, unless `source` is a scalar: nothing shares memory
    with one, as in NumPy. Then the view gets memory of its own."""
    if not source.shape:
        if isinstance(source._data, Value):
            if STATE.tracer is not None and STATE.tracer.is_scalar(source):
                return
        elif is_eager_scalar(source):
            if not isinstance(view._data, Value):
                view._data = view._data.copy()
            return
    if source._memory is None:
        source._memory = [0]
    view._memory = source._memory
    aliases = source._aliases
    noted = (step,) if isinstance(step, ViewStep) else step
    base, chain = (aliases[0], (*aliases, *noted)) if type(aliases) is tuple else (source, (source, *noted))
    if not STATE.recording and (source._requires_grad or (STATE.blocked and _reached(source))):
        chain = (*chain, UNRECORDED)
    view._aliases = chain
    views = base._aliases
    if views is None:
        views = base._aliases = [SHORTEST]
    elif len(views) > views[0]:
        forget_dead(views)
    views.append(weakref.ref(view))


def forget_dead(views: list[Any]) -> None:
    """Shorten a base's list of views by those that died. As many views again are made until the next time, so
    that this takes no more time than making them.

    Other threads may append views meanwhile, and native code may put one in the place of the last.
    """
    if views[0] == _BUSY:
        return
    views[0] = _BUSY  # no call since that was asked: Python changes no threads in between
    longest = SHORTEST
    try:
        last = len(views) - 1
        alive = [view for view in views[1:last] if view() is not None]
        views[1:last] = alive
        longest = max(SHORTEST, 2 * len(alive))
    finally:
        views[0] = longest


def _reached(source: Tensor) -> bool:
    """Whether a gradient may reach the traced `source` once the trace is differentiated."""
    if STATE.tracer is None or not isinstance(source._data, Value) or not is_differentiable(source.dtype):
        return False
    passed: dict[Value, bool] = {}
    for instruction in STATE.tracer.body:
        op = instruction.op
        operands = instruction.operands[:1] if op.name == "rewritten" else instruction.operands
        open_ = op.name != "stop_gradient" and any(
            passed.get(operand, True) and is_differentiable(operand.dtype) for operand in operands
        )
        passed.update(dict.fromkeys(instruction.results, open_))
    return passed.get(source._data, True)


def views_of(base: Tensor) -> list[Tensor]:
    """The views of `base` that are alive."""
    if type(base._aliases) is not list:
        return []
    views = [alias() for alias in base._aliases[1:]]
    return [view for view in views if view is not None and _together(base, view)]


def chain_of(view: Tensor) -> tuple[Tensor, tuple[ViewStep | NativeStep, ...]] | None:
    """The base of `view` and the steps from there, None for a tensor that is no view."""
    aliases = view._aliases
    return (aliases[0], _steps(aliases)) if type(aliases) is tuple and _together(aliases[0], view) else None


def base_of(tensor: Tensor) -> Tensor:
    """The tensor whose memory `tensor` shares."""
    chain = chain_of(tensor)
    return tensor if chain is None else chain[0]


def _steps(aliases: tuple[Any, ...]) -> tuple[ViewStep | NativeStep, ...]:
    """The steps in what a view has noted: its base, then each step, or the two parts of a `NativeStep`."""
    steps: list[ViewStep | NativeStep] = []
    parts = iter(aliases[1:])
    for part in parts:
        steps.append(part if isinstance(part, ViewStep) else (part, next(parts)))
    return tuple(steps)


def are_views(x: Tensor, view: Tensor) -> bool:
    """Whether `view` is known for a view of `x`, or of what `x` is a view of."""
    chain = chain_of(view)
    return chain is not None and (chain[0] is x or (type(x._aliases) is tuple and chain[0] is x._aliases[0]))


def _together(base: Tensor, view: Tensor) -> bool:
    """Whether `view` is in the memory of `base` still: an assignment to ``data`` takes either out of it."""
    a, b = base._data, view._data
    if isinstance(a, Value) or isinstance(b, Value) or not b.size:
        return True
    return np.may_share_memory(a, b)


def shares_memory(view: Any, array: Any) -> bool:
    """Whether `view`, which NumPy made of `array`, is in the memory of `array`."""
    return view is array or (view.base is not None and (view.base is array or view.base is array.base))


def numpy_views(source: Tensor, op: Op, attrs: Attrs) -> bool:
    """Whether NumPy would answer `op` of a traced tensor with a view: a reshape may need a copy, unless it is
    of axes of size 1."""
    if op is not _RESHAPE or _without_ones(attrs["shape"]) == _without_ones(source._data.shape):
        return True
    base, steps = chain_of(source) or (source, ())
    is_view = not steps or _is_view_of_rows(base, (*steps, ViewStep(op, attrs)))
    if base.ndim > 1:  # a line has its elements at equal distances
        _note_order(base, is_view)
    return is_view


def _is_view_of_rows(base: Tensor, steps: tuple[ViewStep | NativeStep, ...]) -> bool:
    """Whether `steps` lead to a view of an array like `base` in C order."""
    try:
        array_of_steps(_like(base), steps)
    except ValueError:
        return False
    return True


def _without_ones(shape: Shape) -> list[int]:
    return [size for size in shape if size != 1]


def lies_in_order(x: Tensor) -> bool:
    """Whether the elements of `x` lie one after the other in memory; a traced one's as in NumPy."""
    if not isinstance(x._data, Value):
        return bool(x._data.flags.c_contiguous)
    chain, in_order = chain_of(x), is_known_in_order(x)
    _note_order(x if chain is None else chain[0], in_order)
    return in_order


def is_known_in_order(x: Tensor) -> bool:
    """Whether the traced `x` lies in order where the array does of which it is a view."""
    chain = chain_of(x)
    return chain is None or bool(array_of_steps(_like(chain[0]), chain[1]).flags.c_contiguous)


def _note_order(base: Tensor, is_view: bool) -> None:
    """Note that what is traced holds where `base` lies in order, where it or a view of it is written."""
    tracer = STATE.tracer
    if tracer is None or not isinstance(base._data, Value):
        return
    if tracer.is_region:
        tracer.note_order(base._data)
    elif is_view:
        tracer.show_in_order(base, base._data)


def note_copy(source: Tensor, copy: Tensor) -> Tensor:
    """The `copy` of `source`, which in NumPy is one where the array lies in C order of which `source` is a
    view, and may be a view else."""
    base, _ = chain_of(source) or (source, ())
    tracer = STATE.tracer
    if tracer is not None and isinstance(base._data, Value) and not tracer.is_region:
        tracer.show_in_order(copy, base._data)
    return copy


def _like(base: Tensor) -> Any:
    """An array that looks like `base` and has one element's memory: nothing reads or copies it."""
    strides = [math.prod(base.shape[axis + 1 :]) for axis in range(base.ndim)]
    return np.lib.stride_tricks.as_strided(np.empty(1, np.bool_), base.shape, strides)


def array_of_steps(array: Any, steps: Sequence[ViewStep | NativeStep]) -> Any:
    """The view of `array` that `steps` lead to. Raises ValueError where a reshape would need a copy."""
    for noted in steps:
        if noted is UNRECORDED:
            continue
        step = made_step(noted, array.shape)
        if isinstance(step, IndexedStep):
            array = step.of_array(array)
        elif isinstance(step.op, Composite):
            builtin = step.op.builtin
            assert builtin is not None
            array = builtin.function(array, *step.attrs.values())
        elif step.op is _RESHAPE:
            array = np.reshape(array, step.attrs["shape"], copy=False)
        else:
            array = step.op.eval(array, **step.attrs)
    return array
