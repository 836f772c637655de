"""Large values computed piece by piece, in a scan: beside the result, the memory of one piece is needed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from ....builder import Builder
from ....dtypes import INT64
from ....graph import Instruction, Value
from ....registry import OPS
from .repeated_axes import Line

#: Elements of a piece: what is computed of them stays in a second-level cache, and a step is short beside it.
MAX_PIECE: Final = 1 << 14
MIN_PIECE: Final = 1 << 10


def piece_size(total: int, least: int = MIN_PIECE, most: int = MAX_PIECE) -> int:
    """The largest size, from `least` to `most`, of equal pieces of `total` elements; that of all where there
    is none."""
    sizes = range(min(most, total), least - 1, -1)
    return next((size for size in sizes if total % size == 0), total)


def in_pieces(
    b: Any, total: int, shared: Sequence[Value], compute: Callable[[Any, Value, Sequence[Value]], Value]
) -> Value:
    """The elements that ``compute(b, numbers, shared)`` makes of their numbers up to `total`, in rows: pieces
    that it is called for, which all read `shared`."""
    size = piece_size(total)

    def step(body: Any, first: Value, values: Sequence[Value]) -> Value:
        return compute(body, _numbers(body, first, size), values)

    return _scan(b, total, size, 0, (*shared,), (), step)


def folded_pieces(
    b: Any, line: Line, others: Sequence[Value], size: int, start: Value, fold: Callable[..., Value]
) -> Value:
    """Begin with `start`, and take ``fold(b, so far, rows, *others)`` for each piece of `size` rows of `line`
    and of `others`."""
    total = line.shape[0]

    def step(body: Any, first: Value, values: Sequence[Value]) -> Value:
        so_far, few, *pieces = values
        return fold(body, so_far, rows_at(body, line, few, _numbers(body, first, size)), *pieces)

    rows = [b.reshape(value, shape=(total // size, size, *value.shape[1:])) for value in others]
    return _scan(b, total, size, 1, (start, line.value), rows, step)


def rows_at(b: Any, line: Line, value: Value, numbers: Value) -> Value:
    """The rows of `line` along its first axis with these `numbers`, which are inside, from the `value` that
    it repeats."""
    group, *rest = line.groups
    places: list[Any] = []
    above = numbers
    for axis in reversed(group):
        before = b.floor_divide(above, line.fine[axis])
        if not line.repeated[axis]:
            places.append(b.sub(above, b.mul(before, line.fine[axis])))
        above = before
    inner = value.shape[len(group) :]
    own = tuple([line.fine[axis] for axis in group if not line.repeated[axis]])
    taken = b.reshape(value, shape=(*(own or (1,)), *inner))
    if places:
        taken = b.gather(taken, *reversed(places))
    fine = (*numbers.shape, *[line.fine[axis] for axes in rest for axis in axes])
    shape = (*numbers.shape, *line.shape[1:])
    whole = b.broadcast_to(taken, fine)
    return whole if fine == shape else b.reshape(whole, shape=shape)  # type: ignore[no-any-return]


def sum_of_weights(b: Any, instruction: Instruction, line: Line) -> Value | None:
    """Sums of weights that `line` repeats, in pieces longer than the sums; None where there are none."""
    (places, _), result = instruction.operands, instruction.result
    least = max(MIN_PIECE, 4 * result.type.size)
    size = piece_size(places.type.size, least, max(MAX_PIECE, 2 * least))
    if size == places.type.size:
        return None

    def fold(b: Any, sums: Value, elements: Value, numbers: Value) -> Value:
        (own,) = b.append(instruction.op, (numbers, elements), instruction.attrs)
        return b.add(sums, own)  # type: ignore[no-any-return]

    start = b.full(value=0.0, shape=result.shape, dtype=result.dtype)
    return folded_pieces(b, line, (places,), size, start, fold)


def scatter_of_slices(b: Any, instruction: Instruction, line: Line) -> Value | None:
    """A scatter of slices that `line` repeats, along one axis; None where all are one piece."""
    array, _, *indices = instruction.operands
    count = line.shape[0]
    size = piece_size(count, 1, max(1, MAX_PIECE // max(1, math.prod(line.shape[1:]))))
    if size == count:
        return None

    def fold(b: Any, written: Value, rows: Value, *places: Value) -> Value:
        return b.append(instruction.op, (written, rows, *places), instruction.attrs)[0]  # type: ignore[no-any-return]

    places = [b.reshape(index, shape=(count,)) for index in indices]
    return folded_pieces(b, line, places, size, array, fold)


def _numbers(b: Any, first: Value, size: int) -> Value:
    """The numbers from `first` on."""
    return b.add(b.iota(shape=(size,), axis=0, dtype=INT64), b.broadcast_to(first, (size,)))  # type: ignore[no-any-return]


def _scan(
    b: Any,
    total: int,
    size: int,
    carries: int,
    whole: Sequence[Value],
    rows: Sequence[Value],
    step: Callable[[Any, Value, Sequence[Value]], Value],
) -> Value:
    """The result of a scan of ``step(b, number of the first element, values)``, whose values are those of
    `whole` and the rows."""
    count = total // size
    firsts = b.mul(b.iota(shape=(count,), axis=0, dtype=INT64), size)
    body: Any = Builder()
    body.location = b.location
    values = [body.parameter(value.type) for value in whole]
    values += [body.parameter(value.type.with_shape(value.shape[1:])) for value in rows]
    first = body.parameter(firsts.type.with_shape(()))
    region = body.finish("piece", [step(body, first, values)])
    attrs = {"carries": carries, "slices": len(rows) + 1, "length": count, "reverse": False}
    (result,) = b.append(OPS["scan"], (*whole, *rows, firsts), attrs, regions=(region,))
    return result  # type: ignore[no-any-return]
