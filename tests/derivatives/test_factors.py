"""Roots whose own value is a factor of their cotangent: squares of norms have a second derivative at 0.

The slope of a norm is x over the norm, so that of ``norm(x) ** 2`` is a quotient of two zeros there, unless
the factor is left out of both."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tracejit as tj

norm = tj.linalg.norm
#: Functions of a vector of two elements, and the factor of the unit matrix that their Hessian is at 0.
AT_ZERO = {
    "power": (lambda x: norm(x) ** 2, 2),
    "float power": (lambda x: norm(x) ** 2.0, 2),
    "function": (lambda x: tj.power(norm(x), 2), 2),
    "square": (lambda x: tj.square(norm(x)), 2),
    "product": (lambda x: (lambda n: n * n)(norm(x)), 2),
    "cube": (lambda x: norm(x) ** 3, 0),
    "fourth power": (lambda x: norm(x) ** 4, 0),
    "terms": (lambda x: 3 * norm(x) ** 2 + norm(x) ** 4 + 1, 6),
    "outer function": (lambda x: tj.exp(-(norm(x) ** 2)), -2),
    "float32": (lambda x: norm(x.astype("f4")) ** 2, 2),
    "rows": (lambda x: (norm(tj.stack([x, 2 * x]), axis=1) ** 2).sum(), 10),
    "root": (lambda x: tj.sqrt((x * x).sum()) ** 2, 2),
    "hypot": (lambda x: tj.hypot(x[0], x[1]) ** 2, 2),
    "complex": (lambda x: tj.abs(x[0] + 1j * x[1]) ** 2, 2),
}
HESSIANS = {
    "eager": tj.hessian,
    "jit": lambda f: tj.jit(tj.hessian(f)),
    "of jit": lambda f: tj.hessian(tj.jit(f)),
    "reverse twice": lambda f: tj.jacrev(tj.grad(f)),
    "reverse twice, jit": lambda f: tj.jit(tj.jacrev(tj.grad(f))),
    "reverse of forward": lambda f: tj.jacrev(tj.jacfwd(f)),
}


@pytest.mark.parametrize("hessian", HESSIANS.values(), ids=HESSIANS)
@pytest.mark.parametrize("name", AT_ZERO)
def test_hessians_at_zero(name, hessian):
    f, factor = AT_ZERO[name]
    assert np.array_equal(hessian(f)(tj.zeros(2)), factor * np.eye(2))


ROOTS = (
    norm,
    lambda x: tj.sqrt((x * x).sum()),
    lambda x: tj.hypot(x[0], x[1]),
    lambda x: tj.abs(x[0] + 1j * x[1]),
)
#: Terms of a root n of x.
TERMS = (
    lambda n, x: n**2,
    lambda n, x: n * n * x[0],
    lambda n, x: -(n**3),
    lambda n, x: tj.exp(-(n * n)),
    lambda n, x: n * x[1] * n,
    lambda n, x: 2 * n,
    lambda n, x: n * tj.sin(n * n),
    lambda n, x: n**2 / (1 + n),
)


def random_function(rng):
    """A function of a root, with powers and products of it."""
    root, terms = rng.choice(ROOTS), rng.choices(TERMS, k=rng.randint(1, 3))
    return lambda x: (lambda n: sum(term(n, x) for term in terms))(root(x))


def test_random_functions_away_from_zero():
    seed = random.randrange(1 << 20)
    print(f"seed {seed}")
    rng = random.Random(seed)
    for _ in range(12):
        f, x = random_function(rng), np.array([rng.uniform(-2, 2), rng.uniform(-2, 2)])
        step = 1e-5
        for way in HESSIANS.values():
            got = np.asarray(way(f)(tj.tensor(x)))
            gradient = lambda y: np.asarray(tj.grad(f)(tj.tensor(y)))  # noqa: B023, E731
            want = [(gradient(x + step * e) - gradient(x - step * e)) / (2 * step) for e in np.eye(2)]
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("power", [2, 2.5, 0, -1, 1 + 1j])
@pytest.mark.parametrize("way", [lambda f: f, tj.jit], ids=["eager", "jit"])
def test_numbers_as_exponents_of_complex_numbers(power, way):
    z = np.array([1 + 2j, -0.5 + 0.1j])
    want = power * z ** (power - 1)
    got = way(tj.grad(lambda w: tj.real((w**power).sum())))(z)
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-14)


#: Factors that the op on them and a root promotes to the root's shape and dtype.
PROMOTED = (
    lambda: tj.tensor(2.0, requires_grad=True),
    lambda: tj.tensor([2, 3, 4], dtype=tj.int8),
    lambda: tj.tensor([[2.0, 3.0, 4.0]])[0, 1],
    lambda: 3,
)


@pytest.mark.parametrize("root", [tj.sqrt, lambda x: tj.hypot(x, x[0]), lambda x: tj.abs(x + 1j * x)])
@pytest.mark.parametrize("dtype", [tj.float32, tj.float64])
@pytest.mark.parametrize("factor", PROMOTED)
def test_other_factors_have_the_type_of_the_product(root, dtype, factor):
    results = []
    for detached in (False, True):
        x = tj.tensor([1.0, 2.0, 3.0], dtype=dtype, requires_grad=True)
        out = root(x)
        cotangent = out * factor()
        if cotangent.dtype is not out.dtype:
            cotangent = cotangent.astype(dtype)
        cotangent = cotangent.detach() if detached else cotangent
        (slope,) = tj.autograd.grad(out, (x,), grad_outputs=(cotangent,), create_graph=not detached)
        results.append(slope.detach())
        if not detached:
            (curvature,) = tj.autograd.grad(slope.sum(), (x,))
            assert (curvature.shape, curvature.dtype) == (x.shape, x.dtype)
    assert results[0].shape == results[1].shape
    assert results[0].dtype == results[1].dtype
    np.testing.assert_allclose(results[0], results[1], rtol=1e-6)


@pytest.mark.parametrize("power", [3, 3 + 0j, 2.5 - 1j, -1, 0])
@pytest.mark.parametrize("root", [lambda x: x, tj.sqrt, tj.abs])
def test_gradients_of_complex_powers(root, power):
    f = lambda x: tj.real((root(x) * (1 + 0j)) ** power).sum()  # noqa: E731
    x = np.array([1.0 + 2.0j, 2.0 - 1.0j])
    np.testing.assert_allclose(tj.jit(tj.grad(f))(x), tj.grad(f)(x), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    "f",
    [lambda x: tj.sqrt(x) ** 2, lambda x: tj.sqrt(3 * x) * tj.sqrt(3 * x), lambda x: tj.sqrt(x.sum()) ** 2],
)
def test_slopes_that_are_constant_stay_in_the_graph(f):
    x = tj.tensor([4.0, 1.0], requires_grad=True)
    (slope,) = tj.autograd.grad(f(x).sum(), (x,), create_graph=True)
    slope.sum().backward()
    assert np.array_equal(x.grad, np.zeros(2))


def test_factors_that_are_detached_stay_in_the_graph():
    x = tj.tensor([4.0, 9.0], requires_grad=True)
    out = tj.sqrt(x)
    (slope,) = tj.autograd.grad(out, (x,), grad_outputs=(out * out.detach(),), create_graph=True)
    assert np.array_equal(slope.detach(), [1.0, 1.5])
    assert np.array_equal(tj.autograd.grad(slope.sum(), (x,))[0], np.zeros(2))
