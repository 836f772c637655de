"""Slices between traced ends, ``x[i:j]`` in a loop, as what the mask of their indices selects.

They are views, as NumPy's: reading one reads the array as it is then, and writing one writes the array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ...base.loading import load_module
from ...ir.dtypes import INT64
from ...provided import MASKED_CALLS
from ...state import STATE
from ...tensors.tensor import Tensor, wrap
from ..indexing.access import getitem, setitem, written_at
from ..indexing.keys import as_int64, is_integer_symbol
from ..indexing.taking import take
from ..operands import as_tensor, run
from .each import Each, Read, node_of, read_of, written
from .masked_selection import Selection, _SelectedShape, read_alone
from .masks import between, ends_of, is_same

_ALL: Final = slice(None)
_UNLIKE: Final = "ShapeError: slices of unlike lengths meet in one operation"


def read(x: Tensor, first: Any, axis: int, part: slice, source: tuple[Any, Any]) -> TracedSlice:
    """The slices in `part`, between traced ends, of ``x[first]`` along `axis`, where `first` is None
    for all of it. `source` is the array and the key that the user gave."""
    view = x if first is None else getitem(x, first)
    return TracedSlice(view, axis, part, source)


def write(name: str, x: Tensor, key: Any, value: Any, mode: str, cut: tuple[Any, int, slice]) -> Tensor:
    """`x` with `value` at `key`, of which `cut` is the slice between traced ends and the rest."""
    first, axis, part = cut
    view = x if first is None else getitem(x, first)
    target = TracedSlice(view, axis, part, (x, key))
    each = value._each if isinstance(value, Selection) else None
    if mode == "set" and target._each is not None:
        node = node_of(value) if each is None else each.node
        if node is not None:
            count = common([target._each.count, *([] if each is None else [each.count])])
            place = target._each.node
            if isinstance(place, Read):
                return written(place, Each(node, count))
    mask_key = (*[_ALL] * axis, target._mask)
    inner = written_at(name, view, mask_key, value, mode)
    return inner if first is None else written_at(name, x, first, inner)


def mask_of(part: slice, extent: int) -> Tensor:
    """The mask of the indices in `part` of an axis of `extent` elements."""
    return between(extent, _end(part.start, extent), _end(part.stop, extent))


def _end(value: Any, extent: int) -> Any:
    """The end `value` of a slice, counted from the front, from 0 to `extent`."""
    if value is None:
        return None
    if not is_integer_symbol(value):
        return slice(int(value)).indices(extent)[1]
    windows: Any = load_module("...tracing.windows", __package__)
    end = as_int64(value)
    if windows.lies_within(STATE.tracer, value, extent):
        return end
    return run("clip", run("where", run("lt", end, 0), run("add", end, extent), end), 0, extent)


class TracedSlice(Selection):
    """The elements of `part` of `view` along `axis`. `source` is an array and the key that selects them."""

    __slots__ = ("_source", "_view")
    is_view = True
    __hash__ = None

    def __init__(self, view: Tensor, axis: int, part: slice, source: tuple[Any, Any]) -> None:
        self._view, self._first, self._place = view, axis, None
        self._mask = mask_of(part, view.shape[axis])
        array, key = source
        self._source = array, key

    @property
    def _whole(self) -> Tensor:  # type: ignore[override]
        return Selection(self._mask, self._first, self._view).padded()._whole

    @property
    def _each(self) -> Each | None:  # type: ignore[override]
        array, key = self._source
        node = read_of(array, key if type(key) is tuple else (key,), starts_at(self._mask))
        return None if node is None else Each(node, length(self._mask))

    @property
    def base(self) -> Tensor:
        """The array whose elements these are."""
        array: Tensor = self._source[0]
        return array

    def at_place(self, place: Any) -> Tensor:
        """The element, or slice, at `place`, which is there; of more than one axis a view."""
        entries = (*[_ALL] * self._first, place_of(self, place, is_there=True))
        return getitem(self._view, entries)

    def _take(self, whole: Tensor) -> None:
        setitem(self._view, (*[_ALL] * self._first, self._mask), Selection(self._mask, self._first, whole))

    def overwritten(self, value: Any) -> Selection:
        setitem(*self._source, value)
        return self

    def copy(self, order: Any = None) -> Selection:
        """The elements as they are now."""
        result = Selection(self._mask, self._first, self._whole)
        result._each = self._each
        return result

    def is_at(self, array: Any, key: Any) -> bool:
        """Whether ``array[key]`` gave this."""
        return self._source[0] is array and self._source[1] is key

    @property
    def shape(self) -> Any:
        count = length(self._mask)
        STATE.tracer.mark_weak(count._data)
        sizes = self._view.shape
        return _SelectedShape((*sizes[: self._first], count, *sizes[self._first + 1 :]))

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, Selection):
            return super().__getitem__(key)
        entries, place = self._entries(key)
        part = entries[place]
        if isinstance(part, slice) and part != _ALL:
            entries[place] = _ALL
            return self._part(part)[tuple(entries)]
        whole, first = self._whole_key(key)
        if first is None:
            entries[place] = place_of(self, part)
            return getitem(self._view, tuple(entries))
        if self._is_all(whole):
            return self
        return self._of(getitem(self._view, whole), first, *self._ends())

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, Selection):
            super().__setitem__(key, value)
            return
        entries, place = self._entries(key)
        part = entries[place]
        if isinstance(part, slice) and part != _ALL:
            entries[place] = _ALL
            self._part(part)[tuple(entries)] = value
        elif not isinstance(part, slice) and np.ndim(part) == 0:
            entries[place] = place_of(self, part)
            setitem(self._view, tuple(entries), value)
        elif self._is_all(tuple(entries)):
            setitem(*self._source, value)
        else:
            super().__setitem__(key, value)

    def _is_all(self, key: tuple[Any, ...]) -> bool:
        return all(isinstance(entry, slice) and entry == _ALL for entry in key)

    def _part(self, part: slice) -> Selection:
        """The elements of `part` of these."""
        if part.step not in (None, 1):
            reversed_: Selection = read_alone(self, MASKED_CALLS().sliced(self, part))
            return reversed_
        first, count = starts_at(self._mask), length(self._mask)
        ends = [_counted(part.start, 0, count), _counted(part.stop, count, count)]
        return self._of(
            self._view, self._first, *[end if first is None else run("add", end, first) for end in ends]
        )

    def _ends(self) -> tuple[Any, Any]:
        return starts_at(self._mask), _last(self._mask)

    @staticmethod
    def _of(view: Tensor, axis: int, start: Any, stop: Any) -> TracedSlice:
        part = slice(start, stop)
        return TracedSlice(view, axis, part, (view, (*[_ALL] * axis, part)))


def _counted(value: Any, default: Any, count: Any) -> Tensor:
    """The end `value` of a slice of `count` elements, from the front."""
    if value is None:
        return as_tensor(default)
    end = as_int64(as_tensor(value))
    return run("clip", run("where", run("lt", end, 0), run("add", end, count), end), 0, count)


def starts_at(mask: Tensor) -> Tensor | None:
    """The first index of `mask`, which has two ends; None where it is 0."""
    ends = ends_of(mask)
    assert ends is not None
    start: Tensor | None = ends[0]
    return start


def length(mask: Tensor) -> Tensor:
    """The number of indices of `mask`, which has two ends."""
    start, stop = starts_at(mask), _last(mask)
    return as_tensor(stop) if start is None else run("maximum", run("sub", stop, start), 0)


def _first(mask: Tensor) -> Any:
    start = starts_at(mask)
    return 0 if start is None else start


def _last(mask: Tensor) -> Any:
    ends = ends_of(mask)
    assert ends is not None
    return mask.size if ends[1] is None else ends[1]


def in_front(x: Selection) -> tuple[Tensor, Tensor]:
    """The elements of `x`, whose mask has two ends, in front of an array with room for all; their number."""
    start, whole = starts_at(x._mask), x._whole
    if start is not None:
        whole = _shifted(whole, x._first, start, x._mask.size)
    return whole, length(x._mask)


def _shifted(whole: Tensor, axis: int, shift: Tensor, extent: int) -> Tensor:
    """The `extent` slices of `whole` along `axis` from index `shift` on; what lies outside is any of them."""
    places = run("add", run("iota", shape=(extent,), axis=0, dtype=INT64), shift)
    return take(whole, run("clip", places, 0, max(whole.shape[axis] - 1, 0)), axis)


def place_of(x: Selection, index: Any, *, is_there: bool = False) -> Tensor:
    """The index in the whole array of element `index` of `x`, whose mask has two ends. Compiled code raises
    IndexError where there is no such element, unless the caller says that it `is_there`."""
    start, count = starts_at(x._mask), length(x._mask)
    wanted = as_int64(as_tensor(index))
    place = wanted = run("add", wanted, run("where", run("lt", wanted, 0), count, 0))
    if start is not None:
        place = run("add", place, start)
    if not is_there:
        fails = run("logical_or", run("lt", wanted, 0), run("ge", wanted, count))
        error = "index is out of bounds for the elements of a slice"
        tracer = STATE.tracer
        place = wrap(tracer.checked(tracer.lift(place), tracer.lift(fails), error))
    return place


def moved(x: Selection, mask: Tensor) -> Selection | None:
    """The elements of `x` in the places that `mask` selects, where both are between two ends; None where they
    are not. Compiled code raises ValueError where there are more or fewer of them."""
    ends = ends_of(mask)
    if ends is None or ends_of(x._mask) is None:
        return None
    tracer, whole = STATE.tracer, x._whole
    shift = run("sub", _first(x._mask), _first(mask))
    if not _as_many(x._mask, mask):
        fails = run("ne", length(x._mask), length(mask))
        shift = wrap(tracer.checked(tracer.lift(shift), tracer.lift(fails), _UNLIKE))
    return Selection(mask, x._first, _shifted(whole, x._first, shift, mask.size))


def _as_many(mask: Tensor, other: Tensor) -> bool:
    """Whether two masks are known to hold for the same number of indices."""
    if is_same(mask, other):
        return True
    windows: Any = load_module("...tracing.windows", __package__)
    forms = []
    for each in (mask, other):
        start, stop = [windows.affine(STATE.tracer, end) for end in (_first(each), _last(each))]
        forms.append(stop.plus(start, -1))
    return bool(forms[0] == forms[1])


def common(counts: Sequence[Any]) -> Any:
    """The number that all of `counts` are. Compiled code raises ValueError where they are not."""
    first, *others = counts
    tracer = STATE.tracer
    for other in others:
        if not is_same(as_tensor(first), as_tensor(other)) and not _is_equal(first, other):
            fails = run("ne", first, other)
            first = wrap(tracer.checked(tracer.lift(first), tracer.lift(fails), _UNLIKE))
    return first


def _is_equal(first: Any, other: Any) -> bool:
    windows: Any = load_module("...tracing.windows", __package__)
    return bool(windows.affine(STATE.tracer, first) == windows.affine(STATE.tracer, other))
