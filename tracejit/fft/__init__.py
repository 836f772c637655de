"""Discrete Fourier transforms under NumPy's names: native code, with gradients.

Complex numbers are pairs to the ops behind these functions (`pairs`), which transform one axis at a time.
"""

from __future__ import annotations

from ..surface.namespaces import FFT as _FFT

_FFT.attach(globals())
