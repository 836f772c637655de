"""Ops of linear algebra: gradients to second order against differences, interpreter against native code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from tracejit.base.errors import LinAlgError, ShapeError
from tracejit.ir.builder import Builder, inline
from tracejit.ir.graph import Function, Value
from tracejit.ir.registry import OPS
from tracejit.ir.transforms.differentiation import gradient
from tracejit.ir.types import TensorType
from tracejit.ir.verifier import verify
from tracejit.runtime.executable import Executable

from ..support import Array, interpret

Results = Callable[..., Sequence[Value]]


def random(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape)


def weighted(b: Builder, values: Sequence[Value]) -> Value:
    """The sum of the floating `values`, each element times a number of its own."""
    total = None
    for seed, value in enumerate(values):
        if value.dtype.kind != "f":
            continue
        data = tuple(random(*value.shape, seed=seed + 7).ravel().tolist())
        weights = b.constant(data=data, shape=value.shape, dtype=value.dtype)
        term = b.sum(b.mul(value, weights), axes=tuple(range(len(value.shape))))
        total = term if total is None else b.add(total, term)
    assert total is not None
    return total


def function_of(results: Results, arrays: Sequence[Array]) -> Function:
    b = Builder()
    params = [b.parameter(TensorType(array.dtype, array.shape)) for array in arrays]
    return b.finish("f", [weighted(b, results(b, *params))])


def slopes(function: Function, arrays: Sequence[Array], position: int, symmetric: bool) -> Array:
    """Central differences by the elements of one array."""
    slope, step = np.zeros_like(arrays[position]), 1e-6
    for index in np.ndindex(slope.shape):
        change = np.zeros_like(slope)
        change[index] = step
        if symmetric:
            change = (change + np.swapaxes(change, -1, -2)) / 2
        values = []
        for sign in (1, -1):
            moved = [*arrays]
            moved[position] = arrays[position] + sign * change
            values.append(interpret(function, moved)[0])
        slope[index] = (values[0] - values[1]) / (2 * step)
    return slope


def check_gradients(
    results: Results, *arrays: Array, order: int = 2, symmetric: bool = False, tolerance: float = 1e-6
) -> None:
    function, wrt = function_of(results, arrays), list(range(len(arrays)))
    for _ in range(order):
        derivative = gradient(function, wrt)
        verify(derivative)
        values = interpret(derivative, arrays)
        for value, native in zip(values, Executable(derivative).run(arrays), strict=True):
            np.testing.assert_allclose(native, value, rtol=1e-8, atol=1e-9)
        for position in wrt:
            expected = slopes(function, arrays, position, symmetric)
            scale = max(1.0, np.abs(expected).max())
            np.testing.assert_allclose(values[1 + position], expected, atol=tolerance * scale)
        b = Builder()
        params = [b.parameter(param.type) for param in derivative.params]
        function = b.finish("f", [weighted(b, inline(b, derivative, params)[1:])])


def op(name: str, **attrs: Any) -> Results:
    def results(b: Builder, *operands: Value) -> Sequence[Value]:
        outcome = getattr(b, name)(*operands, **attrs)
        return outcome if isinstance(outcome, tuple) else (outcome,)

    return results


def by_factors(name: str, **attrs: Any) -> Results:
    """The op `name` of a matrix and its factors."""

    def results(b: Builder, a: Value, *right: Value) -> Sequence[Value]:
        lu, pivots, permutation = b.lu(b.stop_gradient(a))
        factors = (lu, pivots, permutation) if name == "det" else (lu, permutation)
        return (getattr(b, name)(a, *factors, *right, **attrs),)

    return results


SHAPES = [(2, 4, 4), (3, 5), (5, 3)]
SQUARE = random(2, 4, 4)
POSITIVE = SQUARE @ np.swapaxes(SQUARE, -1, -2) + 2 * np.eye(4)


@pytest.mark.parametrize("name", ["cholesky", "eigh", "eigvalsh"])
def test_gradients_of_symmetric_matrices(name: str) -> None:
    check_gradients(op(name), POSITIVE, symmetric=True)


#: A real one and a pair of complex eigenvalues for each matrix, all of them far apart.
WITH_PAIRS = random(2, 3, 3, seed=2) + np.array([[0.0, -4.0, 0.0], [4.0, 0.0, 0.0], [0.0, 0.0, 3.0]])


def parts(name: str) -> Results:
    """The real and imaginary parts of what the op `name` gives."""

    def results(b: Builder, a: Value) -> Sequence[Value]:
        return [part(value) for value in op(name)(b, a) for part in (b.real, b.imag)]

    return results


@pytest.mark.parametrize("name", ["eig", "eigvals"])
def test_gradients_of_complex_eigenvalues(name: str) -> None:
    assert all(len(set(np.round(values, 3))) == 3 for values in np.linalg.eigvals(WITH_PAIRS))
    check_gradients(parts(name), WITH_PAIRS, tolerance=1e-5)


@pytest.mark.parametrize("name", ["eig", "eigvals"])
def test_gradients_of_eigenvalues_of_complex_matrices(name: str) -> None:
    def results(b: Builder, re: Value, im: Value) -> Sequence[Value]:
        return parts(name)(b, b.complex(re, im))

    check_gradients(results, WITH_PAIRS[0], random(3, 3, seed=4), tolerance=1e-5)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", ["lu", "qr", "svdvals"])
def test_gradients_of_factors(name: str, shape: tuple[int, ...]) -> None:
    check_gradients(op(name), random(*shape), tolerance=1e-5)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_gradients_of_singular_vectors(shape: tuple[int, ...]) -> None:
    check_gradients(op("svd", full_matrices=False), random(*shape), tolerance=1e-5)


@pytest.mark.parametrize("unit_diagonal", [False, True])
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("lower", [False, True])
def test_gradients_of_triangular_solutions(lower: bool, transpose: bool, unit_diagonal: bool) -> None:
    results = op("triangular_solve", lower=lower, transpose=transpose, unit_diagonal=unit_diagonal)
    check_gradients(results, SQUARE + 3 * np.eye(4), random(2, 4, 3))


@pytest.mark.parametrize("transpose", [False, True])
def test_gradients_of_solutions(transpose: bool) -> None:
    check_gradients(by_factors("lu_solve", transpose=transpose), SQUARE, random(2, 4, 3), tolerance=1e-5)


def test_gradients_of_inverses() -> None:
    check_gradients(by_factors("inverse"), SQUARE, tolerance=1e-5)


@pytest.mark.parametrize("name", ["det", "adjugate", "logabsdet"])
def test_gradients_of_determinants(name: str) -> None:
    check_gradients(by_factors(name), SQUARE)


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_gradients_of_determinants_of_singular_matrices(rank: int) -> None:
    check_gradients(by_factors("det"), random(4, rank) @ random(rank, 4, seed=1))


@pytest.mark.parametrize("shape", [(2, 3, 4), (4, 3)], ids=str)
def test_gradients_of_pseudoinverses(shape: tuple[int, ...]) -> None:
    def results(b: Builder, a: Value) -> Sequence[Value]:
        return (b.pinv(a, b.full(value=1e-9, shape=a.shape[:-2], dtype=a.dtype)),)

    check_gradients(results, random(*shape))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(
    "shape", [(0, 0), (1, 1), (2, 0, 3, 3), (2, 3, 5, 5), (4, 7), (7, 4), (0, 3), (3, 0)], ids=str
)
def test_lu_gives_the_matrix_back(shape: tuple[int, ...], dtype: str) -> None:
    a = random(*shape).astype(dtype)
    lu, pivots, permutation = OPS["lu"].eval(a)
    count = min(shape[-2:])
    lower = np.tril(lu, -1)[..., :, :count] + np.eye(shape[-2], count, dtype=dtype)
    rows = np.take_along_axis(a, permutation[..., None], axis=-2)
    np.testing.assert_allclose(
        lower @ np.triu(lu)[..., :count, :], rows, atol=1e-5 if dtype == "f4" else 1e-12
    )
    assert (np.abs(lower) <= 1).all()
    assert (pivots >= np.arange(count)).all()


def test_cholesky_of_what_is_not_positive_definite() -> None:
    matrices = np.array([np.eye(2), -np.eye(2)])
    with pytest.raises(LinAlgError, match="cholesky"):
        OPS["cholesky"].eval(matrices, on_error="raise")
    factors = OPS["cholesky"].eval(matrices, on_error="nan")
    assert (factors[0] == np.eye(2)).all()
    assert np.isnan(factors[1]).any()


@pytest.mark.parametrize("name", ["cholesky", "eig", "eigh", "lu", "svd", "qr"])
def test_operands_that_are_no_matrices(name: str) -> None:
    b = Builder()
    with pytest.raises(ShapeError, match=f"{name}: expected"):
        getattr(b, name)(b.parameter(TensorType(np.dtype("f8"), (3,))))
