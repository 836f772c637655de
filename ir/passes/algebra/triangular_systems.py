"""Systems with triangular matrices, which need no factorization."""

from __future__ import annotations

from ...builder import Builder
from ...graph import Instruction, Value
from ..rewriting import Definitions, defined_by


def solve_triangular(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    """``lu_solve`` with a matrix that is a Cholesky factor, or its transpose, or the r of a QR factorization:
    one substitution. The LU factors are dead then, unless something else uses them."""
    a, right = instruction.operands[0], instruction.operands[3]
    if a.dtype.kind == "c":  # whose transposes are conjugated
        return None
    rank, turned = len(a.shape), False
    transposed = defined_by(a, "transpose", defs)
    if transposed is not None:
        if transposed.attrs["perm"] != (*range(rank - 2), rank - 1, rank - 2):
            return None
        (a,), turned = transposed.operands, True
    factor = defs.get(a)
    lower = factor is not None and factor.op.name == "cholesky"
    upper = factor is not None and factor.op.name == "qr" and a is factor.results[1]
    if not (lower or upper):
        return None
    attrs = instruction.attrs
    return b.triangular_solve(  # type: ignore[no-any-return]
        a, right, lower=lower, transpose=attrs["transpose"] is not turned, conjugate=attrs["conjugate"],
        on_singular=attrs["on_singular"],
    )  # fmt: skip
