"""Fourier, cosine and sine transforms under SciPy's names; the Fourier transforms are those of ``tj.fft``."""

from __future__ import annotations

import functools as _functools
import operator as _operator
from typing import Any as _Any

from ...arguments.errors import check_public as _check_public
from ...fft import (
    fft,
    fft2,
    fftfreq,
    fftn,
    fftshift,
    hfft,
    ifft,
    ifft2,
    ifftn,
    ifftshift,
    ihfft,
    irfft,
    irfft2,
    irfftn,
    rfft,
    rfft2,
    rfftfreq,
    rfftn,
)
from ...ir.errors import DomainError as _DomainError
from .real_transforms import dct, dst, idct, idst

__all__ = [
    "dct",
    "dst",
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "idct",
    "idst",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "next_fast_len",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]


def next_fast_len(target: _Any, real: bool = False) -> int:
    """The smallest size from `target` on whose prime factors are at most 11, or 5 where `real`.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.fft.next_fast_len(1009), tj.scipy.fft.next_fast_len(1009, real=True)
        (1024, 1024)

    Raises DomainError unless `target` is a positive integer. Semantics: ``scipy.fft.next_fast_len``.
    """
    least = _operator.index(target)
    if least < 1:
        raise _DomainError(f"scipy.fft.next_fast_len: target must be positive, got {least}")
    return _smooth_from(least, (2, 3, 5) if real else (2, 3, 5, 7, 11))


@_functools.lru_cache(maxsize=256)
def _smooth_from(least: int, primes: tuple[int, ...]) -> int:
    """The smallest product of `primes` that is not less than `least`."""
    products = [1]
    for prime in primes[1:]:
        for product in list(products):
            while product * prime < 2 * least:
                product *= prime
                products.append(product)
    # each to the power of two that is needed
    return min(product << max(0, (-(-least // product) - 1).bit_length()) for product in products)


_check_public(globals(), ["dct", "dst", "idct", "idst", "next_fast_len"], "scipy.fft.")
