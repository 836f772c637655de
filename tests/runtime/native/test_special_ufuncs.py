"""Ufuncs of special functions: strides, broadcasting, dtypes, flags and threads."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from tracejit.ir.special.table import evaluate
from tracejit.runtime.native.special_ufuncs import special_ufunc

F64, F32 = np.dtype(np.float64), np.dtype(np.float32)


@pytest.mark.parametrize("size", [0, 1, 3, 8, 9, 17, 1000])
def test_sizes_and_strides(size: int) -> None:
    gammaln = special_ufunc("gammaln", (0,), F64)
    x = np.random.default_rng(size).uniform(0.1, 30.0, 3 * size)
    expected = gammaln(x)
    assert np.allclose(expected, evaluate("gammaln", (0,), [x]), rtol=1e-14, atol=1e-14)
    assert np.array_equal(gammaln(x[::3]), expected[::3])
    assert np.array_equal(gammaln(x[::-1]), expected[::-1])
    into = np.zeros((3 * size, 2))
    gammaln(x, out=into[:, 1])
    assert np.array_equal(into[:, 1], expected)
    assert not into[:, 0].any()
    gammaln(x, out=x)
    assert np.array_equal(x, expected)


def test_operands_broadcast_and_keep_their_dtype() -> None:
    rng = np.random.default_rng(0)
    a, x = rng.uniform(0.5, 5.0, (7, 1)), rng.uniform(0.5, 5.0, 11)
    wide = special_ufunc("gammainc", (0, 0), F64)(a, x)
    assert wide.shape == (7, 11)
    assert np.allclose(wide, evaluate("gammainc", (0, 0), [a, x]), rtol=1e-13)
    narrow = special_ufunc("gammainc", (0, 0), F32)(a.astype(F32), x.astype(F32))
    assert narrow.dtype == F32
    assert np.allclose(narrow, wide, rtol=1e-5)


def test_derivatives_have_ufuncs_of_their_own() -> None:
    x = np.linspace(0.5, 9.0, 20)
    slope = special_ufunc("gammaln", (1,), F64)(x)
    assert np.allclose(slope, special_ufunc("digamma", (0,), F64)(x), rtol=1e-13)


def test_unused_lanes_and_special_values_raise_no_flags() -> None:
    with np.errstate(all="raise"):
        values = special_ufunc("gammaln", (0,), F64)(np.array([0.0, -1.0, np.inf, np.nan, 1e308, 5.0]))
    assert np.array_equal(np.isinf(values), [True, True, True, False, True, False])


def test_threads_get_one_ufunc() -> None:
    results: list[np.ufunc] = []
    threads = [
        threading.Thread(target=lambda: results.append(special_ufunc("spence", (0,), F64))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(ufunc) for ufunc in results}) == 1
