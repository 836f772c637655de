"""Results of a nest that may be written over its operands.

A nest reads what a stage needs at an element, with every member that computes there, before it writes there.
So where an operand is read at just the places where a result is written, and nothing reads it in a later
stage, one memory can be both.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from ...ir.dtypes import SHORT_NAME
from ...ir.graph import Instruction
from ..lowering.loop_nest import Memory, Nest, Window, memories_of


def overwritable(nest: Nest, fusion: Instruction) -> frozenset[tuple[int, int]]:
    """Pairs of a result's and an operand's position, for the `nest` that computes `fusion`; of several pairs
    with one result or one operand, any one may be chosen."""
    sizes = {SHORT_NAME[value.dtype]: value.dtype.itemsize for value in (*fusion.operands, *fusion.results)}
    count = len(fusion.operands)
    written: dict[int, set[Place | None]] = {}
    for write in nest.writes:
        at = nest.transposed.lies_at(write.memory)
        assert at.buffer is not None
        # a fold begins before anything is read
        is_last = not write.row_level and write.fold is None and write.stage == nest.stages - 1
        place = (at.strides, at.offset, sizes[write.memory.dtype]) if is_last else None
        written.setdefault(at.buffer - count, set()).add(place)
    results: dict[Place, list[int]] = {}
    for result, places in written.items():
        if None not in places:
            for place in places:
                results.setdefault(place, []).append(result)  # type: ignore[arg-type]
    pairs = set()
    for operand, reads in enumerate(_reads(nest, count, sizes)):
        if not reads:
            pairs |= {(result, operand) for result, places in written.items() if None not in places}
        elif len(reads) == 1 and (place := next(iter(reads))) is not None:
            pairs |= {(result, operand) for result in results.get(place, ()) if len(written[result]) == 1}
    return frozenset(pairs)


#: The strides, the offset and the size of the elements of memory.
Place: TypeAlias = tuple[Any, Any, int]


def _reads(nest: Nest, count: int, sizes: dict[str, int]) -> list[set[Place | None]]:
    """The places where each of `count` operands is read; None among them where that may be after a result is
    written."""
    at, places = nest.transposed.lies_at, [set[Place | None]() for _ in range(count)]
    for write in nest.writes:  # what is stored as it is may be read after another result is stored
        for memory in memories_of(write.source):
            _add(places, at(memory), None)
    for member in nest.members:
        late = member.is_reduction and member.stage == nest.stages - 1  # folds come after the stores
        of_rows = member.row_level and not member.is_reduction  # read outside the loops over elements
        for source in member.operands:
            memories = memories_of(source)
            if not memories:
                continue
            assert isinstance(source, (Memory, Window))
            inside = source.inside if isinstance(source, Window) else source
            is_known = not late and not of_rows and isinstance(inside, Memory)
            for read in map(at, memories):
                if read.buffer is None:
                    continue
                place = (read.strides, read.offset, sizes[inside.dtype]) if is_known else None
                _add(places, read, place)
    return places


def _add(places: list[set[Place | None]], at: Any, place: Place | None) -> None:
    if at.buffer is not None and 0 <= at.buffer < len(places):  # scratch memory is below
        places[at.buffer].add(place)
