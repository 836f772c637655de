"""Eigenvalues, singular values and r alone, where their vectors are computed as well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...graph import Function, Instruction, Value
from ...registry import Kind

#: By the op that gives values alone, the op that gives more, and the number of the values among its results.
_FULLER: Final = {"eigvalsh": ("eigh", 0), "eigvals": ("eig", 0), "svdvals": ("svd", 1), "qr": ("qr", 1)}


def _name(instruction: Instruction) -> str:
    """The op of linear algebra that `instruction` is, of real matrices or of complex ones."""
    return str(instruction.attrs.get("op", instruction.op.name))


def with_vectors(function: Function) -> Sequence[Instruction]:
    """The body of `function`, in which values alone are those of the factorization of the same matrix, where
    there is one: as for a gradient, which needs the vectors."""
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
