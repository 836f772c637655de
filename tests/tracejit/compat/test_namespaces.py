"""The namespaces `numpy`, `scipy` and `misc`: what differs from NumPy's and SciPy's own functions."""

from __future__ import annotations

import subprocess
import sys

import mpmath
import numpy as np
import pytest

import tracejit as tj
import tracejit.compat.autograd.numpy as anp
import tracejit.compat.autograd.numpy.random as npr
from tracejit.compat.autograd import grad
from tracejit.compat.autograd.misc import flatten
from tracejit.compat.autograd.misc.flatten import flatten_func
from tracejit.compat.autograd.misc.optimizers import adam, rmsprop, sgd
from tracejit.compat.autograd.numpy.linalg import solve
from tracejit.compat.autograd.scipy import special, stats
from tracejit.compat.autograd.scipy.linalg import solve_triangular
from tracejit.compat.autograd.scipy.signal import convolve

X = np.array([1.0, 2.0, 0.5])
C = np.array([[2.0, 0.5], [0.5, 1.0]])


def test_numpy_is_numpy_outside_of_derivatives():
    assert anp.sin is np.sin
    assert npr.RandomState is np.random.RandomState
    assert anp.linalg.solve is solve is np.linalg.solve
    assert anp.fft.fft is np.fft.fft
    assert type(anp.array([1.0, X[0]])) is np.ndarray
    assert type(anp.sum(X)) is np.float64
    with pytest.raises(AttributeError, match="nonsense"):
        anp.nonsense  # noqa: B018


@pytest.mark.parametrize(
    ("f", "gradient"),
    [
        (lambda x: anp.sum(anp.array([x[0] * x[1], 3.0, x[2]]) ** 2), [8.0, 4.0, 1.0]),
        (lambda x: anp.sum(anp.array([[x[0], 1.0], [1.0, x[1]]], dtype=float)), [1.0, 1.0, 0.0]),
        (lambda x: anp.array(x[0], ndmin=2)[0, 0] + anp.asarray(x)[1], [1.0, 1.0, 0.0]),
        (lambda x: anp.sum(anp.full(3, x[0]) ** 2), [6.0, 0.0, 0.0]),
        (lambda x: anp.sum(anp.full_like(X, x[1])), [0.0, 3.0, 0.0]),
        (lambda x: anp.sum(anp.append(x, x[0]) ** 2), [4.0, 4.0, 1.0]),
        (lambda x: anp.sum(anp.r_[x, x[0], 1.0, 0:2] ** 2), [4.0, 4.0, 1.0]),
        (lambda x: anp.sum(anp.c_[x, X]), [1.0, 1.0, 1.0]),
        (lambda x: anp.sum(anp.select([x > 1], [x**2], 0.0)), [0.0, 4.0, 0.0]),
        (lambda x: anp.sum(anp.where(x > 1, x, 0.0)), [0.0, 1.0, 0.0]),
        (lambda x: anp.sum([x[0], 2 * x[1]]), [1.0, 2.0, 0.0]),
        (lambda x: anp.max([x[0], 2 * x[1]]), [0.0, 2.0, 0.0]),
        (lambda x: anp.mean([x[0], 2 * x[1]]) + anp.std(x) * 0, [0.5, 1.0, 0.0]),
        (lambda x: anp.sum(anp.make_diagonal(x, axis1=-1, axis2=-2)[1:] * 2), [0.0, 2.0, 2.0]),
        (lambda x: anp.linalg.slogdet(anp.outer(x, x) + anp.eye(3))[1], 2 * X / (1 + X @ X)),
        (lambda x: anp.sum(anp.abs(anp.fft.fft(x)) ** 2), 6 * X),
    ],
)  # fmt: skip
def test_functions_of_numbers_among_which_are_tensors(f, gradient):
    result = grad(f)(X)
    assert type(result) is np.ndarray
    np.testing.assert_allclose(result, gradient, atol=1e-12)
    np.testing.assert_allclose(tj.jit(grad(f))(X), gradient, atol=1e-12)


def test_flatten():
    tree = {"w": np.ones((2, 2)), "b": [3.0, (X,)]}
    vector, unflatten = flatten(tree)
    np.testing.assert_array_equal(vector, [3, 1, 2, 0.5, 1, 1, 1, 1])
    again = unflatten(vector)
    np.testing.assert_array_equal(again["w"], tree["w"])
    np.testing.assert_array_equal(again["b"][1][0], X)
    assert flatten(())[0].shape == (0,)
    gradient = grad(lambda t: anp.sum(flatten(t)[0] ** 2))(tree)
    np.testing.assert_array_equal(gradient["w"], 2 * np.ones((2, 2)))
    back = grad(lambda v: anp.sum(unflatten(v)["b"][1][0]))(vector)
    np.testing.assert_array_equal(back, [0, 1, 1, 1, 0, 0, 0, 0])
    of_vector, _, example = flatten_func(lambda t: {"w": 2 * t["w"], "b": t["b"]}, tree)
    np.testing.assert_array_equal(of_vector(example)[4:], 2 * np.ones(4))


@pytest.mark.parametrize("optimizer", [sgd, rmsprop, adam])
def test_optimizers_find_a_minimum_and_call_back(optimizer):
    steps = []
    target = {"w": X, "b": 1.0}

    def loss(p, i):
        return anp.sum((p["w"] - target["w"]) ** 2) + (p["b"] - target["b"]) ** 2

    start = {"w": np.zeros(3), "b": 0.0}
    end = optimizer(grad(loss), start, lambda x, i, g: steps.append((i, set(x), set(g))), 400, 0.03)
    assert loss(end, 0) < 1e-2
    assert steps[:2] == [(0, {"w", "b"}, {"w", "b"}), (1, {"w", "b"}, {"w", "b"})]
    assert len(steps) == 400
    assert set(start["w"]) == {0.0}


def test_first_steps_of_optimizers():
    """The formulas, by hand: a gradient of 2 at x = 1."""
    one = np.array([1.0])
    twice = lambda x, i: 2 * x  # noqa: E731
    assert sgd(twice, one, num_iters=1)[0] == pytest.approx(1 - 0.1 * 0.1 * 2)
    assert rmsprop(twice, one, num_iters=1)[0] == pytest.approx(1 - 0.1 * 2 / np.sqrt(0.9 + 0.1 * 4))
    assert adam(twice, one, num_iters=1, step_size=0.1)[0] == pytest.approx(0.9)


def test_special_functions_and_linear_algebra_of_arrays():
    assert type(special.gammaln(X)) is np.ndarray
    assert special.logsumexp(np.zeros(2)) == pytest.approx(np.log(2))
    assert type(special.expit(0.0)) is np.float64
    assert special.jn(2, 1.0) == pytest.approx(float(mpmath.besselj(2, 1)))
    np.testing.assert_allclose(grad(special.logsumexp)(X), np.exp(X) / np.exp(X).sum())
    assert type(solve_triangular(np.eye(2), np.ones(2), lower=True)) is np.ndarray


def density_of(name, x):
    """The logarithm of a density in mpmath's arithmetic."""
    x = mpmath.mpf(x)
    if name == "norm":
        return -(((x - 0.3) / 1.5) ** 2) / 2 - mpmath.log(1.5 * mpmath.sqrt(2 * mpmath.pi))
    if name == "t":
        z, df = (x - 0.3) / 1.5, mpmath.mpf(2.5)
        return mpmath.log(
            mpmath.gamma((df + 1) / 2)
            / (mpmath.sqrt(df * mpmath.pi) * mpmath.gamma(df / 2) * 1.5)
            * (1 + z * z / df) ** (-(df + 1) / 2)
        )
    if name == "beta":
        return mpmath.log(x**1.5 * (1 - x) ** 0.5 / mpmath.beta(2.5, 1.5))
    if name == "gamma":
        return mpmath.log(x**1.5 * mpmath.exp(-x) / mpmath.gamma(2.5))
    return mpmath.log(x**0.5 * mpmath.exp(-x / 2) / (2**1.5 * mpmath.gamma(1.5)))


PARAMETERS = {"norm": (0.3, 1.5), "t": (2.5, 0.3, 1.5), "beta": (2.5, 1.5), "gamma": (2.5,), "chi2": (3.0,)}
LOWEST = {"norm": -mpmath.inf, "t": -mpmath.inf}


@pytest.mark.parametrize("name", PARAMETERS)
@pytest.mark.parametrize("x", [0.2, 0.7])
def test_distributions(name, x):
    module, parameters = getattr(stats, name), PARAMETERS[name]
    assert module.logpdf(x, *parameters) == pytest.approx(float(density_of(name, x)), rel=1e-12)
    assert module.pdf(x, *parameters) == pytest.approx(float(mpmath.exp(density_of(name, x))), rel=1e-12)
    probability = mpmath.quad(lambda u: mpmath.exp(density_of(name, u)), [LOWEST.get(name, 0), x])
    assert module.cdf(x, *parameters) == pytest.approx(float(probability), rel=1e-10)
    slope = grad(module.logpdf)(x, *parameters)
    assert slope == pytest.approx(float(mpmath.diff(lambda u: density_of(name, u), x)), rel=1e-8)
    assert grad(module.cdf)(x, *parameters) == pytest.approx(module.pdf(x, *parameters), rel=1e-10)


def test_tails_and_supports_of_distributions():
    assert stats.norm.sf(1.0) == pytest.approx(1 - stats.norm.cdf(1.0))
    assert stats.norm.logsf(30.0) == pytest.approx(float(mpmath.log(mpmath.ncdf(-30))), rel=1e-12)
    assert stats.norm.logcdf(-30.0) == stats.norm.logsf(30.0)
    assert stats.t.logcdf(-3.0, 4.0) == pytest.approx(np.log(stats.t.cdf(-3.0, 4.0)))
    assert stats.t.cdf(3.0, 4.0) + stats.t.cdf(-3.0, 4.0) == pytest.approx(1.0, abs=1e-15)
    assert stats.gamma.logpdf(-1.0, 2.0) == -np.inf
    assert [stats.beta.cdf(x, 2.0, 3.0) for x in (-1.0, 2.0)] == [0.0, 1.0]
    assert [stats.gamma.cdf(x, 2.0) for x in (-1.0, 0.0)] == [0.0, 0.0]


def test_poisson():
    counts = np.array([0.0, 1.0, 3.0, 0.5, -1.0])
    expected = [np.exp(-2.5), 2.5 * np.exp(-2.5), 2.5**3 / 6 * np.exp(-2.5), 0.0, 0.0]
    np.testing.assert_allclose(stats.poisson.pmf(counts, 2.5), expected, rtol=1e-13)
    assert stats.poisson.cdf(1.5, 2.5) == pytest.approx(3.5 * np.exp(-2.5), rel=1e-13)
    assert grad(stats.poisson.logpmf, 1)(3.0, 2.5) == pytest.approx(3 / 2.5 - 1)


def test_dirichlet():
    alpha, x = np.array([1.5, 2.0, 3.0]), np.array([0.2, 0.3, 0.5])
    normalizer = mpmath.gamma(6.5) / (mpmath.gamma(1.5) * mpmath.gamma(2) * mpmath.gamma(3))
    density = float(normalizer * mpmath.sqrt(0.2) * 0.3 * 0.25)
    assert stats.dirichlet.pdf(x, alpha) == pytest.approx(density, rel=1e-12)
    assert stats.dirichlet.logpdf(x[:2], alpha) == pytest.approx(np.log(density), rel=1e-12)
    np.testing.assert_allclose(grad(stats.dirichlet.logpdf)(x, alpha), (alpha - 1) / x)
    samples = stats.dirichlet.rvs(alpha, 5, random_state=0)
    assert samples.shape == (5, 3)
    np.testing.assert_allclose(samples.sum(1), 1.0)


def test_multivariate_normal():
    mvn, mean, x = stats.multivariate_normal, np.array([0.5, -1.0]), np.array([[1.0, 2.0], [0.0, 0.0]])
    inverse, offsets = np.linalg.inv(C), x - mean
    expected = (
        -0.5 * np.einsum("ni,ij,nj->n", offsets, inverse, offsets) - np.log(2 * np.pi) - 0.5 * np.log(1.75)
    )
    np.testing.assert_allclose(mvn.logpdf(x, mean, C), expected, rtol=1e-13)
    np.testing.assert_allclose(mvn.pdf(x[0], mean, C), np.exp(expected[0]), rtol=1e-13)
    np.testing.assert_allclose(mvn.logpdf(x, mean, C, allow_singular=True), expected, rtol=1e-12)
    np.testing.assert_allclose(grad(mvn.logpdf)(x[0], mean, C), -inverse @ offsets[0])
    solved = inverse @ offsets[0]
    np.testing.assert_allclose(grad(mvn.logpdf, 2)(x[0], mean, C), 0.5 * (np.outer(solved, solved) - inverse))
    np.testing.assert_allclose(tj.jit(grad(mvn.logpdf, 1))(x[0], mean, C), solved)
    assert mvn.logpdf(0.0) == pytest.approx(-0.5 * np.log(2 * np.pi))
    assert mvn.logpdf(np.zeros(2), None, np.array([1.0, 4.0])) == pytest.approx(
        -np.log(2 * np.pi) - np.log(2)
    )
    assert mvn.entropy(mean, C) == pytest.approx(1 + np.log(2 * np.pi) + 0.5 * np.log(1.75))
    singular = mvn.logpdf(np.array([1.0, 1.0]), None, np.ones((2, 2)), allow_singular=True)
    assert singular == pytest.approx(-0.5 * (1.0 + np.log(2.0) + np.log(2 * np.pi)))
    with pytest.raises(np.linalg.LinAlgError):
        mvn.logpdf(np.zeros(2), None, -C)
    with pytest.raises(ValueError, match="cov must have shape"):
        mvn.logpdf(np.zeros(2), None, np.eye(3))


def whole(a, b):
    """The full convolution of arrays of any rank, term by term."""
    result = np.zeros([m + n - 1 for m, n in zip(a.shape, b.shape, strict=True)])
    for place in np.ndindex(*b.shape):
        window = tuple(slice(p, p + m) for p, m in zip(place, a.shape, strict=True))
        result[window] += a * b[place]
    return result


@pytest.mark.parametrize("shapes", [((7,), (3,)), ((3,), (7,)), ((5, 4), (2, 3)), ((4, 3, 3), (2, 2, 1))])
def test_convolutions(shapes):
    generator = np.random.default_rng(0)
    a, b = generator.normal(size=shapes[0]), generator.normal(size=shapes[1])
    full = whole(a, b)
    np.testing.assert_allclose(convolve(a, b), full, atol=1e-12)
    start = [(n - 1) // 2 for n in b.shape]
    same = full[tuple(slice(s, s + m) for s, m in zip(start, a.shape, strict=True))]
    np.testing.assert_allclose(convolve(a, b, mode="same"), same, atol=1e-12)
    least = [min(m, n) - 1 for m, n in zip(a.shape, b.shape, strict=True)]
    valid = full[tuple(slice(s, size - s) for s, size in zip(least, full.shape, strict=True))]
    np.testing.assert_allclose(convolve(a, b, mode="valid"), valid, atol=1e-12)
    weights = generator.normal(size=full.shape)
    gradient = grad(lambda a: anp.sum(weights * convolve(a, b)))(a)
    direction = generator.normal(size=a.shape)
    assert np.sum(gradient * direction) == pytest.approx(np.sum(weights * whole(direction, b)))


def test_convolutions_along_some_axes_with_sums_along_others():
    generator = np.random.default_rng(0)
    images, kernels = generator.normal(size=(2, 3, 5, 4)), generator.normal(size=(3, 6, 2, 2))
    result = convolve(images, kernels, axes=([2, 3], [2, 3]), dot_axes=([1], [0]), mode="valid")
    assert result.shape == (2, 6, 4, 3)
    expected = sum(whole(images[1, d], kernels[d, 4])[1:-1, 1:-1] for d in range(3))
    np.testing.assert_allclose(result[1, 4], expected)
    with pytest.raises(ValueError, match="mode"):
        convolve(X, X, mode="circular")
    with pytest.raises(ValueError, match="lies within the other"):
        convolve(np.ones((2, 5)), np.ones((3, 4)), mode="valid")


def test_importing_tracejit_loads_none_of_it():
    program = "import sys, tracejit; print([m for m in sys.modules if '.compat' in m])"
    printed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert printed == "[]\n"
