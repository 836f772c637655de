"""Transposes in registers: of squares, as many vectors as a vector has lanes, and of records of few
numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .emitter import BITS, Reg, constant
from .loops import FunctionWriter

#: Bits of the parts of a vector within which shuffles are cheapest.
_PART_BITS = 128


def transposed(w: FunctionWriter, block: Sequence[Reg]) -> list[Reg]:
    """The transpose of a square, by log2(lanes) rounds of shuffles of two vectors: first squares within parts
    of 128 bits, then the parts."""
    lanes = len(block)
    size = min(lanes, _PART_BITS // BITS[block[0].dtype])
    columns = [_transposed_parts(w, block[start : start + size], size) for start in range(0, lanes, size)]
    result: list[Reg] = [block[0]] * lanes
    for number, parts in enumerate(zip(*columns, strict=True)):
        result[number::size] = separated(w, parts, size)
    return result


def _transposed_parts(w: FunctionWriter, rows: Sequence[Reg], size: int) -> list[Reg]:
    """`size` rows, where each part of `size` lanes becomes a part of the columns: by rounds of interleaving
    the upper and the lower half, each of which moves one bit of an element's row to its lane."""
    lanes, block = rows[0].lanes, list(rows)
    for _ in range(size.bit_length() - 1):
        following: list[Reg] = []
        for a, b in zip(block[: size // 2], block[size // 2 :], strict=True):
            for start in (0, size // 2):
                places = [
                    part + start + i // 2 + i % 2 * lanes
                    for part in range(0, lanes, size)
                    for i in range(size)
                ]
                following.append(w.shuffle(a, b, places))
        block = following
    return block


def put_columns(
    w: FunctionWriter, source: tuple[str, int], target: tuple[str, int], size: tuple[int, int], dtype: str,
    lanes: int,
) -> None:  # fmt: skip
    """Write the columns of a matrix of `size` m by n, whose rows lie in memory. `source` is the first row and
    how many elements behind it the next one is, `target` the same of the columns; what fills no vector of
    these is zero. Strips of a few columns and as many rows as a vector has lanes are transposed, the last of
    which overlap others."""
    (first, apart), (to, pitch), (m, n) = source, target, size
    high, wide = min(m, lanes), _part(dtype, lanes)
    mask = w.tail_mask(n, wide) if n < wide else None

    def strip(top: Reg, left: Reg) -> None:
        corner = w.offset(w.offset(first, dtype, w.mul(top, apart)), dtype, left)
        rows = [w.load(w.offset(corner, dtype, row * apart), dtype, wide, mask) for row in range(high)]
        rows += [constant(0, dtype, wide)] * (lanes - high)
        corner = w.offset(w.offset(to, dtype, w.mul(left, pitch)), dtype, top)
        block = [_concatenated(w, rows[number::wide]) for number in range(wide)]
        for column, vector in enumerate(_transposed_parts(w, block, wide)[: min(n, wide)]):
            w.store(vector, w.offset(corner, dtype, column * pitch))

    _strips(w, (m, high), (n, min(n, wide)), strip)


def put_rows(
    w: FunctionWriter, source: tuple[str, int], target: tuple[str, int], size: tuple[int, int], dtype: str,
    lanes: int,
) -> None:  # fmt: skip
    """The reverse of `put_columns`: write the rows of a matrix of `size` m by n, at most `lanes` rows, whose
    columns lie in memory as whole vectors."""
    (first, apart), (to, pitch), (m, n) = source, target, size
    wide = _part(dtype, lanes)
    mask = w.tail_mask(n, wide) if n < wide else None

    def strip(_: Reg, left: Reg) -> None:
        corner = w.offset(first, dtype, w.mul(left, apart))
        block = [
            w.load(w.offset(corner, dtype, column * apart), dtype, lanes) for column in range(min(n, wide))
        ]
        block += [constant(0, dtype, lanes)] * (wide - len(block))
        vectors = _transposed_parts(w, block, wide)
        corner = w.offset(to, dtype, left)
        for row in range(m):
            start = row // wide * wide
            part = vectors[row % wide]
            part = w.shuffle(part, None, range(start, start + wide)) if lanes > wide else part
            w.store(part, w.offset(corner, dtype, row * pitch), mask)

    _strips(w, (m, m), (n, min(n, wide)), strip)


def _part(dtype: str, lanes: int) -> int:
    """Elements within which shuffles are cheapest."""
    return min(lanes, _PART_BITS // BITS[dtype])


def _concatenated(w: FunctionWriter, parts: Sequence[Reg]) -> Reg:
    """The lanes of `parts`, a power of two of them, one after the other."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    a, b = _concatenated(w, parts[:half]), _concatenated(w, parts[half:])
    return w.shuffle(a, b, range(2 * a.lanes))


def _strips(
    w: FunctionWriter, rows: tuple[int, int], columns: tuple[int, int], strip: Callable[[Reg, Reg], None]
) -> None:
    """Call `strip` with the first row and column of each: `rows` and `columns` are how many there are in all
    and in a strip."""

    def begin(index: Reg, size: int, edge: int) -> Reg:
        return w.min(index, constant(size - edge, "i64")) if size % edge else index

    def down(index: Reg, _: list[Reg]) -> Sequence[Reg]:
        top = begin(index, *rows)

        def across(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            strip(top, begin(index, *columns))
            return ()

        w.loop(0, _ceiling(*columns), columns[1], across, nonempty=True)
        return ()

    w.loop(0, _ceiling(*rows), rows[1], down, nonempty=True)


def _ceiling(size: int, step: int) -> int:
    return -(-size // step) * step


def separated(w: FunctionWriter, vectors: Sequence[Reg], size: int = 1) -> list[Reg]:
    """Deinterleave records that lie one after the other in `vectors` into the vectors of their first fields,
    second fields and so on. A record has as many fields as there are vectors, of `size` lanes each: a product
    of twos and threes, for each of which there is a round that parts the fields by the remainder."""
    lanes, block = vectors[0].lanes, list(vectors)
    for radix in _radices(len(block)):
        groups = [block[start : start + radix] for start in range(0, len(block), radix)]
        places = [
            [place for place in range(radix * lanes) if place // size % radix == r] for r in range(radix)
        ]
        block = [_picked(w, group, chosen) for chosen in places for group in groups]
    return block


def joined(w: FunctionWriter, vectors: Sequence[Reg]) -> list[Reg]:
    """The reverse of `separated`, with fields of one lane."""
    lanes, block = vectors[0].lanes, list(vectors)
    for radix in reversed(_radices(len(block))):
        count = len(block) // radix
        groups = [block[number::count] for number in range(count)]
        flat = range(radix * lanes)
        places = [
            [i % radix * lanes + i // radix for i in flat[start : start + lanes]] for start in flat[::lanes]
        ]
        block = [_picked(w, group, chosen) for group in groups for chosen in places]
    return block


def is_record(count: int) -> bool:
    """Whether `separated` takes records of `count` fields, with less work than squares do."""
    while count % 2 == 0:
        count //= 2
    return count in (1, 3)


def _radices(count: int) -> list[int]:
    """The factors of `count`, twos before threes."""
    radices = []
    for radix in (2, 3):
        while count % radix == 0:
            radices.append(radix)
            count //= radix
    return radices


def _picked(w: FunctionWriter, vectors: Sequence[Reg], places: Sequence[int]) -> Reg:
    """The lanes `places` of `vectors` one after the other."""
    lanes, result = vectors[0].lanes, vectors[0]
    chosen = list(places)
    for number, vector in enumerate(vectors[1:], start=1):
        # what is there already stays; lanes that are yet to come may hold anything
        mine = [place - (number - 1) * lanes if place >= number * lanes else place for place in chosen]
        result = w.shuffle(result, vector, [min(place, 2 * lanes - 1) for place in mine])
        chosen = [i if place < (number + 1) * lanes else place for i, place in enumerate(chosen)]
    return result
