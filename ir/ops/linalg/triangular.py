"""Triangular systems by substitution."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....base.errors import LinAlgError, ShapeError
from ....base.lapack import calls
from ....base.lapack.library import on_one_thread
from ...registry import Attrs, Kind
from ...transforms.batching import all_mapped
from ...types import Types
from ..define import define
from .common import (
    MAX_AT_ONCE,
    conjugate,
    lower,
    product,
    right_side_type,
    square_type,
    stack_of,
    transposed,
    upper,
    with_shared_matrix,
)


def _triangular_infer(types: Types, attrs: Attrs) -> Types:
    matrices, right = types
    square_type("triangular_solve", matrices)
    if attrs["on_singular"] not in ("raise", "ignore"):
        raise ShapeError(
            f"triangular_solve: on_singular must be 'raise' or 'ignore', got {attrs['on_singular']!r}"
        )
    return (right_side_type("triangular_solve", matrices, right),)


@on_one_thread
@np.errstate(all="ignore")  # as NumPy's functions
def _triangular_eval(
    a: Any,
    b: Any,
    lower: bool = True,
    transpose: bool = False,
    conjugate: bool = False,
    unit_diagonal: bool = False,
    on_singular: str = "ignore",
) -> Any:
    if on_singular == "raise" and not unit_diagonal and not np.diagonal(a, axis1=-2, axis2=-1).all():
        raise LinAlgError("triangular_solve: singular matrix: a zero on the diagonal")
    if a.shape[-1] ** 2 > MAX_AT_ONCE and calls.has(a.dtype, "trsm"):
        solved = calls.triangular_solve(stack_of(a), stack_of(b), lower, transpose, conjugate, unit_diagonal)
        return solved.reshape(b.shape)
    triangle = np.conj(a) if conjugate else a  # of which the other elements are not read
    if transpose:
        triangle, lower = np.swapaxes(triangle, -1, -2), not lower
    x = np.array(b)
    count = a.shape[-1]
    for row in range(count) if lower else reversed(range(count)):
        solved = slice(0, row) if lower else slice(row + 1, None)
        x[..., row : row + 1, :] -= np.matmul(triangle[..., row : row + 1, solved], x[..., solved, :])
        if not unit_diagonal:
            x[..., row, :] /= triangle[..., row, row, None]
    return x


def _a_rule(
    b: Any, ct: Any, out: Any, a: Any, lower: bool, transpose: bool, conjugate: bool, unit_diagonal: bool
) -> Any:
    """``d x = -op(a)^-1 d op(a) x``, of which the elements that are read count."""
    turned = _b_rule(b, ct, a, lower, transpose, conjugate, unit_diagonal)
    full = product(b, turned, transposed(b, out))
    return _read_part(b, b.neg(transposed(b, full) if transpose else full), lower, conjugate, unit_diagonal)


def _read_part(b: Any, x: Any, is_lower: bool, conjugated: bool, strict: bool) -> Any:
    x = conjugate(b, x) if conjugated else x
    return lower(b, x, strict=strict) if is_lower else upper(b, x, strict=strict)


def _b_rule(
    b: Any, ct: Any, a: Any, lower: bool, transpose: bool, conjugate: bool, unit_diagonal: bool
) -> Any:
    return b.triangular_solve(
        a, ct, lower=lower, transpose=not transpose, conjugate=conjugate, unit_diagonal=unit_diagonal,
        on_singular="ignore",
    )  # fmt: skip


def _batch(b: Any, instruction: Any, operands: Any, mapped: Any, size: int) -> Any:
    """A matrix that all examples share has the right sides of all."""
    if mapped[0]:
        return b.append(instruction.op, tuple(all_mapped(b, operands, mapped, size)), instruction.attrs)
    return with_shared_matrix(b, instruction, operands, size)


TRIANGULAR_SOLVE = define(
    "triangular_solve", Kind.LINALG, "a b", infer=_triangular_infer, eval=_triangular_eval,
    vjp={"a": _a_rule, "b": _b_rule},
    doc="x with op(a) x = b, where op(a) is the `lower` or upper triangle of a, with ones on its diagonal if "
    "`unit_diagonal`, transposed and conjugated as said; zeros on the diagonal `raise` or divide",
    attrs={
        "lower": (bool,), "transpose": (bool,), "conjugate": (bool,), "unit_diagonal": (bool,),
        "on_singular": (str,),
    },
    defaults={
        "lower": True, "transpose": False, "conjugate": False, "unit_diagonal": False,
        "on_singular": "ignore",
    },
    batch=_batch,
)  # fmt: skip
