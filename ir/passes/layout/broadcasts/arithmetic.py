"""Arithmetic on values that repeat others, and their concatenation along an axis that does not repeat."""

from __future__ import annotations

from ....graph import Instruction, Value
from ....registry import Kind
from ...rewriting import constant_of
from .repeated_axes import CommonAxes, Line, cut_together, without
from .repeated_values import RepeatedValues


def together(repeats: RepeatedValues, instruction: Instruction) -> Value | None:
    """Arithmetic on operands that all repeat along some axes, or their concatenation along another."""
    shape, joins = instruction.result.shape, instruction.op.kind is Kind.CONCAT
    lines: dict[Value, Line] = {}
    for operand in instruction.operands:
        if constant_of(operand, repeats.defs) is not None:
            continue
        line = repeats.plain(operand) if joins else repeats.lines.get(operand)
        if line is None:
            return None
        lines[operand] = line
    if not lines:
        return None
    if joins:
        cuts = [CommonAxes(line.value.shape, line.fine, line.counts) for line in lines.values()]
    else:
        together = cut_together(list(lines.values()), shape)
        if together is None:
            return None
        cuts = together
    lines = dict(zip(lines, map(repeats.cut, lines.values(), cuts), strict=True))
    fine = shape if joins else cuts[0].fine
    axes = set(range(len(fine))) - {instruction.attrs.get("axis")}
    for line in lines.values():
        axes &= {axis for axis, repeated in enumerate(line.repeated) if repeated}
    if not axes:
        return None
    operands = []
    for operand in instruction.operands:
        part = lines.get(operand)
        whole = part.fine if part is not None else operand.shape if joins else fine
        sizes = without(whole, axes)
        if part is not None:
            operands.append(
                repeats.repeat(repeats.reshaped(part.value, without(part.value.shape, axes)), sizes)
            )
        else:
            constant = constant_of(operand, repeats.defs)
            operands.append(repeats.b.full(value=constant, shape=sizes, dtype=operand.dtype))
    attrs = dict(instruction.attrs)
    if joins:
        attrs["axis"] -= sum(axis < attrs["axis"] for axis in axes)
    result = repeats.emit(instruction.op, operands, attrs)
    among = tuple([1 if axis in axes else size for axis, size in enumerate(fine)])
    return repeats.whole(repeats.reshaped(result, among), fine, shape)
