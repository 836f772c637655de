"""Fusions as kernels: the nest that each becomes, made once, and the writer for its kind."""

from __future__ import annotations

from collections.abc import Mapping

from ...ir.graph import Instruction, Value
from ...ir.registry import Kind
from ..kernels.conv.convolution import convolution_workspace
from ..kernels.gemm.contraction import workspace_bytes
from ..kernels.indexing.gather import gather_workspace
from ..kernels.indexing.scatter import scatter_plan
from ..kernels.kernel import Kernel
from ..kernels.scan.cumulative import cumulative_workspace
from ..kernels.sort.sorting import sort_workspace
from ..llvm.target import Target
from ..module.recovery import attributed
from .loop_nest import Nest
from .overwriting import overwritable
from .reductions.cross_row_reductions import AcrossWriter
from .reductions.moments import MomentWriter
from .reductions.split import SplitWriter, workspace_of
from .schedule import schedule
from .streaming import streamed
from .tasks import task_count
from .writing.nest_writer import NestWriter
from .writing.transposed_reads import TileWriter, tiles_of


class Fusions:
    """The nests of a module's fusions: made when buffers are planned, for they may need workspaces."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._nests: dict[Instruction, Nest] = {}
        self._overwrites: dict[Instruction, frozenset[tuple[int, int]]] = {}

    def nest(self, instruction: Instruction) -> Nest:
        """The loop nest of a fusion."""
        if instruction not in self._nests:
            with attributed(instruction):
                self._nests[instruction] = schedule(instruction.regions[0], "", self.target)
        return self._nests[instruction]

    def workspace(self, instruction: Instruction, defs: Mapping[Value, Instruction]) -> int:
        """Bytes of the workspace that an instruction's kernel needs."""
        with attributed(instruction):
            return self._workspace(instruction, defs)

    def _workspace(self, instruction: Instruction, defs: Mapping[Value, Instruction]) -> int:
        if instruction.op.kind is Kind.REGION:
            nest = self.nest(instruction)
            return nest.across.nbytes if nest.across is not None else workspace_of(nest)
        if instruction.op.kind in (Kind.SORT, Kind.ARG_SORT):
            return sort_workspace(instruction)
        if instruction.op.kind is Kind.GATHER:
            return gather_workspace(instruction)
        if instruction.op.kind is Kind.SCATTER:
            return scatter_plan(instruction).workspace
        if instruction.op.kind is Kind.CUMULATIVE:
            return cumulative_workspace(instruction, self.target)
        if instruction.op.kind is Kind.CONVOLUTION:
            return convolution_workspace(instruction, self.target)
        return workspace_bytes(instruction, defs, self.target)

    def overwrites(self, instruction: Instruction) -> frozenset[tuple[int, int]]:
        """Positions of results of a fusion, each with that of an operand over which it may be written."""
        if instruction not in self._overwrites:
            with attributed(instruction):
                self._overwrites[instruction] = overwritable(self.nest(instruction), instruction)
        return self._overwrites[instruction]

    def kernel(self, instruction: Instruction, name: str, declarations: dict[str, str]) -> Kernel:
        """The kernel of a fusion."""
        (region,) = instruction.regions
        nest, buffers = self.nest(instruction), len(region.params) + len(region.results)
        nest.name = name
        past_cache = streamed(nest, instruction)
        apart, rows = nest.copies_are_apart, nest.rows_can_be_compact
        shortened = self.target.compact and (bool(past_cache) or apart or rows)
        if shortened:
            past_cache, nest.unroll, nest.compact = frozenset(), 1 if apart else nest.unroll, rows
        if nest.split is not None:
            kind = MomentWriter if nest.moments else SplitWriter
            text = kind(nest, declarations, buffers, past_cache).text()
            return Kernel(name, text, str(nest), 1, nest.cycles, nest=nest, pooled=True, shortened=shortened)
        if nest.across is not None:
            writer = AcrossWriter(nest, declarations, past_cache)
            pooled = nest.across.chunks > 1
            return Kernel(
                name, writer.text(buffers), str(nest), 1, nest.cycles, nest=nest, pooled=pooled,
                shortened=shortened,
            )  # fmt: skip
        tiles = tiles_of(nest)
        if tiles is not None:
            text, tasks = TileWriter(nest, tiles, declarations, past_cache).write(buffers), tiles.tasks(nest)
            return Kernel(name, text, f"{nest}\n{tiles}", tasks, nest.cycles, nest=nest, shortened=shortened)
        tasks = 0 if 0 in nest.sizes[: nest.parallel] else task_count(nest)
        text = NestWriter(nest, declarations, past_cache).write(buffers)
        return Kernel(name, text, str(nest), tasks, nest.cycles, nest=nest, shortened=shortened)
