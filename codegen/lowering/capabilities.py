"""Answers to the passes that ask which code an instruction becomes (`ir/capabilities.py`)."""

from __future__ import annotations

from .element_code import cycles_of_step as cycles_of_step
from .element_code import is_lane_map as is_matrix_map
from .element_code import is_small as by_element
from .element_code import runs_in_lanes as steps_are_vectors
from .small_matrices import MAX_IN_REGISTERS
from .small_matrices import fits_registers as unrolls_matrix
from .small_matrices import is_small as has_small_matrices

__all__ = [
    "by_element",
    "cycles_of_step",
    "has_small_matrices",
    "is_matrix_map",
    "steps_are_vectors",
    "unrolls_elements",
    "unrolls_matrix",
]


def unrolls_elements(count: int) -> bool:
    """Whether a step holds `count` elements in registers."""
    return count <= MAX_IN_REGISTERS
