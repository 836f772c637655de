"""`schur`, `ldl`, `polar` and `solve_sylvester`: by what defines them, beside SciPy, native, and their
gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.base.lapack.calls import has

from ...rotation import share_of
from .derivatives import check, random

LINALG = tj.scipy.linalg
EITHER = pytest.mark.parametrize("wrap", [lambda f: f, tj.jit], ids=["eager", "jit"])
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
SIZES = pytest.mark.parametrize("size", share_of([1, 2, 5, 20, 9], 5))

pytestmark = pytest.mark.skipif(
    not has(np.dtype(float), "gees", "syconv"), reason="there is no LAPACK to call"
)


def adjoint(x: Any) -> Any:
    return np.conj(np.swapaxes(x, -1, -2))


def rounding(dtype: Any) -> float:
    return 200 * float(np.finfo(dtype).eps)


def symmetric(x: Any, hermitian: bool) -> Any:
    """A symmetric matrix with a small diagonal, so that there are blocks of two rows."""
    both = x + (adjoint(x) if hermitian else np.swapaxes(x, -1, -2))
    rows = np.arange(x.shape[-1])
    both[..., rows, rows] *= 0.01
    return both


@EITHER
@DTYPES
@SIZES
@pytest.mark.parametrize("output", ["real", "complex"])
@pytest.mark.parametrize("sort", [None, "lhp", "rhp", "iuc", "ouc"])
def test_schur(wrap: Any, dtype: Any, size: int, output: str, sort: str | None) -> None:
    a = random(dtype, 3, size, size)
    t, z, *count = map(np.asarray, wrap(lambda a: LINALG.schur(a, output, sort=sort))(a))
    tolerance = rounding(dtype) * size
    np.testing.assert_allclose(z @ t @ adjoint(z), a, atol=tolerance)
    np.testing.assert_allclose(adjoint(z) @ z, np.broadcast_to(np.eye(size), a.shape), atol=tolerance)
    assert not np.tril(t, -1 if t.dtype.kind == "c" else -2).any()
    assert t.dtype.kind == ("c" if output == "complex" else a.dtype.kind)
    if sort is not None:
        w = np.linalg.eigvals(a.astype(np.complex128))
        chosen = {"lhp": w.real < 0, "rhp": w.real >= 0, "iuc": abs(w) <= 1, "ouc": abs(w) > 1}[sort]
        np.testing.assert_array_equal(count[0], chosen.sum(axis=-1))
        for matrix, number in zip(t, count[0], strict=True):
            first = np.linalg.eigvals(matrix[:number, :number])
            assert all((first.real < 0) == (sort == "lhp")) if sort.endswith("p") else True


@EITHER
@DTYPES
@SIZES
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("hermitian", [False, True])
def test_ldl(wrap: Any, dtype: Any, size: int, lower: bool, hermitian: bool) -> None:
    a = symmetric(random(dtype, 3, size, size), hermitian)
    triangle = np.tril(a) if lower else np.triu(a)  # the other one is not read
    results = wrap(lambda a: LINALG.ldl(a, lower, hermitian))(triangle)
    factor, blocks, order = map(np.asarray, results)
    turned = adjoint(factor) if hermitian else np.swapaxes(factor, -1, -2)
    np.testing.assert_allclose(factor @ blocks @ turned, a, atol=rounding(dtype) * size)
    triangular = np.take_along_axis(factor, order[..., None], axis=-2)
    np.testing.assert_array_equal(triangular, np.tril(triangular) if lower else np.triu(triangular))
    np.testing.assert_array_equal(np.diagonal(triangular, axis1=-2, axis2=-1), 1)
    assert not np.triu(blocks, 2).any()
    assert not np.tril(blocks, -2).any()
    beside = np.diagonal(blocks, 1, -2, -1) != 0
    assert not (beside[..., 1:] & beside[..., :-1]).any()


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("hermitian", [False, True])
def test_ldl_is_scipys(dtype: Any, lower: bool, hermitian: bool) -> None:
    theirs = pytest.importorskip("scipy.linalg")
    for seed in range(5):
        a = symmetric(random(dtype, 7, 7, seed=seed), hermitian)
        for value, result in zip(
            theirs.ldl(a, lower, hermitian), LINALG.ldl(a, lower, hermitian), strict=True
        ):
            np.testing.assert_allclose(result, value, rtol=1e-9, atol=1e-11)


@EITHER
@DTYPES
@pytest.mark.parametrize("sizes", [(1, 1), (2, 3), (20, 7)], ids=str)
def test_sylvester(wrap: Any, dtype: Any, sizes: tuple[int, int]) -> None:
    rows, columns = sizes
    a, b = random(dtype, 3, rows, rows), random(dtype, columns, columns)
    q = random(dtype, 3, rows, columns)
    x = np.asarray(wrap(LINALG.solve_sylvester)(a, b, q))
    np.testing.assert_allclose(a @ x + x @ b, q, atol=1e3 * rounding(dtype) * np.abs(x).max())


def test_all_is_native() -> None:
    """All but the gradient of `schur`, which calls Python."""

    def results(a: Any) -> Any:
        return *LINALG.schur(a), *LINALG.ldl(a + a.mT), LINALG.solve_sylvester(a, a, a)

    for dtype in (np.float64, np.complex128):
        compiled = tj.jit(results)
        compiled(random(dtype, 5, 5))
        assert "NumPy" not in str(compiled.explain())


# -- gradients ------------------------------------------------------------------------------------

WEIGHTS = random(np.float64, 4, 6, 6, seed=9)


def real_weighted(x: Any, number: int) -> Any:
    return (x * WEIGHTS[number, : x.shape[-2], : x.shape[-1]]).sum()


def weighted(x: Any, number: int) -> Any:
    if x.dtype.kind != "c":
        return real_weighted(x, number)
    return real_weighted(x.real, number) + real_weighted(x.imag, number + 1)


@pytest.mark.parametrize("sort", [None, "lhp"])
@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_gradients_of_real_schur_forms(size: int, sort: str | None) -> None:
    """Gradients of real Schur forms, some of which have blocks of two rows."""

    def loss(x: Any) -> Any:
        t, z, *_ = LINALG.schur(x, sort=sort)
        return weighted(t, 0) + weighted(z, 1)

    check(loss, random(np.float64, size, size))


@pytest.mark.parametrize("output", ["real", "complex"])
def test_gradients_of_complex_schur_forms(output: str) -> None:
    """Gradients of results that do not depend on the phases of the vectors."""

    def loss(x: Any) -> Any:
        t, z = LINALG.schur(x, output)
        return weighted(abs(t) ** 2, 0) + weighted(abs(z) ** 2, 1) + weighted(tj.linalg.diagonal(t)[None], 2)

    check(loss, random(np.complex128, 4, 4))
    if output == "complex":
        check(loss, random(np.float64, 4, 4, seed=1))


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("size", [1, 2, 6])
def test_gradients_of_ldl(dtype: Any, lower: bool, hermitian: bool, size: int) -> None:
    def loss(x: Any) -> Any:
        factor, blocks, _ = LINALG.ldl((x + (tj.conj(x) if hermitian else x).mT) / 2, lower, hermitian)
        return weighted(factor, 0) + weighted(blocks, 1)

    at = random(dtype, size, size)
    check(loss, at - 0.95 * np.diag(np.diag(at)))


def test_the_gradient_of_ldl_is_symmetric() -> None:
    at = symmetric(random(np.float64, 5, 5), True)
    gradient = tj.grad(lambda x: weighted(LINALG.ldl(x)[1], 0))(at).numpy()
    np.testing.assert_allclose(gradient, gradient.T, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_gradients_of_sylvester(dtype: Any) -> None:
    a, b, q = random(dtype, 3, 3), random(dtype, 4, 4, seed=1), random(dtype, 3, 4, seed=2)
    check(lambda x: weighted(LINALG.solve_sylvester(x, b, q), 0), a)
    check(lambda x: weighted(LINALG.solve_sylvester(a, x, q), 0), b)
    check(lambda x: weighted(LINALG.solve_sylvester(a, b, x), 0), q)
    check(lambda x: weighted(LINALG.solve_sylvester(x, x, x), 0), a)


def test_gradients_of_sylvester_use_its_schur_forms() -> None:
    def loss(a: Any, b: Any) -> Any:
        return (LINALG.solve_sylvester(a, b, tj.ones((5, 3))) ** 2).sum()

    compiled = tj.jit(tj.value_and_grad(loss, (0, 1)))
    text = compiled.lower(random(np.float64, 5, 5), random(np.float64, 3, 3)).as_text("optimized")
    assert text.count("= schur(") == 2


@pytest.mark.parametrize(
    ("side", "shape"),
    share_of([(side, shape) for side in ("right", "left") for shape in ((3, 3), (4, 3), (3, 5))], 2),
    ids=str,
)
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_gradients_of_polar_decompositions_of_equal_singular_values(
    dtype: Any, shape: tuple[int, int], side: str
) -> None:
    points = (np.eye(*shape, dtype=dtype), 2 * np.eye(*shape, dtype=dtype), random(dtype, *shape))
    for number in range(2):
        check(lambda x, number=number: weighted(LINALG.polar(x, side)[number], number), *points)


def test_batches_have_the_bits_of_single_matrices() -> None:
    a = random(np.float64, 4, 5, 5)
    for function in (
        LINALG.schur,
        lambda a: LINALG.ldl(a + a.mT),
        tj.grad(lambda a: LINALG.schur(a)[0].sum()),
    ):
        for wrap in (lambda f: f, tj.jit):
            several, single = wrap(function)(a), [wrap(function)(matrix) for matrix in a]
            for number, result in enumerate(several if isinstance(several, tuple) else (several,)):
                parts = [x[number] if isinstance(x, tuple) else x for x in single]
                assert np.array_equal(result, np.stack(parts))


# -- errors ---------------------------------------------------------------------------------------


@EITHER
def test_schur_of_what_is_not_finite(wrap: Any) -> None:
    with pytest.raises(np.linalg.LinAlgError, match="infs or NaNs"):
        wrap(LINALG.schur)(np.full((3, 3), np.nan))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: LINALG.schur(tj.ones((2, 3))), r"scipy.linalg.schur: .*\(2, 3\)"),
        (lambda: LINALG.schur(tj.eye(2), "imaginary"), "output must be 'real', 'r', .* got 'imaginary'"),
        (lambda: LINALG.schur(tj.eye(2), sort="left"), "sort must be None, 'lhp', .* got 'left'"),
        (lambda: LINALG.ldl(tj.ones(3)), "scipy.linalg.ldl: argument A"),
    ],
)
def test_messages(call: Any, message: str) -> None:
    with pytest.raises(tj.TracejitError, match=message):
        call()
