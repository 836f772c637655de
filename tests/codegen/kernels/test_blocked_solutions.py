"""Large triangular systems and solutions by LU factors, in blocks of rows: values, zeros, bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tracejit.base.errors import LinAlgError
from tracejit.base.lapack.library import library
from tracejit.codegen.kernels.lapack import blocked_solutions
from tracejit.ir.builder import Builder
from tracejit.ir.types import TensorType
from tracejit.runtime.executable import Executable
from tracejit.runtime.threads import threads

from ...support import Array

pytestmark = pytest.mark.skipif(library() is None, reason="this process has no LAPACK that can be called")

#: Sizes with a block that is not whole, and without.
SIZES = [(blocked_solutions._MIN_ROWS, blocked_solutions._MIN_COLUMNS), (401, 97), (512, 192)]
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def run(build: Any, *arrays: Array) -> Array:
    b = Builder()
    parameters = [b.parameter(TensorType(array.dtype, array.shape)) for array in arrays]
    executable = Executable(b.finish("f", [build(b, *parameters)]))
    assert executable.not_lowered == []
    (result,) = executable.run(list(arrays))
    return result


def matrices(size: int, columns: int, dtype: Any, batch: int = 2) -> tuple[Array, Array]:
    rng = np.random.default_rng(size)
    a = rng.standard_normal((batch, size, size)) / size + np.eye(size)
    return a.astype(dtype), rng.standard_normal((batch, size, columns)).astype(dtype)


@DTYPES
@pytest.mark.parametrize(("size", "columns"), SIZES)
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize(("lower", "unit"), [(True, False), (False, True)])
def test_triangular_systems(
    size: int, columns: int, transpose: bool, lower: bool, unit: bool, dtype: Any
) -> None:
    """The other triangle is not read, and of a unit one the diagonal neither."""
    a, right = matrices(size, columns, dtype)
    triangle = (np.tril if lower else np.triu)(a.astype(np.float64), (-1 if lower else 1) if unit else 0)
    triangle += unit * np.eye(size)
    a[:, ~np.eye(size, dtype=bool) & (triangle[0] == 0)] = np.nan
    if unit:
        a[:, np.arange(size), np.arange(size)] = np.nan
    solved = run(
        lambda b, a, right: b.triangular_solve(
            a, right, lower=lower, transpose=transpose, unit_diagonal=unit
        ),
        a, right,
    )  # fmt: skip
    assert solved.dtype == dtype
    product = (np.swapaxes(triangle, 1, 2) if transpose else triangle) @ solved.astype(np.float64)
    np.testing.assert_allclose(product, right, atol=200 * np.finfo(dtype).eps)


def solve(a: Array, right: Array, **attrs: Any) -> Array:
    return run(lambda b, a, right: b.lu_solve(a, *factors(b, a), right, **attrs), a, right)


def factors(b: Builder, a: Any) -> tuple[Any, Any]:
    lu, _, permutation = b.lu(a)
    return lu, permutation


@DTYPES
@pytest.mark.parametrize(("size", "columns"), SIZES)
@pytest.mark.parametrize("transpose", [False, True])
def test_solutions_by_lu_factors(size: int, columns: int, transpose: bool, dtype: Any) -> None:
    a, right = matrices(size, columns, dtype)
    a = a[:, ::-1].copy()  # rows are exchanged
    solved = solve(a, right, transpose=transpose)
    matrix = np.swapaxes(a, 1, 2) if transpose else a
    product = matrix.astype(np.float64) @ solved.astype(np.float64)
    np.testing.assert_allclose(product, right, atol=400 * np.finfo(dtype).eps)


def test_zeros_on_the_diagonal_raise_or_divide() -> None:
    a, right = matrices(400, 64, np.float64, 1)
    a[0, 300, 300] = 0

    def solved(on_singular: str) -> Array:
        return run(
            lambda b, a, right: b.triangular_solve(a, right, lower=True, on_singular=on_singular), a, right
        )

    with pytest.raises(LinAlgError, match="singular"):
        solved("raise")
    result = solved("ignore")[0]
    assert np.isfinite(result[:300]).all()
    assert not np.isfinite(result[300:]).all()
    a[0] = 0
    with pytest.raises(LinAlgError, match="singular"):
        solve(a, right, on_singular="raise")


def test_bits_depend_neither_on_threads_nor_on_the_batch() -> None:
    a, right = matrices(401, 97, np.float64, 3)
    together = solve(a, right)
    for count in (1, 2):
        with threads(count):
            np.testing.assert_array_equal(solve(a, right), together)
    np.testing.assert_array_equal(solve(a[1:2], right[1:2])[0], together[1])
