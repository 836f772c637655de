"""Eigenvalues and singular values by LAPACK, for one matrix."""

from __future__ import annotations

from ....ir.graph import Instruction
from ...llvm.emitter import Reg
from .calls import transpose
from .problem import BLOCK, Problem, Sizes, aligned, size_of


def eigh(p: Problem) -> Reg | None:
    """Called as NumPy calls it, so that vectors have the same signs."""
    w, (size, _) = p.w, size_of(p.instruction)
    vectors = len(p.results) == 2
    work, numbers, length, count = _eigh_places(p.instruction, p.bytes)
    transpose(w, p.dtype, (size, size), p.operands[0], p.workspace, p.lanes)
    job = "'V" if vectors else "'N"
    p.call(
        "syevd",
        [job, "'L", size, p.workspace, size, p.results[0], p.place(work), length, p.place(numbers), count],
    )
    failed = p.caller.failed()
    if vectors:
        transpose(w, p.dtype, (size, size), p.workspace, p.results[1], p.lanes)
    return failed


def _eigh_places(instruction: Instruction, nbytes: int) -> Sizes:
    size, _ = size_of(instruction)
    vectors = len(instruction.results) == 2
    length = (1 + 6 * size + 2 * size * size if vectors else 2 * size + 1) + BLOCK * size
    count = 3 + 5 * size if vectors else 1
    work = aligned(size * size * nbytes)
    return work, work + aligned(length * nbytes), length, count


def eigh_workspace(instruction: Instruction, nbytes: int) -> int:
    """Bytes for the transposed matrix and LAPACK's own workspaces."""
    _, numbers, _, count = _eigh_places(instruction, nbytes)
    return numbers + 8 * count


def svd(p: Problem) -> Reg | None:
    """Called as NumPy calls it, so that vectors have the same signs."""
    w, (rows, columns) = p.w, size_of(p.instruction)
    left, right = _svd_sides(p.instruction)
    at_left, at_right, work, numbers, length = _svd_places(p.instruction, p.bytes)
    transpose(w, p.dtype, (rows, columns), p.operands[0], p.workspace, p.lanes)
    if not left:
        job, s = "'N", p.results[0]
    else:
        job, s = "'A" if p.instruction.attrs["full_matrices"] else "'S", p.results[1]
    p.call(
        "gesdd",
        [
            job, rows, columns, p.workspace, rows, s, p.place(at_left), rows, p.place(at_right),
            max(right, 1), p.place(work), length, p.place(numbers),
        ],
    )  # fmt: skip
    failed = p.caller.failed()
    if left:
        transpose(w, p.dtype, (left, rows), p.place(at_left), p.results[0], p.lanes)
        transpose(w, p.dtype, (columns, right), p.place(at_right), p.results[2], p.lanes)
    return failed


def _svd_sides(instruction: Instruction) -> tuple[int, int]:
    """How many left and right vectors there are, 0 where just values are computed."""
    if len(instruction.results) == 1:
        return 0, 0
    return instruction.results[0].shape[-1], instruction.results[2].shape[-2]


def _svd_places(instruction: Instruction, nbytes: int) -> Sizes:
    """Bytes where the left and right vectors and LAPACK's workspaces begin, and the elements of the first."""
    rows, columns = size_of(instruction)
    left, right = _svd_sides(instruction)
    least, most = min(rows, columns), max(rows, columns)
    length = 4 * least * least + 8 * least + most + max(most, 7 * least) + BLOCK * (least + most)
    at_left = aligned(rows * columns * nbytes)
    at_right = at_left + aligned(rows * left * nbytes)
    work = at_right + aligned(columns * right * nbytes)
    return at_left, at_right, work, work + aligned(length * nbytes), length


def svd_workspace(instruction: Instruction, nbytes: int) -> int:
    """Bytes for the transposed matrix and vectors and LAPACK's own workspaces."""
    numbers = _svd_places(instruction, nbytes)[3]
    return numbers + 8 * 8 * min(size_of(instruction))
