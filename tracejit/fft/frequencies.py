"""The frequencies that elements of transforms stand for, and their order."""

from __future__ import annotations

import operator
from typing import Any

from ..array.information.array_api import check_device
from ..array.operands import as_tensor
from ..array.ranges import arange
from ..array.rearranging import roll
from ..base.errors import DomainError, DTypeError, ZeroDivisorError
from ..ir.dtypes import DType, as_dtype, default_dtype, is_real_floating
from ..ir.types import normalize_axis
from ..tensors.tensor import Tensor


def _count(name: str, n: Any) -> int:
    try:
        count = operator.index(n)
    except TypeError as error:
        raise DomainError(f"{name}: n must be an integer, got {n!r}") from error
    if count == 0:
        raise ZeroDivisorError(f"{name}: n must be at least 1, got 0")
    if count < 1:
        raise DomainError(f"{name}: n must be at least 1, got {count}")
    return count


def _floating(name: str, dtype: Any) -> DType:
    """`dtype`, or the default one where it is None. Raises DTypeError where it is not of real numbers."""
    chosen = default_dtype() if dtype is None else as_dtype(dtype)
    if not is_real_floating(chosen):
        raise DTypeError(f"{name}: dtype must be float32 or float64, got {chosen.name}")
    return chosen


def fftfreq(n: int, d: Any = 1.0, device: Any = None, *, dtype: Any = None) -> Tensor:
    """The frequencies of the elements of ``fft`` of `n` samples that are `d` apart: 0 and the positive ones,
    then the negative ones.

    Example:
        >>> import tracejit as tj
        >>> tj.fft.fftfreq(4, 0.5)
        tensor([ 0. ,  0.5, -1. , -0.5])

    Raises DomainError unless `n` is a positive integer. Semantics: ``numpy.fft.fftfreq``.
    """
    count = _count("fft.fftfreq", n)
    check_device("fft.fftfreq", device)
    places = arange(-(count // 2), count - count // 2, dtype=_floating("fft.fftfreq", dtype))
    frequencies: Tensor = roll(places, -(count // 2)) * (1.0 / (count * d))
    return frequencies


def rfftfreq(n: int, d: Any = 1.0, device: Any = None, *, dtype: Any = None) -> Tensor:
    """The frequencies of the elements of ``rfft`` of `n` samples that are `d` apart.

    Example:
        >>> import tracejit as tj
        >>> tj.fft.rfftfreq(4, 0.5)
        tensor([0. , 0.5, 1. ])

    Raises DomainError unless `n` is a positive integer. Semantics: ``numpy.fft.rfftfreq``.
    """
    count = _count("fft.rfftfreq", n)
    check_device("fft.rfftfreq", device)
    places = arange(count // 2 + 1, dtype=_floating("fft.rfftfreq", dtype))
    frequencies: Tensor = places * (1.0 / (count * d))
    return frequencies


def _shifted(name: str, x: Any, axes: Any, *, inverse: bool) -> Tensor:
    x = as_tensor(x)
    if axes is None:
        places = list(range(x.ndim))
    else:
        entries = axes if isinstance(axes, (tuple, list)) else [axes]
        places = [normalize_axis(name, axis, x.ndim) for axis in entries]
    shifts = [-(x.shape[place] // 2) if inverse else x.shape[place] // 2 for place in places]
    return roll(x, tuple(shifts), axis=tuple(places))


def fftshift(x: Any, axes: Any = None) -> Tensor:
    """`x` with the element of frequency 0 in the middle of `axes`; of all axes without them.

    Example:
        >>> import tracejit as tj
        >>> tj.fft.fftshift(tj.fft.fftfreq(4))
        tensor([-0.5 , -0.25,  0.  ,  0.25])

    Raises AxisError for an axis that there is not. Semantics: ``numpy.fft.fftshift``.
    """
    return _shifted("fft.fftshift", x, axes, inverse=False)


def ifftshift(x: Any, axes: Any = None) -> Tensor:
    """The inverse of ``fftshift``.

    Example:
        >>> import tracejit as tj
        >>> tj.fft.ifftshift([-0.5, -0.25, 0.0, 0.25])
        tensor([ 0.  ,  0.25, -0.5 , -0.25])

    Raises AxisError for an axis that there is not. Semantics: ``numpy.fft.ifftshift``.
    """
    return _shifted("fft.ifftshift", x, axes, inverse=True)
