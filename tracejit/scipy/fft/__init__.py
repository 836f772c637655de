"""Fourier, cosine and sine transforms under SciPy's names; the Fourier transforms are those of ``tj.fft``."""

from __future__ import annotations

from ...surface.namespaces import SCIPY_FFT as _SCIPY_FFT

_SCIPY_FFT.attach(globals())
