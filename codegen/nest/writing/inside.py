"""Nests inside another kernel's function, over parts of its buffers."""

from __future__ import annotations

from collections.abc import Sequence

from ...llvm.emitter import constant
from ...llvm.function import Code
from ...lowering.loop_nest import Nest
from ...lowering.packing import OpWriter
from ...maths import MathsWriter
from ..tasks import task_count
from .element import Places
from .nest_writer import INLINED_USES, NestWriter


class InsideWriter(NestWriter):
    """Writes one nest into the function of `w`, its buffers at the pointers `bases`."""

    def __init__(self, nest: Nest, w: MathsWriter, bases: Sequence[str]) -> None:
        super().__init__(nest, w.declarations)
        assert not nest.scratch_sizes, "scratch would belong to another function"
        self.w, self.bases = w, bases

    def write_inside(self) -> Code:
        """Write the whole nest; the functions that it calls."""
        nest = self.nest
        self.ops = OpWriter(nest.name, self.w, INLINED_USES, self.folded_alone)
        self._outer(0, self._bases(), constant(0, "i64"), constant(task_count(nest), "i64"))
        return self.ops.functions

    def _bases(self) -> Places:
        """Every access at the nest's origin: a pointer, or a number for iotas."""
        return {
            memory: constant(memory.offset, memory.dtype)
            if memory.buffer is None
            else self.w.offset(self.bases[memory.buffer], memory.dtype, memory.offset)
            for memory in self._accesses()
        }
