"""Results of a nest that may be written over its operands.

A nest reads what a stage needs at an element, with every member that computes there, before it writes there.
So where an operand is read at just the places where a result is written, and nothing reads it in a later
stage, one memory can be both.
"""

from __future__ import annotations

from ...ir.dtypes import SHORT_NAME
from ...ir.graph import Instruction
from ..lowering.loop_nest import Memory, Nest, Window, Write, memories_of


def overwritable(nest: Nest, fusion: Instruction) -> frozenset[tuple[int, int]]:
    """Pairs of a result's and an operand's position, for the `nest` that computes `fusion`; of several pairs
    with one result or one operand, any one may be chosen."""
    sizes = {SHORT_NAME[value.dtype]: value.dtype.itemsize for value in (*fusion.operands, *fusion.results)}
    count = len(fusion.operands)
    writes: dict[int, list[Write]] = {}
    for write in nest.writes:
        buffer = nest.transposed.lies_at(write.memory).buffer
        assert buffer is not None
        writes.setdefault(buffer - count, []).append(write)
    return frozenset(
        (result, operand)
        for operand in range(count)
        for result, mine in writes.items()
        if all(
            not write.row_level
            and write.fold is None  # which begins before anything is read
            and write.stage == nest.stages - 1
            and _read_where_written(nest, operand, write, sizes)
            for write in mine
        )
    )


def _read_where_written(nest: Nest, operand: int, write: Write, sizes: dict[str, int]) -> bool:
    """Whether all that reads `operand` reads it before `write` and at its place."""
    at = nest.transposed.lies_at
    if any(at(memory).buffer == operand for other in nest.writes for memory in memories_of(other.source)):
        return False  # what is stored as it is may be read after another result is stored
    for member in nest.members:
        for source in member.operands:
            if all(at(memory).buffer != operand for memory in memories_of(source)):
                continue
            assert isinstance(source, (Memory, Window))
            late = member.is_reduction and member.stage == write.stage  # folds come after the stores
            of_rows = member.row_level and not member.is_reduction  # read outside the loops over elements
            memory = source.inside if isinstance(source, Window) else source
            if late or of_rows or not isinstance(memory, Memory):
                return False
            read, written = at(memory), at(write.memory)
            same = read.strides == written.strides and read.offset == written.offset
            if not same or sizes[memory.dtype] != sizes[write.memory.dtype]:
                return False
    return True
