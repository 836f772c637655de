"""The meaning of programs: types, graph, op records, text form, verifier, interpreter, gradients, passes."""

from __future__ import annotations

from . import ops as ops  # fills the registry, whatever part of the package is imported first
from .graph import PRINT_FUNCTION

PRINT_FUNCTION.provide(".text.printer", __package__, "print_function")
