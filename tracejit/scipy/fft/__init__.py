"""Fourier, cosine and sine transforms under SciPy's names; the Fourier transforms are those of ``tj.fft``."""

from __future__ import annotations

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
from .real_transforms import dct, dst, idct, idst
from .sizes import next_fast_len

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

_check_public(globals(), ["dct", "dst", "idct", "idst", "next_fast_len"], "scipy.fft.")
