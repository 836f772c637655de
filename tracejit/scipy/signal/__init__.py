"""Convolutions and correlations of arrays of any rank, under SciPy's names."""

from __future__ import annotations

from ...arguments.errors import check_public as _check_public
from .convolutions import choose_conv_method, convolve, correlate, fftconvolve

__all__ = ["choose_conv_method", "convolve", "correlate", "fftconvolve"]

_check_public(globals(), __all__, "scipy.signal.")
