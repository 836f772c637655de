"""Eigenvalues and singular values by LAPACK, for one matrix.

It is called as NumPy and SciPy call it, so that vectors have the same signs and phases.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ....ir.dtypes import is_complex
from ....ir.graph import Instruction
from ...llvm.emitter import Reg, constant
from .problem import BLOCK, Problem, WorkspaceParts, size_of

# -- Schur forms ----------------------------------------------------------------------------------


# -- Sylvester's equation -------------------------------------------------------------------------


# -- of Hermitian matrices ------------------------------------------------------------------------


def eigh(p: Problem) -> Reg | None:
    """The eigenvalues of the lower triangle and, unless there is just one result, the vectors.

    Where LAPACK takes a NaN for a number, all results are NaN."""
    (size, _), places = size_of(p.instruction), _eigh_places(p.instruction, p.bytes)
    vectors = len(p.results) == 2
    p.transpose((size, size), p.operands[0], p.workspace)
    not_a_number = _triangle_has_nan(p, size)
    arguments = ["'V" if vectors else "'N", "'L", size, p.workspace, size, p.results[0]]
    names = ("work", "reals", "integers") if p.parts == 2 else ("work", "integers")
    for name in names:
        arguments += [p.place(places.start[name]), places.count[name]]
    p.call("syevd", arguments)
    failed = p.caller.failed()

    def fill() -> list[Reg]:
        p.fill(p.results[0], size, math.nan)
        if vectors:
            p.fill(p.workspace, size * size * p.parts, math.nan)
        return []

    p.w.when(not_a_number, fill)
    if vectors:
        p.transpose((size, size), p.workspace, p.results[1])
    return failed


def _triangle_has_nan(p: Problem, size: int) -> Reg:
    """Whether there is a NaN in the lower triangle, without the imaginary parts of its diagonal."""
    w = p.w

    def row(index: Reg, seen: list[Reg]) -> Sequence[Reg]:
        place = w.offset(p.operands[0], p.dtype, w.mul(index, size * p.parts))

        def number(column: Reg, seen: list[Reg]) -> Sequence[Reg]:
            return [w.or_(seen[0], w.isnan(w.load(w.offset(place, p.dtype, column), p.dtype)))]

        return w.loop(0, w.add(w.mul(index, p.parts), 1), 1, number, seen)

    (holds,) = w.loop(0, size, 1, row, [constant(False, "bool")])
    return holds


def _eigh_places(instruction: Instruction, nbytes: int) -> WorkspaceParts:
    (size, _), places = size_of(instruction), WorkspaceParts()
    vectors = len(instruction.results) == 2
    places.add("matrix", size * size, nbytes)
    if is_complex(instruction.operands[0].dtype):
        places.add("work", (2 * size + size * size if vectors else size + 1) + BLOCK * size, nbytes)
        places.add("reals", 1 + 5 * size + 2 * size * size if vectors else size, nbytes // 2)
    else:
        length = 1 + 6 * size + 2 * size * size if vectors else 2 * size + 1
        places.add("work", length + BLOCK * size, nbytes)
    places.add("integers", 3 + 5 * size if vectors else 1, 8)
    return places


def eigh_workspace(instruction: Instruction, nbytes: int) -> int:
    """Bytes for the transposed matrix and LAPACK's own workspaces."""
    return _eigh_places(instruction, nbytes).end


# -- singular values ------------------------------------------------------------------------------


def svd(p: Problem) -> Reg | None:
    """The singular values and, unless they are the one result, the vectors."""
    rows, columns = size_of(p.instruction)
    left, right = _svd_sides(p.instruction)
    places = _svd_places(p.instruction, p.bytes)
    at_left, at_right, work = (p.place(places.start[name]) for name in ("left", "right", "work"))
    p.transpose((rows, columns), p.operands[0], p.workspace)
    if not left:
        job, s = "'N", p.results[0]
    else:
        job, s = "'A" if p.instruction.attrs["full_matrices"] else "'S", p.results[1]
    reals = [p.place(places.start["reals"])] if p.parts == 2 else []
    arguments: list[str | int] = [
        job, rows, columns, p.workspace, rows, s, at_left, rows, at_right, max(right, 1), work,
        places.count["work"], *reals, p.place(places.start["integers"]),
    ]  # fmt: skip

    # of infinities LAPACK may never come to an end: all results are NaN then, and of NaN there is none
    not_a_number = p.any_number(p.workspace, rows * columns, p.w.isnan)
    finite = p.all_finite(p.workspace, rows * columns)

    def compute() -> list[Reg]:
        p.call("gesdd", arguments)
        return [p.caller.failed()]

    def fill() -> list[Reg]:
        for place, count in ((at_left, rows * left * p.parts), (at_right, columns * right * p.parts)):
            p.fill(place, count, math.nan)
        p.fill(s, min(rows, columns), math.nan)
        return []

    (failed,) = p.w.when(finite, compute, [not_a_number])
    p.w.when(p.w.not_(finite), fill)
    if left:
        p.transpose((left, rows), at_left, p.results[0])
        p.transpose((columns, right), at_right, p.results[2])
    return failed


def _svd_sides(instruction: Instruction) -> tuple[int, int]:
    """Numbers of left and right vectors, 0 where just values are computed."""
    if len(instruction.results) == 1:
        return 0, 0
    return instruction.results[0].shape[-1], instruction.results[2].shape[-2]


def _svd_places(instruction: Instruction, nbytes: int) -> WorkspaceParts:
    (rows, columns), places = size_of(instruction), WorkspaceParts()
    left, right = _svd_sides(instruction)
    least, most = min(rows, columns), max(rows, columns)
    places.add("matrix", rows * columns, nbytes)
    places.add("left", rows * left, nbytes)
    places.add("right", columns * right, nbytes)
    if is_complex(instruction.operands[0].dtype):
        length = least * least + 3 * least + most
        reals = max(5 * least * least + 7 * least, 2 * most * least + 2 * least * least + least)
        places.add("reals", reals if left else 7 * least, nbytes // 2)
    else:
        length = 4 * least * least + 8 * least + most + max(most, 7 * least)
    places.add("work", length + BLOCK * (least + most), nbytes)
    places.add("integers", 8 * least, 8)
    return places


def svd_workspace(instruction: Instruction, nbytes: int) -> int:
    """Bytes for the transposed matrix and vectors and LAPACK's own workspaces."""
    return _svd_places(instruction, nbytes).end


# -- of matrices that need not be Hermitian -------------------------------------------------------


def eig(p: Problem) -> Reg | None:
    """Complex eigenvalues and, unless they are the one result, right vectors.

    Of a real matrix LAPACK gives the real and the imaginary parts of a pair of vectors as two columns.
    """
    w, (size, _) = p.w, size_of(p.instruction)
    places = _eig_places(p.instruction, p.bytes)
    by_columns, vectors = p.workspace, p.place(places.start["vectors"])
    values = p.place(places.start["values"])
    p.transpose((size, size), p.operands[0], by_columns)
    finite = p.all_finite(by_columns, size * size)
    with_vectors = len(p.results) == 2
    job: list[str | int] = ["'N", "'V" if with_vectors else "'N", size, by_columns, size]
    sides: list[str | int] = [vectors, 1, vectors, size, p.place(places.start["work"]), places.count["work"]]

    def compute() -> list[Reg]:
        if p.parts == 2:
            p.call("geev", [*job, p.results[0], *sides, p.place(places.start["reals"])])
        else:
            p.call("geev", [*job, values, w.offset(values, p.dtype, size), *sides])
        return [p.caller.failed()]

    (failed,) = w.when(finite, compute, [constant(True, "bool")])
    if p.parts == 2:
        if with_vectors:
            p.transpose((size, size), vectors, p.results[1])
        return failed
    imaginary = w.offset(values, p.dtype, size)

    def column(index: Reg, _: list[Reg]) -> Sequence[Reg]:
        re, im = (w.load(w.offset(place, p.dtype, index), p.dtype) for place in (values, imaginary))
        store_pair(p.results[0], index, re, im)
        first, second = w.gt(im, 0.0), w.lt(im, 0.0)
        at_re = w.mul(w.select(second, w.sub(index, 1), index), size)
        at_im = w.mul(w.select(first, w.add(index, 1), index), size)

        def element(row: Reg, _: list[Reg]) -> Sequence[Reg]:
            part, other = (
                w.load(w.offset(vectors, p.dtype, w.add(start, row)), p.dtype) for start in (at_re, at_im)
            )
            turned = w.select(first, other, w.select(second, w.neg(other), w.const(0.0, other)))
            store_pair(p.results[1], w.add(w.mul(row, size), index), part, turned)
            return ()

        if with_vectors:
            w.loop(0, size, 1, element)
        return ()

    def store_pair(pointer: str, index: Reg, re: Reg, im: Reg) -> None:
        place = w.offset(pointer, p.dtype, w.mul(index, 2))
        w.store(re, place)
        w.store(im, w.offset(place, p.dtype, 1))

    w.loop(0, size, 1, column)
    return failed


def _eig_places(instruction: Instruction, nbytes: int) -> WorkspaceParts:
    (size, _), places = size_of(instruction), WorkspaceParts()
    places.add("matrix", size * size, nbytes)
    places.add("values", 2 * size, nbytes)
    places.add("vectors", size * size if len(instruction.results) == 2 else 1, nbytes)
    places.add("work", (4 + BLOCK) * size, nbytes)
    places.add("reals", 2 * size, nbytes)
    return places


def eig_workspace(instruction: Instruction, nbytes: int) -> int:
    """Bytes for the transposed matrix and vectors, the parts of values and LAPACK's own workspaces."""
    return _eig_places(instruction, nbytes).end
