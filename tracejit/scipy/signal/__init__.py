"""Convolutions and correlations of arrays of any rank, under SciPy's names."""

from __future__ import annotations

from ...surface.namespaces import SCIPY_SIGNAL as _SCIPY_SIGNAL

_SCIPY_SIGNAL.attach(globals())
