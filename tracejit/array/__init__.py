"""NumPy's array functions on Tensors: eager, on the tape, and under a trace.

``import tracejit as tj`` offers them as ``tj.<name>``. Importing this package binds the operators of Tensor.
"""

from __future__ import annotations

from ..surface.namespaces import ARRAY as _ARRAY
from .methods import bind as _bind

_bind()
_ARRAY.attach(globals())
