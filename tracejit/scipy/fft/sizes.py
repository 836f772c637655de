"""Sizes whose Fourier transforms are fast."""

from __future__ import annotations

import functools
import operator
from typing import Any

from ...base.errors import DomainError


def next_fast_len(target: Any, real: bool = False) -> int:
    """The smallest size from `target` on whose prime factors are at most 11, or 5 where `real`.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.fft.next_fast_len(1009), tj.scipy.fft.next_fast_len(1009, real=True)
        (1024, 1024)

    Raises DomainError unless `target` is a positive integer. Semantics: ``scipy.fft.next_fast_len``.
    """
    least = operator.index(target)
    if least < 1:
        raise DomainError(f"scipy.fft.next_fast_len: target must be positive, got {least}")
    return _smooth_from(least, (2, 3, 5) if real else (2, 3, 5, 7, 11))


@functools.lru_cache(maxsize=256)
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
