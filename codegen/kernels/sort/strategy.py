"""Plans of sorts: the algorithm and its memory, chosen from the instruction and the target alone."""

from __future__ import annotations

import math
from typing import Final

from ....base.machine import machine
from ....ir.dtypes import SHORT_NAME
from ....ir.graph import Instruction
from ....ir.registry import Kind
from ...llvm.emitter import BITS
from ...llvm.target import Target
from .rows import RowFormat

#: Lines of at most so many elements are sorted by a network. For 32 lines it takes at most half of the time
#: of digits (of 4000 f32 a fifth), and less further on too; but its scratch, 64 bytes an element, is on the
#: stack.
NETWORKED: Final = 4096
#: Numbers of lines from which the network pays, as it sorts a vector of lines in the time of one: against
#: ranks, and against digits.
NETWORK_LINES: Final = (2, 4)
#: Most elements of other lines that are ranked: n^2 steps of vectors, but nothing else.
RANKED: Final = 256
#: Limits where there are partitions, by which elements of at least 32 bits are sorted: lines of at most so
#: many are ranked, and longer ones than the second number sorted by a network where they fill half a vector.
PARTITIONED_AFTER: Final = (16, 64)
#: Lines from this length on are cut into chunks where there are fewer than `_FEW_LINES`.
CHUNKED: Final = 1 << 15
_FEW_LINES: Final = 8
#: Long lines are cut into segments of at most such a part of them, and into so many at most, for threads.
SEGMENT_PARTS: Final = 16
SEGMENTS: Final = 64
#: Tasks that whole lines are put into, each of which has memory of its own to work in.
_TASKS: Final = 64
_ALIGNED: Final = 64
#: Elements behind a line that partitions may write, for they write whole vectors.
_BEHIND: Final = 64


class SortPlan:
    """Algorithm that sorts lines, and its layout of memory."""

    def __init__(self, instruction: Instruction, target: Target) -> None:
        (x,) = instruction.operands
        self.extent, self.lines = x.shape[-1], math.prod(x.shape[:-1])
        #: The element type in memory: a bool is a byte.
        self.dtype = "u8" if SHORT_NAME[x.dtype] == "bool" else SHORT_NAME[x.dtype]
        width = BITS[self.dtype]
        self.places = instruction.op.kind is Kind.ARG_SORT
        self.rows = RowFormat(self.dtype, places=self.places)
        self.key, self.wide = self.rows.key, self.rows.wide
        #: Counts and places.
        self.count = "u32" if self.extent < 1 << 32 else "u64"
        partitions = target.packs_lanes and width >= 32 and self.extent < 1 << 32
        least = NETWORK_LINES[self.extent > RANKED]
        if partitions and self.extent > PARTITIONED_AFTER[1]:
            least = target.lanes(self.rows.dtype) // 2 + 1
        self.networked = self.lines >= least and self.extent <= NETWORKED
        ranked = PARTITIONED_AFTER[0] if partitions else RANKED
        self.ranked = not self.networked and self.extent <= ranked
        self.partitioned = partitions and not self.networked and not self.ranked
        self.chunked = self.extent >= CHUNKED and self.lines < _FEW_LINES
        #: More digits in a pass are fewer passes, but places all over memory.
        self.bits = 11 if width == 32 and self.extent >= CHUNKED else 8
        self.passes = -(-width // self.bits)
        size = -(-self.extent // machine().chunks) if self.chunked else max(self.extent, 1)
        self.size = -(-size // _ALIGNED) * _ALIGNED
        self.chunks = -(-self.extent // self.size)
        self.tasks = 1 if self.chunked else max(1, min(_TASKS, self.lines))
        self.digits = 1 << self.bits
        self._top = 0
        self.head = self._part(8 * 8)
        #: Starts of the parts of rows that a task partitions, and of those that wait beside them.
        self.streams: list[int] = []
        if self.partitioned:
            self.segments = self._part(2 * 8 * SEGMENTS if self.chunked else 0)
            sizes = [BITS[dtype] // 8 for dtype in self.rows.dtypes]
            self.streams = [self._part((self.extent + _BEHIND) * size) for size in 2 * sizes]
            self.region = self._top
            return
        self.counts = self._part(self.chunks * self.digits * BITS[self.count] // 8)
        self.keys = self._part(2 * self.extent * width // 8)
        self.indices = self._part(2 * self.extent * BITS[self.count] // 8 if self.places else 0)
        #: Bytes of one task's memory.
        self.region = self._top

    def _part(self, nbytes: int) -> int:
        start = self._top
        self._top += -(-nbytes // _ALIGNED) * _ALIGNED
        return start
