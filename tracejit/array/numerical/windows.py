"""Window functions, and the Bessel function that one of them is made of."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ...dispatch import special_kernels as _special_kernels  # noqa: F401 - makes eager kernels native
from ...tensors.tensor import Tensor
from ..operands import as_tensor, constant_of, floating, given_as_array, require_real, run
from ..reducing import averaged


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


def i0(x: Any) -> Tensor:
    """The modified Bessel function of the first kind, of order 0.

    Example:
        >>> import tracejit as tj
        >>> tj.i0([0.0, 1.0])
        tensor([1.        , 1.26606588])

    Semantics: ``numpy.i0``, and ``scipy.special.i0``, which it is another name of.
    """
    x = floating(as_tensor(x))
    require_real("i0", x)
    return given_as_array(run("special1", x, function="i0", orders=(0,)))
