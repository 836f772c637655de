"""Slices between traced ends, ``x[i : i + n]`` in a loop: the elements that the mask of their indices selects.

They are views, as NumPy's: reading one reads the array as it is then, and writing one writes the array.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ...base.loading import load_module
from ...ir.dtypes import INT64
from ...provided import MASKED_CALLS
from ...state import STATE
from ...tensors.tensor import Tensor, wrap
from ..indexing.access import getitem, setitem
from ..indexing.keys import as_int64, is_integer_symbol
from ..indexing.taking import take
from ..operands import as_tensor, run
from .masked_selection import Selection, refused
from .masks import between, ends_of, is_same

_ALL: Final = slice(None)
_UNLIKE: Final = "slices of unlike lengths meet in one operation"


def traced_slice(view: Tensor, axis: int, part: slice) -> TracedSlice:
    """``view[..., part, ...]`` along `axis`, whose ends are numbers or traced."""
    extent = view.shape[axis]
    return TracedSlice(view, axis, mask_of(part, extent))


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
    """The slices of `view` along `axis` that `mask` selects, which is that of the indices between two ends."""

    __slots__ = ("_view",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, view: Tensor, axis: int, mask: Tensor) -> None:
        self._view, self._first, self._mask, self._place = view, axis, mask, None

    @property
    def _whole(self) -> Tensor:  # type: ignore[override]
        return Selection(self._mask, self._first, self._view).padded()._whole

    @_whole.setter
    def _whole(self, new: Tensor) -> None:
        setitem(self._view, (*[_ALL] * self._first, self._mask), Selection(self._mask, self._first, new))

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
            return MASKED_CALLS().element(self, key)
        return self if self._is_all(whole) else TracedSlice(getitem(self._view, whole), first, self._mask)

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
            setitem(self._view, (*[_ALL] * self._first, self._mask), value)
        else:
            super().__setitem__(key, value)

    def _is_all(self, key: tuple[Any, ...]) -> bool:
        return all(isinstance(entry, slice) and entry == _ALL for entry in key)

    def _part(self, part: slice) -> TracedSlice:
        """The elements of `part` of these."""
        if part.step not in (None, 1):
            raise refused("a step in a slice of a slice of traced ends")
        first, count = starts_at(self._mask), length(self._mask)
        ends = [_counted(part.start, 0, count), _counted(part.stop, count, count)]
        start, stop = [end if first is None else run("add", end, first) for end in ends]
        return TracedSlice(self._view, self._first, between(self._mask.size, start, stop))


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
    ends = ends_of(mask)
    assert ends is not None
    start, stop = ends
    stop = as_tensor(mask.size) if stop is None else stop
    return stop if start is None else run("maximum", run("sub", stop, start), 0)


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
    shift = run("sub", starts_at(x._mask) or 0, starts_at(mask) or 0)
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
        ends = ends_of(each)
        assert ends is not None
        start, stop = [windows.affine(STATE.tracer, end) for end in (ends[0] or 0, ends[1] or each.size)]
        forms.append(stop.plus(start, -1))
    return bool(forms[0] == forms[1])
