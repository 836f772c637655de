"""Schur forms and Sylvester's equation by LAPACK, for one matrix.

It is called as SciPy calls it, so that vectors have the same signs and phases.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....ir.graph import Instruction
from ...llvm.emitter import Reg, constant
from .problem import BLOCK, Problem, WorkspaceParts, size_of


def schur(p: Problem) -> Reg | None:
    """Schur form t and vectors z, transposed to LAPACK's columns and back; eigenvalues are sorted behind
    it."""
    w, (size, _), sort = p.w, size_of(p.instruction), p.instruction.attrs["sort"]
    parts = _schur_parts(p.instruction, p.bytes)
    t, z, values, work, reals, count, numbers, chosen = (p.place(start) for start in parts.start.values())
    length = parts.count["work"]
    p.transpose((size, size), p.operands[0], t)
    finite = p.all_finite(t, size * size)
    of_complex = p.parts == 2
    imaginary = p.at(values, size)
    eigenvalues = [values] if of_complex else [values, imaginary]
    w.store(constant(0, "i64"), p.results[2])

    def compute() -> list[Reg]:
        more: list[str | int] = [reals] if of_complex else []
        p.call(
            "gees",
            ["'V", "'N", t, size, t, size, count, *eigenvalues, z, size, work, length, *more, t],
        )
        failed = p.caller.failed()
        if not sort:
            return [failed]
        w.loop(0, size, 1, choose)
        more = [] if of_complex else [numbers, size]
        p.call(
            "trsen",
            [
                "'N", "'V", chosen, size, t, size, z, size, *eigenvalues, count, reals, reals, work, length,
                *more,
            ],
        )  # fmt: skip
        first = w.load(count, p.caller.integer)
        w.store(first if p.caller.integer == "i64" else w.cast(first, "i64"), p.results[2])
        return [w.or_(failed, p.caller.failed())]

    def choose(index: Reg, _: list[Reg]) -> Sequence[Reg]:
        if of_complex:
            re, im = (w.extract(p.load(values, index), part) for part in range(2))
        else:
            re, im = p.load(values, index), p.load(imaginary, index)
        if sort in ("lhp", "rhp"):
            first = w.lt(re, 0.0) if sort == "lhp" else w.ge(re, 0.0)
        else:
            square = w.add(w.mul(re, re), w.mul(im, im))
            first = w.le(square, 1.0) if sort == "iuc" else w.gt(square, 1.0)
        w.store(w.cast(first, p.caller.integer), w.offset(chosen, p.caller.integer, index))
        return ()

    (failed,) = w.when(finite, compute, [constant(True, "bool")])
    p.transpose((size, size), t, p.results[0])
    p.transpose((size, size), z, p.results[1])
    return failed


def _schur_parts(instruction: Instruction, nbytes: int) -> WorkspaceParts:
    (size, _), parts = size_of(instruction), WorkspaceParts()
    parts.add("t", size * size, nbytes)
    parts.add("z", size * size, nbytes)
    parts.add("values", 2 * size, nbytes)
    parts.add("work", (3 + BLOCK) * size, nbytes)
    parts.add("reals", size + 1, nbytes)
    parts.add("count", 1, 8)
    parts.add("numbers", size, 8)
    parts.add("chosen", size, 8)
    return parts


def schur_workspace(instruction: Instruction, nbytes: int) -> int:
    """Bytes for t and z by columns, and for LAPACK's own workspaces."""
    return _schur_parts(instruction, nbytes).end


def sylvester(p: Problem) -> Reg | None:
    """``y = u^H q v``, then t y + y s = y by `trsyl`, then ``u y v^H``.

    The products are of the transposes that matrices by rows are to LAPACK.
    """
    _, _, t, u, s, v, q = p.operands
    rows, columns = p.instruction.operands[6].shape[-2:]
    is_adjoint = p.instruction.attrs["is_adjoint"]
    parts = _sylvester_parts(p.instruction, p.bytes)
    first, second, left, right, scale = (p.place(start) for start in parts.start.values())
    unit, zero = p.element(1.0), p.element(0.0)

    def product(
        ops: str, sizes: tuple[int, int, int], x: str, x_rows: int, y: str, y_rows: int, to: str
    ) -> None:
        a, b = (f"'{op}" for op in ops)
        p.call("gemm", [a, b, *sizes, unit, x, x_rows, y, y_rows, zero, to, sizes[0]], info=False)

    # y^T = v^T q^T conj(u)
    product("NN", (columns, rows, columns), v, columns, q, columns, first)
    product("NC", (columns, rows, rows), first, columns, u, rows, second)
    p.transpose((rows, columns), second, first)
    p.transpose((rows, rows), t, left)
    p.transpose((columns, columns), s, right)
    operation = ("'C" if p.parts == 2 else "'T") if is_adjoint else "'N"
    p.call("trsyl", [operation, operation, 1, rows, columns, left, rows, right, columns, first, rows, scale])
    p.transpose((columns, rows), first, second)
    # x^T = conj(v) y^T u^T
    product("CN", (columns, rows, columns), v, columns, second, columns, first)
    product("NN", (columns, rows, rows), first, columns, u, rows, p.results[0])
    w = p.w
    factor = w.div(1.0, w.load(scale, p.dtype))

    def rescale() -> list[Reg]:
        def element(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            place = w.offset(p.results[0], p.dtype, index)
            w.store(w.mul(w.load(place, p.dtype), factor), place)
            return ()

        w.loop(0, rows * columns * p.parts, 1, element)
        return []

    w.when(w.ne(factor, 1.0), rescale)
    return None


def _sylvester_parts(instruction: Instruction, nbytes: int) -> WorkspaceParts:
    (rows, columns), parts = instruction.operands[6].shape[-2:], WorkspaceParts()
    parts.add("first", rows * columns, nbytes)
    parts.add("second", rows * columns, nbytes)
    parts.add("left", rows * rows, nbytes)
    parts.add("right", columns * columns, nbytes)
    parts.add("scale", 1, nbytes)
    return parts


def sylvester_workspace(instruction: Instruction, nbytes: int) -> int:
    """Bytes for the solution in two layouts, and for the Schur forms by columns."""
    return _sylvester_parts(instruction, nbytes).end
