"""Shapes, axes, indices and dtypes that do not fit: NumPy's result or an error that says what is wrong.

Each table row names what comes out: the class, and words of the message.
"""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

from .common import MODES, M, X, written

SHAPES = {
    "broadcast": (lambda x, y: x + y, (X, [1.0, 2.0, 3.0]), tj.ShapeError, r"add: .*\(2,\) and \(3,\)"),
    "compare": (lambda x, y: x < y, (X, [1.0, 2.0, 3.0]), tj.ShapeError, r"\(2,\) and \(3,\)"),
    "where": (lambda x, y: tj.where(x > 0, x, y), (X, [1.0, 2.0, 3.0]), tj.ShapeError, "where"),
    "clip": (lambda x, y: tj.clip(x, y, None), (X, [1.0, 2.0, 3.0]), tj.ShapeError, "broadcast"),
    "matmul": (lambda x, y: x @ y, (M, M), tj.ShapeError, "matmul.*3 columns against 2 rows"),
    "matmul rank 0": (lambda x: x @ 2.0, (X,), tj.ShapeError, "matmul"),
    "dot": (lambda x, y: tj.dot(x, y), (M, X), tj.ShapeError, "dot|matmul"),
    "tensordot": (lambda x: tj.tensordot(x, x, axes=3), (X,), tj.ShapeError, "tensordot"),
    "einsum rank": (lambda x: tj.einsum("ij,jk", x, x), (X,), tj.ShapeError, "einsum"),
    "einsum sizes": (lambda x, y: tj.einsum("i,i", x, y), (X, [1.0, 2.0, 3.0]), tj.ShapeError, "einsum"),
    "einsum output": (lambda x: tj.einsum("i->z", x), (X,), tj.TracejitError, "einsum"),
    "reshape": (lambda x: x.reshape(3), (X,), tj.ShapeError, "reshape.*2 elements|reshape"),
    "reshape two unknown": (lambda x: x.reshape(-1, -1), (X,), tj.ShapeError, "-1|unknown"),
    "reshape negative": (lambda x: x.reshape(-2), (X,), tj.ShapeError, "reshape"),
    "broadcast_to": (lambda x: tj.broadcast_to(x, (3,)), (X,), tj.ShapeError, "broadcast"),
    "concatenate ranks": (lambda x, y: tj.concatenate([x, y]), (X, M), tj.ShapeError, "concat"),
    "concatenate sizes": (lambda x, y: tj.concatenate([x, y]), (M, [[1.0]]), tj.ShapeError, "concat"),
    "concatenate nothing": (lambda x: tj.concatenate([]), (X,), tj.ShapeError, "concat"),
    "stack": (lambda x, y: tj.stack([x, y]), (X, M), tj.ShapeError, "stack"),
    "split": (lambda x: tj.split(x, 3), (X,), tj.ShapeError, "split"),
    "squeeze": (lambda x: x.squeeze(0), (X,), tj.ShapeError, "squeeze"),
    "pad": (lambda x: tj.pad(x, (-1, 0)), (X,), tj.TracejitError, "pad"),
    "tile": (lambda x: tj.tile(x, -1), (X,), tj.TracejitError, "tile"),
    "repeat": (lambda x: tj.repeat(x, -1), (X,), tj.TracejitError, "repeat"),
    "negative shape": (lambda x: tj.zeros(-1), (X,), tj.ShapeError, "zeros|shape|negative"),
    "max of nothing": (lambda x: tj.max(x), ([],), tj.ShapeError, "max.*empty|max"),
    "argmax of nothing": (lambda x: tj.argmax(x), ([],), tj.ShapeError, "argmax"),
    "min along an empty axis": (lambda x: x.reshape(0, 2).min(axis=0), ([],), tj.ShapeError, "min"),
    "in place": (lambda x, y: x.copy().__iadd__(y), (X, M[0]), tj.ShapeError, "add"),
    "in place growth": (lambda x: x.copy().__iadd__(tj.ones((3, 2))), (X,), tj.ShapeError, "in place"),
    "setitem": (lambda x, y: x.copy().__setitem__(slice(0, 2), y), (X, M[0]), tj.ShapeError, "setitem"),
    "ragged tensor": (lambda x: tj.tensor([[1.0, 2.0], [3.0]]), (X,), tj.ShapeError, "rectangular nesting"),
    "ragged tensors": (lambda x: tj.tensor([[x[0], x[1]], [x[0]]]), (X,), tj.ShapeError, "ragged"),
}
AXES = {
    "sum": (lambda x: x.sum(axis=1), "sum: axis 1 is out of bounds for an array of rank 1"),
    "sum negative": (lambda x: x.sum(axis=-2), "sum: axis -2 is out of bounds"),
    "sum twice": (lambda x: x.sum(axis=(0, 0)), "sum"),
    "sum twice negative": (lambda x: x.sum(axis=(0, -1)), "sum"),
    "mean": (lambda x: x.mean(axis=5), "mean"),
    "var": (lambda x: x.var(axis=1), "var|mean"),
    "std": (lambda x: x.std(axis=(0, 1)), "std|var|mean"),
    "prod": (lambda x: x.prod(axis=1), "prod"),
    "max": (lambda x: x.max(axis=1), "max"),
    "all": (lambda x: x.all(axis=1), "all"),
    "argmax": (lambda x: x.argmax(axis=1), "argmax"),
    "logsumexp": (lambda x: tj.logsumexp(x, axis=1), "logsumexp|max"),
    "cumsum": (lambda x: tj.cumsum(x, axis=1), "cumsum"),
    "transpose": (lambda x: x.transpose((0, 0)), "transpose"),
    "swapaxes": (lambda x: tj.swapaxes(x, 0, 1), "swapaxes"),
    "moveaxis": (lambda x: tj.moveaxis(x, 0, 1), "moveaxis"),
    "expand_dims": (lambda x: tj.expand_dims(x, 3), "expand_dims"),
    "flip": (lambda x: tj.flip(x, 1), "flip"),
    "roll": (lambda x: tj.roll(x, 1, axis=1), "roll"),
    "concatenate": (lambda x: tj.concatenate([x, x], axis=1), "concat"),
    "stack": (lambda x: tj.stack([x, x], axis=3), "stack"),
    "split": (lambda x: tj.split(x, 2, axis=1), "split"),
    "take": (lambda x: tj.take(x, 0, axis=1), "take"),
    "repeat": (lambda x: tj.repeat(x, 2, axis=1), "repeat"),
}
INDICES = {
    "constant": (lambda x: x[2], "out of bounds for axis 0 with size 2"),
    "negative": (lambda x: x[-3], "out of bounds for axis 0 with size 2"),
    "array": (lambda x: x[np.array([0, 2])], "out of bounds for axis 0 with size 2"),
    "negative array": (lambda x: x[np.array([0, -3])], "out of bounds for axis 0 with size 2"),
    "computed": (lambda x: x[(x * 2).astype("int64")], "out of bounds for axis 0 with size 2"),
    "computed negative": (lambda x: x[(x * -2).astype("int64")], "out of bounds for axis 0 with size 2"),
    "write": (lambda x: written(x, 2), "out of bounds for axis 0 with size 2"),
    "write array": (lambda x: written(x, np.array([5])), "out of bounds for axis 0 with size 2"),
    "take": (lambda x: tj.take(x, 5), "out of bounds"),
    "too many": (lambda x: x[0, 0], "too many|rank"),
    "huge": (lambda x: x[2**62], "out of bounds"),
}
KEYS = {
    "float": lambda x: x[1.0],
    "string": lambda x: x["a"],
    "float array": lambda x: x[np.array([0.0])],
    "object": lambda x: x[object()],
    "two ellipses": lambda x: x[..., ...],
    "wrong mask": lambda x: x[np.array([True, False, True])],
}
DTYPES_OF_OPS = {
    "invert": (lambda x: ~x, [1.0]),
    "and": (lambda x: x & x, [1.0]),
    "shift": (lambda x: x << 1, [1.0]),
    "negative bool": (lambda x: -x, [True]),
    "bool minus bool": (lambda x: x - x, [True]),
    "gcd": (lambda x: tj.gcd(x, x), [1.5]),
    "in place": (lambda x: x.copy().__itruediv__(2), [1, 2]),
    "in place float": (lambda x: x.copy().__iadd__(0.5), [1, 2]),
    "none": (lambda x: x + None, [1.0]),
    "text": (lambda x: x + "a", [1.0]),
    "object": (lambda x: x * object(), [1.0]),
    "complex": (lambda x: tj.floor(x * 1j), [1.0]),
    "dtype": (lambda x: x.astype("complex256"), [1.0]),
    "dtype name": (lambda x: x.astype("nonsense"), [1.0]),
    "dtype object": (lambda x: tj.zeros(2, dtype=object), [1.0]),
    "dtype of 16 bytes": (lambda x: tj.zeros(2, dtype="longdouble"), [1.0]),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", SHAPES)
def test_shapes_that_do_not_fit(name, mode):
    function, args, error, message = SHAPES[name]
    with pytest.raises(error, match=message):
        mode(function, *args)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", AXES)
def test_axes_out_of_range(name, mode):
    function, message = AXES[name]
    with pytest.raises(tj.AxisError, match=message) as caught:
        mode(function, X)
    assert isinstance(caught.value, (ValueError, IndexError))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", INDICES)
def test_indices_out_of_range(name, mode):
    function, message = INDICES[name]
    for _ in range(2):
        with pytest.raises(IndexError, match=message) as caught:
            mode(function, X)
        assert isinstance(caught.value, tj.TracejitError)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", KEYS)
def test_keys_that_are_no_indices(name, mode):
    with pytest.raises((TypeError, IndexError, ValueError)) as caught:
        mode(KEYS[name], X)
    assert isinstance(caught.value, tj.TracejitError)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", DTYPES_OF_OPS)
def test_dtypes_that_do_not_fit(name, mode):
    function, argument = DTYPES_OF_OPS[name]
    with pytest.raises(TypeError):
        mode(function, argument)


def test_unsigned_indices_beyond_int64():
    """NumPy wraps 2**64 - 1 to -1; what matters here is that eager and native agree."""
    outcomes = []
    for mode in MODES:
        try:
            outcomes.append(mode(lambda x, i: x[i], X, np.array([2**64 - 1], np.uint64)).tolist())
        except IndexError:
            outcomes.append("IndexError")
    assert len({str(outcome) for outcome in outcomes}) == 1
    assert outcomes[0] in ([2.0], "IndexError")


@pytest.mark.parametrize("mode", MODES)
def test_a_zero_step(mode):
    with pytest.raises(tj.TracejitError, match=r"step.*zero"):
        mode(lambda x: x[::0], X)


@pytest.mark.parametrize("mode", MODES)
def test_negative_powers_of_integers(mode):
    with pytest.raises(tj.TracejitError, match=r"pow.*negative integer powers"):
        mode(lambda x, y: x**y, [2, 3], [-1, 1])


def test_division_by_zero_and_large_shifts_of_integers():
    with np.errstate(all="ignore"):
        for mode in MODES:
            assert mode(lambda x, y: x // y, [7, -7], [0, 2]).tolist() == [0, -4]
            assert mode(lambda x, y: x % y, [7, -7], [0, 2]).tolist() == [0, 1]
            assert mode(lambda x, y: x << y, [1, 1], [100, 3]).tolist() == [0, 8]
            assert mode(lambda x, y: x >> y, [-5, 5], [100, 1]).tolist() == [-1, 2]
            assert mode(lambda x: abs(x), [-(2**63)]).tolist() == [-(2**63)]
