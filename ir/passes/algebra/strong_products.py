"""Matrix products and convolutions with strong zeros, as branches that read what their operands are views of.

So no operand is copied for the branch that is seldom taken, and the kernels of both are the same.
"""

from __future__ import annotations

from ...builder import Builder
from ...graph import Instruction, Value
from ...ops.strong_zeros import PLAIN, by_branch
from ...registry import Kind
from ..rewriting import Definitions


def branching_product(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    """The plain product and, where that is not all finite, the one without terms that have a factor 0."""
    pairs = [_behind_views(operand, defs) for operand in instruction.operands]
    sources, views = zip(*pairs, strict=True)
    result: Value = by_branch(b, PLAIN[instruction.op.name], sources, instruction.attrs, views)
    return result


def _behind_views(value: Value, defs: Definitions) -> tuple[Value, list[Instruction]]:
    """The value that `value` is a view of, and the views, the last one behind the others."""
    views: list[Instruction] = []
    while (view := defs.get(value)) is not None:
        if view.op.kind is not Kind.VIEW or view.operands[0].dtype is not value.dtype:
            break
        views.insert(0, view)
        value = view.operands[0]
    return value, views
