"""Windows: reads of padded values, of which only the inside lies in memory.

Most places of a stencil's loops are inside all windows, or outside for certain: there nothing is checked
(`Interior`).
"""

from __future__ import annotations

from typing import Final, TypeAlias

from ..lowering.loop_nest import Memory, Nest, Window

#: Nests with more members than this are not written twice.
MAX_MEMBERS: Final = 60


#: A check of a window: an index, and how many values it may have.
Check: TypeAlias = tuple[Memory, int]


class Interior:
    """Index-set splitting of a nest's windows: for each loop dimension, the checks along it alone with their
    known outcome, and the first index and the one behind the last where that holds.

    A check that holds along a small part at one end is known to fail inside: the seam of a roll is there.
    """

    def __init__(self, nest: Nest) -> None:
        self.checks: dict[int, dict[Check, bool]] = {}
        self.ranges: dict[int, tuple[int, int]] = {}
        sources = [operand for member in nest.members for operand in member.operands]
        sources += [write.source for write in nest.writes]
        for window in sources if len(nest.members) <= MAX_MEMBERS else ():
            for check in window.checks if isinstance(window, Window) else ():
                self._add(nest, *check)

    def _add(self, nest: Nest, index: Memory, count: int) -> None:
        along = [dim for dim, stride in enumerate(index.strides) if stride]
        if len(along) != 1:
            return
        (dim,) = along
        size = nest.sizes[dim]
        first, last = self.ranges.get(dim, (0, size))
        stride, offset = index.strides[dim], index.offset
        bounds = (-offset, count - 1 - offset) if stride > 0 else (offset - count + 1, offset)
        # 0 <= offset + stride i < count
        low, high = max(-(-bounds[0] // abs(stride)), 0), min(bounds[1] // abs(stride) + 1, size)
        holds = 2 * (high - low) > size or (low > 0 and high < size)
        if holds:
            first, last = max(first, low), min(last, high)
        elif low == 0:
            first = max(first, high)
        else:
            last = min(last, low)
        self.ranges[dim] = first, last
        self.checks.setdefault(dim, {})[index, count] = holds
