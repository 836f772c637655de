"""Dtypes, shapes, memory, texts and files: what NumPy says, of traced tensors too."""

from __future__ import annotations

import io

import numpy as np
import pytest

import tracejit as tj

X = np.array([[1.0, 2.0, 3.0]])


def test_shapes_are_known_under_a_trace():
    facts = []

    def f(x):
        facts.append(
            (np.shape(x), np.ndim(x), np.size(x), tj.size(x, 1), np.iscomplexobj(x), tj.isrealobj(x))
        )
        facts.append(
            (tj.isscalar(x), tj.iterable(x), np.result_type(x, np.float32), tj.can_cast(x, "float32"))
        )
        return x

    tj.jit(f)(X)
    assert facts[0] == ((1, 3), 2, 3, 3, False, True)
    assert facts[1] == (False, True, np.float64, False)


@pytest.mark.parametrize("first", ["bool", "int8", "uint64", "float32", "float64"])
@pytest.mark.parametrize("second", ["bool", "int32", "int64", "float32", 3, 2.5])
def test_promotion(first, second):
    array = np.ones(2, first)
    other = second if not isinstance(second, str) else np.ones(1, second)
    as_tensor = other if not isinstance(second, str) else tj.asarray(other)
    assert tj.result_type(tj.asarray(array), as_tensor) == np.result_type(array, other)
    if isinstance(second, str):
        assert tj.can_cast(tj.asarray(array), second) == np.can_cast(array.dtype, second)
        assert tj.common_type(tj.asarray(array)) == np.common_type(array) if first != "bool" else True
        assert tj.promote_types(first, second) == np.promote_types(first, second)


def test_limits():
    assert tj.finfo(tj.ones(1, "float32")).eps == np.finfo(np.float32).eps
    assert tj.iinfo("uint8").max == 255
    assert tj.isdtype(tj.ones(1).dtype, "real floating")
    assert tj.issubdtype(tj.ones(1).dtype, np.floating)
    assert tj.min_scalar_type(300) == np.min_scalar_type(300)
    assert tj.min_scalar_type(tj.tensor(300)) == np.min_scalar_type(tj.tensor(300)) == np.uint16
    with pytest.raises(ValueError, match="iinfo"):
        tj.iinfo("float32")


def test_files():
    x = tj.tensor(X, requires_grad=True)
    file = io.BytesIO()
    tj.save(file, x)
    assert tj.load(io.BytesIO(file.getvalue())).tolist() == X.tolist()
    archive = io.BytesIO()
    np.savez(archive, tj.asarray(X), name=tj.ones(2))
    assert {key: value.shape for key, value in tj.load(io.BytesIO(archive.getvalue())).items()} == {
        "arr_0": (1, 3),
        "name": (2,),
    }
    lines = io.StringIO()
    tj.savetxt(lines, x, fmt="%g", delimiter=",")
    assert lines.getvalue() == "1,2,3\n"
    assert tj.loadtxt(io.StringIO("1,2"), delimiter=",").tolist() == [1, 2]
    with pytest.raises(tj.ConcretizationError, match="save"):
        tj.jit(lambda v: tj.save(io.BytesIO(), v))(X)


def test_memory():
    x = tj.asarray(np.ones((2, 3)))
    assert tj.shares_memory(x, x[0])
    assert not tj.shares_memory(x, x + 1)
    assert tj.asfortranarray(x)._data.flags.f_contiguous
    assert tj.ascontiguousarray(x.T)._data.flags.c_contiguous
    assert tj.require(x, "float32", ["F"])._data.flags.f_contiguous
    assert np.shares_memory(x, x)
    with pytest.raises(ValueError, match="infs or NaNs"):
        tj.asarray_chkfinite([np.nan])


def test_texts():
    for name in ("array_repr", "array_str", "array2string"):
        assert getattr(tj, name)(X) == getattr(np, name)(X) == getattr(np, name)(tj.asarray(X))


def test_orders():
    x = np.arange(6.0).reshape(2, 3)
    for order in "CFAK":
        for array in (x, np.asfortranarray(x), np.arange(6.0).reshape(1, 3, 2).transpose(2, 0, 1)):
            t = tj.asarray(array)
            np.testing.assert_array_equal(tj.ravel(t, order).numpy(), np.ravel(array, order))
            np.testing.assert_array_equal(t.flatten(order).numpy(), array.flatten(order))
            if order != "K":
                np.testing.assert_array_equal(
                    tj.reshape(t, (3, 2), order).numpy(), np.reshape(array, (3, 2), order)
                )
    assert tj.jit(lambda v: v.reshape(3, 2, order="F"))(x).tolist() == x.reshape(3, 2, order="F").tolist()
    with pytest.raises(tj.DomainError, match="order must be"):
        tj.reshape(x, (3, 2), "Z")
    with pytest.raises(tj.DomainError, match="copy=False"):
        tj.reshape(tj.asarray(x).T, (6,), copy=False)
