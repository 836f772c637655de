"""Unrolled dimensions of a map: those along which it computes the same, and a few columns.

    for i: for c < 2:  y[2 i + c] = f(x[i])        is    for i:  y[2 i] = y[2 i + 1] = f(x[i])
    for i: for c < 2:  y[2 i + c] = f(x[n c + i])  is    for i:  y[2 i] = f(x[i]);  y[2 i + 1] = f(x[n + i])

So `repeat` computes an element once, `tile` reads its operand once, and lanes lie along pixels, not along
their three colours. What is written of a row are neighbouring columns (`neighbouring_columns.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from ...ir.graph import Instruction, Value
from ..llvm import strided_reads
from ..llvm.target import Target
from ..lowering.loop_nest import Leaf, Member, Memory, Window, Write, memories_of, remapped
from .neighbouring_columns import MAX_COLUMNS, MAX_DIFFERENT

#: Ops that are written for each column at most.
MAX_MEMBERS: Final = 24

Unrolled = tuple[tuple[int, ...], list[Member], list[Write]]


def unrolled(sizes: tuple[int, ...], members: list[Member], writes: list[Write], target: Target) -> Unrolled:
    """The loop sizes, members and writes of a map without dimensions that are better unrolled."""
    if len(sizes) < 2:
        return sizes, members, writes
    sizes, members, writes = _without_repeats(sizes, members, writes)
    last = len(sizes) - 1
    if last > 0 and _is_narrow(sizes, members, writes, target):
        return _without_columns(sizes, members, writes)
    return sizes, members, writes


def _leaves(members: Iterable[Member], writes: Iterable[Write]) -> list[Memory]:
    """Memories that `members` and `writes` read."""
    sources: list[Leaf | Value] = [operand for member in members for operand in member.operands]
    sources += [write.source for write in writes]
    return [memory for source in sources for memory in memories_of(source)]


def _without_repeats(sizes: tuple[int, ...], members: list[Member], writes: list[Write]) -> Unrolled:
    """Unroll dimensions along which only writes move, as far as there are few writes of each result."""
    dims: list[int] = []
    leaves, count = _leaves(members, writes), 1
    for dim, size in enumerate(sizes) if leaves else ():
        still = not any(memory.strides[dim] for memory in leaves)
        few = 0 < size <= MAX_COLUMNS // count
        if still and few and all(write.memory.strides[dim] for write in writes):
            dims.append(dim)
            count *= size
    kept = [dim for dim in range(len(sizes)) if dim not in dims]
    if not dims or not kept:
        return sizes, members, writes
    if len(sizes) - 1 in dims and any(abs(leaf.strides[kept[-1]]) > MAX_COLUMNS for leaf in leaves):
        return sizes, members, writes  # lanes would run along what lies far apart in memory
    for dim in dims:
        writes = [
            Write(write.source, _moved(write.memory, dim, step), write.row_level, write.stage)
            for write in writes
            for step in range(sizes[dim])
        ]
    return _along(kept, sizes, members, writes)


def _along(
    kept: Sequence[int], sizes: tuple[int, ...], members: list[Member], writes: list[Write]
) -> Unrolled:
    """The loops over the dimensions that are `kept`."""
    groups = [[dim] for dim in kept]
    for member in members:
        member.operands = tuple(remapped(operand, groups) for operand in member.operands)
    writes = [
        Write(remapped(w.source, groups), remapped(w.memory, groups), w.row_level, w.stage)  # type: ignore[arg-type]
        for w in writes
    ]
    return tuple(sizes[dim] for dim in kept), members, writes


def _moved(memory: Memory, dim: int, step: int) -> Memory:
    """`memory` at index `step` of the dimension `dim`."""
    return Memory(memory.buffer, memory.dtype, memory.strides, memory.offset + step * memory.strides[dim])


def _is_narrow(sizes: tuple[int, ...], members: list[Member], writes: list[Write], target: Target) -> bool:
    """Whether the last dimension has a few columns, which are written side by side, and what is read lies
    together along the dimension before."""
    last, count = len(sizes) - 1, sizes[-1]
    lanes = target.lanes("f64")
    if not 1 < count <= MAX_DIFFERENT or sizes[-2] < 2 * lanes or len(members) > MAX_MEMBERS:
        return False
    if any(isinstance(operand, Window) for member in members for operand in member.operands):
        return False
    if any(isinstance(write.source, Window) for write in writes):
        return False
    columns = {write.memory.strides[last] for write in writes}
    rows = {write.memory.strides[last - 1] for write in writes}
    places = len(writes) * count
    if columns != {1} or len(rows) != 1 or not max(rows) <= MAX_COLUMNS or places % max(rows):
        return False
    reads = {abs(memory.strides[last - 1]) for memory in _leaves(members, writes)}
    return all(stride < 2 or strided_reads.pays(stride, lanes) for stride in reads)


def _without_columns(sizes: tuple[int, ...], members: list[Member], writes: list[Write]) -> Unrolled:
    """Unroll the last dimension: copy everything for each of its indices."""
    last, all_members, all_writes = len(sizes) - 1, list[Member](), list[Write]()
    for column in range(sizes[-1]):
        copies: dict[Value, Value] = {}

        def here(
            source: Leaf | Value, column: int = column, copies: dict[Value, Value] = copies
        ) -> Leaf | Value:
            if isinstance(source, Value):
                return copies[source]
            return _moved(source, last, column) if isinstance(source, Memory) else source

        for member in members:
            instruction: Instruction = member.instruction
            copy = instruction.replace(results=(Value(instruction.result.type),))
            operands = tuple(_in_column(operand, last, column, copies) for operand in member.operands)
            copies[instruction.result] = copy.result
            all_members.append(Member(copy, operands, member.row_level, member.stage))
        all_writes += [
            Write(
                _in_column(w.source, last, column, copies),
                _moved(w.memory, last, column),
                w.row_level,
                w.stage,
            )
            for w in writes
        ]  # fmt: skip
    return _along(range(last), sizes, all_members, all_writes)


def _in_column(source: Leaf | Value, dim: int, column: int, copies: dict[Value, Value]) -> Leaf | Value:
    if isinstance(source, Value):
        return copies[source]
    return _moved(source, dim, column) if isinstance(source, Memory) else source
