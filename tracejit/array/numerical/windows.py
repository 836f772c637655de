"""Window functions, and the Bessel function that one of them is made of."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from ...eager.tensor import Array, Tensor
from ..operands import as_tensor, constant_of, floating, given_as_array, require_real, run
from ..reductions import averaged

__all__ = ["bartlett", "blackman", "hamming", "hanning", "i0", "kaiser"]


def bartlett(M: int) -> Tensor:
    """The triangular window of `M` points, which is 0 at both ends.

    Example:
        >>> import tracejit as tj
        >>> tj.bartlett(5)
        tensor([0. , 0.5, 1. , 0.5, 0. ])

    Semantics: ``numpy.bartlett``.
    """
    return constant_of(np.bartlett(operator.index(M)))


def blackman(M: int) -> Tensor:
    """The Blackman window of `M` points: 0.42 - 0.5 cos(t) + 0.08 cos(2 t).

    Example:
        >>> import tracejit as tj
        >>> tj.blackman(5)
        tensor([-1.38777878e-17,  3.40000000e-01,  1.00000000e+00,
                 3.40000000e-01, -1.38777878e-17])

    Semantics: ``numpy.blackman``.
    """
    return constant_of(np.blackman(operator.index(M)))


def hamming(M: int) -> Tensor:
    """The Hamming window of `M` points: 0.54 - 0.46 cos(t).

    Example:
        >>> import tracejit as tj
        >>> tj.hamming(5)
        tensor([0.08, 0.54, 1.  , 0.54, 0.08])

    Semantics: ``numpy.hamming``.
    """
    return constant_of(np.hamming(operator.index(M)))


def hanning(M: int) -> Tensor:
    """The Hann window of `M` points: 0.5 - 0.5 cos(t).

    Example:
        >>> import tracejit as tj
        >>> tj.hanning(5)
        tensor([0. , 0.5, 1. , 0.5, 0. ])

    Semantics: ``numpy.hanning``.
    """
    return constant_of(np.hanning(operator.index(M)))


def kaiser(M: int, beta: Any) -> Tensor:
    """The Kaiser window of `M` points: ``i0(beta sqrt(1 - t^2)) / i0(beta)`` for t from -1 to 1.

    Gradients go to `beta`.

    Example:
        >>> import tracejit as tj
        >>> tj.kaiser(5, 2.0)
        tensor([0.43867628, 0.83476143, 1.        , 0.83476143, 0.43867628])

    Semantics: ``numpy.kaiser``.
    """
    count = operator.index(M)
    if count == 1:
        return constant_of(np.ones(1))
    beta = averaged(beta, None)
    half = (count - 1) / 2.0
    place = (np.arange(count) - half) / half if count else np.zeros(0)
    shape = constant_of(np.sqrt(1 - place**2.0))
    return run("div", i0(run("mul", beta, shape)), i0(beta))


#: Of these many Chebyshev polynomials, the last has a coefficient below 1e-17.
_TERMS = 30


@functools.cache
def _coefficients() -> tuple[Array, Array]:
    """Coefficients of exp(-x) I0(x) over [0, 8], and of exp(-x) sqrt(x) I0(x) over 8/x in (0, 1]."""
    chebyshev = np.polynomial.chebyshev

    def near(t: Any) -> Any:
        x = 4.0 * (t + 1.0)
        return np.exp(-x) * np.i0(x)

    def far(t: Any) -> Any:
        x = 16.0 / (t + 1.0)
        near_enough = np.minimum(x, 30.0)
        exact = np.exp(-near_enough) * np.sqrt(near_enough) * np.i0(near_enough)
        # the asymptotic series (DLMF 10.40.1), whose terms fall until k is about 2 x
        term = total = np.ones_like(x)
        for k in range(20):
            term = term * (2 * k + 1) ** 2 / (8 * np.maximum(x, 30.0) * (k + 1))
            total = total + term
        return np.where(x <= 30.0, exact, total / np.sqrt(2 * np.pi))

    return chebyshev.chebinterpolate(near, _TERMS), chebyshev.chebinterpolate(far, _TERMS - 4)


def _series(coefficients: Array, t: Tensor) -> Tensor:
    """The sum of Chebyshev polynomials at `t`, by Clenshaw's recurrence."""
    twice = run("mul", t, 2.0)
    before: Any = 0.0
    value: Any = run("add", run("mul", t, 0.0), float(coefficients[-1]))
    for coefficient in coefficients[-2:0:-1]:
        value, before = run("sub", run("add", run("mul", twice, value), float(coefficient)), before), value
    return run("sub", run("add", run("mul", t, value), float(coefficients[0])), before)


def i0(x: Any) -> Tensor:
    """The modified Bessel function of the first kind, of order 0.

    Example:
        >>> import tracejit as tj
        >>> tj.i0([0.0, 1.0])
        tensor([1.        , 1.26606588])

    Semantics: ``numpy.i0``.
    """
    x = floating(as_tensor(x))
    require_real("i0", x)
    size = run("abs", x)
    is_near = run("le", size, 8.0)
    near, far = _coefficients()
    small = run("where", is_near, size, 1.0)
    large = run("where", is_near, 16.0, size)
    low = run("mul", run("exp", small), _series(near, run("sub", run("mul", small, 0.25), 1.0)))
    tail = _series(far, run("sub", run("div", 16.0, large), 1.0))
    growth = run("exp", run("mul", large, 0.5))  # twice: exp(x) overflows before the result does
    high = run("mul", run("mul", growth, run("div", tail, run("sqrt", large))), growth)
    return given_as_array(run("where", is_near, low, high))
