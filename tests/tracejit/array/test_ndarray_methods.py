"""``tracejit/array/methods/ndarray.py``: NumPy's results, writes in place, the flat elements."""

from __future__ import annotations

import io
import pickle

import numpy as np
import pytest

import tracejit as tj

X = np.array([[1.5, -2.0, 3.0], [4.0, 0.0, -6.0]])


def _both(use):
    return use(tj.tensor(X.copy())), use(X.copy())


@pytest.mark.parametrize(
    "use",
    [
        lambda x: x.nonzero(),
        lambda x: x.compress([True, False, True], 1),
        lambda x: x.conj(),
        lambda x: x.conjugate(),
        lambda x: x.real,
        lambda x: x.imag,
        lambda x: (x.put([0, -1, 2], [7, 8]), x)[1],
        lambda x: (x.partition(1, 0), x.max(0))[1],
        lambda x: x.flat[[0, -1]],
        lambda x: x.T.flat[1:4],
        lambda x: list(x.flat),
        lambda x: len(x.flat),
        lambda x: (x.flat.__setitem__(slice(1, 5), [7, 8]), x)[1],
        lambda x: (x.T.flat.__setitem__([0, 3], 9), x)[1],
        lambda x: (setattr(x, "flat", [1, 2]), x)[1],
        lambda x: (setattr(x, "real", 2.5), x)[1],
        lambda x: x.flat.copy(),
        lambda x: x.T.strides,
    ],
)
def test_as_numpy(use):
    ours, theirs = _both(use)
    for actual, expected in zip(np.atleast_1d(ours), np.atleast_1d(theirs), strict=True):
        np.testing.assert_array_equal(np.asarray(actual), expected)


def test_choose():
    numbers = np.array([1, 0, 1])
    expected = numbers.choose([[1, 2, 3], [4, 5, 6]])
    assert tj.asarray(numbers).choose([[1, 2, 3], [4, 5, 6]]).tolist() == expected.tolist()


def test_traced():
    def f(x):
        x.put([0], 9.0)
        x.flat[1:3] = x.flat[-2:]
        x.partition(1)
        return x, x.nonzero(size=4, fill_value=7), x.strides, x.compress([True, False], 0)

    x, places, strides, rows = tj.jit(f)(X.copy())
    assert x.tolist() == [[-6.0, 0.0, 9.0], [-6.0, 0.0, 4.0]]
    assert [line.tolist() for line in places] == [[0, 0, 1, 1], [0, 2, 0, 2]]
    assert tuple(strides) == X.strides
    assert rows.tolist() == [[-6.0, 0.0, 9.0]]


def test_gradients():
    x = tj.tensor(X, requires_grad=True)
    (x.flat[2:4] * tj.tensor([2.0, 3.0])).sum().backward()
    assert x.grad.tolist() == [[0, 0, 2], [3, 0, 0]]


def test_bytes_and_files(tmp_path):
    x = tj.tensor(X, requires_grad=True)
    assert x.tobytes() == X.tobytes()
    assert x.tobytes("F") == X.tobytes("F")
    np.testing.assert_array_equal(pickle.loads(x.dumps()), X)
    file = io.BytesIO()
    x.dump(file)
    np.testing.assert_array_equal(pickle.loads(file.getvalue()), X)
    x.tofile(tmp_path / "numbers", " ")
    assert (tmp_path / "numbers").read_text() == " ".join(map(str, X.ravel().tolist()))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: setattr(tj.ones(2), "imag", 1.0), tj.DTypeError, "imag: x is real"),
        (lambda: tj.jit(lambda x: x.tobytes())(X), tj.ConcretizationError, "tobytes"),
        (lambda: tj.ones(2).put(5, 1.0), IndexError, "put"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
