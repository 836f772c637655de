# Written by `python -m tracejit.surface` from the tables of that package. Do not edit.
# ruff: noqa
# fmt: off
from __future__ import annotations

from typing import Any

from ...tensors.tensor import Tensor

def erf(x: Any) -> Tensor:
    """The error function."""

def erfc(x: Any) -> Tensor:
    """1 - erf(x), without cancellation."""

def erfcx(x: Any) -> Tensor:
    """exp(x^2) erfc(x), which neither over- nor underflows for positive x."""

def erfinv(y: Any) -> Tensor:
    """The inverse of erf; infinite at -1 and 1, NaN beyond."""

def erfcinv(y: Any) -> Tensor:
    """The inverse of erfc; infinite at 0 and 2, NaN beyond."""

def ndtr(x: Any) -> Tensor:
    """The cumulative distribution function of the standard normal distribution."""

def log_ndtr(x: Any) -> Tensor:
    """log(ndtr(x)), also where ndtr(x) underflows."""

def ndtri(y: Any) -> Tensor:
    """The inverse of ndtr: quantiles of the standard normal distribution."""

def expit(x: Any) -> Tensor:
    """1 / (1 + exp(-x))."""

def logit(x: Any) -> Tensor:
    """log(x / (1 - x)), the inverse of expit; NaN outside of [0, 1]."""

def log_expit(x: Any) -> Tensor:
    """log(expit(x)), without underflow."""

def gammaln(x: Any) -> Tensor:
    """log |gamma x|; infinite at 0 and the negative integers."""

def gamma(x: Any) -> Tensor:
    """The gamma function; NaN at negative integers, infinite at 0 with the sign of the zero."""

def digamma(x: Any) -> Tensor:
    """The derivative of log gamma x; NaN at negative integers."""
psi = digamma

def beta(a: Any, b: Any) -> Tensor:
    """gamma(a) gamma(b) / gamma(a + b)."""

def betaln(a: Any, b: Any) -> Tensor:
    """log |beta(a, b)|."""

def binom(n: Any, k: Any) -> Tensor:
    """The binomial coefficient of real `n` and `k`."""

def gammainc(a: Any, x: Any) -> Tensor:
    """The regularized lower incomplete gamma function P(a, x), for a, x >= 0."""

def gammaincc(a: Any, x: Any) -> Tensor:
    """The regularized upper incomplete gamma function Q(a, x) = 1 - P(a, x), for a, x >= 0."""

def gammaincinv(a: Any, y: Any) -> Tensor:
    """x with gammainc(a, x) = y."""

def gammainccinv(a: Any, y: Any) -> Tensor:
    """x with gammaincc(a, x) = y."""

def betainc(a: Any, b: Any, x: Any) -> Tensor:
    """The regularized incomplete beta function I(a, b, x), for a, b >= 0 and x in [0, 1]."""

def betaincc(a: Any, b: Any, x: Any) -> Tensor:
    """1 - betainc(a, b, x), without cancellation."""

def betaincinv(a: Any, b: Any, y: Any) -> Tensor:
    """x with betainc(a, b, x) = y."""

def j0(x: Any) -> Tensor:
    """The Bessel function of the first kind, order 0."""

def y0(x: Any) -> Tensor:
    """The Bessel function of the second kind, order 0; NaN for negative x."""

def i0(x: Any) -> Tensor:
    """The modified Bessel function of the first kind, order 0."""

def i0e(x: Any) -> Tensor:
    """exp(-|x|) i0(x), without overflow."""

def k0(x: Any) -> Tensor:
    """The modified Bessel function of the second kind, order 0; NaN for negative x."""

def k0e(x: Any) -> Tensor:
    """exp(x) k0(x), without underflow."""

def j1(x: Any) -> Tensor:
    """The Bessel function of the first kind, order 1."""

def y1(x: Any) -> Tensor:
    """The Bessel function of the second kind, order 1; NaN for negative x."""

def i1(x: Any) -> Tensor:
    """The modified Bessel function of the first kind, order 1."""

def i1e(x: Any) -> Tensor:
    """exp(-|x|) i1(x), without overflow."""

def k1(x: Any) -> Tensor:
    """The modified Bessel function of the second kind, order 1; NaN for negative x."""

def k1e(x: Any) -> Tensor:
    """exp(x) k1(x), without underflow."""

def jv(v: Any, x: Any) -> Tensor:
    """The Bessel function of the first kind, of real order v >= 0 or an integer v."""

def iv(v: Any, x: Any) -> Tensor:
    """The modified Bessel function of the first kind, of real order v."""

def ive(v: Any, x: Any) -> Tensor:
    """exp(-|x|) iv(v, x), without overflow."""

def kv(v: Any, x: Any) -> Tensor:
    """The modified Bessel function of the second kind, of real order v; NaN for negative x."""

def kve(v: Any, x: Any) -> Tensor:
    """exp(x) kv(v, x), without underflow."""

def hyp1f1(a: Any, b: Any, x: Any) -> Tensor:
    """Kummer's confluent hypergeometric function 1F1(a; b; x), by its series: for arguments of moderate size."""

def hyp2f1(a: Any, b: Any, c: Any, z: Any) -> Tensor:
    """Gauss' hypergeometric function 2F1(a, b; c; z) for z <= 1, by its series; NaN beyond, unless it is a polynomial, and where 100,000 terms are not enough, near 1."""

def eval_legendre(n: Any, x: Any) -> Tensor:
    """The Legendre polynomial of integer degree n; NaN where n is no integer."""

def lpmv(m: Any, v: Any, x: Any) -> Tensor:
    """The associated Legendre function of integer order m and integer degree v, for x in [-1, 1]; NaN elsewhere."""

def sph_legendre_p(n: Any, m: Any, theta: Any) -> Tensor:
    """The spherical harmonic of integer degree n and order m at the polar angle theta and the azimuth 0; 0 where the degree is below the order."""

def xlogy(x: Any, y: Any) -> Tensor:
    """x log(y), and 0 where x is 0 and y no NaN."""

def xlog1py(x: Any, y: Any) -> Tensor:
    """x log(1 + y), and 0 where x is 0 and y no NaN."""

def entr(x: Any) -> Tensor:
    """-x log(x), 0 at 0, and -inf below."""

def rel_entr(x: Any, y: Any) -> Tensor:
    """x log(x / y), 0 where x = 0 <= y, and infinite elsewhere unless both are positive."""

def kl_div(x: Any, y: Any) -> Tensor:
    """x log(x / y) - x + y, y where x = 0 <= y, and infinite elsewhere unless both are positive."""

def exp1(x: Any) -> Tensor:
    """The exponential integral E1: the integral of exp(-t) / t from x on; NaN for negative x."""

def expi(x: Any) -> Tensor:
    """The exponential integral Ei: the principal value of the integral of exp(t) / t up to x."""

def expn(n: Any, x: Any) -> Tensor:
    """The generalized exponential integral E(n, x), for integers n >= 0 and x >= 0; NaN elsewhere."""

def spence(z: Any) -> Tensor:
    """The dilogarithm of 1 - z: the integral of log(t) / (1 - t) from 1 to z; NaN for negative z."""

def ellipk(m: Any) -> Tensor:
    """The complete elliptic integral of the first kind of the parameter m; NaN beyond 1."""

def ellipe(m: Any) -> Tensor:
    """The complete elliptic integral of the second kind of the parameter m; NaN beyond 1."""
