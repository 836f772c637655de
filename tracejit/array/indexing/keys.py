"""Index expressions: what ``x[key]`` selects, as static slices and index arrays.

A key is read once into a `KeyPlan`: first a strided slice of every axis, then a reshape that drops the axes
of plain integers and adds those of None, then index arrays for some of the axes that are left. Reading,
writing and accumulating all follow from it. Semantics: NumPy's basic and advanced indexing.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from ...base.errors import DTypeError, IndexKindError, IndexShapeError, OutOfBoundsError, ShapeError
from ...base.loading import load_module
from ...base.records import record
from ...ir.dtypes import BOOL, INT64, UINT64
from ...ir.graph import Value
from ...ir.types import Shape, broadcast_shapes
from ...state import STATE
from ...tensors.python_values import short
from ...tensors.tensor import Array, Tensor, as_array
from ..operands import array_of_traced, as_tensor, cast, constant_of, holds_tensors, is_tracing, run


@record(eq=False)
class Mask:
    """A boolean mask whose values are unknown: a traced one, over axes `first` and on of the sliced array."""

    first: int
    tensor: Tensor


@record(eq=False)
class KeyPlan:
    """The selection that a key makes in an array of a given shape."""

    start: Shape
    size: Shape
    step: Shape
    #: Whether the slice is the whole array.
    whole: bool
    #: The shape after dropping integers' axes and adding those of None.
    middle: Shape
    #: The axes of `middle` that index arrays replace, and those arrays, of int64 and broadcastable.
    positions: tuple[int, ...]
    indices: tuple[Tensor, ...]
    #: The position among the other axes at which the index arrays' dimensions are inserted.
    place: int
    masks: tuple[Mask, ...]
    #: Whether every axis is given a plain integer, without an Ellipsis: then NumPy gives no array.
    scalar: bool
    #: Whether `indices` are those of a mask's true elements.
    by_mask: bool

    @property
    def rest(self) -> tuple[int, ...]:
        """The axes of `middle` without an index array."""
        return tuple(axis for axis in range(len(self.middle)) if axis not in self.positions)

    def index_shape(self, name: str) -> Shape:
        """The common shape of the index arrays."""
        try:
            return broadcast_shapes(f"{name}: index arrays", *(index.shape for index in self.indices))
        except ShapeError as error:
            raise IndexShapeError(str(error)) from None


def plan_key(name: str, shape: Shape, key: Any) -> KeyPlan:
    """Read `key` against `shape`, on behalf of the function `name`.

    Raises OutOfBoundsError for indices outside and for too many of them, DTypeError for what is no index,
    ShapeError for masks that do not fit.
    """
    keys = key if not isinstance(key, Tensor) and isinstance(key, tuple) else (key,)
    entries = list(_expanded(name, shape, keys))
    start, size, step = [0] * len(shape), list(shape), [1] * len(shape)
    middle: list[int] = []
    positions: list[int] = []
    indices: list[Tensor] = []
    masks: list[Mask] = []
    advanced: list[int] = []  # where among the entries integers, arrays and masks stand
    before = 0  # how many axes that stay precede the first of them
    #: Numbers beside traced numbers are indices, too: one access of an element, and no slice before it.
    elements = is_tracing() and all(what.ndim == 0 for kind, _, what in entries if kind in ("array", "true"))
    elements = elements and any(kind == "array" for kind, _, _ in entries)
    for number, (kind, axis, what) in enumerate(entries):
        if kind == "int" and elements:
            kind, what = "array", constant_of(np.asarray(what, np.int64))
        if kind == "int":
            start[axis], size[axis] = what, 1
            advanced.append(number)
        elif kind == "slice":
            low, high, stride = what
            count = len(range(low, high, stride))
            start[axis], size[axis], step[axis] = (low if count else 0), count, stride
            middle.append(count)
        elif kind == "new":
            middle.append(1)
        elif kind == "mask":
            masks.append(Mask(len(middle), what))
            middle += shape[axis : axis + what.ndim]
            advanced.append(number)
        else:
            if kind == "flag":
                middle.append(1)
            else:
                middle.append(shape[axis])
            positions.append(len(middle) - 1)
            indices.append(what)
            advanced.append(number)
        if not advanced:
            before = len(middle)
    adjacent = bool(advanced) and advanced[-1] - advanced[0] + 1 == len(advanced)
    whole = tuple(size) == shape and not any(start) and all(number == 1 for number in step)
    scalar = len(entries) == len(shape) and all(kind == "int" for kind, _, _ in entries)
    scalar = scalar and not any(key is Ellipsis for key in keys)
    return KeyPlan(
        tuple(start), tuple(size), tuple(step), whole, tuple(middle), tuple(positions), tuple(indices),
        before if adjacent else 0, tuple(masks), scalar, any(kind == "true" for kind, _, _ in entries),
    )  # fmt: skip


def index_entries(name: str, rank: int, key: Any) -> list[tuple[int, Any]]:
    """Each entry of `key` with the first axis that it takes of an array of `rank` axes: None, Ellipsis and
    slices as they are, a bool, an int, and arrays."""
    keys = key if isinstance(key, tuple) else (key,)
    items = [entry if _is_basic(entry) else _as_index(name, entry) for entry in keys]
    used = sum(map(_axes_used, items))
    if used > rank:
        raise OutOfBoundsError(f"{name}: too many indices: {used} for a tensor of rank {rank}")
    entries, axis = [], 0
    for item in items:
        entries.append((axis, item))
        axis += rank - used if item is Ellipsis else _axes_used(item)
    return entries


def _expanded(name: str, shape: Shape, key: tuple[Any, ...]) -> Iterator[tuple[str, int, Any]]:
    """Each entry of `key` as (kind, axis, what), with the Ellipsis replaced by full slices."""
    items = [entry if _is_basic(entry) else _as_index(name, entry) for entry in key]
    used = sum(_axes_used(item) for item in items)
    if sum(item is Ellipsis for item in items) > 1:
        raise IndexKindError(f"{name}: an index can only have a single ellipsis ('...')")
    if used > len(shape):
        raise OutOfBoundsError(f"{name}: too many indices: {used} for a tensor of shape {shape}")
    if not any(item is Ellipsis for item in items):
        items.append(Ellipsis)
    axis = 0
    for item in items:
        if item is None:
            yield "new", axis, None
        elif item is Ellipsis:
            for _ in range(len(shape) - used):
                yield "slice", axis, (0, shape[axis], 1)
                axis += 1
        elif type(item) is slice:
            if item.step == 0:
                raise ShapeError(f"{name}: the step of a slice cannot be zero, at axis {axis}")
            yield "slice", axis, item.indices(shape[axis])
            axis += 1
        elif type(item) is bool:
            yield "flag", axis, constant_of(np.zeros(int(item), np.int64))
        elif isinstance(item, Tensor):
            if item.dtype is BOOL:
                yield from _mask(name, shape, axis, item)
                axis += item.ndim
            else:
                yield "array", axis, _checked(name, shape, axis, item)
                axis += 1
        elif isinstance(item, np.ndarray) and item.dtype == BOOL:
            yield from _known_mask(name, shape, axis, item)
            axis += item.ndim
        elif isinstance(item, np.ndarray):  # a list, whose values are known under a trace, too
            for extreme in (item.min(), item.max()) if item.size else ():
                bounded(name, shape, axis, int(extreme))
            yield "array", axis, constant_of(item)
            axis += 1
        else:
            yield "int", axis, bounded(name, shape, axis, item)
            axis += 1


def numbers_first(key: Any) -> tuple[Any, Any] | None:
    """Two keys with ``x[first][second]`` for ``x[key]``, where traced numbers stand beside slices of parts of
    axes, and nothing else: a slice is then one of a row, and not of all rows. None for other keys."""
    if type(key) is not tuple or not is_tracing():
        return None
    traced = [item for item in key if is_integer_symbol(item)]
    slices = tuple([item for item in key if isinstance(item, slice)])
    numbers = sum(type(item) is int for item in key)
    parts = [
        item for item in slices if any(bound is not None for bound in (item.start, item.stop, item.step))
    ]
    if not traced or not parts:
        return None
    if len(traced) + len(slices) + numbers < len(key):
        return None
    return tuple([slice(None) if isinstance(item, slice) else item for item in key]), slices


def window_first(shape: Shape, key: Any) -> tuple[Any, Any] | None:
    """Two keys with ``x[first][rest]`` for ``x[key]``, where a slice has traced bounds and the same length in
    each step of a loop: `first` has its indices. None for other keys."""
    items = key if type(key) is tuple else (key,)
    for axis, item in enumerate(items):
        if item is None or item is Ellipsis or not is_tracing() or axis == len(shape):
            return None
        if isinstance(item, slice) and is_integer_symbol(item.start) and item.step in (None, 1):
            stop = shape[axis] if item.stop is None else item.stop
            windows: Any = load_module("...tracing.windows", __package__)  # for those who write loops
            size = windows.window(STATE.tracer, item.start, stop, shape[axis])
            if size is None:
                return None
            indices = item.start + constant_of(np.arange(size))
            whole = slice(None)
            return (*(whole,) * axis, indices), (*items[:axis], whole, *items[axis + 1 :])
        if type(item) is not int and not isinstance(item, slice) and not is_integer_symbol(item):
            return None
    return None


def between_traced_ends(shape: Shape, key: Any) -> tuple[Any, int, slice] | None:
    """``x[key]`` as the part of ``x[first]`` along an axis that a slice of traced ends selects, whose length
    differs between the steps of a loop: `first`, None for all of `x`, the axis, and the slice. None for other
    keys."""
    if not is_tracing() or not STATE.tracer.is_region:
        return None
    items = list(key) if type(key) is tuple else [key]
    places = [
        place
        for place, item in enumerate(items)
        if isinstance(item, slice) and (is_integer_symbol(item.start) or is_integer_symbol(item.stop))
    ]
    if len(places) != 1 or len(items) > len(shape):
        return None
    (place,) = places
    part = items[place]
    plain = all(type(item) is int or isinstance(item, slice) or is_integer_symbol(item) for item in items)
    ends = [part.start, part.stop]
    known = all(end is None or is_integer_symbol(end) or type(end) is int for end in ends)
    if not plain or not known or part.step not in (None, 1):
        return None
    windows: Any = load_module("...tracing.windows", __package__)
    start, stop = 0 if ends[0] is None else ends[0], shape[place] if ends[1] is None else ends[1]
    if windows.window(STATE.tracer, start, stop, shape[place]) is not None:
        return None
    items[place] = slice(None)
    is_all = all(isinstance(item, slice) and item == slice(None) for item in items)
    return None if is_all else tuple(items), sum(isinstance(item, slice) for item in items[:place]), part


def is_integer_symbol(item: Any) -> bool:
    """Whether `item` is a traced integer."""
    return isinstance(item, Tensor) and item.is_traced and item.ndim == 0 and item.dtype.kind in "iu"


def _is_basic(item: Any) -> bool:
    return item is None or item is Ellipsis or type(item) is slice or type(item) is int


def _axes_used(item: Any) -> int:
    if item is None or item is Ellipsis or type(item) is bool:
        return 0
    return item.ndim if isinstance(item, (Tensor, np.ndarray)) and item.dtype == BOOL else 1


def _as_index(name: str, item: Any) -> Any:
    """`item` as an int, a bool, a Tensor of integers or bools, or where its values are known an ndarray.

    Raises IndexKindError for what is none of these."""
    try:
        index = _converted(item)
    except DTypeError as error:
        raise _no_index(name, short(item)) from error
    if isinstance(index, Tensor) and index.dtype.kind not in "iub":
        raise _no_index(name, str(index.type))
    return index


def _no_index(name: str, got: str) -> IndexKindError:
    return IndexKindError(f"{name}: indices must be integers, slices, None, ... or boolean masks, got {got}")


def _converted(item: Any) -> Any:
    if not isinstance(item, Tensor):
        if isinstance(item, (bool, np.bool_)):
            return bool(item)
        if isinstance(item, np.integer):
            return int(item)
        if isinstance(item, (list, tuple)):
            if holds_tensors(item):
                item = array_of_traced(item, None)
            else:
                array = as_array(item)
                if array.dtype.kind != "f" or not array.size:
                    return _as_places(array if array.size else array.astype(np.int64))
                item = constant_of(array)
        else:
            if not isinstance(item, np.ndarray) and hasattr(item, "__index__"):
                return operator.index(item)
            if is_tracing() and isinstance(item, np.ndarray) and item.dtype == BOOL and item.ndim:
                STATE.tracer.note_inspected(item)
                return item
            # the user may change the array before backward looks at it: a copy, save for captures of a trace
            item = as_tensor(item if is_tracing() else np.array(item))
    if item.ndim == 0 and item.dtype is BOOL and not isinstance(item._data, Value) and not is_tracing():
        return item._data.item()
    return item  # of rank 0, too: NumPy copies what an array indexes, and views what an integer does


def _as_places(array: Array) -> Array:
    return array.astype(np.int64) if array.dtype.kind in "iu" and array.dtype != UINT64 else array


def bounded(name: str, shape: Shape, axis: int, index: int) -> int:
    """`index` along `axis`, counted from the front."""
    extent = shape[axis]
    if not -extent <= index < extent:
        raise OutOfBoundsError(f"{name}: index {index} is out of bounds for axis {axis} with size {extent}")
    return index + extent if index < 0 else index


def _checked(name: str, shape: Shape, axis: int, item: Tensor) -> Tensor:
    """Index array `item` in int64, its bounds checked where its values are known."""
    data = item._data
    if isinstance(data, np.ndarray) and not is_tracing() and data.size:
        for extreme in (data.min(), data.max()):
            bounded(name, shape, axis, int(extreme))
    return as_int64(item)


def as_int64(index: Tensor) -> Tensor:
    """The integers `index` in int64. Larger ones become its largest, which is out of range as well, where a
    wrapped index might not be."""
    if index.dtype is UINT64:
        index = run("minimum", index, 2**63 - 1)
    return cast(index, INT64)


def _mask(name: str, shape: Shape, axis: int, mask: Tensor) -> Iterator[tuple[str, int, Any]]:
    if mask.size == 0:
        yield from _known_mask(name, shape, axis, np.zeros(mask.shape, bool))
    elif isinstance(mask._data, Value):
        _check_mask(name, shape, axis, mask.shape)
        yield "mask", axis, mask
    else:
        if is_tracing():
            STATE.tracer.note_inspected(mask)
        yield from _known_mask(name, shape, axis, mask._data)


def _known_mask(name: str, shape: Shape, axis: int, mask: Array) -> Iterator[tuple[str, int, Any]]:
    """A mask as the index arrays of its true elements."""
    _check_mask(name, shape, axis, mask.shape)
    for offset, places in enumerate(np.nonzero(mask)):
        yield "true", axis + offset, constant_of(places)


def _check_mask(name: str, shape: Shape, axis: int, mask_shape: Shape) -> None:
    covered = shape[axis : axis + len(mask_shape)]
    # NumPy takes a mask of no elements for any axis
    if any(size not in (0, extent) for size, extent in zip(mask_shape, covered, strict=True)):
        raise IndexShapeError(
            f"{name}: a boolean mask of shape {mask_shape} does not fit axes of shape {covered}"
        )


#: Plans of keys without arrays, which are for good, by shape and key.
_PLANS: Final[dict[Any, KeyPlan]] = {}
_PLANS_LIMIT: Final = 1 << 12
_PLAIN: Final = frozenset((int, type(None)))


def known_plan(shape: Shape, key: Any) -> KeyPlan:
    """The plan of `key`; reading the same key of the same shape again is quick."""
    name = name_of_key(key)
    if name is None:
        return plan_key("getitem", shape, key)
    plan = _PLANS.get((shape, name))
    if plan is None:
        if len(_PLANS) >= _PLANS_LIMIT:
            _PLANS.clear()
        plan = _PLANS[shape, name] = _element_plan(shape, key) or plan_key("getitem", shape, key)
    return plan


def _element_plan(shape: Shape, key: Any) -> KeyPlan | None:
    """The plan of an integer within bounds for each axis: what `plan_key` gives, in a tenth of the time."""
    keys = key if type(key) is tuple else (key,)
    if len(keys) != len(shape) or not shape:
        return None
    for index, extent in zip(keys, shape, strict=True):
        if type(index) is not int or not -extent <= index < extent:
            return None
    start = tuple([index % extent for index, extent in zip(keys, shape, strict=True)])
    ones = (1,) * len(shape)
    return KeyPlan(start, ones, ones, ones == shape, (), (), (), 0, (), True, False)


def name_of_key(key: Any) -> tuple[Any, ...] | None:
    """`key`, of integers, slices between them, None and Ellipsis, as what can be looked up; None for another
    one, whose meaning may change."""
    several = type(key) is tuple
    names: list[Any] = [several]
    for entry in key if several else (key,):
        if type(entry) is slice and _PLAIN.issuperset(
            (type(entry.start), type(entry.stop), type(entry.step))
        ):
            names.append((slice, entry.start, entry.stop, entry.step))
        elif type(entry) is int or entry is None or entry is Ellipsis:
            names.append(entry)
        else:
            return None
    return tuple(names)
