"""Groups of matrices with a lane for each: from memory, where each matrix is contiguous, and back.

Squares of elements are transposed in registers: as many elements of as many matrices as a vector has lanes.
What is left of a matrix is a square that overlaps the one before, or narrower vectors. Matrices of
1, 2, 3, 4, 6 ... elements, less than a vector has lanes, are read and written as whole vectors of several.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...llvm.emitter import Reg
from ...llvm.loops import FunctionWriter
from ...llvm.transpose import is_record, joined, separated, turned
from .matrices import RegisterMatrix
from .scratch_matrix import ScratchMatrix


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
    """The same as `load_group`, in registers."""
    size = rows * columns
    elements: dict[int, Reg] = {}
    for at, count in _chunks(size, lanes):
        for number, element in enumerate(_load_square(w, pointer, at, count, size, dtype, lanes)):
            elements[at + number] = element
    flat = [elements[number] for number in range(size)]
    return RegisterMatrix(w, [flat[row * columns : (row + 1) * columns] for row in range(rows)])


def store_registers(w: FunctionWriter, matrix: RegisterMatrix, pointer: str) -> None:
    """The same as `store_group`, from registers."""
    flat = [w.splat(element, matrix.lanes) for row in matrix.elements for element in row]
    for at, count in _chunks(len(flat), matrix.lanes):
        _store_square(w, flat[at : at + count], pointer, at, len(flat))


def _chunks(size: int, lanes: int) -> list[tuple[int, int]]:
    """Where squares of a matrix of `size` elements begin, and how many elements they have."""
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
    if _fill_vectors(count, size, lanes):
        return separated(w, [w.load(w.offset(first, dtype, i * lanes), dtype, lanes) for i in range(count)])
    rows = []
    for lane in range(lanes):
        row = w.load(w.offset(first, dtype, lane * size), dtype, count)
        if count < lanes:  # of a narrow row, the rest is not looked at
            places = [min(place, count - 1) for place in range(lanes)]
            row = w.shuffle(row, None, places) if count > 1 else w.splat(row, lanes)
        rows.append(row)
    return turned(w, rows)[:count]


def _store_square(w: FunctionWriter, elements: list[Reg], pointer: str, at: Reg | int, size: int) -> None:
    """Store `elements`, from the place `at` of each matrix of `size` on."""
    count, lanes = len(elements), elements[0].lanes
    dtype = elements[0].dtype
    first = w.offset(pointer, dtype, at)
    if _fill_vectors(count, size, lanes):
        for i, vector in enumerate(joined(w, elements)):
            w.store(vector, w.offset(first, dtype, i * lanes))
        return
    for lane, row in enumerate(turned(w, elements + [elements[-1]] * (lanes - count))):
        if count < lanes:
            row = w.shuffle(row, None, range(count)) if count > 1 else w.extract(row, 0)
        w.store(row, w.offset(first, dtype, lane * size))
