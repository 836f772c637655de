"""Recompilation: the calls that compile again, and those that do not."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

from .common import Counted, same


def test_shape_dtype_and_structure_recompile_each_once():
    counted = Counted(lambda x: tj.tree_leaves(x)[0] * 2)
    f = tj.jit(counted)
    calls = [
        np.zeros(2),
        np.zeros(3),
        np.zeros((3, 1)),
        np.zeros(2, "f4"),
        [np.zeros(2)],
        (np.zeros(2),),
        {"a": np.zeros(2)},
    ]
    for _ in range(3):
        for argument in calls:
            assert f(argument).shape == tj.tree_leaves(argument)[0].shape
    assert counted.runs == len(calls)
    text = f.explain()
    assert "f64[2]): first call" in text
    assert "argument x changed from f64[2] to f64[3]" in text
    assert f"{len(calls)} signatures compiled" in text


def test_tensors_and_arrays_of_one_type_share_a_signature():
    counted = Counted(lambda x: x + 1)
    f = tj.jit(counted)
    for array in (tj.tensor(1.0), np.array(1.0)):
        same(f(array), 2.0)
    assert counted.runs == 1


def test_scalars_of_numpy_have_a_signature_that_arrays_of_rank_0_do_not_have():
    counted = Counted(lambda x: x + 1)
    f = tj.jit(counted)
    for value in (np.float64(1.0), np.array(1.0), np.float64(2.0), tj.tensor(2.0)):
        same(f(value), float(value) + 1.0)
    assert counted.runs == 2
    assert "argument x changed from NumPy scalar f64[] to f64[]" in f.explain()


def test_the_default_dtype_recompiles():
    for function, args in (
        (lambda: tj.zeros(2), ()),
        (lambda x: tj.zeros(2) + x, (1,)),
        (lambda x: x + tj.ones(2), (1.0,)),
    ):
        f = tj.jit(function)
        assert f(*args).dtype == f(*args).dtype == np.float64
        try:
            tj.set_default_dtype("float32")
            assert f(*args).dtype == np.float32
            assert f(*args).dtype == np.float32
        finally:
            tj.set_default_dtype("float64")
        assert f(*args).dtype == np.float64


@pytest.mark.usefixtures("float32_default")
def test_floats_alone_have_the_default_dtype():
    assert (tj.tensor(1.5) * 2).dtype == np.float32
    assert tj.jit(lambda s: s * 2)(1.5).dtype == np.float32


def test_clear_cache_compiles_again():
    counted = Counted(lambda x: x + 1)
    f = tj.jit(counted)
    same(f(1.0), 2.0)
    f.clear_cache()
    assert "0 signatures" in f.explain()
    same(f(1.0), 2.0)
    same(f(2.0), 3.0)
    assert counted.runs == 2


def test_many_signatures_stay_right():
    f = tj.jit(lambda x: x.sum())
    for _ in range(2):
        for n in range(1, 12):
            same(f(np.ones(n)), float(n))
