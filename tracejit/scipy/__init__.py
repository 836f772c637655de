"""Functions under SciPy's names. Packages load at first use."""

from __future__ import annotations

from ..surface.namespaces import SCIPY as _SCIPY

_SCIPY.attach(globals())
