"""Linear algebra under SciPy's names, on stacks of matrices, with derivatives.

Matrices lie on the last two axes; leading axes are batches. Options about memory (``overwrite_a``) and about
checks (``check_finite``) are taken and mean nothing. ``docs/linalg.md`` says how gradients are meant.
"""

from __future__ import annotations

from ...surface.namespaces import SCIPY_LINALG as _SCIPY_LINALG

_SCIPY_LINALG.attach(globals())
