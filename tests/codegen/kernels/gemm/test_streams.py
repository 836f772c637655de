"""Products of a few rows with a large matrix, whose rows stream by once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.codegen.instrument.access_checks import AccessChecks
from tracejit.codegen.kernels.gemm import streams
from tracejit.runtime.executable import Executable

from ...narrow import narrower, run_narrow


@pytest.fixture(autouse=True)
def _small_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Matrices that a test has time for count as large."""
    monkeypatch.setattr(streams, "large_bytes", lambda: 1 << 12)
    monkeypatch.setattr(streams, "_MIN_VECTORS", 2)
    monkeypatch.setattr(streams, "_INNER", 64)
    monkeypatch.setenv("TRACEJIT_CACHE", "0")


def product(x: Any, y: Any) -> Any:
    return x @ y


def is_streamed(f: Any, *args: Any) -> bool:
    return "rows at a time in strips" in str(tj.jit(f).lower(*args).as_text("loops"))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("m", "k", "n"), [(1, 64, 64), (1, 203, 77), (2, 65, 131), (3, 7, 300), (4, 129, 48)]
)
def test_products_of_few_rows(m: int, k: int, n: int, dtype: str) -> None:
    """Whole numbers, so that sums are exact in any order."""
    rng = np.random.default_rng(1)
    x, y = rng.integers(-9, 9, (m, k)).astype(dtype), rng.integers(-9, 9, (k, n)).astype(dtype)
    assert is_streamed(product, x, y)
    np.testing.assert_array_equal(tj.jit(product)(x, y), x @ y)
    np.testing.assert_array_equal(Executable(tj.trace(product, x, y), AccessChecks())([x, y])[0], x @ y)


def test_views_batches_and_vectors() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.integers(-9, 9, (300, 6)).astype(float), rng.integers(-9, 9, (3, 300, 200)).astype(float)
    for f, want in (
        (lambda x, y: x[:, 1] @ y[0], x[:, 1] @ y[0]),
        (lambda x, y: x[:, :2].T @ y[1], x[:, :2].T @ y[1]),
        (lambda x, y: x[:150, :3].T @ y[2, ::2], x[:150, :3].T @ y[2, ::2]),
        (lambda x, y: x[:, :2].T @ y, x[:, :2].T @ y),
        (lambda x, y: y[0].T @ x[:, 0], y[0].T @ x[:, 0]),
    ):
        assert is_streamed(f, x, y)
        np.testing.assert_array_equal(tj.jit(f)(x, y), want)
        np.testing.assert_array_equal(Executable(tj.trace(f, x, y), AccessChecks())([x, y])[0], want)


def test_nan_and_infinity() -> None:
    x, y = np.ones((1, 100)), np.ones((100, 80))
    y[3, 5], y[4, 6], y[5, 6] = np.nan, np.inf, -np.inf
    got = np.asarray(tj.jit(product)(x, y))
    assert np.isnan(got[0, [5, 6]]).all()
    assert np.isfinite(np.delete(got, [5, 6])).all()


def test_what_is_not_streamed() -> None:
    x, y = np.ones((5, 100)), np.ones((100, 80))
    assert not is_streamed(product, x, y)
    assert not is_streamed(product, x[:1].astype(int), y.astype(int))


def test_threads_do_not_change_results() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((2, 700)), rng.standard_normal((700, 3000))
    f, streamed = tj.jit(product), []
    for threads in (1, 2, 3):
        with tj.threads(threads):
            streamed.append(np.asarray(f(x, y)).tobytes())
    assert streamed[0] == streamed[1] == streamed[2]


@narrower
def test_with_narrower_vectors(features: str, bits: int) -> None:
    run_narrow(
        """
import numpy as np
import tracejit as tj
for dtype in ("float64", "float32"):
    x, y = np.ones((2, 1300), dtype), np.arange(1300 * 333.0).reshape(1300, 333).astype(dtype) % 7
    assert (tj.jit(lambda x, y: x @ y)(x, y) == x @ y).all()
print("fine")
""",
        features,
        bits,
    )
