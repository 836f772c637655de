"""Discrete Fourier transforms under NumPy's names: native code, with gradients.

Complex numbers are pairs to the ops behind these functions (`pairs`), which transform one axis at a time.
"""

from __future__ import annotations

from ..arguments.errors import check_public as _check_public
from .frequencies import fftfreq, fftshift, ifftshift, rfftfreq
from .lines import fft, hfft, ifft, ihfft, irfft, rfft
from .several_axes import fft2, fftn, ifft2, ifftn, irfft2, irfftn, rfft2, rfftn

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

_check_public(globals(), __all__, "fft.")
