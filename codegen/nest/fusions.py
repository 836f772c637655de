"""Kernels of fusions: the nest of each, made once, and the writer for its kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...base.lapack.library import LapackLibrary, library
from ...base.loading import LazyModule
from ...ir.content import NoContent, attributes, content
from ...ir.graph import Instruction
from ..llvm.function import Declarations
from ..llvm.target import Target
from ..loops.emit import emit_kernel
from ..loops.nodes import Kernel as LoopKernel
from ..lowering.kernel import Kernel, signature
from ..lowering.loop_nest import Memory, Nest
from ..plan.recovery import attributed
from ..tiers import OPTIMIZED, ScheduleParameters
from .maps import ScheduledLoops, is_map, map_kernel
from .schedule import schedule
from .streaming import asked, streamed
from .tasks import task_count
from .transposed_reads import tiles_of

if TYPE_CHECKING:
    from ..loops import phases
    from . import overwriting, row_blocks
    from .reductions import blocked_rows, columns, cross_row_reductions, rows, split
else:  # with the first fusion of their kind
    phases = LazyModule("..loops.phases", __package__)
    overwriting = LazyModule(".overwriting", __package__)
    row_blocks = LazyModule(".row_blocks", __package__)
    blocked_rows = LazyModule(".reductions.blocked_rows", __package__)
    columns = LazyModule(".reductions.columns", __package__)
    cross_row_reductions = LazyModule(".reductions.cross_row_reductions", __package__)
    rows = LazyModule(".reductions.rows", __package__)
    split = LazyModule(".reductions.split", __package__)


class Fusions:
    """The nests of a module's fusions, and what they ask of memory, which is the same for equal fusions.
    `lapack` is asked for the library that kernels of linear algebra call."""

    def __init__(
        self,
        target: Target,
        parameters: ScheduleParameters = OPTIMIZED.parameters,
        lapack: Callable[[], LapackLibrary | None] | None = None,
    ) -> None:
        self.target, self.parameters = target, parameters
        self.lapack = library if lapack is None else lapack
        self._nests: dict[Instruction, Nest] = {}
        self._contents: dict[Instruction, str] = {}
        #: First fusion by domain and ops, and once there is a second one, the contents of all by their texts.
        self._first: dict[tuple[object, ...], Instruction] = {}
        self._by_text: dict[tuple[object, ...], dict[str, str]] = {}
        self._workspaces: dict[str | Instruction, int] = {}
        self._overwrites: dict[str | Instruction, frozenset[tuple[int, int]]] = {}

    def content(self, instruction: Instruction) -> str:
        """A text that is equal for equal fusions of the module. Raises NoContent.

        Most fusions differ in their ops: only of those that do not is all compared."""
        known = self._contents.get(instruction)
        if known is None:
            ops = (instruction.attrs["domain"], *[inner.op for inner in instruction.regions[0].body])
            known, first = f"fusion {len(self._contents)}", self._first.setdefault(ops, instruction)
            if first is not instruction:
                contents = self._by_text.get(ops)
                if contents is None:
                    contents = self._by_text[ops] = {_text(first): self._contents[first]}
                known = contents.setdefault(_text(instruction), known)
            self._contents[instruction] = known
        return known

    def _key(self, instruction: Instruction) -> str | Instruction:
        try:
            return self.content(instruction)
        except NoContent:
            return instruction

    def nest(self, instruction: Instruction) -> Nest:
        """The loop nest of a fusion."""
        if instruction not in self._nests:
            with attributed(instruction):
                self._nests[instruction] = schedule(
                    instruction.regions[0], instruction.attrs, "", self.target
                )
        return self._nests[instruction]

    def workspace(self, instruction: Instruction) -> int:
        """Bytes of the workspace that a fusion's kernel needs."""
        key = self._key(instruction)
        if key not in self._workspaces:
            nest = self.nest(instruction)
            nbytes = 0
            if nest.split is not None or nest.across is not None:
                nbytes = cross_row_reductions.across_workspace(nest) or split.workspace_of(nest)
            self._workspaces[key] = nbytes
        return self._workspaces[key]

    def overwrites(self, instruction: Instruction) -> frozenset[tuple[int, int]]:
        """Positions of results of a fusion, each with that of an operand over which it may be written."""
        key = self._key(instruction)
        if key not in self._overwrites:
            with attributed(instruction):
                self._overwrites[key] = overwriting.overwritable(self.nest(instruction), instruction)
        return self._overwrites[key]

    def kernel(self, instruction: Instruction, name: str, declarations: Declarations) -> Kernel:
        """The kernel of a fusion."""
        (region,) = instruction.regions
        nest, buffers = self.nest(instruction), len(region.params) + len(region.results)
        nest.name = name
        past_cache = frozenset[Memory]()
        if self.target.asks_for_lines:
            nest.asked = asked(nest, instruction)
        else:
            past_cache = streamed(nest, instruction)
        shortened = nest.limit_copies(self.parameters.copies)
        if not self.parameters.streams:
            past_cache, shortened = frozenset(), shortened or bool(past_cache)
        if nest.split is not None or nest.across is not None:
            in_phases = split.split_kernel if nest.split is not None else cross_row_reductions.across_kernel
            sizes = [value.type.size for value in (*region.params, *region.results)]
            loops = in_phases(nest, sizes, self.target, past_cache)
            pooled, described = phases.has_phases(loops), ScheduledLoops(nest, loops)
            code = phases.emit_phases(loops, declarations) if pooled else None
            code = code or emit_kernel(loops, declarations, signature(name, buffers))
            return Kernel(
                name, code, described, 1, nest.cycles, nest=nest, pooled=pooled, shortened=shortened
            )
        tiles = tiles_of(nest)
        if is_map(nest):
            sizes = [value.type.size for value in (*region.params, *region.results)]
            tasks = 0 if 0 in nest.sizes else task_count(nest) if tiles is None else tiles.tasks(nest)
            loops = map_kernel(nest, sizes, self.target, tiles, past_cache, tasks=tasks)
            code = emit_kernel(loops, declarations, signature(name, buffers))
            described = ScheduledLoops(nest, loops)
            return Kernel(name, code, described, tasks, nest.cycles, nest=nest, shortened=shortened)
        tasks = 0 if 0 in nest.sizes[: nest.parallel] else task_count(nest)
        kernel_of: Callable[..., LoopKernel]
        if row_blocks.are_blocked_rows(nest):
            kernel_of, tasks = blocked_rows.blocked_kernel, row_blocks.blocked_tasks(nest)
        else:
            kernel_of = rows.row_kernel if nest.row_lanes else columns.column_kernel
        sizes = [value.type.size for value in (*region.params, *region.results)]
        loops = kernel_of(nest, sizes, self.target, past_cache)
        code = emit_kernel(loops, declarations, signature(name, buffers))
        described = ScheduledLoops(nest, loops)
        return Kernel(name, code, described, tasks, nest.cycles, nest=nest, shortened=shortened)


def _text(fusion: Instruction) -> str:
    """Key of the kernel of `fusion`: everything that it depends on. Raises NoContent."""
    return f"{attributes(fusion.attrs)}\n{content(fusion.regions[0])}"
