"""Kernels that call LAPACK: beside the interpreter, no host calls, and no addresses in their text."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from tracejit.base.errors import LinAlgError
from tracejit.base.lapack.library import library
from tracejit.codegen.nest import fusions
from tracejit.ir.builder import Builder
from tracejit.ir.graph import Function, Value
from tracejit.ir.types import TensorType
from tracejit.runtime.executable import Executable

from ...forked import forked
from ...support import Array, interpret
from ..narrow import narrower, run_narrow

pytestmark = pytest.mark.skipif(library() is None, reason="this process has no LAPACK that can be called")
SIZE = 45


def random(*shape: int, dtype: Any = np.float64) -> Array:
    rng = np.random.default_rng(len(shape))
    if np.dtype(dtype).kind != "c":
        return rng.standard_normal(shape).astype(dtype)
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)


def adjoint(a: Array) -> Array:
    return np.conj(np.swapaxes(a, -1, -2))


def is_single(dtype: Any) -> bool:
    return bool(np.finfo(dtype).dtype == np.float32)


def positive(*batch: int, dtype: Any = np.float64) -> Array:
    a = random(*batch, SIZE, SIZE, dtype=dtype)
    return a @ adjoint(a) + np.eye(SIZE, dtype=dtype)


def build(write: Callable[..., Sequence[Value]], *arrays: Array) -> Function:
    b = Builder()
    params = [b.parameter(TensorType(array.dtype, array.shape)) for array in arrays]
    results = write(b, *params)
    return b.finish("f", results if isinstance(results, (list, tuple)) else [results])


def check(write: Callable[..., Any], *arrays: Array) -> None:
    function = build(write, *arrays)
    executable = Executable(function)
    assert executable.not_lowered == []
    tolerance = 2e-3 if is_single(arrays[0].dtype) else 1e-9
    for result, value in zip(executable.run(arrays), interpret(function, arrays), strict=True):
        assert (result.shape, result.dtype) == (value.shape, value.dtype)
        scale = np.abs(value).max(initial=1.0)
        np.testing.assert_allclose(result, value, atol=tolerance * scale)


DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
BATCHES = pytest.mark.parametrize("batch", [(), (2, 3)], ids=str)
SHAPES = pytest.mark.parametrize(
    "shape", [(SIZE, SIZE), (SIZE, 34), (34, SIZE), (SIZE, 1), (1, SIZE)], ids=str
)


@DTYPES
@BATCHES
@pytest.mark.parametrize("name", ["cholesky", "eigvalsh"])
def test_symmetric_matrices(name: str, batch: tuple[int, ...], dtype: Any) -> None:
    check(lambda b, a: getattr(b, name)(a), positive(*batch, dtype=dtype))


@DTYPES
@BATCHES
def test_eigenvectors(batch: tuple[int, ...], dtype: Any) -> None:
    """Signs of eigenvectors are not determined."""
    a = positive(*batch, dtype=dtype)
    w, v = Executable(build(lambda b, x: b.eigh(x), a)).run([a])
    tolerance = 2e-4 * SIZE if is_single(dtype) else 1e-11
    np.testing.assert_allclose((v * w[..., None, :]) @ adjoint(v), a, atol=tolerance)
    unit = np.broadcast_to(np.eye(SIZE), a.shape)
    np.testing.assert_allclose(adjoint(v) @ v, unit, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@BATCHES
def test_eigenvalues_of_matrices_that_are_not_hermitian(batch: tuple[int, ...], dtype: Any) -> None:
    a = random(*batch, SIZE, SIZE, dtype=dtype)
    check(lambda b, a: b.eigvals(a), a)
    check(lambda b, a: b.eig(a), a)
    w, v = Executable(build(lambda b, x: b.eig(x), a)).run([a])
    np.testing.assert_allclose(a @ v, v * w[..., None, :], atol=1e-11)


@DTYPES
@BATCHES
@SHAPES
@pytest.mark.parametrize(
    ("name", "attrs"),
    [
        ("lu", {}),
        ("qr", {"mode": "reduced"}),
        ("qr", {"mode": "complete"}),
        ("qr", {"mode": "r"}),
        ("svdvals", {}),
    ],
    ids=str,
)
def test_factors(name: str, attrs: Any, batch: tuple[int, ...], shape: tuple[int, int], dtype: Any) -> None:
    check(lambda b, a: getattr(b, name)(a, **attrs), random(*batch, *shape, dtype=dtype))


@DTYPES
@SHAPES
@pytest.mark.parametrize("full", [False, True])
def test_singular_vectors(full: bool, shape: tuple[int, int], dtype: Any) -> None:
    """Singular vectors reproduce the matrix and are orthonormal. They are not unique beyond that."""
    a = random(2, *shape, dtype=dtype)
    u, s, vh = Executable(build(lambda b, x: b.svd(x, full_matrices=full), a)).run([a])
    tolerance, count = (1e-4 if is_single(dtype) else 1e-12), s.shape[-1]
    np.testing.assert_allclose((u[..., :count] * s[:, None]) @ vh[:, :count], a, atol=tolerance)
    for vectors in (adjoint(u), vh):
        unit = np.broadcast_to(np.eye(vectors.shape[-2]), (2, *[vectors.shape[-2]] * 2))
        np.testing.assert_allclose(vectors @ adjoint(vectors), unit, atol=tolerance)


@DTYPES
@BATCHES
@pytest.mark.parametrize("columns", [1, 3, 40])
@pytest.mark.parametrize("conjugate", [False, True])
@pytest.mark.parametrize("transpose", [False, True])
def test_solutions(
    transpose: bool, conjugate: bool, columns: int, batch: tuple[int, ...], dtype: Any
) -> None:
    if conjugate and np.dtype(dtype).kind != "c":
        pytest.skip("nothing to conjugate")
    a = random(*batch, SIZE, SIZE, dtype=dtype) + 9 * np.eye(SIZE, dtype=dtype)
    right = random(*batch, SIZE, columns, dtype=dtype)

    def by_factors(b: Builder, a: Value, right: Value) -> Any:
        lu, _, permutation = b.lu(a)
        return b.lu_solve(
            a, lu, permutation, right, transpose=transpose, conjugate=conjugate, on_singular="raise"
        )

    check(by_factors, a, right)
    for lower in (False, True):
        for unit in (False, True):
            triangle = a / 30 + np.eye(SIZE, dtype=dtype)
            check(
                lambda b, a, right, lower=lower, unit=unit: b.triangular_solve(
                    a, right, lower=lower, transpose=transpose, conjugate=conjugate, unit_diagonal=unit
                ),
                triangle, right,
            )  # fmt: skip


def test_failures_are_messages() -> None:
    indefinite = -positive(3)
    indefinite[:2] *= -1
    executable = Executable(build(lambda b, a: b.cholesky(a), indefinite))
    with pytest.raises(LinAlgError, match="cholesky: Matrix is not positive definite"):
        executable.run([indefinite])
    factors = Executable(build(lambda b, a: b.cholesky(a, on_error="nan"), indefinite)).run([indefinite])[0]
    assert np.isfinite(factors[:2]).all()
    assert np.isnan(factors[2]).all()
    for name, message in (
        ("eigvalsh", "Eigenvalues did not converge"),
        ("svd", "SVD did not converge"),
        ("eig", "infs or NaNs"),
    ):  # fmt: skip
        bad = np.full((SIZE, SIZE), np.nan)
        with pytest.raises(LinAlgError, match=message):
            Executable(build(lambda b, a, name=name: getattr(b, name)(a), bad)).run([bad])


def test_text_holds_no_addresses() -> None:
    text = Executable(build(lambda b, a: b.lu(a), positive())).module.text
    assert "_dgetrf(" in text
    assert "inttoptr" not in text


def test_the_number_of_threads_is_given_back() -> None:
    lapack = library()
    assert lapack is not None
    if not lapack.set_threads:
        pytest.skip("this LAPACK does not tell its threads")
    get = ctypes.CFUNCTYPE(ctypes.c_int)(lapack.get_threads)
    put = ctypes.CFUNCTYPE(None, ctypes.c_int)(lapack.set_threads)
    executable, a = Executable(build(lambda b, a: b.cholesky(a), positive())), positive()
    before = get()
    try:
        put(2)
        workers = [
            threading.Thread(target=lambda: [executable.run([a]) for _ in range(20)]) for _ in range(3)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert get() == 2
    finally:
        put(before)


def test_without_a_library_numpy_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fusions, "library", lambda: None)
    a = positive()
    b = Builder()
    x = b.parameter(TensorType(a.dtype, a.shape))
    # another program than those above, so that none is found on disk
    function = b.finish("f", [b.mul(b.cholesky(x), 0.7512)])
    executable = Executable(function)
    assert executable.not_lowered == ["cholesky"]
    np.testing.assert_allclose(executable.run([a])[0], 0.7512 * np.linalg.cholesky(a))


TILES = """
import sys
sys.path.insert(0, '.')
import numpy as np
from tests.codegen.kernels.test_lapack import *
from tracejit.codegen.llvm.target import host
assert host().vector_bits == {bits} or not {bits}, host()
for number, size in enumerate((33, 36, 40)):
    for columns in (8, 16, 31, 57):
        dtype = (np.float32, np.float64)[number % 2]
        right = random(2, size, columns, dtype=dtype)
        a = random(2, size, size, dtype=dtype) / 30 + np.eye(size, dtype=dtype)
        lower, transpose, unit = [bool((number + columns) >> bit & 1) for bit in range(3)]
        check(
            lambda b, a, right: [
                b.triangular_solve(a, right, lower=low, transpose=transpose, unit_diagonal=unit)
                for low in (lower, not lower)
            ],
            a, right,
        )
print('fine')
"""


def test_tiles_at_every_edge() -> None:
    """Every access is within its buffer: matrices whose rows and right sides are no whole tiles."""
    assert forked(TILES.format(bits=0), TRACEJIT_CHECK="1").strip() == "fine"


@narrower
def test_tiles_of_narrower_vectors(features: str, bits: int) -> None:
    run_narrow(TILES.format(bits=bits), features, bits)


def test_tiles_divide_at_the_ends_of_the_range() -> None:
    """Divisors whose inverses are no numbers; zeros and NaN."""
    size, right = 40, np.full((40, 16), 3.0)
    function = build(
        lambda b, a, x: b.triangular_solve(a, x, lower=True, on_singular="ignore"), np.eye(size), right
    )
    executable = Executable(function)
    for divisor in (1e-310, 1e-300, 1e308, 1.7e308, 0.0, -0.0, np.nan, -np.inf, np.inf):
        factor = np.eye(size)
        factor[-1, -1] = divisor
        with np.errstate(all="ignore"):
            expected = 3.0 / np.float64(divisor)
        solved = executable.run([factor, right])[0]
        np.testing.assert_allclose(solved[-1], expected, rtol=1e-15, atol=5e-324)
        np.testing.assert_array_equal(solved[:-1], 3.0)
