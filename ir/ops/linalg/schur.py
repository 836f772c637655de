"""The Schur form ``a = z t z^H``, whose t is upper triangular; of a real matrix it has blocks of two rows,
one for each pair of complex eigenvalues.

With ``n = z^H da z`` and ``dz = z w``, w skew-Hermitian, ``dt = n - (w t - t w)``. Below the blocks dt is 0,
which determines the part x of w that is there, where eigenvalues differ: ``x t - t x = n`` below the blocks.
In a block w keeps the elements of the diagonal equal, as LAPACK gives them. What w has on the diagonal of
complex vectors is not determined; it is 0, so that gradients are right for all that does not depend on the
phases.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....base.errors import ShapeError
from ....base.lapack import calls
from ....base.lapack.library import on_one_thread
from ...dtypes import INT64
from ...registry import Attrs, Kind
from ...transforms.batching import batch_pointwise
from ...types import TensorType, Types
from ..define import define
from .common import (
    adjoint,
    conjugate,
    lower,
    product,
    several,
    square_type,
    stack_of,
    transposed,
    upper,
    zeros_like,
)


def _infer(types: Types, attrs: Attrs) -> Types:
    operand = square_type("schur", types[0])
    if attrs["sort"] not in ("", *calls.SORTS):
        raise ShapeError(f"schur: sort must be '' or one of {list(calls.SORTS)}, got {attrs['sort']!r}")
    return operand, operand, TensorType(INT64, operand.shape[:-2])


@on_one_thread
def _eval(a: Any, sort: str = "") -> tuple[Any, Any, Any]:
    calls.require("schur", a.dtype, "gees", "trsen")
    t, z = np.empty_like(stack_of(a)), np.empty_like(stack_of(a))
    counts = np.zeros(len(t), INT64)
    for index, matrix in enumerate(stack_of(a)):
        if matrix.size:
            t[index], z[index], counts[index] = calls.schur(matrix, sort)
    return t.reshape(a.shape), z.reshape(a.shape), counts.reshape(a.shape[:-2])


def _below_blocks(b: Any, t: Any, x: Any) -> Any:
    """`x` where `t` is 0 because it is a Schur form."""
    return lower(b, b.where(b.eq(t, 0.0), x, 0.0), strict=True)


def _up_to_blocks(b: Any, t: Any, x: Any) -> Any:
    """`x` in the upper triangle and the blocks of `t`."""
    return b.add(upper(b, x), lower(b, b.where(b.eq(t, 0.0), 0.0, x), strict=True))


def _commutator(b: Any, x: Any, y: Any) -> Any:
    return b.sub(product(b, x, y), product(b, y, x))


def _pull(b: Any, cotangents: Any, operands: Any, results: Any, attrs: Attrs) -> Any:
    a, (t, z, _) = operands[0], results
    g_t, g_z = (None if ct is None else conjugate(b, ct) for ct in cotangents[:2])
    if 0 in a.shape or (g_t is None and g_z is None):
        return [zeros_like(b, a)]
    g_n, turning = None, None
    if g_t is not None:
        g_n = _up_to_blocks(b, t, g_t)
        turning = b.neg(_commutator(b, g_n, adjoint(b, t)))
    if g_z is not None:
        by_vectors = product(b, adjoint(b, z), g_z)
        turning = by_vectors if turning is None else b.add(turning, by_vectors)
    skew = b.sub(turning, adjoint(b, turning))
    g_x = _below_blocks(b, t, skew)
    if a.dtype.kind == "f":
        in_blocks = _of_blocks(b, t, skew)
        g_n = in_blocks if g_n is None else b.add(g_n, in_blocks)
        g_x = b.sub(g_x, _below_blocks(b, t, _commutator(b, in_blocks, adjoint(b, t))))
    turned = b.schur_turning(t, g_x, is_adjoint=True)
    g_n = turned if g_n is None else b.add(g_n, turned)
    return [conjugate(b, product(b, z, g_n, adjoint(b, z)))]


def _of_blocks(b: Any, t: Any, skew: Any) -> Any:
    """The cotangent of the diagonal of ``n - (x t - t x)`` by the rotations in blocks ``[p, q; r, p]``,
    which are half the difference of two elements over q + r."""
    below = lower(b, t, strict=True)
    in_block = b.ne(below, 0.0)
    sides = b.where(in_block, b.add(below, transposed(b, t)), 0.0)
    turns = b.ne(sides, 0.0)  # else the block is the same however it is turned
    share = b.where(turns, b.div(b.mul(skew, 0.5), b.where(turns, sides, 1.0)), 0.0)
    rank = len(t.shape)
    second, first = b.sum(share, axes=(rank - 1,)), b.sum(share, axes=(rank - 2,))
    shape = tuple(t.shape)
    row, column = (b.iota(shape=shape, axis=rank - axis, dtype=INT64) for axis in (2, 1))
    difference = b.reshape(b.sub(second, first), shape=(*shape[:-1], 1))
    return b.where(b.eq(row, column), b.broadcast(difference, shape=shape), 0.0)


SCHUR = several(
    "schur", "a", infer=_infer, eval=_eval, pull=_pull, attrs={"sort": (str,)}, defaults={"sort": ""},
    doc="t and unitary z with a = z t z^H, t upper triangular but for blocks of two rows of real "
    "matrices; and "
    "how many eigenvalues come first because of `sort`: '', or lhp, rhp, iuc, ouc as in SciPy",
)  # fmt: skip


# -- how vectors turn into each other -------------------------------------------------------------


def _turning_infer(types: Types, attrs: Attrs) -> Types:
    t, g = types
    if square_type("schur_turning", t) != g:
        raise ShapeError(f"schur_turning: {g} does not fit {t}")
    return (t,)


@on_one_thread
def _turning_eval(t: Any, g: Any, is_adjoint: bool = False) -> Any:
    result = np.zeros_like(g)
    for matrix, below, x in zip(stack_of(t), stack_of(g), stack_of(result), strict=True):
        _turn(matrix, below, x, is_adjoint)
    return result


def _turn(t: Any, g: Any, x: Any, is_adjoint: bool) -> None:
    """Fill `x` by halves: the block below those on the diagonal is Sylvester's equation of their
    eigenvalues."""
    size = len(t)
    middle = size // 2
    if size < 2 or (size == 2 and t[1, 0]):
        return
    middle += bool(t[middle, middle - 1])  # not through a block
    first, second = slice(0, middle), slice(middle, size)
    if is_adjoint:
        _turn(t[first, first], g[first, first], x[first, first], True)
        _turn(t[second, second], g[second, second], x[second, second], True)
        beside = np.conj(t[first, second].T)
        right = g[second, first] - x[second, second] @ beside + beside @ x[first, first]
        x[second, first] = -calls.triangular_sylvester(t[second, second], t[first, first], right, True, -1)
        return
    x[second, first] = -calls.triangular_sylvester(
        t[second, second], t[first, first], g[second, first], False, -1
    )
    beside = t[first, second] @ x[second, first]
    _turn(t[first, first], g[first, first] + beside, x[first, first], False)
    beside = x[second, first] @ t[first, second]
    _turn(t[second, second], g[second, second] - beside, x[second, second], False)


def _turning_matrix_rule(b: Any, ct: Any, out: Any, t: Any, is_adjoint: bool) -> Any:
    """The cotangent of t for the solution x of ``x t - t x = g`` below the blocks, or of
    ``x t^H - t^H x = g``."""
    turned = conjugate(b, _turning_rule(b, ct, t, is_adjoint))
    left, right = (turned, out) if is_adjoint else (out, turned)
    gradient = b.neg(_commutator(b, adjoint(b, left), right))
    return conjugate(b, _up_to_blocks(b, t, gradient))


def _turning_rule(b: Any, ct: Any, t: Any, is_adjoint: bool) -> Any:
    below = _below_blocks(b, t, conjugate(b, ct))
    return conjugate(b, b.schur_turning(t, below, is_adjoint=not is_adjoint))


SCHUR_TURNING = define(
    "schur_turning", Kind.LINALG, "t g", infer=_turning_infer, eval=_turning_eval, batch=batch_pointwise,
    vjp={"t": _turning_matrix_rule, "g": _turning_rule}, attrs={"is_adjoint": (bool,)},
    defaults={"is_adjoint": False},
    doc="the x that is 0 but below the blocks of the Schur form t, with x t - t x = g there, or with t^H "
    "for t",
)  # fmt: skip
