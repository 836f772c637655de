"""Hypergeometric, Legendre and Lambert's functions."""

from __future__ import annotations

from typing import Any

from ...array.operands import SCALARS, as_tensor, promoted, run
from ...base.errors import DomainError
from ...tensors.tensor import Tensor
from .operands import floats, special

__all__ = [
    "eval_legendre",
    "hyp1f1",
    "hyp2f1",
    "lambertw",
    "lpmv",
    "sph_harm",
    "sph_harm_y",
    "sph_legendre_p",
]


def hyp1f1(a: Any, b: Any, x: Any) -> Tensor:
    """Kummer's confluent hypergeometric function 1F1(a; b; x), by its series: for arguments of moderate size.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.hyp1f1(1.0, 2.0, 1.5)
        tensor(2.32112605)

    Semantics: ``scipy.special.hyp1f1`` of real numbers. Gradients flow to all
    arguments.
    """
    return special("hyp1f1", a, b, x)


def hyp2f1(a: Any, b: Any, c: Any, z: Any) -> Tensor:
    """Gauss' hypergeometric function 2F1(a, b; c; z) for z <= 1, by its series; NaN beyond, unless it is a
    polynomial, and where 100,000 terms are not enough, near 1.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.hyp2f1(1.0, 2.0, 3.0, 0.5)
        tensor(1.54517744)

    Semantics: ``scipy.special.hyp2f1`` of real numbers, but NaN where that has infinities beyond 1.
    Gradients flow to all arguments.
    """
    return special("hyp2f1", a, b, c, z)


def eval_legendre(n: Any, x: Any) -> Tensor:
    """The Legendre polynomial of integer degree n; NaN where n is no integer.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.eval_legendre(2, 0.5)
        tensor(-0.125)

    Semantics: ``scipy.special.eval_legendre`` of real numbers for integer degrees.
    """
    return special("eval_legendre", n, x)


def lpmv(m: Any, v: Any, x: Any) -> Tensor:
    """The associated Legendre function of integer order m and integer degree v, for x in [-1, 1]; NaN
    elsewhere.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.lpmv(1, 2, 0.5)
        tensor(-1.29903811)

    Semantics: ``scipy.special.lpmv`` of real numbers for integer degrees.
    """
    return special("lpmv", m, v, x)


def sph_legendre_p(n: Any, m: Any, theta: Any) -> Tensor:
    """The spherical harmonic of integer degree n and order m at the polar angle theta and the azimuth 0; 0
    where the degree is below the order.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.sph_legendre_p(2, 1, 0.5)
        tensor(-0.32503853)

    Semantics: ``scipy.special.sph_legendre_p`` without ``diff_n``. Gradients flow to theta.
    """
    return special("sph_legendre_p", n, m, theta)


def sph_harm_y(n: Any, m: Any, theta: Any, phi: Any) -> Tensor:
    """The spherical harmonic of integer degree n and order m at the polar angle theta and the azimuth phi.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.sph_harm_y(2, 1, 0.5, 0.25)
        tensor(-0.31493387-0.08041582j)

    It has the phase (-1)^m of Condon and Shortley. Semantics: ``scipy.special.sph_harm_y`` without
    ``diff_n``. Gradients flow to the angles.
    """
    order = m if type(m) in SCALARS else run("stop_gradient", as_tensor(m))
    size, angle = promoted(sph_legendre_p(n, m, theta), *floats(run("mul", order, phi)))
    return run("complex", run("mul", size, run("cos", angle)), run("mul", size, run("sin", angle)))


def sph_harm(m: Any, n: Any, theta: Any, phi: Any) -> Tensor:
    """``sph_harm_y(n, m, phi, theta)``: here theta is the azimuth, and phi the polar angle.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.sph_harm(1, 2, 0.25, 0.5)
        tensor(-0.31493387-0.08041582j)

    Semantics: ``scipy.special.sph_harm``, which SciPy had up to 1.16.
    """
    return sph_harm_y(n, m, phi, theta)


def lambertw(z: Any, k: int = 0) -> Tensor:
    """The real branch `k` of Lambert's W, which solves w exp(w) = z: 0 for z >= -1 / e, -1 for -1 / e <= z <
    0.

    NaN where a branch is complex.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.special.lambertw(1.0)
        tensor(0.56714329)

    Raises DomainError unless `k` is 0 or -1. Semantics: ``scipy.special.lambertw``, but real.
    """
    if k not in (0, -1):
        raise DomainError(f"lambertw: expected k to be 0 or -1, whose branches are real, got {k!r}")
    return special("lambertw_m1" if k else "lambertw_0", z)
