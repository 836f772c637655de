"""Iterables of loops: ranges whose bounds may be traced, arrays, and both enumerated, zipped, reversed or
taken in pairs, combinations and products, as those of itertools and NumPy's indices."""

from __future__ import annotations

import builtins
import functools
import itertools
import math
import operator
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from ..array.elementwise.ufuncs import maximum, minimum, sign
from ..array.manipulation import ravel
from ..array.methods.ndarray import FlatElements
from ..array.ranges import arange
from ..array.selection.masked_selection import Selection
from ..array.selection.positions import compact
from ..array.selection.slices import TracedSlice, length
from ..base.errors import DTypeError
from ..base.records import record
from ..dispatch.dispatch import apply
from ..ir.graph import Value
from ..ir.registry import OPS
from ..state import STATE
from ..tensors.tensor import Tensor, wrap
from ..tracing.regions import RegionTracer
from .lists.buffered_dicts import BufferedDict, DictView
from .lists.buffered_lists import BufferedList
from .lists.stacked_lists import StackedList
from .reports import LoopError
from .scalars import python_integer
from .variables import is_traced


class Range:
    """``range`` of bounds that may be traced, or ``arange``, whose items are no Python numbers."""

    def __init__(self, *bounds: Any, is_array: bool = False) -> None:
        self.is_array = is_array
        for bound in bounds:
            if isinstance(bound, Tensor) and (bound.shape != () or bound.dtype.kind not in "iu"):
                raise DTypeError(f"range: expected integers, got a tensor of type {bound.type}")
        self.start, self.stop = (0, bounds[0]) if len(bounds) == 1 else bounds[:2]
        self.step = bounds[2] if len(bounds) > 2 else 1

    def __iter__(self) -> Iterator[int]:
        return iter(range(*map(operator.index, (self.start, self.stop, self.step))))


class Enumerated:
    """``enumerate`` of what a loop can be traced along."""

    def __init__(self, inner: Any, start: Any = 0) -> None:
        self.inner, self.start = inner, start

    def __iter__(self) -> Iterator[Any]:
        return iter(enumerate(self.inner, self.start))


class Zipped:
    """``zip`` of what loops can be traced along."""

    def __init__(self, *inner: Any, strict: bool) -> None:
        self.inner, self.strict = inner, strict

    def __iter__(self) -> Iterator[Any]:
        return zip(*self.inner, strict=self.strict)


class Reversed:
    """``reversed`` of what a loop can be traced along."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __iter__(self) -> Iterator[Any]:
        return reversed(range(*_bounds(self.inner)) if isinstance(self.inner, Range) else self.inner)


class Pairs:
    """``itertools.pairwise`` of what a loop can be traced along."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __iter__(self) -> Iterator[Any]:
        return itertools.pairwise(self.inner)


class Combined:
    """``itertools.product``, or with `size` ``itertools.combinations``, of what loops can be traced along."""

    def __init__(self, *inner: Any, size: int | None = None) -> None:
        self.inner, self.size = inner, size

    def __iter__(self) -> Iterator[Any]:
        if self.size is not None:
            return itertools.combinations(self.inner[0], self.size)
        return itertools.product(*self.inner)


class Indices:
    """``np.ndindex``, or ``np.ndenumerate`` of the array `of`."""

    def __init__(self, shape: tuple[int, ...], of: Any = None) -> None:
        self.shape, self.of = shape, of

    def __iter__(self) -> Iterator[Any]:
        indices = itertools.product(*map(range, self.shape))
        return indices if self.of is None else ((index, self.of[index]) for index in indices)


_OWN: Final = (Range, Enumerated, Zipped, Reversed, Pairs, Combined, Indices)


def _bounds(inner: Range) -> tuple[int, int, int]:
    return operator.index(inner.start), operator.index(inner.stop), operator.index(inner.step)


def _range(*bounds: Any) -> Any:
    return Range(*bounds) if any(map(is_traced, bounds)) and 1 <= len(bounds) <= 3 else range(*bounds)


def _enumerate(iterable: Any, start: Any = 0) -> Any:
    return Enumerated(iterable, start) if _is_array(iterable) else enumerate(iterable, start)


def _zip(*iterables: Any, strict: bool = False) -> Any:
    if iterables and all(map(_is_array, iterables)):
        return Zipped(*iterables, strict=strict)
    return zip(*iterables, strict=strict)


def _reversed(iterable: Any) -> Any:
    return Reversed(iterable) if _is_array(iterable) else reversed(iterable)


def _pairwise(iterable: Any) -> Any:
    return Pairs(iterable) if _is_array(iterable) else itertools.pairwise(iterable)


def _product(*iterables: Any, repeat: Any = 1) -> Any:
    if iterables and all(map(_is_array, iterables)) and type(repeat) is int:
        return Combined(*iterables * repeat)
    return itertools.product(*iterables, repeat=repeat)


def _combinations(iterable: Any, r: Any) -> Any:
    if _is_array(iterable) and type(r) is int and r >= 0:
        return Combined(iterable, size=r)
    return itertools.combinations(iterable, r)


def _ndindex(*shape: Any) -> Any:
    sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
    known = all(type(size) is int and size >= 0 for size in sizes)
    return Indices(tuple(sizes)) if known else np.ndindex(*shape)


def _ndenumerate(array: Any) -> Any:
    return Indices(array.shape, array) if is_traced(array) else np.ndenumerate(array)


def _arange(function: Any) -> Any:
    def call(*bounds: Any, **options: Any) -> Any:
        integers = all(isinstance(bound, (int, np.integer)) or _is_integer(bound) for bound in bounds)
        if options or not any(map(is_traced, bounds)) or not integers or not 1 <= len(bounds) <= 3:
            return function(*bounds, **options)
        return Range(*bounds, is_array=True)

    return call


def _is_integer(value: Any) -> bool:
    return is_traced(value) and not value.shape and value.dtype.kind in "iu"


def _is_array(value: Any) -> bool:
    if isinstance(value, StackedList):
        return _steps_of_list(value) is not None
    return isinstance(value, (range, Selection, FlatElements, *_OWN)) or (
        isinstance(value, (Tensor, np.ndarray)) and value.ndim > 0
    )


#: Replacements of Python's functions where a loop may be traced.
STAND_INS: Final[dict[Any, Any]] = {
    builtins.range: _range,
    builtins.enumerate: _enumerate,
    builtins.zip: _zip,
    builtins.reversed: _reversed,
    itertools.pairwise: _pairwise,
    itertools.product: _product,
    itertools.combinations: _combinations,
    np.ndindex: _ndindex,
    np.ndenumerate: _ndenumerate,
    np.arange: _arange(np.arange),
    arange: _arange(arange),
}


@record(eq=False)
class Steps:
    """The steps of a loop: their number, and what item each of them gets.

    Attributes:
        count: an integer, or a traced one.
        arrays: what has an element for each step.
        item: of the step's number and its elements.
        bound: of a traced count a number that it is at most, None where no such is known.
    """

    count: Any
    arrays: list[Tensor]
    item: Any
    bound: int | None = None

    @property
    def most(self) -> int | None:
        """A number of steps that there are at most."""
        return self.count if isinstance(self.count, int) else self.bound

    def first(self) -> Any:
        """The item of the first step, in which indices are Python's where bounds are."""
        return self.item(0, [array[0] for array in self.arrays])

    def after_first(self) -> Steps:
        """The steps after the first."""
        item = self.item
        return Steps(
            self.count - 1,
            [array[1:] for array in self.arrays],
            lambda k, elements: item(k + 1, elements),
            None if self.bound is None else max(self.bound - 1, 0),
        )


def steps_of(iterable: Any) -> Steps | None:
    """The steps of a loop along `iterable`, None where they cannot be traced."""
    if isinstance(iterable, range):
        start, step = iterable.start, iterable.step
        return Steps(len(iterable), [], lambda k, _: _at(start, step, k))
    if isinstance(iterable, Range):
        return _steps_of_range(iterable)
    if isinstance(iterable, BufferedDict):
        iterable = iterable.keys()
    if isinstance(iterable, StackedList):
        return _steps_of_list(iterable)
    if isinstance(iterable, (Tensor, np.ndarray)):
        array = iterable if isinstance(iterable, Tensor) else STATE.tracer.symbolic(np.asarray(iterable))
        if not array.shape or array.dtype.kind not in "biufc":
            return None
        return Steps(array.shape[0], [array], lambda _, elements: elements[0])
    if isinstance(iterable, FlatElements):
        return steps_of(ravel(iterable.base))
    if isinstance(iterable, TracedSlice) and not iterable._first:
        count = length(iterable._mask)
        STATE.tracer.mark_weak(count._data)
        return Steps(count, [], lambda k, _: iterable.at_place(k), iterable._mask.size)
    if isinstance(iterable, Selection):
        if iterable.is_view:
            return None
        whole, count = compact(iterable)
        STATE.tracer.mark_weak(count._data)
        if iterable._first:
            return None
        return Steps(count, [whole], lambda _, elements: elements[0], whole.shape[0])
    if isinstance(iterable, Pairs):
        return _steps_of_pairs(steps_of(iterable.inner))
    if isinstance(iterable, Combined):
        return _steps_of_combined([steps_of(part) for part in iterable.inner], iterable.size)
    if isinstance(iterable, Indices):
        return _steps_of_indices(iterable)
    if isinstance(iterable, Enumerated):
        inner = steps_of(iterable.inner)
        if inner is None:
            return None
        first, item = iterable.start, inner.item
        return Steps(
            inner.count, inner.arrays, lambda k, elements: (k + first, item(k, elements)), inner.bound
        )
    if isinstance(iterable, Zipped):
        return _steps_of_zip([steps_of(part) for part in iterable.inner], strict=iterable.strict)
    if isinstance(iterable, Reversed):
        return _steps_of_reversed(iterable.inner)
    return None


def lists_in(iterable: Any) -> list[Any]:
    """The lists along which a loop along `iterable` goes, and which steps could change."""
    if isinstance(iterable, BufferedList):
        return [iterable]
    if isinstance(iterable, (BufferedDict, DictView)):
        return [iterable.entries]
    inner = getattr(iterable, "inner", ())
    return [found for part in (inner if isinstance(inner, tuple) else (inner,)) for found in lists_in(part)]


def _steps_of_list(items: StackedList) -> Steps | None:
    """The steps of a loop along a list that a loop has made."""
    block = items.block
    if block is None or block.has_containers or (block.flags is not None and block.can_be_changed):
        return None
    try:
        block = block.as_line()
    except LoopError:  # items of several types
        return None
    (column,) = block.columns
    count, leaves = (len(block), column.leaves) if block.flags is None else block.compacted()
    return Steps(count, leaves, lambda _, elements: column.item(elements), len(block))


def _at(start: Any, step: Any, k: Any) -> Any:
    scaled = k if type(step) is int and step == 1 else k * step
    return scaled if type(start) is int and start == 0 else scaled + start


def _steps_of_range(iterable: Range) -> Steps | None:
    start, stop, step = map(_bound, (iterable.start, iterable.stop, iterable.step))
    if not any(map(is_traced, (start, stop, step))) and step:
        return steps_of(range(start, stop, step))
    by_one = type(step) is int and step in (1, -1)
    if isinstance(step, Tensor):
        if not isinstance(STATE.tracer, RegionTracer) and step == 0:
            return None  # Python raises
        span = stop - start + step - sign(step)
    elif step == 0:
        return None
    elif by_one:
        span = stop - start if step == 1 else start - stop
    else:
        span = stop - start + (step - 1 if step > 0 else step + 1)
    count = maximum(span if by_one else span // step, 0)

    def item(k: Any, _: Any) -> Any:
        index = _at(start, step, k)
        return apply(OPS["copy"], (index,), {}) if iterable.is_array else index

    return Steps(count, [], item, _most_steps(start, stop, step))


def _most_steps(start: Any, stop: Any, step: Any) -> int | None:
    """The largest number of steps of a range that has traced bounds, None where that is not known."""
    if type(step) is not int:
        return None
    starts, stops = extent(start), extent(stop)
    if starts is None or stops is None:
        return None
    return len(range(starts[0], stops[1], step) if step > 0 else range(starts[1], stops[0], step))


def extent(number: Any, tracer: Any = None) -> tuple[int, int] | None:
    """The least and the largest value that a Python number may have, which follows from the counters of
    loops; None where it does not."""
    if type(number) is int:
        return number, number
    value, tracer = number._data if isinstance(number, Tensor) else number, tracer or STATE.tracer
    while tracer is not None and isinstance(value, Value):
        integers = tracer.integers
        if (known := integers.known.get(value)) is not None:
            return known, known
        if value in integers.counts:
            return 0, max(integers.counts[value] - 1, 0)
        name, operands = integers.definition(value)
        parts = [extent(operand, tracer) for operand in operands]
        if name:
            return None if None in parts else _extent_of(name, parts)
        captured = getattr(tracer, "captured", {})
        value = next((outer for outer, inner in captured.items() if inner is value), value)
        tracer = tracer.parent
    return None


def _extent_of(name: str, parts: Sequence[Any]) -> tuple[int, int] | None:
    """The extent of an operation on numbers of the extents `parts`."""
    if name == "neg":
        ((low, high),) = parts
        return -high, -low
    (low, high), (other_low, other_high) = parts
    if name == "add":
        return low + other_low, high + other_high
    if name == "sub":
        return low - other_high, high - other_low
    ends = [x * y for x in parts[0] for y in parts[1]]
    return min(ends), max(ends)


def ask_for_bounds(iterable: Any) -> None:
    """Ask for the bounds of a range as Python code does, where that is allowed, so that its length is
    known."""
    if isinstance(iterable, Range):
        bounds: tuple[Any, ...] = iterable.start, iterable.stop, iterable.step
        for bound in bounds:
            if is_traced(bound) and STATE.tracer.can_decide(bound._data):
                operator.index(bound)


def _bound(value: Any) -> Any:
    """A bound of a range: Python's integer where that is known."""
    number = python_integer(value)
    known = STATE.tracer.known_integer(number._data) if is_traced(number) else None
    return number if known is None else known


def _steps_of_zip(parts: list[Steps | None], *, strict: bool) -> Steps | None:
    if any(part is None for part in parts):
        return None
    steps = [part for part in parts if part is not None]
    fixed = [part.count for part in steps if not isinstance(part.count, Tensor)]
    if strict and (len(fixed) < len(steps) or len(set(fixed)) > 1):
        return None
    if len(fixed) == len(steps):
        count = min(fixed)
        arrays = [array[:count] for part in steps for array in part.arrays]
    else:
        count = functools.reduce(minimum, [part.count for part in steps])
        arrays = [array for part in steps for array in part.arrays]
    known = [part.most for part in steps if part.most is not None]

    def item(k: Any, elements: list[Any]) -> Any:
        result, first = [], 0
        for part in steps:
            result.append(part.item(k, elements[first : first + len(part.arrays)]))
            first += len(part.arrays)
        return tuple(result)

    return Steps(count, arrays, item, min(known, default=None))


def _steps_of_pairs(steps: Steps | None) -> Steps | None:
    if steps is None or not isinstance(steps.count, int):
        return None
    size = len(steps.arrays)

    def item(k: Any, elements: list[Any]) -> Any:
        return steps.item(k, elements[:size]), steps.item(k + 1, elements[size:])

    count = max(steps.count - 1, 0)
    before, after = [array[:count] for array in steps.arrays], [array[1:] for array in steps.arrays]
    return Steps(count, before + after, item)


def _item_at(steps: Steps, k: Any) -> Any:
    """The item of step `k`, out of order."""
    return steps.item(k, [array[k] for array in steps.arrays])


def _steps_of_combined(parts: list[Steps | None], size: int | None) -> Steps | None:
    if any(part is None or not isinstance(part.count, int) for part in parts):
        return None
    steps = [part for part in parts if part is not None]
    counts = [part.count for part in steps]
    if size is None:

        def item(k: Any, _: Any) -> Any:
            places = _digits(k, counts)
            return tuple([_item_at(part, place) for part, place in zip(steps, places, strict=True)])

        return Steps(math.prod(counts), [], item)
    rows = np.array([*itertools.combinations(range(counts[0]), size)], np.int64).reshape(-1, size)
    columns = [wrap(np.ascontiguousarray(column)) for column in rows.T]
    return Steps(len(rows), columns, lambda _, at: tuple([_item_at(steps[0], python_integer(k)) for k in at]))


def _steps_of_indices(iterable: Indices) -> Steps:
    arrays = [] if iterable.of is None else [ravel(iterable.of)]

    def item(k: Any, elements: list[Any]) -> Any:
        index = _digits(k, iterable.shape)
        return (index, *elements) if elements else index

    return Steps(math.prod(iterable.shape), arrays, item)


def _digits(k: Any, sizes: Sequence[int]) -> tuple[Any, ...]:
    """The indices along axes of `sizes` of element `k` in C order."""
    digits: list[Any] = []
    for size in reversed(sizes[1:]):
        digits.append(k % size)
        k = k // size
    return (k, *reversed(digits)) if sizes else ()


def _steps_of_reversed(inner: Any) -> Steps | None:
    steps = steps_of(inner)
    if steps is None or isinstance(inner, (Enumerated, Zipped)):
        return None
    last = steps.count - 1
    if steps.arrays and not isinstance(steps.count, int):  # the elements are in front of longer arrays
        return Steps(steps.count, [], lambda k, _: _item_at(steps, last - k), steps.bound)
    if steps.arrays:
        return Steps(steps.count, [array[::-1] for array in steps.arrays], steps.item)
    return Steps(steps.count, [], lambda k, elements: steps.item(last - k, elements), steps.bound)
