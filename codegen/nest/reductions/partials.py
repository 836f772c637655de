"""Layout of the partial results of a split nest's chunks in its workspace."""

from __future__ import annotations

from ....base.machine import machine
from ....ir.dtypes import SHORT_NAME
from ....ir.graph import Value
from ...lowering.loop_nest import Member, Memory, Nest
from .totals import LONG, LONG_COLUMN, is_float_sum


class Partials:
    """Locations of partial and total results in the workspace, buffer number `buffer`."""

    def __init__(self, nest: Nest, buffer: int) -> None:
        split = nest.split
        assert split is not None
        columns = 1 if nest.row_lanes else -(-nest.sizes[0] // nest.lanes) * nest.lanes
        strides = tuple(int(dim == nest.vector_dim and not nest.row_lanes) for dim in range(len(nest.sizes)))
        self.partial: dict[Member, Memory] = {}
        self.total: dict[Member, Memory] = {}
        #: Elements from one chunk's partial results to the next one's.
        self.apart: dict[Memory, int] = {}
        #: Totals of all blocks and their errors, for sums whose chunks are many blocks of rows. Keys are the
        #: partial results, which are those of some blocks.
        self.sums: dict[Memory, tuple[Memory, Memory]] = {}
        self.nbytes = 0
        chunks = split.chunks + split.has_rest(nest)
        most = LONG if nest.reads_across else LONG_COLUMN // 2
        long = not nest.row_lanes and split.size > most * split.block

        def place(value: Value, count: int) -> Memory:
            itemsize = value.dtype.itemsize
            nbytes = -(-columns * itemsize // machine().line_bytes) * machine().line_bytes
            memory = Memory(buffer, SHORT_NAME[value.dtype], strides, self.nbytes // itemsize)
            self.nbytes += nbytes * count
            if count > 1:
                self.apart[memory] = nbytes // itemsize
            return memory

        def partial(value: Value, *, adds: bool) -> Memory:
            memory = place(value, chunks)
            if long and adds:
                self.sums[memory] = place(value, chunks), place(value, chunks)
            return memory

        for member in nest.members:
            if member.is_reduction:
                self.total[member] = place(member.value, 1)
                self.partial[member] = partial(member.value, adds=is_float_sum(member.instruction))
        #: Numbers that chunks take distances from, and their sums, by the sums that second moments begin
        #: with.
        self.near: dict[Value, Memory] = {}
        self.away: dict[Value, Memory] = {}
        for moment in nest.moments.values():
            if moment.total not in self.near:
                self.near[moment.total] = place(moment.total, chunks)
                self.away[moment.total] = partial(moment.total, adds=True)
