"""Moves of matrices between memory and lanes, a group at a time.

Matrices are brought into lanes and back by squares of elements, transposed in registers: as many elements of
as many matrices as a vector has lanes. What is left of a matrix is a square that overlaps the one before, or
narrower vectors. Matrices of 1, 2, 3, 4, 6 ... elements, less than a vector has lanes, are read and written
as whole vectors of several.

What is read or written asks for the same place of the next group, or some groups behind it where these are
small. Asked for all at once, lines of some kilobytes would hold up those that are read now: on a Xeon
(Cascade Lake), Cholesky factors of 10,000 8x8 matrices take 0.65 of the time so, and of 6x6 ones 0.6.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....base.machine import machine
from ...llvm.emitter import BITS, Reg
from ...llvm.loops import FunctionWriter
from ...llvm.transpose import is_record, joined, separated, transposed
from ...loops.lines import READ_AHEAD, WRITTEN_AHEAD
from .matrices import RegisterMatrix
from .memory_matrix import ScratchMatrix


def load_group(w: FunctionWriter, pointer: str, matrix: ScratchMatrix) -> None:
    """Fill `matrix` with the elements of as many matrices at `pointer` as it has lanes."""
    size, lanes = matrix.rows * matrix.columns, matrix.lanes

    def chunk(at: Reg | int, count: int) -> None:
        for number, element in enumerate(_load_square(w, pointer, at, count, size, matrix.dtype, lanes)):
            place = w.add(at, number) if isinstance(at, Reg) else at + number
            w.store(element, w.offset(matrix.pointer, matrix.dtype, _times(w, place, lanes)))

    _over_chunks(w, size, lanes, chunk)


def store_group(w: FunctionWriter, matrix: ScratchMatrix, pointer: str) -> None:
    """The reverse of `load_group`."""
    size, lanes = matrix.rows * matrix.columns, matrix.lanes

    def chunk(at: Reg | int, count: int) -> None:
        elements = []
        for number in range(count):
            place = w.add(at, number) if isinstance(at, Reg) else at + number
            source = w.offset(matrix.pointer, matrix.dtype, _times(w, place, lanes))
            elements.append(w.load(source, matrix.dtype, lanes))
        _store_square(w, elements, pointer, at, size)

    _over_chunks(w, size, lanes, chunk)


def registers_of_group(
    w: FunctionWriter, pointer: str, rows: int, columns: int, dtype: str, lanes: int
) -> RegisterMatrix:
    """Elements of as many matrices at `pointer` as there are `lanes`, as `load_group` reads them, in
    registers."""
    size = rows * columns
    elements: dict[int, Reg] = {}
    for at, count in _chunks(size, lanes):
        for number, element in enumerate(_load_square(w, pointer, at, count, size, dtype, lanes)):
            elements[at + number] = element
    flat = [elements[number] for number in range(size)]
    return RegisterMatrix(w, [flat[row * columns : (row + 1) * columns] for row in range(rows)])


def store_registers(w: FunctionWriter, matrix: RegisterMatrix, pointer: str) -> None:
    """Store a matrix in registers as `store_group` does."""
    flat = [w.splat(element, matrix.lanes) for row in matrix.elements for element in row]
    for at, count in _chunks(len(flat), matrix.lanes):
        _store_square(w, flat[at : at + count], pointer, at, len(flat))


def _chunks(size: int, lanes: int) -> list[tuple[int, int]]:
    """Start and number of elements of each square of a matrix of `size` elements."""
    if size < lanes:
        return [(0, size)]
    starts = [*range(0, size - lanes + 1, lanes)]
    if size % lanes:
        starts.append(size - lanes)
    return [(start, lanes) for start in starts]


def _over_chunks(w: FunctionWriter, size: int, lanes: int, chunk: Callable[[Reg | int, int], None]) -> None:
    """Call ``chunk(first element, count)`` for the squares of a matrix, most of them in a loop."""
    if size < lanes:
        chunk(0, size)
        return

    def step(at: Reg, _: list[Reg]) -> Sequence[Reg]:
        chunk(at, lanes)
        return ()

    w.loop(0, size - size % lanes, lanes, step)
    if size % lanes:
        chunk(size - lanes, lanes)


def _times(w: FunctionWriter, index: Reg | int, factor: int) -> Reg | int:
    return w.mul(index, factor) if isinstance(index, Reg) else index * factor


def _fill_vectors(count: int, size: int, lanes: int) -> bool:
    """Whether the matrices of a group, of `size` elements, `count` of them asked for, are read as records."""
    return count == size < lanes and is_record(size)


def _load_square(
    w: FunctionWriter, pointer: str, at: Reg | int, count: int, size: int, dtype: str, lanes: int
) -> list[Reg]:
    """`count` elements from `at` on, of matrices of `size`."""
    first = w.offset(pointer, dtype, at)
    places, asks = _places(w, first, dtype, count, size, lanes), _begins_line(at, size, dtype, lanes)
    if _fill_vectors(count, size, lanes):
        vectors = []
        for place in places:
            _ask_for_next(w, place, dtype, size * lanes)
            vectors.append(w.load(place, dtype, lanes))
        return separated(w, vectors)
    rows = []
    for place in places:
        if asks:
            _ask_for_next(w, place, dtype, size * lanes)
        row = w.load(place, dtype, count)
        if count < lanes:  # of a narrow row, the rest is not looked at
            picks = [min(place, count - 1) for place in range(lanes)]
            row = w.shuffle(row, None, picks) if count > 1 else w.splat(row, lanes)
        rows.append(row)
    return transposed(w, rows)[:count]


def _store_square(w: FunctionWriter, elements: list[Reg], pointer: str, at: Reg | int, size: int) -> None:
    """Store `elements`, from the place `at` of each matrix of `size` on."""
    count, lanes = len(elements), elements[0].lanes
    dtype = elements[0].dtype
    first = w.offset(pointer, dtype, at)
    places, asks = _places(w, first, dtype, count, size, lanes), _begins_line(at, size, dtype, lanes)
    if _fill_vectors(count, size, lanes):
        for place, vector in zip(places, joined(w, elements), strict=True):
            _ask_for_next(w, place, dtype, size * lanes, write=True)
            w.store(vector, place)
        return
    rows = transposed(w, elements + [elements[-1]] * (lanes - count))
    for place, row in zip(places, rows, strict=True):
        if asks:
            _ask_for_next(w, place, dtype, size * lanes, write=True)
        if count < lanes:
            row = w.shuffle(row, None, range(count)) if count > 1 else w.extract(row, 0)
        w.store(row, place)


def _places(w: FunctionWriter, first: str, dtype: str, count: int, size: int, lanes: int) -> list[str]:
    """Pointers to the rows of a square of `count` elements, or to the vectors that matrices fill."""
    if _fill_vectors(count, size, lanes):
        return [w.offset(first, dtype, vector * lanes) for vector in range(count)]
    return [w.offset(first, dtype, lane * size) for lane in range(lanes)]


def _ask_for_next(w: FunctionWriter, place: str, dtype: str, group: int, *, write: bool = False) -> None:
    """Ask for what lies as far behind `place` as the next `group` of elements does, or a few of them."""
    least = (WRITTEN_AHEAD if write else READ_AHEAD) * 8 // BITS[dtype]
    w.prefetch(w.offset(place, dtype, max(group, least)), write=write)


def _begins_line(at: Reg | int, size: int, dtype: str, lanes: int) -> bool:
    """Whether half of a line or more begins in a square from `at` on, in what no square before has, if a line
    begins where the matrix does."""
    line = machine().line_bytes * 8 // BITS[dtype]
    if isinstance(at, Reg):
        return True
    first = at if at % lanes == 0 else size - size % lanes
    return first % line == 0 and (first == 0 or size - first >= line // 2)
