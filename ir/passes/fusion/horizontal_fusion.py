"""Groups that do not feed each other but read the same memory, which one pass over it serves: a mean and a
maximum, the two gradients that sum a cotangent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ...graph import Value
from ...registry import Kind
from .cross_row_reductions import folds_across
from .groups import Unit, reads_own_element
from .inlining import Definitions, sources

#: Reading less than so many bytes twice is no loss.
LARGE: Final = 1 << 16


def siblings(units: Sequence[Unit], defs: Definitions) -> Iterator[tuple[Unit, Unit]]:
    """Pairs of groups with reductions that read one large value at their own elements. Who iterates may make
    one of the two: the other one has no members then."""
    readers: dict[Value, list[Unit]] = {}
    for unit in units:
        for source in _large_reads(unit, defs) if unit.members and unit.axes is not None else ():
            readers.setdefault(source, []).append(unit)
    for together in readers.values():
        one = together[0]
        for other in together[1:]:
            if one.members and other.members:
                yield one, other
            one = other if other.members else one


def _large_reads(unit: Unit, defs: Definitions) -> list[Value]:
    """The large values, computed elsewhere, of which `unit` reads each element where its own are."""
    assert unit.domain is not None
    everything = tuple(range(len(unit.domain)))
    found: dict[Value, None] = {}
    for member in unit.members:
        for operand in member.operands if unit.own[member] == everything else ():
            for source, access in sources(operand, defs):
                large = source.shape == unit.domain and source.type.nbytes >= LARGE
                if (
                    large
                    and source not in unit.coordinates
                    and reads_own_element(access, everything, everything, source.shape)
                ):
                    found[source] = None
    return list(found)


def folded_by(unit: Unit, axes: tuple[int, ...] | None, defs: Definitions) -> list[Value]:
    """The results of `unit`'s reductions, where a group that reduces its rows over `axes` can fold them
    across the rows: nothing in `unit` reads them. None of them otherwise."""
    assert unit.domain is not None
    everything = tuple(range(len(unit.domain)))
    if axes is None or any(own != everything for own in unit.own.values()):
        return []
    reductions = [member for member in unit.members if member.op.kind is Kind.REDUCTION]
    read = {
        source for member in unit.members for each in member.operands for source, _ in sources(each, defs)
    }
    fit = [
        reduction.result not in read and folds_across(reduction, everything, unit.domain, axes)
        for reduction in reductions
    ]
    return [reduction.result for reduction in reductions] if all(fit) else []
