"""Which values may lie in the array of a result before the result is written to it, where that array may be
the memory of a donated parameter.

Whatever is written to the array ends that: the parameter cannot be read any more. So a value may, where the
first that is written comes after all readers of such parameters, or is an update of one in its own memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...ir.graph import Instruction, Value


def comes_after(
    value: Value,
    donated: Sequence[Value],
    defs: Mapping[Value, Instruction],
    positions: Mapping[Instruction, int],
    last_use: Mapping[Value, int],
    root: Callable[[Value], Value],
) -> bool:
    """Whether `value`, and what it is an update of in the same memory, are written behind the readers of the
    parameters `donated`. `positions` are those of instructions, `last_use` says where values are read last,
    and ``root(x)`` is the value whose memory x is."""
    writer, updated = defs.get(value), None
    while writer is not None and writer.op.kind.traits.updates_operand:
        updated = root(writer.operands[0])
        if updated not in defs or last_use[updated] != positions[writer]:
            break
        writer, updated = defs[updated], None
    if writer is None:
        return False
    start = positions[writer]
    return all(
        last_use.get(param, -1) < start or (param is updated and last_use[param] == start)
        for param in donated
    )
