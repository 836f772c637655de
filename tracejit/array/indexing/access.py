"""Reading and writing elements: ``x[key]``, ``x[key] = value``, and their functional forms.

A write is seen by all views. Under a trace it is the ops ``update`` and ``scatter``; where a gradient must
flow, the elements are written to memory and those ops recorded; see `writing`.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ...arguments.errors import SelectionError, call_of_selections, checks_itself, explain, named
from ...base.errors import DTypeError, OutOfBoundsError, ShapeError, TraceError
from ...dispatch.dispatch import traced_element
from ...dispatch.eager_functions import EagerFunction
from ...ir.dtypes import BOOL, INT64, DType
from ...ir.graph import Value
from ...ir.registry import OPS, Attrs, Builtin
from ...ir.types import Shape, broadcastable
from ...provided import MASKED_SELECTION, TRACED_SLICES
from ...state import STATE
from ...tape.plans import Composite, Written
from ...tape.views import IndexedStep, share, step_of
from ...tensors.tensor import Tensor, as_array, noted_array, wrap
from ..operands import (
    SCALARS,
    as_tensor,
    assigned,
    broadcast,
    candidate,
    cast,
    filled,
    given_as_array,
    permuted,
    reshaped,
    run,
)
from .keys import KeyPlan, between_traced_ends, known_plan, name_of_key, numbers_first, plan_key, window_first
from .parts import frozen, key_of_whole, selects_part
from .writing import adopt, before, check_writeable, count_write, recorded, replace, writes_memory


@checks_itself
def getitem(x: Any, key: Any, /) -> Tensor:
    """``x[key]``: ints, slices, None, Ellipsis, index arrays and boolean masks, as in NumPy.

    A key without arrays gives a view (of a single element: a copy), one with arrays or tensors a copy, also
    where those have rank 0. Under a trace, integer tensors may index
    (an index outside is then wrapped or clamped by the kernel); a mask gives the elements that it selects,
    whose number is not known: see docs/coming-from-numpy.md.

    Example:
        >>> import tracejit as tj
        >>> tj.getitem([[1, 2], [3, 4]], (slice(None), 0))
        tensor([1, 3])

    Raises OutOfBoundsError, ShapeError and DTypeError. Semantics: NumPy's indexing.
    """
    return _GETITEM.run(x, key)  # type: ignore[no-any-return]


@named("getitem")
def _getitem(x: Any, key: Any) -> Tensor:
    if type(x) is Tensor and STATE.tracer is None:
        if type(key) is Tensor and key.dtype is INT64 and key.ndim and x.ndim:
            return _GATHER.run(x, key)  # type: ignore[no-any-return]
        seen = _memory_view(x, key)
        if seen is not None:
            return seen
    x = as_tensor(x)
    if STATE.tracer is not None and isinstance(x._data, Value):
        return _traced_view(x, key)
    return _by_plan(x, key)


def _traced_view(x: Tensor, key: Any) -> Tensor:
    """``x[key]`` of a traced tensor. What traced integers select of an array is a view of it, as in NumPy."""
    whole = key_of_whole(x, key)
    if whole is not None and whole[0]._data is not whole[2]:  # which was written through the view
        return _traced_view(whole[0], whole[1])
    cut = between_traced_ends(x.shape, key)
    if cut is not None:
        return TRACED_SLICES().read(x, *cut, (x, key))  # type: ignore[no-any-return]
    part = _by_plan(x, key)
    if part.shape or _has_ellipsis(key):  # without, one element is a scalar
        if selects_part(key):
            share(x, part, IndexedStep(frozen(key), x._data, part.shape, _by_plan, _put))
        else:
            part = given_as_array(part)
    return part


def _has_ellipsis(key: Any) -> bool:
    return any(item is Ellipsis for item in key) if type(key) is tuple else key is Ellipsis


def _put(x: Tensor, key: Any, value: Any) -> Tensor:
    return written_at("setitem", x, key, value)


def _by_plan(x: Tensor, key: Any) -> Tensor:
    parts = numbers_first(key) or window_first(x.shape, key)
    if parts is not None:
        return _by_plan(_by_plan(x, parts[0]), parts[1])
    plan = known_plan(x.shape, key)
    if plan.masks:
        return _masked_selection().selected(x, plan)  # type: ignore[no-any-return]
    if plan.scalar and not plan.indices and not plan.whole and STATE.tracer is not None:
        # NumPy gives an immutable scalar for one element: writing to the result must not reach x
        attrs = {"start": plan.start, "size": plan.size, "step": plan.step}
        return traced_element(STATE.tracer, x, attrs)
    view = view_of(x, plan)
    if plan.indices:
        return _gathered(view, plan)
    if plan.scalar or view is x:
        return cast(view, x.dtype, copy=True) if plan.scalar else run("reshape", x, shape=x.shape)
    return view


def _memory_view(x: Tensor, key: Any) -> Tensor | None:
    """``x[key]`` by NumPy itself, where no array indexes; None where that cannot be.

    The same as by the ops ``slice`` and ``reshape``, in a tenth of the time: loops over elements live on it.
    """
    if name_of_key(key) is None or type(x._data) is not np.ndarray:
        return None
    try:
        data = x._data[key]
    except (IndexError, ValueError):
        return None  # the plan will say which axis and index
    if type(data) is np.ndarray:
        view = wrap(data)
        if x._requires_grad:
            _GETITEM.remember(view, x, key)
        share(x, view, (_KEY_STEP, key))
        # of a scalar, too, NumPy gives an array for `...`
        return view if data.shape or view._aliases is not None else noted_array(view)
    # NumPy gives an immutable scalar for one element: writing to the result must not reach x
    element = wrap(np.asarray(data))
    if x._requires_grad:
        _GETITEM.remember(element, x, key)
    return element


def _written_key(types: Sequence[Any], attrs: Attrs) -> Written:
    """``x[key]`` as a slice and a change of shape."""
    plan = known_plan(types[0][0], attrs["key"])
    if plan.whole:
        return Written(_RESHAPE_OP, {"shape": plan.middle}, plan.middle, plan.middle)
    window = {"start": plan.start, "size": plan.size, "step": plan.step}
    return Written(_SLICE_OP, window, plan.size, plan.middle)


_RESHAPE_OP: Final = OPS["reshape"]
_SLICE_OP: Final = OPS["slice"]
_BY_KEY: Final = Builtin(operator.getitem, ("key",), second="key")
_KEYED: Final = Composite("getitem", (_SLICE_OP, _RESHAPE_OP), _written_key, _BY_KEY)
_KEY_STEP: Final = step_of(_KEYED, _BY_KEY)
_GATHER: Final = EagerFunction(OPS["gather"], _by_plan)
_GETITEM: Final = EagerFunction(_KEYED, _getitem)


def view_of(x: Tensor, plan: KeyPlan) -> Tensor:
    """The slice of `plan`, in its middle shape."""
    if not plan.whole:
        x = run("slice", x, start=plan.start, size=plan.size, step=plan.step)
    return reshaped(x, plan.middle)


def _gathered(view: Tensor, plan: KeyPlan) -> Tensor:
    shape = plan.index_shape("getitem")
    indices = [broadcast(index, shape) for index in plan.indices]
    view = candidate(view) if plan.by_mask else view
    gathered = run("gather", view, *indices, axes=_axes(plan))
    return permuted(gathered, _placement(len(shape), plan))


def _axes(plan: KeyPlan) -> tuple[int, ...]:
    """The axes that indices go along, as the ops take them."""
    positions = plan.positions
    return () if positions == tuple(range(len(positions))) else positions


def _placement(rank: int, plan: KeyPlan) -> list[int]:
    """The order that moves the arrays' `rank` leading dimensions to their place among the others."""
    rest = list(range(rank, rank + len(plan.rest)))
    return [*rest[: plan.place], *range(rank), *rest[plan.place :]]


def _value_for(value: Any, dtype: DType, shape: Shape, name: str) -> Tensor:
    """`value` converted and broadcast to what is to be written; extra leading axes of size 1 go."""
    if type(value) in SCALARS:
        return filled(value, shape, dtype)
    result = assigned(as_tensor(value), dtype)
    while result.ndim > len(shape) and result.shape[0] == 1:
        result = reshaped(result, result.shape[1:])
    if not broadcastable(result.shape, shape):
        raise ShapeError(
            f"{name}: a value of shape {result.shape} does not broadcast to the shape {shape} indexed"
        )
    return broadcast(result, shape)


#: The op that combines a value with an element, by the mode of a write; "set" replaces the element.
FOLDS: Final = {"add": "add", "mul": "mul", "max": "maximum", "min": "minimum"}


def folded_at(name: str, x: Tensor, key: Any, value: Any, mode: str) -> Tensor:
    """`x` with `value` folded in at `key`, as a new tensor, on behalf of the function `name`.

    Raises DTypeError for a value of another kind of number than `x`."""
    operand = value if type(value) in SCALARS or hasattr(value, "apply_selected") else as_tensor(value)
    number = operand if type(operand) in SCALARS else operand.dtype
    kinds = "biufc"
    kind = number.kind if isinstance(number, np.dtype) else np.min_scalar_type(number).kind
    if kinds.index(kind) > kinds.index(x.dtype.kind) and (kind in "fc" or x.dtype is BOOL):
        word = {"add": "added to", "mul": "multiplied to"}.get(mode, "compared with")
        raise DTypeError(f"{name}: value {value!r} cannot be {word} x, which has dtype {x.dtype.name}")
    return written_at(name, x, key, operand, mode)


def written_at(name: str, x: Tensor, key: Any, value: Any, mode: str = "set") -> Tensor:
    """`x` with `value` set or folded in at `key`, as a new tensor."""
    cut = between_traced_ends(x.shape, key)
    if cut is not None:
        return TRACED_SLICES().write(name, x, key, value, mode, cut)  # type: ignore[no-any-return]
    parts = numbers_first(key) or window_first(x.shape, key)
    if parts is not None:
        return written_at(name, x, parts[0], written_at(name, _by_plan(x, parts[0]), parts[1], value, mode))
    plan = plan_key(name, x.shape, key)
    if plan.masks:
        view = _masked_selection().written_through(view_of(x, plan), plan, value, mode, name)
    elif plan.indices:
        view = _scattered(view_of(x, plan), plan, value, mode, name)
    else:
        view = _value_for(value, x.dtype, plan.middle, name)
        if mode != "set":
            view = run(FOLDS[mode], view_of(x, plan), view)
    view = reshaped(view, plan.size)
    if plan.whole and not x._requires_grad:
        # a value for the whole array is the result; a copy, lest it share memory with what was given
        return cast(view, x.dtype, copy=True)
    return run("update", x, view, start=plan.start, step=plan.step)


def _scattered(
    view: Tensor, plan: KeyPlan, value: Any, mode: str, name: str, *, in_memory: bool = False
) -> Tensor:
    """`view` with `value` at the plan's indices; with `in_memory`, written to its memory."""
    shape = plan.index_shape(name)
    rest = tuple(plan.middle[axis] for axis in plan.rest)
    target = rest[: plan.place] + shape + rest[plan.place :]
    order = _placement(len(shape), plan)
    written = permuted(_value_for(value, view.dtype, target, name), _inverse(order))
    indices = [broadcast(index, shape) for index in plan.indices]
    view = candidate(view) if plan.by_mask else view
    if in_memory:
        # recorded first: hooks on what it saves may raise
        perm = plan.positions + plan.rest
        front = permuted(view, perm)
        attrs = {"mode": mode, "axes": ()}
        result = recorded(OPS["scatter"], (front, written, *indices), attrs, front._data)
        new = written._data
        places = tuple([index._data for index in indices])
        front._data[places] = new.copy() if np.may_share_memory(new, front._data) else new
        return permuted(result, _inverse(perm))
    op = "scatter" if mode in ("set", "add") else "scatter_reduce"
    return run(op, view, written, *indices, mode=mode, axes=_axes(plan))


def _inverse(order: Any) -> list[int]:
    return [int(position) for position in np.argsort(order)]


def _masked_selection() -> Any:
    """The module for selections of unknown length, which loads at first use."""
    return MASKED_SELECTION()


def index_update(x: Any, key: Any, value: Any) -> Tensor:
    """A new tensor: `x` with `value` (broadcast and converted to its dtype) at `key`.

    Of several values for one element the last one stays.

    Example:
        >>> import tracejit as tj
        >>> tj.index_update([1, 2, 3], 0, 9)
        tensor([9, 2, 3])

    Raises OutOfBoundsError and ShapeError. Semantics: JAX's ``x.at[key].set(value)``.
    """
    return written_at("index_update", as_tensor(x), key, value)


def index_add(x: Any, key: Any, value: Any) -> Tensor:
    """A new tensor: `x` with `value` added at `key`; several values for one element are all added.

    Example:
        >>> import tracejit as tj
        >>> tj.index_add([0, 0, 0], [1, 1, 2], 5)
        tensor([ 0, 10,  5])

    Raises OutOfBoundsError and ShapeError, and DTypeError for a value of another kind of number than `x`.
    Semantics: ``numpy.add.at``, JAX's ``x.at[key].add(value)``.
    """
    return folded_at("index_add", as_tensor(x), key, value, "add")


# -- writing through the handle -----------------------------------------------------------------------


@checks_itself
def setitem(x: Tensor, key: Any, value: Any, /) -> None:
    """``x[key] = value``: in place where nothing records, else the tensor takes over a new value.

    `value` is broadcast and converted to the dtype of `x`. Through a traced boolean mask, values that do not
    depend on the number of true elements, and what the same mask selects can be written.

    Example:
        >>> import tracejit as tj
        >>> x = tj.zeros(3)
        >>> tj.setitem(x, 1, 5.0)
        >>> x
        tensor([0., 5., 0.])

    Raises OutOfBoundsError and ShapeError; GradientError on a leaf that requires grad while gradients are
    recorded; TraceError on a concrete tensor under a trace. Semantics: NumPy, and PyTorch's autograd.
    """
    try:
        for tensor in (x, value):
            if STATE.tracer is None and isinstance(tensor, Tensor) and tensor.is_traced:
                raise TraceError(
                    "setitem: a traced tensor outlived its trace; return it from the function instead"
                )
        if not isinstance(x, Tensor):
            raise DTypeError(f"setitem: x must be a tensor, got {type(x).__name__}")
        if writes_memory(x, value, "setitem"):
            _write(x, key, value)
        elif x.is_traced:
            if hasattr(value, "is_at") and value.is_at(x, key):
                return  # x[key] += y has written it
            whole = key_of_whole(x, key)
            if whole is not None:
                x, key = whole[:2]
            old = before(x)
            replace(x, written_at("setitem", old, key, old if value is x else value), "setitem")
        else:
            _write_recorded(x, key, value)
    except Exception as error:
        arguments = (x, key, value)
        instead = isinstance(error, SelectionError) and call_of_selections("setitem", setitem, arguments, {})
        if not instead:
            explain("setitem", setitem, arguments, {}, error)
            raise
        instead()


def _write_recorded(x: Tensor, key: Any, value: Any) -> None:
    """Write to memory, and record the ops that would have computed it: they need no old elements for their
    gradients, so that a write costs what it writes and not what there is."""
    old = before(x, keep=False)
    plan = plan_key("setitem", x.shape, key)
    check_writeable(x, "setitem")
    view = view_of(old, plan)
    if plan.indices:
        view = _scattered(view, plan, old if value is x else value, "set", "setitem", in_memory=True)
    else:
        new = _value_for(old if value is x else value, x.dtype, plan.middle, "setitem")
        view._data[...] = new._data
        view = new
    count_write(x, "setitem")
    value = reshaped(view, plan.size)
    adopt(x, recorded(OPS["update"], (old, value), {"start": plan.start, "step": plan.step}, x._data))


def _write(x: Tensor, key: Any, value: Any) -> None:
    data = x._data
    check_writeable(x, "setitem")
    new = value if type(value) in SCALARS else _detached_array(value)
    try:
        _assign(data, _memory_key(key), new)
    except IndexError as error:
        plan_key("setitem", x.shape, key)
        raise OutOfBoundsError(f"setitem: {error}") from error
    except ValueError as error:
        plan_key("setitem", x.shape, key)
        if type(value) in SCALARS:  # NaN, to an integer
            raise DTypeError(f"setitem: {value!r} does not fit dtype {data.dtype.name}: {error}") from error
        raise ShapeError(f"setitem: the value does not fit: {error}") from error
    except (OverflowError, TypeError) as error:
        raise DTypeError(f"setitem: {value!r} does not fit dtype {data.dtype.name}: {error}") from error
    count_write(x, "setitem")


def _assign(data: Any, key: Any, new: Any) -> None:
    """``data[key] = new``, without leading axes of size 1: NumPy drops them but for masks and for keys of a
    single element."""
    try:
        data[key] = new
    except (ValueError, TypeError):
        if not isinstance(new, np.ndarray) or new.shape[:1] != (1,):
            raise
        _assign(data, key, new[0, ...])


def _detached_array(value: Any) -> Any:
    return value._data if isinstance(value, Tensor) else as_array(value)


def _memory_key(key: Any) -> Any:
    """`key` with Tensors as arrays."""
    if isinstance(key, Tensor):
        return key._data
    if isinstance(key, tuple):
        return tuple(_memory_key(entry) for entry in key)
    return [_memory_key(entry) for entry in key] if isinstance(key, list) else key
