"""Groups that do not feed each other but read the same memory, which one pass over it serves: a mean and a
maximum, the two gradients that sum a cotangent."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from ....base.machine import machine
from ...graph import Value
from ...grouping.groups import Unit, reads_own_element, whole
from ...grouping.inlining import Reads

#: The most bytes that an element has.
WIDEST: Final = 16


def large_bytes() -> int:
    """Reading less than this twice is no loss: it is in a near cache."""
    return 2 * machine().l1_bytes


def siblings(units: Sequence[Unit], reads: Reads) -> Iterator[tuple[Unit, Unit]]:
    """Pairs of groups with reductions that read one large value at their own elements. Who iterates may make
    one of the two: the other one has no members then."""
    readers: dict[Value, list[Unit]] = {}
    for unit in units:
        for source in _large_reads(unit, reads) if unit.members and unit.axes is not None else ():
            readers.setdefault(source, []).append(unit)
    for together in readers.values():
        unit = together[0]
        for other in together[1:]:
            if unit.members and other.members:
                yield unit, other
            unit = other if other.members else unit


def _large_reads(unit: Unit, reads: Reads) -> list[Value]:
    """The large values, computed elsewhere, of which `unit` reads each element where its own are."""
    assert unit.domain is not None
    least = large_bytes()
    if math.prod(unit.domain) * WIDEST < least:
        return []
    everything = whole(len(unit.domain))
    large_sources: dict[Value, None] = {}
    computed = {member.results[0] for member in unit.members}
    for member in unit.members:
        for operand in member.operands if unit.own_of(member) == everything else ():
            source, access = reads.source(operand)
            large = source.shape == unit.domain and source.type.nbytes >= least
            if (
                large
                and source not in computed
                and reads_own_element(access, everything, everything, source.shape)
            ):
                large_sources[source] = None
    return list(large_sources)
