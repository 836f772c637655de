"""Cholesky factors of large matrices, by blocks: values, which triangle is read, failures, and bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tracejit.codegen.kernels.lapack.blocked_cholesky import BLOCK, LEAST_ROWS
from tracejit.ir.builder import Builder
from tracejit.ir.errors import LinAlgError
from tracejit.ir.lapack.library import library
from tracejit.ir.types import TensorType
from tracejit.runtime.executable import Executable
from tracejit.runtime.threads import threads

from ...support import Array

pytestmark = pytest.mark.skipif(library() is None, reason="this process has no LAPACK that can be called")


def positive(*shape: int, dtype: Any = np.float64) -> Array:
    x = np.random.default_rng(len(shape)).standard_normal((*shape, shape[-1]))
    return (x @ np.swapaxes(x, -1, -2) / shape[-1] + np.eye(shape[-1])).astype(dtype)


def factor(a: Array, on_error: str = "raise") -> Array:
    b = Builder()
    result = b.cholesky(b.parameter(TensorType(a.dtype, a.shape)), on_error=on_error)
    executable = Executable(b.finish("f", [result]))
    assert executable.not_lowered == []
    (value,) = executable.run([a])
    return value


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [LEAST_ROWS, LEAST_ROWS + 1, 5 * BLOCK - 1, 391])
def test_factors(size: int, dtype: Any) -> None:
    """The triangle above the diagonal is not read."""
    a = positive(size, dtype=dtype)
    expected = np.linalg.cholesky(a.astype(np.float64))
    a[np.triu_indices(size, 1)] = np.nan
    factored = factor(a)
    assert factored.dtype == dtype
    np.testing.assert_allclose(factored, expected, atol=20 * np.finfo(dtype).eps)
    assert not np.triu(factored, 1).any()


def test_a_nearly_singular_matrix_is_factored_as_well_as_by_lapack() -> None:
    """Points that nearly coincide: the residual is that of rounding, whatever the condition is."""
    x = np.sort(np.random.default_rng(2).random(300))
    a = np.exp(-50 * (x[:, None] - x[None, :]) ** 2) + 1e-12 * np.eye(300)
    assert np.linalg.cond(a) > 1e12
    factored = factor(a)
    assert np.abs(factored @ factored.T - a).max() < 50 * np.finfo(np.float64).eps


def test_bits_depend_neither_on_threads_nor_on_the_batch() -> None:
    a = positive(3, 391)
    together = factor(a)
    for count in (1, 2):
        with threads(count):
            np.testing.assert_array_equal(factor(a), together)
    for number in range(3):
        np.testing.assert_array_equal(factor(a[number]), together[number])


@pytest.mark.parametrize("place", [0, BLOCK - 1, BLOCK, 4 * BLOCK, 390])
def test_what_is_not_positive_definite(place: int) -> None:
    a = positive(3, 391)
    a[1, place, place] = -1
    with pytest.raises(LinAlgError, match="not positive definite"):
        factor(a)
    factored = factor(a, on_error="nan")
    assert np.isnan(factored[1]).all()
    np.testing.assert_allclose(factored[[0, 2]], np.linalg.cholesky(a[[0, 2]]), atol=1e-14)
