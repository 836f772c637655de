"""Special functions under SciPy's names: vectorized native code, with derivatives in every argument.

The functions broadcast; integers are computed in floating point; float32 is computed in float64 and
rounded, but for what is composed of ops. ``docs/special.md`` says how accurate they are. Each module loads
when one of its functions is first used.
"""

from __future__ import annotations

from ...surface.namespaces import SCIPY_SPECIAL as _SCIPY_SPECIAL

_SCIPY_SPECIAL.attach(globals())
