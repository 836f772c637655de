"""Cases of the gamma family."""

from __future__ import annotations

from typing import Any

import mpmath as mp

from .cases import Case, mixed, powers, product, uniform


def log_gamma(x: Any) -> Any:
    return mp.log(abs(mp.gamma(x))) if x < 0 else mp.loggamma(x)


def log_beta(a: Any, b: Any) -> Any:
    return mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)


def hurwitz(s: Any, q: Any) -> Any:
    """Euler and Maclaurin's sum: mpmath's own has few digits for large s and q."""
    a = q + 60
    terms = (
        mp.bernoulli(2 * j) / mp.factorial(2 * j) * mp.rf(s, 2 * j - 1) * a ** (1 - s - 2 * j)
        for j in range(1, 31)
    )
    head = mp.fsum((q + k) ** -s for k in range(60))
    return head + a ** (1 - s) / (s - 1) + a**-s / 2 + mp.fsum(terms)


CASES = (
    Case("gammaln", "x > 0", log_gamma, mixed(uniform(0, 3), uniform(3, 20), powers(-300, 300)), 3,
         {(1,): 3, (2,): 4},
         exact={(1,): mp.digamma, (2,): lambda x: mp.polygamma(1, x)}),
    Case("gamma", "-12 < x < 171.6", mp.gamma, mixed(uniform(-12, 12), uniform(12, 171.6)), 6, {(1,): 12}),
    Case("digamma", "x > 0", mp.digamma, mixed(uniform(0, 3), uniform(3, 20), powers(-100, 300)), 3,
         {(1,): 4, (2,): 5},
         exact={(1,): lambda x: mp.polygamma(1, x), (2,): lambda x: mp.polygamma(2, x)}),
    Case("zeta", "1 < s < 50, 0 < q < 100", hurwitz, product(uniform(1.01, 50), uniform(0.01, 100)), 10,
         {(1, 0): 20, (2, 0): 30}),
    Case("riemann_zeta", "-40 < s < 60", mp.zeta, mixed(uniform(-40, 1), uniform(1, 60)), 30,
         digits=60),
    Case("beta", "0.001 < a, b < 100", mp.beta, product(powers(-3, 2), powers(-3, 2)), 8),
    Case("betaln", "10^-5 < a, b < 10^5; of sizes below 0.5, ulps of 0.5", log_beta,
         product(powers(-5, 5), powers(-5, 5)), 10, {(1, 0): 6, (0, 1): 6, (1, 1): 6, (2, 0): 6, (0, 2): 6},
         floor=0.5),
    Case("binom", "0 < k < n < 100", mp.binomial,
         lambda rng, count: [(n := rng.uniform(1, 100, count)), n * rng.uniform(0, 1, count)], 120),
)  # fmt: skip
