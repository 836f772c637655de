"""Values of factorizations that are computed with their vectors as well: one factorization serves both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...graph import Function, Instruction, Value
from ...registry import Kind

#: The op that gives more, and the index of the values among its results, by the op that gives these alone.
_FULLER: Final = {"eigvalsh": ("eigh", 0), "eigvals": ("eig", 0), "svdvals": ("svd", 1), "qr": ("qr", 1)}


def _name(instruction: Instruction) -> str:
    """The op of linear algebra that `instruction` is, of real matrices or of complex ones."""
    return str(instruction.attrs.get("op", instruction.op.name))


def with_vectors(function: Function) -> Sequence[Instruction]:
    """The body of `function`, with eigenvalues or singular values taken from a factorization with vectors of
    the same matrix, if there is one. Gradients need the vectors."""
    body, fuller = function.body, dict[tuple[str, Value], Instruction]()
    if not any(op.kind is Kind.LINALG for op in function.ops):
        return body
    for instruction in body:
        if instruction.op.kind is Kind.LINALG and len(instruction.results) > 1:
            fuller[_name(instruction), instruction.operands[0]] = instruction
    if not fuller:
        return body
    return [_replaced(instruction, fuller) for instruction in body]


def _replaced(instruction: Instruction, fuller: dict[tuple[str, Value], Instruction]) -> Instruction:
    if instruction.op.kind is not Kind.LINALG or len(instruction.results) != 1:
        return instruction
    name, place = _FULLER.get(_name(instruction), ("", 0))
    other = fuller.get((name, instruction.operands[0]))
    if other is None or other.results[place].type != instruction.result.type:
        return instruction
    results = [Value(result.type) for result in other.results]
    results[place] = instruction.result
    return Instruction(other.op, instruction.operands, other.attrs, tuple(results), instruction.location)
