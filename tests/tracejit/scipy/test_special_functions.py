"""``tj.scipy.special``: names, dtypes, broadcasting, edges as SciPy's, and errors."""

from __future__ import annotations

import math
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import tracejit as tj

S = tj.scipy.special
INF, NAN = math.inf, math.nan
#: Function, arguments, and what SciPy gives.
EDGES: list[tuple[str, tuple[float, ...], float]] = [
    ("gammaln", (0.0,), INF),
    ("gammaln", (-2.0,), INF),
    ("gammaln", (INF,), INF),
    ("gammaln", (1.0,), 0.0),
    ("gamma", (0.0,), INF),
    ("gamma", (-0.0,), -INF),
    ("gamma", (-1.0,), NAN),
    ("gamma", (200.0,), INF),
    ("gamma", (23.0,), float(math.factorial(22))),
    ("digamma", (0.0,), -INF),
    ("digamma", (-1.0,), NAN),
    ("digamma", (INF,), INF),
    ("zeta", (1.0,), INF),
    ("zeta", (0.0,), -0.5),
    ("zeta", (-2.0,), 0.0),
    ("zeta", (2.0, 0.0), INF),
    ("zeta", (0.5, 2.0), NAN),
    ("beta", (0.0, 1.0), INF),
    ("beta", (-1.0, 1.0), -1.0),
    ("erfcx", (-30.0,), INF),
    ("erfcx", (INF,), 0.0),
    ("erfinv", (1.0,), INF),
    ("erfinv", (1.5,), NAN),
    ("erfcinv", (0.0,), INF),
    ("ndtri", (0.0,), -INF),
    ("ndtri", (1.0,), INF),
    ("log_ndtr", (-INF,), -INF),
    ("logit", (0.0,), -INF),
    ("logit", (1.0,), INF),
    ("expit", (-INF,), 0.0),
    ("log_expit", (INF,), 0.0),
    ("xlogy", (0.0, 0.0), 0.0),
    ("xlogy", (0.0, NAN), NAN),
    ("xlogy", (0.0, INF), 0.0),
    ("xlog1py", (0.0, -1.0), 0.0),
    ("entr", (0.0,), 0.0),
    ("entr", (-1.0,), -INF),
    ("rel_entr", (0.0, 1.0), 0.0),
    ("rel_entr", (1.0, 0.0), INF),
    ("kl_div", (0.0, 2.0), 2.0),
    ("gammainc", (0.0, 1.0), 1.0),
    ("gammainc", (1.0, 0.0), 0.0),
    ("gammainc", (-1.0, 1.0), NAN),
    ("gammaincc", (2.0, INF), 0.0),
    ("gammainc", (1e300, 2.0), 0.0),
    ("gammaincc", (1e300, 2.0), 1.0),
    ("gammainc", (2.0, 1e300), 1.0),
    ("ndtr", (0.0,), 0.5),
    ("ndtri", (0.5,), 0.0),
    ("erfcx", (0.0,), 1.0),
    ("erfcx", (1e300,), 5.641895835477563e-301),
    ("erfcx", (-26.63,), INF),
    ("kl_div", (1e-300, 1e300), 1e300),
    ("gammaincinv", (2.0, 1.0), INF),
    ("gammainccinv", (2.0, 0.0), INF),
    ("betainc", (1.0, 2.0, 0.0), 0.0),
    ("betainc", (1.0, 2.0, 1.0), 1.0),
    ("betainc", (1.0, 2.0, 1.5), NAN),
    ("betaincinv", (1.0, 2.0, 1.0), 1.0),
    ("j0", (0.0,), 1.0),
    ("y0", (0.0,), -INF),
    ("y0", (-1.0,), NAN),
    ("k0", (0.0,), INF),
    ("k1", (-1.0,), NAN),
    ("iv", (0.0, 0.0), 1.0),
    ("iv", (0.5, -1.0), NAN),
    ("jv", (0.0, 0.0), 1.0),
    ("kv", (1.0, 0.0), INF),
    ("exp1", (0.0,), INF),
    ("exp1", (-1.0,), NAN),
    ("expi", (0.0,), -INF),
    ("expn", (2.0, 0.0), 1.0),
    ("expn", (1.0, 0.0), INF),
    ("spence", (1.0,), 0.0),
    ("spence", (-1.0,), NAN),
    ("ellipk", (1.0,), INF),
    ("ellipk", (2.0,), NAN),
    ("ellipe", (1.0,), 1.0),
    ("comb", (5.0, 2.0), 10.0),
    ("comb", (2.0, 5.0), 0.0),
    ("factorial", (-1.0,), 0.0),
    ("binom", (10.0, 3.0), 120.0),
    ("lambertw", (-1.0,), NAN),
    ("lambertw", (0.0,), 0.0),
    ("hyp1f1", (1.0, 2.0, 0.0), 1.0),
    ("hyp2f1", (1.0, 2.0, 3.0, 0.0), 1.0),
    ("eval_legendre", (0.0, 0.3), 1.0),
]


@pytest.mark.parametrize(("name", "arguments", "expected"), EDGES)
def test_edges_are_scipys(name: str, arguments: tuple[float, ...], expected: float) -> None:
    function = getattr(S, name)
    values = [tj.tensor(value, dtype=tj.float64) for value in arguments]
    for run in (function, tj.jit(function)):
        result = float(run(*values))
        assert result == pytest.approx(expected, rel=1e-14, abs=1e-300, nan_ok=True)


@pytest.mark.parametrize("m", [-1e4, -1e50, -1e150, -1e250, -1e300, -1.5e308])
def test_elliptic_integrals_of_large_parameters(m: float) -> None:
    """Values and slopes, of which arithmetic-geometric means and K - E lose digits."""
    with mp.workdps(30):
        exact = mp.mpf(m)
        k, e = mp.ellipk(exact), mp.ellipe(exact)
        slopes = (e / (1 - exact) - k) / (2 * exact), (e - k) / (2 * exact)
        expected = list(map(float, (k, e, *slopes)))

    def all_of(x: Any) -> list[Any]:
        return [S.ellipk(x), S.ellipe(x), tj.grad(S.ellipk)(x), tj.grad(S.ellipe)(x)]

    for run in (all_of, tj.jit(all_of)):
        for result, truth in zip(run(tj.tensor(m)), expected, strict=True):
            assert float(result) == pytest.approx(truth, rel=1e-15, abs=1e-307)


def test_every_name_is_there() -> None:
    assert all(callable(getattr(S, name)) for name in S.__all__)
    assert set(S.__all__) <= set(dir(S))
    with pytest.raises(AttributeError, match="no attribute 'airy'"):
        S.airy  # noqa: B018


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [(tj.float32, tj.float32), (tj.float64, tj.float64), (tj.int64, tj.float64), (tj.int8, tj.float64)],
)
def test_dtypes_are_floating(dtype: Any, expected: Any) -> None:
    assert S.gammaln(tj.ones(3, dtype=dtype)).dtype == expected
    assert S.gammainc(tj.ones(3, dtype=dtype), 2.0).dtype == expected
    for function in (S.erf, S.erfc, S.expit, S.logsumexp, S.softmax, S.factorial):
        assert function(tj.ones(3, dtype=dtype)).dtype == expected


def test_arguments_broadcast() -> None:
    assert S.betainc(np.ones((3, 1)), np.ones(4), 0.5).shape == (3, 4)
    with pytest.raises(tj.ShapeError, match="gammainc"):
        S.gammainc(np.ones(3), np.ones(4))


def test_sums_of_exponentials() -> None:
    value, sign = S.logsumexp([1.0, 2.0], b=[1.0, -1.0], return_sign=True)
    assert float(value) == pytest.approx(math.log(math.e**2 - math.e))
    assert float(sign) == -1.0
    x = np.arange(6.0).reshape(2, 3)
    assert np.allclose(S.softmax(x).numpy().sum(), 1.0)
    assert np.allclose(S.softmax(x, axis=0).numpy().sum(axis=0), 1.0)
    assert np.allclose(S.log_softmax(x, axis=(0, 1)).numpy(), x - np.log(np.exp(x).sum()))


def test_polygamma_of_several_orders() -> None:
    values = S.polygamma(np.arange(4), 2.5).numpy()
    assert np.allclose(values, [0.70315664064524, 0.49035775610023, -0.23620405164172, 0.22390584881726])


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(tj.DomainError, match="lambertw"):
        S.lambertw(1.0, 2)
    with pytest.raises(tj.DomainError, match="multigammaln"):
        S.multigammaln(3.0, 0)
    with pytest.raises((tj.TracejitError, MemoryError)):  # and no loop of so many steps
        S.multigammaln(3.0, 10**13)
    with pytest.raises(tj.GradientError, match="expn"):
        tj.grad(S.expn)(2.0, 1.0)


def test_spherical_harmonics() -> None:
    """Values agree with the formula from associated Legendre functions, of negative orders and angles,
    too."""
    n, m = (axis.ravel() for axis in np.meshgrid(np.arange(-1, 9), np.arange(-9, 10)))
    rng = np.random.default_rng(4)
    theta, phi = rng.uniform(-4, 4, (2, n.size))
    value = np.zeros(n.size, complex)
    inside = np.abs(m) <= n
    ratio = [
        math.factorial(i - j) / math.factorial(i + j)
        for i, j in zip(n[inside], np.abs(m)[inside], strict=True)
    ]
    legendre = S.lpmv(np.abs(m), n, np.cos(theta)).numpy()[inside]
    sign = np.where((m < 0) & (m % 2 == 1), -1.0, 1.0)[inside]
    factor = sign * np.sqrt((2 * n[inside] + 1) / (4 * np.pi) * ratio)
    value[inside] = factor * legendre * np.exp(1j * m[inside] * phi[inside])
    for function in (S.sph_harm_y, tj.jit(S.sph_harm_y)):
        result = function(tj.tensor(n), tj.tensor(m), tj.tensor(theta), tj.tensor(phi)).numpy()
        assert np.allclose(result, value, rtol=1e-12, atol=1e-14)
    assert np.array_equal(S.sph_harm(m, n, phi, theta).numpy(), S.sph_harm_y(n, m, theta, phi).numpy())
    assert np.isnan(S.sph_harm_y(2.5, 1, theta, phi).numpy()).all()


def test_spherical_harmonics_have_derivatives() -> None:
    # d^2 / dtheta^2 + cot(theta) d / dtheta + (n (n + 1) - m^2 / sin(theta)^2) takes them to 0
    def real(theta: Any, phi: Any) -> Any:
        return S.sph_harm_y(5, 3, theta, phi).real

    theta, phi = 0.7, 0.4
    first, second = tj.grad(real)(theta, phi), tj.grad(tj.grad(real))(theta, phi)
    rest = first / np.tan(theta) + (30 - 9 / np.sin(theta) ** 2) * real(theta, phi)
    assert float(second) == pytest.approx(-float(rest), rel=1e-12)
    turning = tj.grad(tj.grad(real, argnums=1), argnums=1)(theta, phi)
    assert float(turning) == pytest.approx(-9 * float(real(theta, phi)), rel=1e-12)
    large = S.sph_harm_y(200, 150, theta, phi)
    assert np.isfinite(large.numpy())


def test_edges_of_polynomials_and_counts() -> None:
    special = tj.scipy.special
    assert special.hyp2f1(0, 1, 1, 1).item() == 1.0
    assert special.hyp2f1(-2.0, 5.0, 1.5, 1.0).item() == pytest.approx(7 / 3)
    assert special.hyp2f1(-2.0, 3.0, 1.5, 4.0).item() == pytest.approx(36.2)
    assert special.hyp2f1(-1.0, 1.0, -2.0, 0.5).item() == 1.25
    assert special.comb(0, 0, repetition=True).item() == 1.0
    assert special.comb([0, 3, 0, 5], [3, 0, 0, 2], repetition=True).tolist() == [0.0, 1.0, 1.0, 15.0]
    sine, cosine = special.sici(np.array([-1.0, 1.0, -np.inf]))
    assert sine[0].item() == -sine[1].item()
    assert cosine[0].item() == cosine[1].item() == pytest.approx(0.33740392290096813)
    assert np.isnan(cosine[2].item())


@pytest.mark.parametrize("jitted", [False, True])
def test_logsumexp_of_complex_numbers_and_masks(jitted: bool) -> None:
    special = tj.scipy.special
    run = tj.jit if jitted else lambda function: function
    a, b = np.array([1 + 1j, 2 - 3j, 0.5]), np.array([1, -2, 1j])
    total = (b * np.exp(a)).sum()
    size, sign = run(lambda a, b: special.logsumexp(a, b=b, return_sign=True))(a, b)
    assert size.item() == pytest.approx(np.log(abs(total)))
    assert sign.item() == pytest.approx(total / abs(total))
    assert run(special.logsumexp)(np.array([-1.0 + 400j])).item() == pytest.approx(np.log(np.exp(-1 + 400j)))
    x, mask = np.array([[1.0, 2.0, -np.inf], [0.0, -1.0, 3.0]]), np.array([[True, False, True], [False] * 3])
    value, sign = run(lambda x, m: special.logsumexp(x, axis=1, where=m, return_sign=True))(x, mask)
    assert value.tolist() == [1.0, -np.inf]
    assert sign.tolist() == [1.0, 0.0]


def test_results_near_the_largest_number():
    """No intermediate overflows where the result does not."""
    special = tj.scipy.special
    np.testing.assert_allclose(special.log_ndtr(-1.34078e154), -0.5 * 1.34078e154 * 1.34078e154, rtol=1e-15)
    np.testing.assert_allclose(
        tj.grad(special.erfcinv)(1.1771759939868e-310), -1.5931640598167e308, rtol=1e-12
    )
    slope = tj.grad(lambda x: special.eval_legendre(3, x))
    np.testing.assert_allclose(slope(-2.8266140992457304e153), 5.992310449541064e307, rtol=1e-14)
    assert [float(special.eval_legendre(n, -1.2e308)) for n in (1, 2, 3, 4)] == [
        -1.2e308,
        np.inf,
        -np.inf,
        np.inf,
    ]
