"""Every op of the package. Importing this module fills ``ir.registry.OPS``."""

from __future__ import annotations

from ..registry import OPS
from . import (  # noqa: F401
    arithmetic,
    callbacks,
    complex_numbers,
    contraction,
    creation,
    cumulative,
    differentiation,
    fusion,
    indexing,
    linalg,
    logic,
    random,
    reductions,
    shape,
    special,
    strong_zeros,
    transcendental,
    vector_norms,
)
from .control_flow import definitions  # noqa: F401
from .ordering import arg_reductions, compaction, counting, search, sorting  # noqa: F401
from .signal import convolution, fourier  # noqa: F401

OPS.seal()
