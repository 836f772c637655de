"""Shapes, joining, rearranging, diagonals and searching against NumPy, with gradients and traces."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.array.creation import tensor
from tracejit.array.diagonals import trace
from tracejit.base.errors import AxisError, ConcretizationError, DomainError, DTypeError, ShapeError
from tracejit.dispatch import native_ops

X = np.arange(24.0).reshape(2, 3, 4)
M = np.arange(12.0).reshape(3, 4)
V = np.arange(5.0)
S = np.array(2.5)
Z = np.zeros((2, 0, 3))

#: (function of the namespace and the array, arrays to apply it to)
CASES = {
    "reshape": (lambda n, x: n.reshape(x, (4, -1)), [X, M, np.ones((2, 2))]),
    "reshape to an int": (lambda n, x: n.reshape(x, -1), [X, M, S, Z]),
    "ravel": (lambda n, x: n.ravel(x), [X, M.T, S, Z]),
    "transpose": (lambda n, x: n.transpose(x), [X, M, V, S, Z]),
    "transpose by axes": (lambda n, x: n.transpose(x, (2, 0, -2)), [X, Z]),
    "permute_dims": (lambda n, x: n.permute_dims(x, (1, 0, 2)), [X]),
    "matrix_transpose": (lambda n, x: n.matrix_transpose(x), [X, M, Z]),
    "swapaxes": (lambda n, x: n.swapaxes(x, 0, -1), [X, M, Z]),
    "moveaxis": (lambda n, x: n.moveaxis(x, 0, -1), [X, M, V]),
    "moveaxis of several": (lambda n, x: n.moveaxis(x, (0, 1), (-1, 0)), [X, M]),
    "squeeze": (lambda n, x: n.squeeze(x), [X[:, :1], X[:1, :1, :1], X]),
    "squeeze an axis": (lambda n, x: n.squeeze(x, 1), [X[:, :1]]),
    "expand_dims": (lambda n, x: n.expand_dims(x, (0, -1)), [X, V, S]),
    "broadcast_to": (lambda n, x: n.broadcast_to(x, (2, 5)), [V, S, V[:, None][:2]]),
    "broadcast_arrays": (lambda n, x: n.broadcast_arrays(x, x[:1], 1.0), [X, M]),
    "atleast_1d": (lambda n, x: n.atleast_1d(x), [X, V, S]),
    "atleast_2d": (lambda n, x: n.atleast_2d(x), [X, V, S]),
    "atleast_3d": (lambda n, x: n.atleast_3d(x), [X, M, V, S]),
    "concatenate": (lambda n, x: n.concatenate([x, x[:1]]), [X, M, V]),
    "concat along the last": (lambda n, x: n.concat([x, x[..., :2]], axis=-1), [X, M, V]),
    "concatenate raveled": (lambda n, x: n.concatenate([x, x], axis=None), [X, V]),
    "concatenate promotes": (lambda n, x: n.concatenate([x, [1, 2]]), [V, V.astype("f4"), V.astype("i1")]),
    "concatenate dtype": (lambda n, x: n.concatenate([x, x], dtype="f4"), [V]),
    "stack": (lambda n, x: n.stack([x, x + 1]), [X, V, S, Z]),
    "stack last": (lambda n, x: n.stack([x, x + 1], axis=-1), [X, V, S]),
    "vstack": (lambda n, x: n.vstack([x, x]), [X, M, V, S]),
    "hstack": (lambda n, x: n.hstack([x, x]), [X, M, V, S]),
    "split": (lambda n, x: n.split(x, 2, axis=-1), [X, M]),
    "split at": (lambda n, x: n.split(x, [1, 3, 7]), [V, M]),
    "split at from the end": (lambda n, x: n.split(x, [-2]), [V, M]),
    "array_split": (lambda n, x: n.array_split(x, 3), [V, M, X]),
    "unstack": (lambda n, x: n.unstack(x, axis=1), [X, M]),
    "flip": (lambda n, x: n.flip(x), [X, V, S, Z]),
    "flip an axis": (lambda n, x: n.flip(x, (0, -1)), [X, M]),
    "fliplr": (lambda n, x: n.fliplr(x), [X, M]),
    "flipud": (lambda n, x: n.flipud(x), [X, V]),
    "roll": (lambda n, x: n.roll(x, 2), [X, V, Z]),
    "roll back": (lambda n, x: n.roll(x, -8, 0), [X, V]),
    "roll by axes": (lambda n, x: n.roll(x, (1, 2), (0, 1)), [X, M]),
    "roll by one shift": (lambda n, x: n.roll(x, 1, (0, 1)), [X, M]),
    **{f"rot90 {k}": (lambda n, x, k=k: n.rot90(x, k), [X, M]) for k in range(-1, 4)},
    "rot90 axes": (lambda n, x: n.rot90(x, 1, (2, 0)), [X]),
    "tile": (lambda n, x: n.tile(x, 2), [X, V, S, Z]),
    "tile more axes": (lambda n, x: n.tile(x, (2, 1, 3)), [X, V, S]),
    "tile fewer axes": (lambda n, x: n.tile(x, (2,)), [X, M]),
    "repeat": (lambda n, x: n.repeat(x, 2), [X, V, S, Z]),
    "repeat along": (lambda n, x: n.repeat(x, 3, axis=-1), [X, V]),
    "repeat none": (lambda n, x: n.repeat(x, 0, axis=0), [X, V]),
    "repeat each": (lambda n, x: n.repeat(x, [2, 0, 1], axis=-2), [X, M]),
    "tril": (lambda n, x: n.tril(x), [X, M]),
    "triu": (lambda n, x: n.triu(x, 1), [X, M]),
    "tril below": (lambda n, x: n.tril(x, -1), [X, M, M.astype("i1"), M > 5]),
    "diagonal": (lambda n, x: n.diagonal(x), [X, M, Z]),
    "diagonal above": (lambda n, x: n.diagonal(x, 2, -1, 0), [X, M]),
    "diagonal below": (lambda n, x: n.diagonal(x, -1, 1, 2), [X]),
    "diagonal outside": (lambda n, x: n.diagonal(x, 9), [X, M]),
    "trace": (lambda n, x: (trace if n is tj else np.trace)(x), [X, M, M.astype("i1")]),
    **{f"diag {k}": (lambda n, x, k=k: n.diag(x, k), [V, M, V[:0]]) for k in (-2, 0, 1)},
    "meshgrid": (lambda n, x: n.meshgrid(x, x[:3], x[:2]), [V]),
    "meshgrid ij": (lambda n, x: n.meshgrid(x, x[:3], indexing="ij"), [V]),
    "meshgrid sparse": (lambda n, x: n.meshgrid(x, x[:3], sparse=True), [V]),
    "astype": (lambda n, x: n.astype(x, np.dtype("i4")), [X, M, S]),
    "copy": (lambda n, x: n.copy(x), [X, S]),
    "take": (lambda n, x: n.take(x, np.array([[0, -1], [1, 0]]), axis=1), [X, M]),
    "take raveled": (lambda n, x: n.take(x, [4, 2]), [X, V]),
    "take one": (lambda n, x: n.take(x, 1, axis=0), [X, V]),
    "take wrapped": (lambda n, x: n.take(x, [-7, 9], axis=0, mode="wrap"), [X, V]),
    "take clipped": (lambda n, x: n.take(x, [-7, 9], axis=0, mode="clip"), [X, V]),
    "take_along_axis": (lambda n, x: n.take_along_axis(x, n.argmax(x, 0, keepdims=True), 0), [X, M, V]),
    "take_along_axis broadcast": (lambda n, x: n.take_along_axis(x, np.array([[[1, 0]]]), -1), [X]),
    "diff": (lambda n, x: n.diff(x), [X, M**2, V, M > 5]),
    "diff twice": (lambda n, x: n.diff(x, 2, axis=0), [M**3, V**2, V[:1]]),
    "diff extended": (lambda n, x: n.diff(x, prepend=0.0, append=x[..., :2]), [X, V]),
}  # fmt: skip
for _mode in ("constant", "edge", "reflect", "symmetric", "wrap"):
    CASES[f"pad {_mode}"] = (lambda n, x, m=_mode: n.pad(x, 2, mode=m), [X, V])
    CASES[f"pad far {_mode}"] = (lambda n, x, m=_mode: n.pad(x, (9, 7), mode=m), [V, M[:1]])
    CASES[f"pad by axis {_mode}"] = (lambda n, x, m=_mode: n.pad(x, ((0, 1), (2, 0)), mode=m), [M])
CASES["pad values"] = (lambda n, x: n.pad(x, 1, constant_values=((1, 2), (3, 4))), [M])
CASES["pad value"] = (lambda n, x: n.pad(x, ((1, 2),), constant_values=7), [M, V.astype("i2")])


@pytest.mark.parametrize("case", CASES)
def test_against_numpy(case, agrees):
    function, arrays = CASES[case]
    for x in arrays:
        agrees(lambda a: function(tj, a), lambda a: function(np, a), x)


@pytest.mark.parametrize("case", [case for case in CASES if case not in ("astype", "concatenate dtype")])
def test_gradients(case, check_gradients):
    function, arrays = CASES[case]
    for x in arrays[:2]:
        if x.dtype == np.float64 and x.size:
            small = x / 7.0 + 0.1
            check_gradients(
                lambda a: [part**2 for part in _as_list(function(tj, a))], small, second=x.size < 13
            )


def _as_list(result):
    return result if isinstance(result, (list, tuple)) else [result]


def test_views_share_memory_and_copies_do_not():
    x = tensor(np.arange(6.0))
    for view in (tj.reshape(x, (2, 3)), tj.flip(x), tj.split(x, 2)[0], tj.ravel(x), tj.expand_dims(x, 0)):
        assert np.shares_memory(view.numpy(), x.numpy())
    for copy in (
        tj.copy(x),
        tj.flatten(x),
        tj.astype(x, "f8"),
        tj.tile(x, 1),
        tj.repeat(x, 1),
        tj.roll(x, 6),
    ):
        assert not np.shares_memory(copy.numpy(), x.numpy())
    assert tj.astype(x, "f8", copy=False) is x


@pytest.mark.parametrize("transform", [lambda f: f, tj.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("view", [lambda x: tj.flip(x), lambda x: x[::2], lambda x: x.reshape(2, 3).T])
def test_ravel_copies_what_does_not_lie_in_order(view, transform):
    def program(x):
        y = view(x)
        tj.ravel(y)[0] = 9.0
        return y

    np.testing.assert_array_equal(transform(program)(tensor(np.arange(6.0))), view(tensor(np.arange(6.0))))


def test_nonzero_is_eager_only(traced):
    x = np.array([[0, 7], [8, 0]])
    for mine, expected in zip(tj.nonzero(x), np.nonzero(x), strict=True):
        np.testing.assert_array_equal(mine.numpy(), expected)
    np.testing.assert_array_equal(tj.argwhere(x).numpy(), np.argwhere(x))
    np.testing.assert_array_equal(tj.where(x)[1].numpy(), np.where(x)[1])
    for function in (tj.nonzero, tj.argwhere, tj.where):
        with pytest.raises(ConcretizationError, match=r"tj\.where"):
            traced(function, x)
    with pytest.raises(ConcretizationError):
        traced(lambda a: tj.repeat(a, a), np.arange(3))


def test_errors():
    x = tensor(X)
    for error, call in [
        (ShapeError, lambda: tj.reshape(x, (5, -1))),
        (AxisError, lambda: tj.transpose(x, (0, 0, 1))),
        (AxisError, lambda: tj.swapaxes(x, 0, 3)),
        (AxisError, lambda: tj.moveaxis(x, (0, 1), (0, 0))),
        (ShapeError, lambda: tj.squeeze(x, 0)),
        (AxisError, lambda: tj.expand_dims(x, 5)),
        (ShapeError, lambda: tj.broadcast_to(x, (3, 4))),
        (ShapeError, lambda: tj.concatenate([])),
        (ShapeError, lambda: tj.concatenate([x, tensor(M)])),
        (ShapeError, lambda: tj.concatenate([x, x[:, :2]])),
        (ShapeError, lambda: tj.concatenate([tensor(1.0), tensor(2.0)])),
        (ShapeError, lambda: tj.stack([x, x[:1]])),
        (ShapeError, lambda: tj.split(x, 2, axis=1)),
        (ShapeError, lambda: tj.array_split(x, 0)),
        (ShapeError, lambda: tj.pad(x, -1)),
        (tj.DomainError, lambda: tj.pad(x, 1, mode="none")),
        (ShapeError, lambda: tj.pad(x, ((1, 2), (3, 4)))),
        (ShapeError, lambda: tj.pad(tensor(Z), 1, mode="edge")),
        (ShapeError, lambda: tj.repeat(x, [1, 2], axis=1)),
        (ShapeError, lambda: tj.repeat(x, -1)),
        (DTypeError, lambda: tj.repeat(x, 1.5)),
        (ShapeError, lambda: tj.diag(x)),
        (ShapeError, lambda: tj.diagonal(V)),
        (ShapeError, lambda: tj.tril(1.0)),
        (ShapeError, lambda: tj.meshgrid(V, indexing="no")),
        (DomainError, lambda: tj.take(x, 0, 0, mode="no")),
        (ShapeError, lambda: tj.take_along_axis(x, [0])),
        (DTypeError, lambda: tj.take_along_axis(V, V)),
        (ShapeError, lambda: tj.diff(x, -1)),
        (ShapeError, lambda: tj.matrix_transpose(V)),
        (DTypeError, lambda: tj.astype(x, "c32")),
    ]:
        with pytest.raises(error):
            call()


def test_joining_into_out_and_by_castings():
    out = tj.zeros((2, 2))
    assert tj.stack([[1, 2], [3, 4]], 1, out) is out
    assert out.tolist() == [[1.0, 3.0], [2.0, 4.0]]
    assert tj.concatenate([[1.5], [2.5]], out=tj.zeros(2, int), casting="unsafe").tolist() == [1, 2]
    assert tj.hstack([[1.5], [2.5]], dtype=int, casting="unsafe").tolist() == [1, 2]
    for call in (lambda xp: xp.vstack([[1.5]], dtype=int), lambda xp: xp.concatenate([[1.5]], dtype=int)):
        with pytest.raises(TypeError):
            call(np)
        with pytest.raises(tj.DTypeError, match="float64 does not become int64 with casting='same_kind'"):
            call(tj)
    with pytest.raises(tj.DomainError, match="casting must be one of"):
        tj.concatenate([[1.5]], dtype=int, casting="most")
    with pytest.raises(tj.DTypeError, match="concatenate: the result has dtype float64"):
        tj.concatenate([[1.5]], out=tj.zeros(1, int))


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize(("shape", "shift", "axis"), [((7,), 3, 0), ((3, 5), -2, 1), ((4, 2, 3), 9, -3)])
def test_gradients_of_roll(shape, shift, axis, native):
    """One node, whose gradient is the roll back, to any order and in any order of memory."""
    if native:
        assert native_ops.load() == ""
    rng = np.random.default_rng(1)
    weights = rng.normal(size=shape)

    def loss(x):
        return (tj.roll(x, shift, axis) ** 3 * weights).sum()

    for order in "CF":
        x = tj.tensor(np.array(rng.normal(size=shape), order=order))
        back = np.roll(weights, -shift, axis)
        np.testing.assert_allclose(tj.grad(loss)(x), 3 * np.asarray(x) ** 2 * back)
        np.testing.assert_array_equal(tj.grad(loss)(x), tj.jit(tj.grad(loss))(x))
        second = tj.grad(lambda x: tj.grad(loss)(x).sum())(x)
        np.testing.assert_allclose(second, 6 * np.asarray(x) * back)
    if native:
        assert tj.roll(tj.tensor(weights, requires_grad=True), shift, axis).grad_fn.name() == "RollBackward"
    x = tj.tensor(weights.astype("f4").swapaxes(0, -1), requires_grad=True)
    tj.roll(x, shift, 0).sum().backward()
    assert x.grad.dtype == tj.float32
