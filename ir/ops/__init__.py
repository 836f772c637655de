"""Every op of the package. Importing this module fills ``ir.registry.OPS``."""

from __future__ import annotations

from ..registry import OPS
from . import (
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
from .control_flow import definitions
from .ordering import arg_reductions, compaction, counting, search, sorting
from .signal import convolution, fourier

__all__ = [
    "arg_reductions",
    "arithmetic",
    "callbacks",
    "compaction",
    "complex_numbers",
    "contraction",
    "convolution",
    "counting",
    "creation",
    "cumulative",
    "definitions",
    "differentiation",
    "fourier",
    "fusion",
    "indexing",
    "linalg",
    "logic",
    "random",
    "reductions",
    "search",
    "shape",
    "sorting",
    "special",
    "strong_zeros",
    "transcendental",
    "vector_norms",
]

OPS.seal()
