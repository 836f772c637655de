"""LAPACK as it is found in the process, and called on arrays."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tracejit.base.errors import LinAlgError
from tracejit.base.lapack import calls
from tracejit.base.lapack.library import LapackLibrary, _integer_bits, _of_scipy, library

with_lapack = pytest.mark.skipif(library() is None, reason="this process has no LAPACK that can be called")


def lapack() -> LapackLibrary:
    result = library()
    assert result is not None
    return result


@with_lapack
def test_the_library_is_one_that_works() -> None:
    assert lapack().integer_bits in (32, 64)
    assert lapack().find("dpotrf") == lapack().find("dpotrf") != 0
    assert lapack().find("dnothing") == 0


def test_the_probe_refuses_what_is_no_cholesky_factorization() -> None:
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5, ctypes.c_size_t)
    nothing = kind(lambda *arguments: None)
    assert _integer_bits(ctypes.cast(nothing, ctypes.c_void_p).value or 0) == 0


@pytest.mark.parametrize("bits", [32, 64])
def test_the_probe_tells_the_width_of_integers(bits: int) -> None:
    integer = {32: ctypes.c_int32, 64: ctypes.c_int64}[bits]

    def root(uplo: int, size: int, matrix: int, rows: int, info: int, length: int) -> None:
        ctypes.c_double.from_address(matrix).value **= 0.5
        integer.from_address(info).value = 0

    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5, ctypes.c_size_t)(root)
    assert _integer_bits(ctypes.cast(function, ctypes.c_void_p).value or 0) == bits


def test_scipys_interface_where_scipy_is_installed() -> None:
    pytest.importorskip("scipy.linalg.cython_lapack")
    assert _integer_bits(_of_scipy("dpotrf")) in (32, 64)
    assert _of_scipy("dtrsm")
    assert _of_scipy("dnothing") == 0


@with_lapack
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_schur_gives_the_matrix_back(dtype: str) -> None:
    a = np.random.default_rng(0).standard_normal((6, 6)).astype(dtype)
    t, z, _ = calls.schur(a)
    np.testing.assert_allclose(z @ t @ z.T, a, atol=1e-5 if dtype == "f4" else 1e-12)
    assert not np.tril(t, -2).any()
    with pytest.raises(LinAlgError, match="schur: Array must not contain infs or NaNs"):
        calls.schur(np.full((2, 2), np.nan, dtype))
