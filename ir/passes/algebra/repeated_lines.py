"""Lines of repeated operands: computed once, and repeated in the result.

    sort(broadcast(x))       =  broadcast(sort(x))          where no line is repeated along itself
    broadcast(x) @ y         =  broadcast(x @ y)            where rows of x are repeated
    x @ broadcast(y)         =  broadcast(x @ y)            where columns of y are repeated

Apart, the repeated operand goes to memory, which there may not be enough of.
"""

from __future__ import annotations

from ...builder import Builder
from ...graph import Instruction, Value
from ..rewriting import Definitions, defined_by


def once_for_repeated_lines(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    """The rule of ops that compute each line along an axis by itself."""
    (operand,), attrs = instruction.operands, instruction.attrs
    line = _repeated(operand, defs)
    axis = attrs.get("axis", len(operand.shape) - 1)
    if line is None or line.shape[axis] != operand.shape[axis]:
        return None
    result: Value = getattr(b, instruction.op.name)(line, **attrs)
    return b.broadcast(result, shape=instruction.result.shape)  # type: ignore[no-any-return]


def product_of_repeated_lines(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    """The rule of matrix products."""
    x, y = instruction.operands
    rows, columns = _repeated(x, defs), _repeated(y, defs)
    if rows is not None and rows.shape[-2] < x.shape[-2] and rows.shape[-1] == x.shape[-1]:
        x = b.broadcast(rows, shape=(*x.shape[:-2], 1, x.shape[-1]))
    if columns is not None and columns.shape[-1] < y.shape[-1] and columns.shape[-2] == y.shape[-2]:
        y = b.broadcast(columns, shape=(*y.shape[:-1], 1))
    if (x, y) == tuple(instruction.operands):
        return None
    return b.broadcast(b.matmul(x, y), shape=instruction.result.shape)  # type: ignore[no-any-return]


def _repeated(value: Value, defs: Definitions) -> Value | None:
    """The value of the same rank that `value` repeats."""
    definition = defined_by(value, "broadcast", defs)
    if definition is None or len(definition.operands[0].shape) != len(value.shape):
        return None
    return definition.operands[0]
