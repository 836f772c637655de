"""Linear algebra under NumPy's names, on stacks of matrices, with derivatives.

Matrices lie on the last two axes; leading axes are batches. Integers are computed in floating point. What has
no result raises LinAlgError, eagerly and from compiled code. ``docs/linalg.md`` says how gradients are meant.
"""

from __future__ import annotations

from ..surface.namespaces import LINALG as _LINALG

_LINALG.attach(globals())
