"""Contractions and einsum against NumPy, with gradients and traces."""

# Tables of cases read best one group to a line.
# ruff: noqa: E501

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.array.creation import tensor
from tracejit.base.errors import AxisError, ShapeError
from tracejit.ir.dtypes import BY_NAME

SHAPES = {
    "matmul": [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((3,), (5, 3, 2)),
               ((5, 1, 2, 3), (4, 3, 2)), ((2, 0), (0, 3)), ((0, 2), (2, 3)), ((5, 2, 3), (3,))],
    "dot": [((), (3,)), ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((5, 2, 3), (4, 3, 2)),
            ((3,), (4, 3, 2)), ((4, 2, 3), (3,)), ((5, 2, 3), (3, 2))],
    "inner": [((), ()), ((3,), ()), ((3,), (3,)), ((2, 3), (4, 3)), ((5, 2, 3), (3,)), ((2, 3), (5, 4, 3))],
    "outer": [((), ()), ((2,), (3,)), ((2, 3), (4,)), ((0,), (3,))],
    "vdot": [((3,), (3,)), ((2, 3), (2, 3)), ((2, 3), (6,))],
    "vecdot": [((3,), (3,)), ((2, 3), (3,)), ((2, 1, 3), (4, 3))],
    "kron": [((2,), (3,)), ((2, 2), (3,)), ((2, 1), (2, 3)), ((), (2,))],
    "tensordot": [((2, 3, 4), (3, 4, 5)), ((3, 4), (3, 4)), ((0, 2), (0, 2))],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "shapes"), [(name, shapes) for name in SHAPES for shapes in SHAPES[name]], ids=str
)
def test_shapes(name, shapes, agrees, check_gradients, rng):
    x, y = (rng.normal(size=shape) for shape in shapes)
    agrees(getattr(tj, name), getattr(np, name), x, y, rtol=1e-13)
    if x.size and y.size:
        check_gradients(getattr(tj, name), x, y, second=x.size < 12)


@pytest.mark.parametrize(
    "dtypes", [(a, b) for a in BY_NAME for b in ("i1", "u8", "f32", "bool", "f64") if b in BY_NAME]
)
def test_dtypes(dtypes, agrees):
    x, y = (np.array([[1, 0], [1, 1]], BY_NAME[dtype]) for dtype in dtypes)
    for name in ("matmul", "dot", "inner", "outer", "vdot", "vecdot", "kron"):
        agrees(getattr(tj, name), getattr(np, name), x, y)
    agrees(lambda a, b: tj.einsum("ij,jk", a, b), lambda a, b: np.einsum("ij,jk", a, b), x, y)


def test_integers_wrap(agrees):
    x = np.array([[100, 100], [3, 4]], np.int8)
    agrees(tj.matmul, np.matmul, x, x)
    agrees(tj.vecdot, np.vecdot, x, x)


def test_tensordot_axes(agrees, rng):
    x, y = rng.normal(size=(2, 3, 4)), rng.normal(size=(4, 3, 5))
    for axes in (0, 1, ([1, 2], [1, 0]), (2, 0), ((-1,), (-3,))):
        agrees(
            lambda a, b, s=axes: tj.tensordot(a, b, s),
            lambda a, b, s=axes: np.tensordot(a, b, s),
            x,
            y,
            rtol=1e-13,
        )
    with pytest.raises(ShapeError, match="tensordot"):
        tj.tensordot(x, y, 2)
    with pytest.raises(AxisError):
        tj.tensordot(x, y, 4)
    with pytest.raises(AxisError):
        tj.tensordot(x, y, ([0, 0], [1, 1]))


EINSUMS = [
    ("ij->ji", [(2, 3)]), ("ij", [(2, 3)]), ("ji", [(2, 3)]), ("ii", [(3, 3)]), ("ii->i", [(3, 3)]), ("ij->", [(2, 3)]),
    ("iij->j", [(3, 3, 2)]), ("iii->i", [(3, 3, 3)]), ("i,i", [(3,), (3,)]), ("i,j", [(3,), (2,)]), ("i,i->i", [(3,), (3,)]),
    ("ij,jk", [(2, 3), (3, 4)]), ("ij,jk->ki", [(2, 3), (3, 4)]), ("ij,kj->ik", [(2, 3), (4, 3)]), ("bij,bjk->bik", [(5, 2, 3), (5, 3, 4)]),
    ("ij,ij->", [(2, 3), (2, 3)]), ("ij,ij->i", [(2, 3), (2, 3)]), ("ij,k->kj", [(2, 3), (4,)]), ("ii,ij->j", [(3, 3), (3, 2)]),
    ("...ij,...jk->...ik", [(5, 2, 3), (3, 4)]), ("...ij,jk", [(6, 5, 2, 3), (3, 4)]), ("i...->...", [(2, 3, 4)]),
    ("...i,...i->...", [(5, 1, 3), (4, 3)]), ("...", [(2, 3)]), ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)]),
    ("i,j,k->ijk", [(2,), (3,), (4,)]), ("ij,jk,ki", [(2, 3), (3, 4), (4, 2)]), ("ijk,lmn,nok,lo,jm->i", [(2, 3, 2), (3, 2, 3), (3, 2, 2), (3, 2), (3, 2)]),
    ("bhqd,bhkd->bhqk", [(2, 2, 3, 4), (2, 2, 5, 4)]), ("a,ab,abc->abc", [(2,), (2, 3), (2, 3, 4)]), ("ij,ij,ij->ij", [(2, 2)] * 3),
    ("bij,bj->bi", [(1, 2, 3), (4, 3)]), (" i j , j k -> i k ", [(2, 3), (3, 4)]), ("i,->i", [(3,), ()]), ("->", [()]), (",", [(), ()]),
    ("ij,j->i", [(2, 0), (0,)]), ("zA,Ab->zb", [(2, 3), (3, 4)]),
]  # fmt: skip


@pytest.mark.parametrize(("subscripts", "shapes"), EINSUMS, ids=str)
def test_einsum(subscripts, shapes, agrees, check_gradients, rng):
    arrays = [rng.normal(size=shape) for shape in shapes]
    agrees(
        lambda *xs: tj.einsum(subscripts, *xs), lambda *xs: np.einsum(subscripts, *xs), *arrays, rtol=1e-12
    )
    agrees(
        lambda *xs: tj.einsum(subscripts, *xs, optimize=False),
        lambda *xs: np.einsum(subscripts, *xs),
        *arrays,
        rtol=1e-12,
    )
    if all(0 < array.size < 16 for array in arrays):
        check_gradients(lambda *xs: tj.einsum(subscripts, *xs), *arrays)


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [("ij,jk", [(2, 3), (4, 5)]), ("ij", [(2,)]), ("i->j", [(2,)]), ("ij,jk", [(2, 3)]), ("i1", [(2, 3)]),
     ("i->ii", [(2,)]), ("ii", [(2, 3)])],
)  # fmt: skip
def test_einsum_errors(subscripts, shapes):
    with pytest.raises(ShapeError):
        tj.einsum(subscripts, *[tensor(np.ones(shape)) for shape in shapes])


def test_errors_name_the_shapes():
    with pytest.raises(ShapeError, match=r"matmul: \(2, 3\) and \(2, 3\)"):
        tj.matmul(np.ones((2, 3)), np.ones((2, 3)))
    with pytest.raises(ShapeError, match="rank 1 or more"):
        tj.matmul(2.0, np.ones(3))
    for name in ("dot", "inner", "vdot", "vecdot"):
        with pytest.raises(ShapeError, match=name):
            getattr(tj, name)(np.ones((2, 3)), np.ones((5, 4)))
    with pytest.raises(ShapeError, match="broadcast"):
        tj.matmul(np.ones((2, 3, 3)), np.ones((5, 3, 3)))


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "c16"])
@pytest.mark.parametrize("axis", [0, -1])
def test_vecdot_of_many_elements(dtype: str, axis: int) -> None:
    """Small whole numbers, whose sums are exact, dense and repeated."""
    rng = np.random.default_rng(5)
    x = rng.integers(-4, 5, (500, 400)).astype(dtype)
    if dtype == "c16":
        x = x + 1j * x[::-1]
    for y in (x[::-1], np.broadcast_to(x[:1], x.shape), np.broadcast_to(x[:, :1], x.shape)):
        for a, b in ((x, y), (y, x), (y, y)):
            got = np.asarray(tj.vecdot(a, b, axis=axis))
            want = np.vecdot(a, b, axis=axis)
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got, want)


def test_gradient_of_vecdot_of_many_elements() -> None:
    x, y = (np.random.default_rng(seed).integers(-4, 5, (500, 400)).astype("f8") for seed in (1, 2))
    a, b = tj.tensor(x, requires_grad=True), tj.tensor(y[:1], requires_grad=True)
    (tj.vecdot(a, tj.broadcast_to(b, x.shape)) * tj.asarray(np.arange(500.0))).sum().backward()
    np.testing.assert_array_equal(np.asarray(a.grad), np.arange(500.0)[:, None] * y[:1])
    np.testing.assert_array_equal(np.asarray(b.grad), (np.arange(500.0) @ x)[None])
