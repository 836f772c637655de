"""Selection of the instructions that `narrow_axes` unrolls: arithmetic on large values with few columns."""

from __future__ import annotations

from typing import Final

from ...graph import Instruction, Value
from ...grouping.inlining import MAX_COLUMNS, Definitions, is_window
from ...grouping.reasons import is_fusable
from ...registry import Kind

#: Least rows for which columns are split: below, there would be more code for little work.
MIN_ROWS: Final = 1 << 9
#: The elementwise op that folds two elements of a reduction.
FOLDS: Final = {"sum": "add", "prod": "mul", "max": "maximum", "min": "minimum"}


def is_large(instruction: Instruction) -> bool:
    """Whether an instruction is arithmetic on large values with few columns."""
    if not instruction.operands or len(instruction.operands[0].type.shape) < 2:
        return False
    operand = instruction.operands[0]
    if not is_fusable(instruction):
        return False
    if instruction.op.kind is Kind.REDUCTION and (
        instruction.op.name not in FOLDS or operand.dtype.kind == "b"
    ):
        return False
    if not 1 <= operand.shape[-1] <= MAX_COLUMNS:
        return False
    if operand.shape[-1] == 1 and instruction.op.kind is Kind.REDUCTION:
        return False
    return operand.type.size // operand.shape[-1] >= MIN_ROWS


def folds_columns(instruction: Instruction) -> bool:
    """Whether an instruction folds along the last axis."""
    return (
        instruction.op.kind is Kind.REDUCTION
        and len(instruction.operands[0].shape) - 1 in instruction.attrs["axes"]
    )


def is_of_flat_memory(instruction: Instruction, defs: Definitions) -> bool:
    """Whether an instruction reduces over all axes, two narrow ones among them, an elementwise expression of
    arrays in memory order. It is best computed along memory, since columns of columns are far apart."""
    (operand, *_) = instruction.operands
    if len(instruction.attrs["axes"]) < len(operand.shape) or len(operand.shape) < 3:
        return False
    if operand.shape[-2] > MAX_COLUMNS:
        return False
    stack, seen = [operand], set[Value]()
    while stack:
        value = stack.pop()
        definition = defs.get(value)
        if value in seen or definition is None:
            continue
        seen.add(value)
        if definition.op.kind is Kind.ELEMENTWISE:
            stack += definition.operands
        elif definition.op.kind in (Kind.CONCAT, Kind.UPDATE) or (
            definition.op.kind is Kind.VIEW and definition.operands[0].type.size > 1
        ):
            return False
    return True


def joins_columns(instruction: Instruction, defs: Definitions) -> bool:
    """Whether an instruction puts columns of large values side by side, or one among zeros."""
    if instruction.op.kind is not Kind.CONCAT and instruction.op.kind is not Kind.UPDATE:
        return False
    result = instruction.result
    if result.type.ndim < 2 or not 2 <= result.shape[-1] <= MAX_COLUMNS:
        return False
    column = (*result.shape[:-1], 1)
    if result.type.size // result.shape[-1] < MIN_ROWS:
        return False
    if instruction.op.kind is Kind.CONCAT:
        return all(operand.shape == column for operand in instruction.operands)
    return instruction.operands[1].shape == column and is_window(instruction, defs)


def cuts_column(instruction: Instruction) -> bool:
    """Whether an instruction takes one column."""
    if (
        instruction.op.name != "slice"
        or instruction.result.shape[-1:] != (1,)
        or instruction.operands[0].shape[-1] == 1
    ):
        return False
    rest = zip(
        instruction.attrs["start"],
        instruction.attrs["size"],
        instruction.attrs["step"],
        instruction.operands[0].shape,
        strict=True,
    )
    return all(own[:3] == (0, own[3], 1) for own in list(rest)[:-1])
