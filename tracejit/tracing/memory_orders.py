"""The orders in memory on which a trace relies: in C order a reshape is a view, and in other ones a copy.

A traced tensor has no order, and the trace goes on as if arrays lay in C order. Which it is matters only
where something is written in place; then the arguments must lie so, and what is computed from them.
"""

from __future__ import annotations

from ..ir.graph import Instruction, Value
from ..ir.registry import Kind
from .tracer import Tracer

#: Ops whose results lie as their first operand does.
_KEEPING = frozenset((
    "candidate", "cast", "copy", "fft", "irfft", "rewritten", "rfft", "slice", "stop_gradient", "update",
    "view_as_complex", "view_as_real",
))  # fmt: skip


def taken_in_order(tracer: Tracer) -> tuple[frozenset[int], bool]:
    """The positions of the parameters, and of captures behind them, that the trace takes to lie in C order;
    and whether it takes so what does not where these do."""
    if not tracer.has_written or not tracer.taken_in_order:
        return frozenset(), False
    makers = {result: instruction for instruction in tracer.body for result in instruction.results}
    inputs = [*tracer.params, *[symbol for _, symbol in tracer.captures.values()]]
    positions = {value: position for position, value in enumerate(inputs)}
    found: set[int] = set()
    sources = list(tracer.taken_in_order)
    for value in sources:  # which grows
        if value in positions:
            found.add(positions[value])
        elif value in tracer.orders:
            like = tracer.orders[value]
            if like is None:
                return frozenset(), True
            sources.append(like)
        elif value in makers and len(value.shape) > 1:
            maker = makers[value]
            if _turns(maker):
                return frozenset(), True
            sources += [operand for operand in _followed(maker) if operand not in sources]
    return frozenset(found), False


def _turns(maker: Instruction) -> bool:
    """Whether `maker` gives its operand in another order of axes."""
    if maker.op.name != "transpose":
        return False
    shape = maker.operands[0].shape
    moved = [axis for axis in maker.attrs["perm"] if shape[axis] != 1]
    return moved != sorted(moved)


def _followed(maker: Instruction) -> list[Value]:
    """The operands as which the result of `maker` lies in memory."""
    operands = [operand for operand in maker.operands if len(operand.shape) > 1]
    if maker.op.kind is Kind.ELEMENTWISE:
        return operands
    return operands[:1] if maker.op.name in _KEEPING else []
