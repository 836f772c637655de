"""Gradients of linear algebra: against differences to second order, and where matrices are degenerate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import tracejit as tj

RNG = np.random.default_rng(11)
SQUARE, OTHER = RNG.standard_normal((4, 4)), RNG.standard_normal((4, 4))
WIDE, TALL = RNG.standard_normal((3, 5)), RNG.standard_normal((5, 3))
VECTOR = RNG.standard_normal(4)
Function = Callable[[Any], Any]


def positive(x: Any) -> Any:
    """A Hermitian positive definite matrix that depends on all of `x`."""
    return x @ (tj.conj(x).mT if x.dtype.kind == "c" else x.mT) + tj.eye(x.shape[-1])


def weighted(results: Any) -> Any:
    """The sum of all elements of `results`, each times a number of its own."""
    total: Any = 0.0
    for number, result in enumerate(results if isinstance(results, tuple) else (results,)):
        weights = np.random.default_rng(number).standard_normal(result.shape)
        total = total + (result * weights).sum()
    return total


def check(function: Function, at: Any, tolerance: float = 1e-6) -> None:
    """Reverse and forward mode, and the derivative of the gradient, eagerly and compiled."""

    def loss(x: Any) -> Any:
        return weighted(function(x))

    direction, step = np.random.default_rng(5).standard_normal(at.shape), 1e-6
    slope = (loss(tj.tensor(at + step * direction)) - loss(tj.tensor(at - step * direction))).item() / (
        2 * step
    )
    gradient = tj.grad(loss)
    above, below = (gradient(at + sign * step * direction).numpy() for sign in (1, -1))
    curvature = (above - below) / (2 * step)
    size, most = max(1.0, abs(slope)), max(1.0, np.abs(curvature).max())
    for wrap in (lambda f: f, tj.jit):
        assert abs((wrap(gradient)(at).numpy() * direction).sum() - slope) < tolerance * size
        pushed = wrap(lambda x: tj.jvp(loss, (x,), (tj.tensor(direction),))[1])(tj.tensor(at))
        assert abs(pushed.item() - slope) < tolerance * size
        twice = wrap(lambda x: tj.jvp(gradient, (x,), (tj.tensor(direction),))[1])(tj.tensor(at))
        np.testing.assert_allclose(twice, curvature, atol=10 * tolerance * most)


CASES: list[tuple[str, Function, Any]] = [
    ("cholesky", lambda x: tj.linalg.cholesky(positive(x)), SQUARE),
    ("cholesky upper", lambda x: tj.linalg.cholesky(positive(x), upper=True), SQUARE),
    ("inv", tj.linalg.inv, SQUARE),
    ("det", tj.linalg.det, SQUARE),
    ("slogdet", lambda x: tj.linalg.slogdet(x).logabsdet, SQUARE),
    ("solve", lambda x: tj.linalg.solve(x, OTHER @ x), SQUARE),
    ("solve of a vector", lambda x: tj.linalg.solve(x, x @ VECTOR + VECTOR), SQUARE),
    ("solve with what broadcasts", lambda x: tj.linalg.solve(x, tj.stack([x @ x, x])), SQUARE),
    ("qr", lambda x: tuple(tj.linalg.qr(x)), SQUARE),
    ("qr wide", lambda x: tuple(tj.linalg.qr(x)), WIDE),
    ("qr tall", lambda x: tuple(tj.linalg.qr(x)), TALL),
    ("qr r", lambda x: tj.linalg.qr(x, "r"), TALL),
    ("qr complete of a wide one", lambda x: tuple(tj.linalg.qr(x, "complete")), WIDE),
    ("qr complete, by what is determined", lambda x: projector(tj.linalg.qr(x, "complete").Q, 3), TALL),
    ("svdvals", tj.linalg.svdvals, WIDE),
    ("svd", lambda x: tuple(tj.linalg.svd(x, full_matrices=False)), SQUARE),
    ("svd wide", lambda x: tuple(tj.linalg.svd(x, full_matrices=False)), WIDE),
    ("svd tall", lambda x: tuple(tj.linalg.svd(x, full_matrices=False)), TALL),
    ("svd full, by what is determined", lambda x: projector(tj.linalg.svd(x).U, 3), TALL),
    ("eigvalsh", lambda x: tj.linalg.eigvalsh(positive(x)), SQUARE),
    ("eigh", lambda x: tuple(tj.linalg.eigh(positive(x))), SQUARE),
    ("eigh of the upper triangle", lambda x: tuple(tj.linalg.eigh(positive(x), "U")), SQUARE),
    ("pinv", tj.linalg.pinv, TALL),
    ("lstsq", lambda x: tj.linalg.lstsq(x, VECTOR[:3]).x, WIDE),
    ("lstsq residuals", lambda x: tj.linalg.lstsq(x, OTHER[:, 0].repeat(2)[:5]).residuals, TALL),
    ("cond", tj.linalg.cond, SQUARE),
    ("cond 1", lambda x: tj.linalg.cond(x, 1), SQUARE),
    ("norm nuc", lambda x: tj.linalg.norm(x, "nuc"), WIDE),
    ("norm 2", lambda x: tj.linalg.norm(x, 2), WIDE),
    ("norm 3", lambda x: tj.linalg.norm(x, 3, axis=0), WIDE),
    ("matrix_power", lambda x: tj.linalg.matrix_power(x, -3), SQUARE),
    ("multi_dot", lambda x: tj.linalg.multi_dot([x, x.mT, x]), WIDE),
    ("tensorinv", lambda x: tj.linalg.tensorinv(x.reshape(2, 2, 4)), SQUARE),
    ("tensorsolve", lambda x: tj.linalg.tensorsolve(x.reshape(2, 2, 4), tj.ones((2, 2))), SQUARE),
]  # fmt: skip


def projector(q: Any, count: int) -> Any:
    """The projection to the columns of `q` behind the first `count`."""
    beyond = q[..., :, count:]
    return beyond @ beyond.mT


@pytest.mark.parametrize(("function", "at"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_gradients(function: Function, at: Any) -> None:
    check(function, at, 1e-5)


@pytest.mark.parametrize("name", ["inv", "det", "svdvals", "pinv"])
def test_gradients_of_batches_are_those_of_single_matrices(name: str) -> None:
    batch = RNG.standard_normal((3, 4, 4))
    gradient = tj.grad(lambda x: (getattr(tj.linalg, name)(x) ** 2).sum())
    single = np.stack([np.asarray(gradient(matrix)) for matrix in batch])
    assert np.array_equal(np.asarray(gradient(batch)), single)


# -- degenerate matrices --------------------------------------------------------------------------


def turned(values: Any) -> Any:
    """A symmetric matrix with the eigenvalues `values`."""
    q = np.linalg.qr(np.random.default_rng(2).standard_normal((len(values),) * 2))[0]
    matrix = q * np.asarray(values) @ q.T
    return (matrix + matrix.T) / 2


def first_order(function: Function, at: Any, symmetric: bool = False, tolerance: float = 1e-6) -> None:
    direction, step = np.random.default_rng(5).standard_normal(at.shape), 1e-5
    if symmetric:
        direction = direction + direction.T
    values = [np.asarray(weighted(function(tj.tensor(at + sign * step * direction)))) for sign in (1, -1)]
    slope = (values[0] - values[1]) / (2 * step)
    for wrap in (lambda f: f, tj.jit):
        gradient = wrap(tj.grad(lambda x: weighted(function(x))))(at).numpy()
        assert abs((gradient * direction).sum() - slope) < tolerance * max(1.0, abs(slope))


@pytest.mark.parametrize(
    "values", [(1.0, 1.0, 2.0), (2.0, 2.0, 2.0), (0.0, 0.0, 0.0), (-1.0, 0.0, -1.0)], ids=str
)
def test_eigh_of_equal_eigenvalues(values: Any) -> None:
    first_order(lambda x: tj.linalg.eigvalsh(x).sum(), turned(values), True)

    def function_of_matrix(x: Any) -> Any:  # v f(w) v^T with f the square, which no choice of v changes
        w, v = tj.linalg.eigh(x)
        return (v * w[None, :] ** 2) @ v.mT

    undetermined(function_of_matrix, turned(values))
    undetermined(lambda x: tj.linalg.eigh(x).eigenvectors, turned(values))
    undetermined(lambda x: tj.grad(lambda x: (tj.linalg.eigvalsh(x) ** 3).sum())(x), turned(values))


def undetermined(function: Function, at: Any) -> None:
    """The gradient is NaN in reverse and forward mode, with a warning."""
    direction = np.random.default_rng(5).standard_normal(at.shape)
    direction = direction + direction.T
    reverse = tj.grad(lambda x: weighted(function(x)))

    def forward(x: Any) -> Any:
        return weighted(tj.jvp(function, (x,), (direction,))[1])

    for slope in (reverse, forward, tj.jit(reverse), tj.jit(forward)):
        with pytest.warns(tj.UndeterminedGradientWarning, match="eigenvalues or singular values are equal"):
            assert np.isnan(slope(at)).any()


def test_vectors_beside_equal_eigenvalues_have_gradients() -> None:
    """Vectors of eigenvalues that are equal up to rounding, and that nothing depends on, take no part."""
    at = RNG.standard_normal((5, 2)) @ RNG.standard_normal((2, 5))
    at = at @ at.T

    def leading(x: Any) -> Any:
        w, v = tj.linalg.eigh(x)
        return (v[:, 3:] * w[3:]) @ v[:, 3:].mT

    w = np.linalg.eigvalsh(at)[:3]
    assert abs(w).max() < 1e-12
    assert len(set(w)) == 3
    first_order(leading, at, True, tolerance=1e-5)


@pytest.mark.parametrize("values", [(1.0, 1.0, 1.0), (2.0, 1.0, 1.0), (3.0, 3.0, 1.0)], ids=str)
def test_svd_of_equal_singular_values(values: Any) -> None:
    rng = np.random.default_rng(4)
    u, v = (np.linalg.qr(rng.standard_normal((3, 3)))[0] for _ in range(2))
    at = u * np.asarray(values) @ v

    def reassembled(x: Any) -> Any:
        u, s, vh = tj.linalg.svd(x)
        return (u * s) @ vh

    undetermined(reassembled, at)
    first_order(lambda x: tj.scipy.linalg.polar(x)[0], at)
    first_order(lambda x: tj.linalg.norm(x, "nuc"), at)


SINGULAR = {
    "ones": np.ones((3, 3)), "zero": np.zeros((3, 3)), "rank 2": np.diag([3.0, 1.0, 0.0]),
    "tall": np.ones((4, 2)), "wide": np.ones((2, 4)), "complex": np.ones((3, 3)) * (1 + 1j),
}  # fmt: skip


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("name", SINGULAR)
def test_polar_decompositions_of_singular_matrices_have_no_derivatives(name: str, number: int) -> None:
    at = SINGULAR[name]
    direction, weights = RNG.standard_normal(at.shape), RNG.standard_normal((4, 4))

    def loss(t: Any) -> Any:
        part = tj.scipy.linalg.polar(at + t * direction)[number]
        return tj.real((part * weights[: part.shape[0], : part.shape[1]]).sum())

    def forward(t: Any) -> Any:
        return tj.jvp(loss, (t,), (1.0,))[1]

    for slope in (tj.grad(loss), forward, tj.grad(tj.grad(loss)), tj.grad(forward)):
        for run in (slope, tj.jit(slope)):
            with pytest.warns(tj.UndeterminedGradientWarning, match="polar"):
                assert np.isnan(float(run(0.0)))


def test_polar_decompositions_that_nothing_depends_on_have_no_gradient() -> None:
    left, right = (np.linalg.qr(RNG.standard_normal((3, 3)))[0] for _ in range(2))
    batch = np.stack([(left * [2.0, 1.0, 1e-17]) @ right, np.eye(3)])
    gradient = tj.grad(lambda x: (tj.scipy.linalg.polar(x)[0][1] ** 3).sum())(batch)
    assert np.isfinite(gradient).all()
    assert not np.any(gradient[0])


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_det_of_singular_matrices(rank: int) -> None:
    at = RNG.standard_normal((4, rank)) @ RNG.standard_normal((rank, 4))
    check(tj.linalg.det, at, 1e-5)


def test_slogdet_of_singular_matrices_where_nothing_depends_on_it() -> None:
    matrices = np.stack([np.zeros((2, 2)), 2 * np.eye(2)])

    def loss(x: Any) -> Any:
        sign, size = tj.linalg.slogdet(x)
        return tj.where(sign == 0, 0.0, size).sum()

    for wrap in (lambda f: f, tj.jit):
        gradient = wrap(tj.grad(loss))(matrices)
        np.testing.assert_allclose(gradient, [np.zeros((2, 2)), np.eye(2) / 2])


@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (4, 4)], ids=str)
def test_pinv_and_lstsq_without_full_rank(shape: tuple[int, int]) -> None:
    left, right = RNG.standard_normal((shape[0], 2)), RNG.standard_normal((2, shape[1]))
    side = RNG.standard_normal(shape[0])
    # products of two factors stay of rank 2
    for function in (
        lambda x: tj.linalg.pinv(x @ right, rtol=1e-9),
        lambda x: tj.linalg.lstsq(x @ right, side, rcond=1e-9).x,
    ):
        first_order(function, left)


def test_the_gradient_of_cholesky_is_symmetric() -> None:
    at = SQUARE @ SQUARE.T + np.eye(4)
    for upper in (False, True):
        gradient = tj.grad(lambda x, upper=upper: weighted(tj.linalg.cholesky(x, upper=upper)))(at).numpy()
        np.testing.assert_allclose(gradient, gradient.T, atol=1e-14)


def test_norms_have_gradient_zero_at_zero() -> None:
    zeros = np.zeros((2, 3))
    for options in ({}, {"axis": 1}, {"ord": "nuc"}, {"ord": 1}):
        gradient = tj.grad(lambda x, options=options: tj.linalg.norm(x, **options).sum())(zeros)
        assert np.isfinite(gradient.numpy()).all()


# -- programs -------------------------------------------------------------------------------------


def test_in_a_scan() -> None:
    """A filter step: solve, inverse and determinant in the body of a scan, forward and backward."""

    def loss(x: Any) -> Any:
        def step(state: Any, row: Any) -> Any:
            gain = tj.linalg.solve(positive(state), x)
            state = 0.5 * gain + state * 0.1 + row
            return state, tj.linalg.slogdet(positive(state)).logabsdet

        return tj.scan(step, x, np.linspace(0, 1, 6))[1].sum()

    def unrolled(x: Any) -> Any:
        state, total = x, 0.0
        for row in np.linspace(0, 1, 6):
            state = 0.5 * tj.linalg.solve(positive(state), x) + state * 0.1 + row
            total = total + tj.linalg.slogdet(positive(state)).logabsdet
        return total

    expected = tj.grad(unrolled)(SQUARE)
    for wrap in (lambda f: f, tj.jit):
        np.testing.assert_allclose(wrap(tj.grad(loss))(SQUARE), expected, rtol=1e-8)


@pytest.mark.parametrize("jit", [lambda f: f, tj.jit])
def test_second_derivatives_in_a_scan(jit: Any) -> None:
    """The backward part of a scan has factors as operands, which its own gradient does not go through."""
    rows = np.linspace(0, 1, 6)

    def step(state: Any, scale: Any, row: Any) -> Any:
        matrix = positive(state) * scale
        value = tj.linalg.slogdet(matrix).logabsdet + tj.linalg.det(matrix)
        return 0.3 * tj.linalg.solve(matrix, SQUARE) + row, value

    def loss(scale: Any) -> Any:
        return tj.scan(lambda state, row: step(state, scale, row), tj.asarray(SQUARE), rows)[1].sum()

    def unrolled(scale: Any) -> Any:
        state, total = SQUARE, 0.0
        for row in rows:
            state, value = step(state, scale, row)
            total = total + value
        return total

    expected = tj.grad(tj.grad(unrolled))(0.8)
    np.testing.assert_allclose(jit(tj.hessian(loss))(0.8), expected, rtol=1e-8)


def test_what_is_solved_with_one_matrix_shares_its_factorization() -> None:
    def loss(x: Any) -> Any:
        size = tj.linalg.slogdet(x).logabsdet
        return tj.linalg.det(x) + size + (tj.linalg.inv(x) @ VECTOR).sum() + tj.linalg.solve(x, VECTOR).sum()

    text = tj.jit(tj.grad(loss)).lower(SQUARE).as_text("optimized")
    assert text.count("= lu(") == 1


def test_the_gradient_of_expm_shares_the_forward_products() -> None:
    """5 of the polynomial and 1 of a squaring forward, twice as many for the derivative, and 1 of squarings
    that the derivative repeats; 19 vectors times the matrix, where it is far from normal."""
    loss = tj.value_and_grad(lambda x: (tj.scipy.linalg.expm(x) ** 2).sum())
    text = tj.jit(loss).lower(SQUARE).as_text("optimized")
    assert text.count("= matmul(") == 3 * (5 + 1) + 1 + 19
    assert "= lu(" not in text


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("factor", ["cholesky", "qr"])
def test_what_is_solved_with_a_triangular_factor_is_not_factored(factor: str, turned: bool) -> None:
    def solution(x: Any) -> Any:
        triangle = tj.linalg.cholesky(positive(x)) if factor == "cholesky" else tj.linalg.qr(x).R
        return weighted(tj.linalg.solve(triangle.mT if turned else triangle, VECTOR)) + weighted(
            tj.linalg.inv(triangle)
        )

    compiled = tj.jit(tj.value_and_grad(solution))
    text = compiled.lower(SQUARE).as_text("optimized")
    assert "lu" not in {line.partition(" = ")[2].partition("(")[0] for line in text.split("\n")}
    for result, value in zip(compiled(SQUARE), tj.value_and_grad(solution)(SQUARE), strict=True):
        np.testing.assert_allclose(result, value, rtol=1e-9, atol=1e-12)


def test_eager_graphs_and_higher_orders() -> None:
    x = tj.tensor(SQUARE, requires_grad=True)
    value = tj.linalg.det(x) + tj.linalg.svd(x).S.sum() + tj.linalg.eigh(positive(x)).eigenvalues[0]
    (gradient,) = tj.autograd.grad(value, x, create_graph=True)
    (gradient**2).sum().backward()

    def loss(x: Any) -> Any:
        return tj.linalg.det(x) + tj.linalg.svd(x).S.sum() + tj.linalg.eigh(positive(x)).eigenvalues[0]

    expected = tj.grad(lambda x: (tj.grad(loss)(x) ** 2).sum())(SQUARE)
    np.testing.assert_allclose(x.grad, expected, rtol=1e-8)


FACTORIZATIONS = {"lu", "cholesky", "qr", "svd", "svdvals", "eigh", "eigvalsh", "eig", "eigvals", "schur"}


def factorizations(function: Function, at: Any) -> list[str]:
    """The factorizations in the compiled value and gradient of `function`."""
    text = tj.jit(tj.value_and_grad(lambda x: (abs(function(x)) ** 2).sum())).lower(at).as_text("optimized")
    ops = [line.partition(" = ")[2] for line in text.split("\n")]
    names = [op.partition('op="')[2].partition('"')[0] or op.partition("(")[0] for op in ops]
    return [name for name in names if name in FACTORIZATIONS]


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: tj.linalg.cholesky(positive(x)), ["cholesky"]),
        (lambda x: tj.linalg.inv(x) @ VECTOR, ["lu"]),
        (lambda x: tj.linalg.slogdet(x).logabsdet + tj.linalg.solve(x, VECTOR).sum(), ["lu"]),
        (lambda x: tj.linalg.qr(x, "r"), ["qr"]),
        (lambda x: tj.linalg.svdvals(x), ["svd"]),
        (lambda x: tj.linalg.cond(x), ["svd"]),
        (lambda x: tj.linalg.pinv(x), ["svd"]),
        (lambda x: tj.linalg.eigvalsh(x + tj.conj(x).mT), ["eigh"]),
        (lambda x: tj.linalg.eigvals(x), ["eig", "lu"]),  # of the vectors
        (lambda x: tj.linalg.solve(tj.tril(x), VECTOR), []),
        (lambda x: tj.linalg.solve(tj.conj(tj.linalg.cholesky(positive(x))).mT, VECTOR), ["cholesky"]),
        (lambda x: tj.scipy.linalg.cho_solve(tj.scipy.linalg.cho_factor(positive(x)), VECTOR), ["cholesky"]),
        (lambda x: tj.scipy.linalg.lu_solve(tj.scipy.linalg.lu_factor(x), VECTOR), ["lu"]),
        (lambda x: tj.scipy.linalg.solve_sylvester(x, x @ x, x), ["schur", "schur"]),
    ],
)
def test_gradients_use_the_factors_of_the_forward_pass(
    function: Function, expected: list[str], dtype: Any
) -> None:
    at = SQUARE.astype(dtype) + (1j * OTHER if dtype == np.complex128 else 0)
    assert sorted(factorizations(function, at)) == sorted(expected)


#: Second derivatives of a function of one array, by modes.
SECOND = {
    "hessian": tj.hessian,
    "forward over reverse": lambda f: tj.jacfwd(tj.grad(f)),
    "reverse over reverse": lambda f: tj.jacrev(tj.grad(f)),
    "reverse over forward": lambda f: tj.jacrev(tj.jacfwd(f)),
    "forward over forward": lambda f: tj.jacfwd(tj.jacfwd(f)),
    "batch": lambda f: lambda x: tj.vmap(tj.hessian(f))(tj.stack([x + 1, x]))[1],
}


def of_vector(x: Any, order: float) -> Any:
    return tj.linalg.norm(x, order)


def of_rows(x: Any, order: float) -> Any:
    return tj.linalg.norm(tj.stack([x, 2 * x]), order, axis=1).sum() / 3


@pytest.mark.parametrize("wrap", [lambda f: f, tj.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("mode", SECOND)
@pytest.mark.parametrize("norm", [of_vector, of_rows])
@pytest.mark.parametrize("order", [1, 1.01, 1.5, 2, 2.5, 3, 7])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_second_derivatives_of_norms_at_zeros(
    norm: Any, order: float, mode: str, wrap: Any, dtype: Any
) -> None:
    """The second derivative of a norm of order p by an element that is 0 is infinite for 1 < p < 2, 1 / n for
    p = 2, and 0 beyond; by it and another one it is 0."""
    x = np.array([0.0, 1.5, -0.0, -2.0], dtype)
    with np.errstate(all="ignore"):  # of powers of zeros
        second = wrap(SECOND[mode](lambda x: norm(x, order)))(x)
    size = np.abs(x, dtype=np.float64)
    n = (size**order).sum() ** (1 / order)
    slope = np.sign(x) * (size / n) ** (order - 1)
    itself = np.where(size > 0, size, 1) ** (order - 2) / n ** (order - 1)
    itself[size == 0] = np.inf if 1 < order < 2 else 1 / n if order == 2 else 0
    expected = (order - 1) * (np.diag(itself) - np.outer(slope, slope) / n) if order > 1 else np.zeros((4, 4))
    rounding = 32 * np.finfo(dtype).eps
    np.testing.assert_allclose(second, expected, rtol=rounding, atol=rounding)
    np.testing.assert_allclose(wrap(tj.grad(lambda x: norm(x, order)))(x), slope, rtol=rounding)


@pytest.mark.parametrize("wrap", [lambda f: f, tj.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("mode", SECOND)
@pytest.mark.parametrize("order", [1.5, 2, 3])
def test_norms_of_zeros_have_slope_0_and_no_second_derivative(order: float, mode: str, wrap: Any) -> None:
    zeros = np.zeros(4)
    with np.errstate(all="ignore"):
        second = wrap(SECOND[mode](lambda x: of_vector(x, order)))(zeros)
    assert np.isnan(np.diag(second)).all()
    for loss in (of_vector, lambda x, order: of_vector(x[:2] + 1j * x[2:], order)):
        assert not np.any(wrap(tj.grad(lambda x, loss=loss: loss(x, order)))(zeros))


@pytest.mark.parametrize("wrap", [lambda f: f, tj.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("order", [0.5, 0.25, -0.5, -1, -2.5])
@pytest.mark.parametrize("small", [0.0, -0.0, 1e-150, 1e-300])
def test_norms_of_orders_below_1_at_zeros_and_tiny_elements(order: float, small: float, wrap: Any) -> None:
    """The derivative is sign(x) (|x| / n)^(p - 1), and 0 by an element that is 0; of a negative order n is 0
    beside it, and so is each derivative."""
    x = np.array([small, 1.5, -2.0])
    with np.errstate(all="ignore"):  # of powers of zeros, as NumPy's norm
        slope = wrap(tj.grad(lambda x: tj.linalg.norm(x, order)))(x)
        second = wrap(tj.hessian(lambda x: tj.linalg.norm(x, order)))(x)
    with mpmath.workdps(60):
        terms = [mpmath.mpf(float(e)) for e in x]
        if small:
            norm = sum(abs(e) ** mpmath.mpf(order) for e in terms) ** (1 / mpmath.mpf(order))
        else:
            norm = sum(abs(e) ** mpmath.mpf(order) for e in terms[1:]) ** (1 / mpmath.mpf(order))
        expected = [
            float(mpmath.sign(e) * (abs(e) / norm) ** (order - 1)) if e and (small or order > 0) else 0.0
            for e in terms
        ]
    np.testing.assert_allclose(slope, expected, rtol=1e-12, atol=1e-300)
    if small or order > 0:
        assert not np.isnan(second).any()
