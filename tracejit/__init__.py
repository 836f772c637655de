"""tracejit: a tracing JIT for NumPy-style Python, with eager autograd and symbolic gradients.

    import tracejit as tj

Array functions have NumPy's names and semantics, eager autograd PyTorch's, transforms JAX's. Names load when
they are first used; what gives Tensor its operators and methods loads at once.
"""

from __future__ import annotations

import os as _os

from . import array as _array  # noqa: F401
from . import provided as _provided
from . import providers as _providers  # noqa: F401
from .autograd import passes as _passes  # noqa: F401
from .base.loading import load_module as _load_module
from .surface.namespaces import TRACEJIT as _TRACEJIT
from .tracebacks import fold_uncaught as _fold_uncaught


def _hint(name: str) -> str:
    """The advice that ends an error about a missing name. Tools ask for private ones, and want none."""
    return "" if name.startswith("_") else _load_module(".missing_names", __name__).hint(name)


_TRACEJIT.attach(globals(), _hint)

if _os.environ.get("TRACEJIT_CHECK_NANS"):
    _load_module(".profiling.nonfinite", __name__).check_everything(_os.environ["TRACEJIT_CHECK_NANS"])
if _os.environ.get("TRACEJIT_DUMP"):
    _provided.DUMPING().dump_by_environment()

_fold_uncaught()
