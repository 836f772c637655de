"""Capabilities of code generation: answers to passes that decide by the code an instruction will become.

The implementation is `codegen/lowering/capabilities.py`; `tracejit/providers.py` names it.
"""

from __future__ import annotations

from typing import Final, Protocol

from ..base.loading import Provided
from .graph import Function, Instruction


class Capabilities(Protocol):
    """The functions of this module, as code generation implements them."""

    def by_element(self, instruction: Instruction, /) -> bool: ...
    def is_matrix_map(self, scan: Instruction, /) -> bool: ...
    def steps_are_vectors(self, body: Function, /) -> bool: ...
    def cycles_of_step(self, instruction: Instruction, /) -> float: ...
    def has_small_matrices(self, instruction: Instruction, /) -> bool: ...
    def unrolls_matrix(self, instruction: Instruction, /) -> bool: ...
    def unrolls_elements(self, count: int, /) -> bool: ...


CODE: Final = Provided[Capabilities]("capabilities of code generation")


def by_element(instruction: Instruction) -> bool:
    """Whether a control flow instruction is compiled element by element: nothing in it is fused."""
    return CODE().by_element(instruction)


def is_matrix_map(scan: Instruction) -> bool:
    """Whether `scan` is compiled as a map of small matrices, of which vectors hold several."""
    return CODE().is_matrix_map(scan)


def steps_are_vectors(body: Function) -> bool:
    """Whether a map whose steps do what `body` does is compiled to vectors."""
    return CODE().steps_are_vectors(body)


def cycles_of_step(instruction: Instruction) -> float:
    """Estimate the cycles of one step of a control flow instruction, with all steps of scans in it and one of
    each loop of unknown length."""
    return CODE().cycles_of_step(instruction)


def has_small_matrices(instruction: Instruction) -> bool:
    """Whether `instruction` factors or solves matrices so small that they have code of their own."""
    return CODE().has_small_matrices(instruction)


def unrolls_matrix(instruction: Instruction) -> bool:
    """Whether `instruction` factors or solves matrices so small that their code has no loops."""
    return CODE().unrolls_matrix(instruction)


def unrolls_elements(count: int) -> bool:
    """Whether code of small matrices has no loops for values of `count` elements."""
    return CODE().unrolls_elements(count)
