"""What each op does with LAPACK for one matrix after the other.

A `Problem` has the pointers to one matrix of each buffer. A function of this module writes the code for it,
and gives the condition of failure, or None where there is none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from ....ir.dtypes import SHORT_NAME
from ....ir.graph import Instruction
from ....ir.records import record
from ...llvm.emitter import BITS, Reg, constant
from ...llvm.loops import FunctionWriter
from .calls import Caller, transpose

#: Columns that LAPACK's blocked functions work on at a time, at most.
_BLOCK: Final = 64


@record(eq=False, frozen=False)
class Problem:
    """One matrix of each operand and result of an instruction, and the workspace."""

    w: FunctionWriter
    caller: Caller
    instruction: Instruction
    dtype: str
    lanes: int
    #: Pointers to the matrices of the operands, and of the results.
    operands: Sequence[str]
    results: Sequence[str]
    workspace: str
    #: The pointers to numbers and texts, by value.
    constants: dict[object, str]

    def number(self, value: int) -> str:
        """A pointer to `value` as LAPACK's integer."""
        return self.constants[value]

    def text(self, letter: str) -> str:
        """A pointer to a character."""
        return self.constants[letter]

    @property
    def bytes(self) -> int:
        """Of an element."""
        return BITS[self.dtype] // 8

    def place(self, offset: int) -> str:
        """The pointer to byte `offset` of the workspace."""
        return self.w.offset(self.workspace, "u8", offset)

    def call(self, name: str, arguments: Sequence[str | int], info: bool = True) -> None:
        """Call LAPACK: pointers as they are, ``"'U"`` for a character, integers by reference."""
        texts = sum(isinstance(argument, str) and argument.startswith("'") for argument in arguments)
        places = [
            self.number(argument)
            if isinstance(argument, int)
            else self.text(argument[1])
            if argument.startswith("'")
            else argument
            for argument in arguments
        ]
        self.caller.call(name, [*places, *([self.caller.info] if info else [])], texts)


Sizes = tuple[int, ...]


@record(eq=False)
class Factorization:
    """An op by LAPACK: what it writes, what it asks of the workspace in bytes, LAPACK's names, the floating
    operations, and what its failure is called."""

    write: Callable[[Problem], Reg | None]
    workspace: Callable[[Instruction, int], int]
    names: tuple[str, ...]
    flops: Callable[[Instruction], float]
    error: str = ""


def _size(instruction: Instruction) -> tuple[int, int]:
    rows, columns = instruction.operands[0].shape[-2:]
    return rows, columns


def _aligned(nbytes: int) -> int:
    return -(-nbytes // 64) * 64


def _no_workspace(instruction: Instruction, nbytes: int) -> int:
    return 0


# -- Cholesky -------------------------------------------------------------------------------------


def _cholesky(p: Problem) -> Reg | None:
    """The lower triangle by rows is the upper one by columns."""
    w, (size, _), result = p.w, _size(p.instruction), p.results[0]
    w.copy(result, p.operands[0], size * size * p.bytes)
    p.call("potrf", ["'U", size, result, size])

    def clear_above(row: Reg, _: list[Reg]) -> Sequence[Reg]:
        first = w.offset(result, p.dtype, w.add(w.mul(row, size + 1), 1))
        w.clear(first, w.mul(w.sub(constant(size - 1, "i64"), row), p.bytes))
        return ()

    w.loop(0, size - 1, 1, clear_above)
    failed = p.caller.failed()
    if p.instruction.attrs["on_error"] == "raise":
        return failed

    def fill() -> list[Reg]:
        def element(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            w.store(constant(math.nan, p.dtype), w.offset(result, p.dtype, index))
            return ()

        w.loop(0, size * size, 1, element)
        return []

    w.when(failed, fill)
    return None


# -- triangular systems ---------------------------------------------------------------------------


def _solve(
    p: Problem, factor: str, right: str, columns: int, *, lower: bool, transpose: bool, unit: bool
) -> None:
    """Solve in place: ``x^T op(a)^T = b^T`` to LAPACK, for which `factor` is transposed."""
    size = p.instruction.operands[0].shape[-1]
    uplo, diagonal = "'U" if lower else "'L", "'U" if unit else "'N"
    if columns == 1:
        p.call(
            "trsv", [uplo, "'N" if transpose else "'T", diagonal, size, factor, size, right, 1], info=False
        )
        return
    turn = "'T" if transpose else "'N"
    p.call(
        "trsm",
        ["'R", uplo, turn, diagonal, columns, size, p.constants[1.0], factor, size, right, columns],
        info=False,
    )


def _zero_on_diagonal(p: Problem, matrix: str, size: int) -> Reg:
    w = p.w

    def element(row: Reg, seen: list[Reg]) -> Sequence[Reg]:
        value = w.load(w.offset(matrix, p.dtype, w.mul(row, size + 1)), p.dtype)
        return [w.or_(seen[0], w.eq(value, 0.0))]

    (zero,) = w.loop(0, size, 1, element, [constant(False, "bool")])
    return zero


def _triangular_solve(p: Problem) -> Reg | None:
    attrs, right = p.instruction.attrs, p.instruction.operands[1]
    rows, columns = right.shape[-2:]
    p.w.copy(p.results[0], p.operands[1], rows * columns * p.bytes)
    _solve(
        p, p.operands[0], p.results[0], columns,
        lower=attrs["lower"], transpose=attrs["transpose"], unit=attrs["unit_diagonal"],
    )  # fmt: skip
    if attrs["on_singular"] == "raise" and not attrs["unit_diagonal"]:
        return _zero_on_diagonal(p, p.operands[0], rows)
    return None


# -- LU -------------------------------------------------------------------------------------------


def _lu(p: Problem) -> Reg | None:
    w, (rows, columns) = p.w, _size(p.instruction)
    least = min(rows, columns)
    factors, pivots, permutation = p.results
    by_columns = p.workspace
    own = p.place(_aligned(rows * columns * p.bytes))
    transpose(w, p.dtype, (rows, columns), p.operands[0], by_columns, p.lanes)
    p.call("getrf", [rows, columns, by_columns, rows, own])
    transpose(w, p.dtype, (columns, rows), by_columns, factors, p.lanes)

    def number(row: Reg, _: list[Reg]) -> Sequence[Reg]:
        w.store(row, w.offset(permutation, "i64", row))
        return ()

    w.loop(0, rows, 1, number)

    def exchange(step: Reg, _: list[Reg]) -> Sequence[Reg]:
        pivot = w.load(w.offset(own, p.caller.integer, step), p.caller.integer)
        pivot = w.sub(pivot if p.caller.integer == "i64" else w.cast(pivot, "i64"), 1)
        w.store(pivot, w.offset(pivots, "i64", step))
        here, there = w.offset(permutation, "i64", step), w.offset(permutation, "i64", pivot)
        first, second = w.load(here, "i64"), w.load(there, "i64")
        w.store(second, here)
        w.store(first, there)
        return ()

    w.loop(0, least, 1, exchange)
    return None  # a zero among the pivots is a result


def _lu_workspace(instruction: Instruction, nbytes: int) -> int:
    rows, columns = _size(instruction)
    return _aligned(rows * columns * nbytes) + _aligned(8 * min(rows, columns))


def _lu_solve(p: Problem) -> Reg | None:
    w, attrs = p.w, p.instruction.attrs
    size, columns = p.instruction.operands[3].shape[-2:]
    _, lu, permutation, right = p.operands
    (result,) = p.results
    turned = attrs["transpose"]
    solved = p.workspace if turned else result
    if turned:
        w.copy(solved, right, size * columns * p.bytes)

    def move(row: Reg, _: list[Reg]) -> Sequence[Reg]:
        other = w.mul(w.load(w.offset(permutation, "i64", row), "i64"), columns)
        own = w.mul(row, columns)
        to, source = (other, own) if turned else (own, other)
        place = solved if turned else right
        w.copy(w.offset(result, p.dtype, to), w.offset(place, p.dtype, source), columns * p.bytes)
        return ()

    if not turned:
        w.loop(0, size, 1, move)
    for lower in (False, True) if turned else (True, False):
        _solve(p, lu, solved, columns, lower=lower, transpose=turned, unit=lower)
    if turned:
        w.loop(0, size, 1, move)
    if attrs["on_singular"] == "raise":
        return _zero_on_diagonal(p, lu, size)
    return None


def _lu_solve_workspace(instruction: Instruction, nbytes: int) -> int:
    size, columns = instruction.operands[3].shape[-2:]
    return size * columns * nbytes if instruction.attrs["transpose"] else 0


# -- QR -------------------------------------------------------------------------------------------


def _qr(p: Problem) -> Reg | None:
    """``a = q r`` by rows is ``a^T = l q`` by columns."""
    w, (rows, columns) = p.w, _size(p.instruction)
    q, r = p.results
    least, inner = min(rows, columns), p.instruction.results[0].shape[-1]
    factors, tau, work, length = _qr_places(p.instruction, p.bytes)
    matrix = p.place(factors)
    w.copy(matrix, p.operands[0], rows * columns * p.bytes)
    p.call("gelqf", [columns, rows, matrix, columns, p.place(tau), p.place(work), length])

    def split(row: Reg, _: list[Reg]) -> Sequence[Reg]:
        """Row `row` of r, and the reflectors, which lie in the columns before its diagonal and behind."""
        source = w.offset(matrix, p.dtype, w.mul(row, columns))
        w.copy(w.offset(q, p.dtype, w.mul(row, inner)), source, least * p.bytes)
        return ()

    def upper(row: Reg, _: list[Reg]) -> Sequence[Reg]:
        start = w.mul(row, columns)
        w.clear(w.offset(r, p.dtype, start), w.mul(w.min(row, columns), p.bytes))
        behind = w.mul(row, columns + 1)
        count = w.mul(w.sub(constant(columns, "i64"), row), p.bytes)
        w.copy(w.offset(r, p.dtype, behind), w.offset(matrix, p.dtype, behind), count)
        return ()

    w.loop(0, rows, 1, split)
    w.loop(0, least, 1, upper)
    if inner > least:
        w.clear(w.offset(r, p.dtype, least * columns), (inner - least) * columns * p.bytes)
    p.call("orglq", [inner, rows, least, q, inner, p.place(tau), p.place(work), length])
    return None


def _qr_places(instruction: Instruction, nbytes: int) -> Sizes:
    """Bytes where the factors, tau and LAPACK's workspace begin, and the number of elements of that."""
    rows, columns = _size(instruction)
    tau = _aligned(rows * columns * nbytes)
    work = tau + _aligned(min(rows, columns) * nbytes)
    return 0, tau, work, _BLOCK * max(rows, columns)


def _qr_workspace(instruction: Instruction, nbytes: int) -> int:
    _, _, work, length = _qr_places(instruction, nbytes)
    return work + length * nbytes


# -- eigenvalues and singular values --------------------------------------------------------------


def _eigh(p: Problem) -> Reg | None:
    """Called as NumPy calls it, so that vectors have the same signs."""
    w, (size, _) = p.w, _size(p.instruction)
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
    size, _ = _size(instruction)
    vectors = len(instruction.results) == 2
    length = (1 + 6 * size + 2 * size * size if vectors else 2 * size + 1) + _BLOCK * size
    count = 3 + 5 * size if vectors else 1
    work = _aligned(size * size * nbytes)
    return work, work + _aligned(length * nbytes), length, count


def _eigh_workspace(instruction: Instruction, nbytes: int) -> int:
    _, numbers, _, count = _eigh_places(instruction, nbytes)
    return numbers + 8 * count


def _svd(p: Problem) -> Reg | None:
    """Called as NumPy calls it, so that vectors have the same signs."""
    w, (rows, columns) = p.w, _size(p.instruction)
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
    rows, columns = _size(instruction)
    left, right = _svd_sides(instruction)
    least, most = min(rows, columns), max(rows, columns)
    length = 4 * least * least + 8 * least + most + max(most, 7 * least) + _BLOCK * (least + most)
    at_left = _aligned(rows * columns * nbytes)
    at_right = at_left + _aligned(rows * left * nbytes)
    work = at_right + _aligned(columns * right * nbytes)
    return at_left, at_right, work, work + _aligned(length * nbytes), length


def _svd_workspace(instruction: Instruction, nbytes: int) -> int:
    numbers = _svd_places(instruction, nbytes)[3]
    return numbers + 8 * 8 * min(_size(instruction))


def _cube(factor: float) -> Callable[[Instruction], float]:
    """Floating operations: `factor` times the larger side and the square of the smaller one."""

    def flops(instruction: Instruction) -> float:
        rows, columns = _size(instruction)
        return factor * max(rows, columns) * min(rows, columns) ** 2

    return flops


def _of_right_sides(factor: float) -> Callable[[Instruction], float]:
    def flops(instruction: Instruction) -> float:
        size, columns = instruction.operands[-1].shape[-2:]
        return factor * size * size * columns

    return flops


#: By the names of the ops.
FACTORIZATIONS: Final[dict[str, Factorization]] = {
    "cholesky": Factorization(
        _cholesky, _no_workspace, ("potrf",), _cube(1 / 3), "Matrix is not positive definite"
    ),
    "triangular_solve": Factorization(
        _triangular_solve, _no_workspace, ("trsm", "trsv"), _of_right_sides(1.0), "singular matrix"
    ),
    "lu": Factorization(_lu, _lu_workspace, ("getrf",), _cube(2 / 3)),
    "lu_solve": Factorization(
        _lu_solve, _lu_solve_workspace, ("trsm", "trsv"), _of_right_sides(2.0), "singular matrix"
    ),
    "qr": Factorization(_qr, _qr_workspace, ("gelqf", "orglq"), _cube(4.0)),
    "eigh": Factorization(_eigh, _eigh_workspace, ("syevd",), _cube(9.0), "Eigenvalues did not converge"),
    "eigvalsh": Factorization(
        _eigh, _eigh_workspace, ("syevd",), _cube(4 / 3), "Eigenvalues did not converge"
    ),
    "svd": Factorization(_svd, _svd_workspace, ("gesdd",), _cube(20.0), "SVD did not converge"),
    "svdvals": Factorization(_svd, _svd_workspace, ("gesdd",), _cube(8 / 3), "SVD did not converge"),
}


def dtype_of(instruction: Instruction) -> str:
    """The short name of the dtype of the matrices."""
    return SHORT_NAME[instruction.operands[0].dtype]
