"""The kernel of ``tiled`` instructions: Fourier transforms and maps, one after the other on each line.

Values that nothing outside reads exist for one line at a time, in scratch memory; others are in buffers.
Maps are loop nests over a line, whose accesses are those of the whole fusion from the line's place on.

A line is read in one go and memory is idle while it is transformed, so each transform asks for a part of what
the next line reads and writes: it ran up to 1.5 times as fast where that is not in the second cache.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from ....base.machine import machine
from ....ir.content import attributes, content
from ....ir.dtypes import SHORT_NAME
from ....ir.graph import Function, Instruction, Value
from ....ir.registry import Kind
from ....ir.types import Shape, contiguous_strides
from ...llvm.function import Code
from ...llvm.registers import Number, Reg
from ...llvm.target import Target
from ...loops.emit import emit_inside
from ...lowering.kernel import Kernel, signature
from ...lowering.loop_nest import Memory
from ...lowering.lowering import Lowering, LoweringContext
from ...lowering.parallel_for import part_of
from ...maths import MathsWriter
from ...nest.maps import ScheduledLoops, map_kernel, reach
from ...nest.schedule import schedule_tile
from ...plan.arena import ArenaBlock, pack
from .memory import ArrayAccess
from .plan import ON_STACK, TransformPlan
from .writer import TransformWriter

_ALIGNMENT: Final = 64


class TiledPlan:
    """Memory layout of the values of a ``tiled`` instruction, and the division of its lines into tasks."""

    def __init__(self, instruction: Instruction, target: Target) -> None:
        (region,) = instruction.regions
        self.region: Function = region
        self.batch: Shape = instruction.attrs["batch"]
        self.lines = math.prod(self.batch)
        #: The transforms of the region.
        self.plans = {
            inner: TransformPlan(inner, target, line_by_line=True)
            for inner in region.body
            if inner.op.kind is Kind.FOURIER
        }
        #: The kernel's buffers by the region's values.
        self.buffers = {value: number for number, value in enumerate((*region.params, *region.results))}
        self._place_scratch()
        self.on_stack = self.scratch_bytes <= ON_STACK
        self.tasks = self.lines if self.on_stack else min(self.lines, machine().chunks)

    def _place_scratch(self) -> None:
        """Choose offsets for values that exist for one line, and for the buffers of transforms."""
        last = {value: number for number, inner in enumerate(self.region.body) for value in inner.operands}
        blocks: list[ArenaBlock] = []
        owners: list[Value | Instruction] = []
        for number, inner in enumerate(self.region.body):
            sizes: list[tuple[Value | Instruction, int, int]] = [
                (result, last[result], result.type.nbytes // self.lines)
                for result in inner.results
                if result not in self.buffers
            ]
            if inner in self.plans:
                sizes.append((inner, number, self.plans[inner].buffer_bytes))
            for owner, end, nbytes in sizes:  # with room for whole vectors
                blocks.append(ArenaBlock(number, end, (nbytes // _ALIGNMENT + 2) * _ALIGNMENT))
                owners.append(owner)
        offsets, self.scratch_bytes = pack(blocks)
        #: Offsets in the scratch.
        self.scratch = dict(zip(owners, offsets, strict=True))

    def of_lines(self, value: Value) -> bool:
        """Whether `value` has a part for each line, and these lie one behind the other."""
        return value.shape[: len(self.batch)] == self.batch

    @property
    def fetched_ahead(self) -> list[Value]:
        """Values to prefetch while the line before is transformed: all that do not fit into a cache."""
        return [
            value for value in self.buffers if self.of_lines(value) and value.type.nbytes > machine().l2_bytes
        ]


class TiledWriter:
    """Writes ``@name(ptr %b0, ..., i64 %begin, i64 %end)`` over tasks."""

    def __init__(self, plan: TiledPlan, context: LoweringContext, name: str) -> None:
        self.plan, self.context, self.name = plan, context, name
        self.w = MathsWriter(context.declarations)
        self.code: Code = []
        self.descriptions: list[str] = []
        self.cycles = 0.0

    def write(self) -> Code:
        """The kernel, its tables and the functions that it calls."""
        w, plan = self.w, self.plan
        begin, end = Reg("%begin", "i64"), Reg("%end", "i64")
        count = len(plan.buffers)
        self.memory = w.slot("u8", plan.scratch_bytes) if plan.on_stack else ""

        def line(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            self._line(index)
            return ()

        def task(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            self.memory = w.offset(f"%b{count}", "u8", w.mul(index, plan.scratch_bytes))
            w.loop(*part_of(w, index, -(-plan.lines // plan.tasks), plan.lines), 1, line)
            return ()

        w.loop(begin, end, 1, line if plan.on_stack else task)
        w.ret()
        buffers = count if plan.on_stack else count + 1
        return [*self.code, w.function(signature(self.name, buffers), "nounwind")]

    def _line(self, index: Reg) -> None:
        """All members on the line of number `index`."""
        plan = self.plan
        self.index = index
        self.at = self._indices(index)
        ahead, transforms = plan.fetched_ahead, list(plan.plans)
        for number, inner in enumerate(plan.region.body):
            name = f"{self.name}_{number}"
            self.w.for_ops(inner.origins)
            if inner in plan.plans:
                done = transforms.index(inner)
                parts = [len(ahead) * part // len(transforms) for part in (done, done + 1)]
                self._fetch_ahead(ahead[parts[0] : parts[1]])
                self._transform(inner, name)
            else:
                self._map(inner, name)
        self.w.for_ops(())

    def _indices(self, index: Reg) -> list[Number]:
        """Indices of line number `index` along the dimensions of the batch."""
        w, indices = self.w, list[Number]()
        for size in reversed(self.plan.batch[1:]):
            above = w.integer("udiv", index, size)
            indices.append(w.sub(index, w.mul(above, size)))
            index = above
        return [index, *indices[::-1]]

    def _own_part(self, value: Value) -> str:
        """Pointer to the line's part of `value`, which has one for each line."""
        w, plan = self.w, self.plan
        if value in plan.scratch:
            return w.offset(self.memory, "u8", plan.scratch[value])
        elements = value.type.size // plan.lines
        return w.offset(f"%b{plan.buffers[value]}", SHORT_NAME[value.dtype], w.mul(self.index, elements))

    # -- members ----------------------------------------------------------------------------------

    def _transform(self, transform: Instruction, name: str) -> None:
        w = self.w
        writer = TransformWriter(self.plan.plans[transform], w, name)
        x, y = (
            ArrayAccess(w, writer.plan.dtype, self._own_part(value), 1)
            for value in (*transform.operands, *transform.results)
        )
        writer.transform(x, y, w.offset(self.memory, "u8", self.plan.scratch[transform]))
        self.code += writer.roots.code()
        self.cycles += writer.plan.cycles
        self.descriptions.append(f"{transform.op.name}: {writer.plan.description}")

    def _map(self, fusion: Instruction, name: str) -> None:
        """The loops of a map over a line; accesses begin where their strides along the batch lead."""
        plan, (region,) = self.plan, fusion.regions
        values, count = (*fusion.operands, *fusion.results), len(plan.batch)
        bases: list[tuple[Value, tuple[int, ...]]] = []

        def place(memory: Memory) -> Memory:
            if memory.buffer is None:
                return memory
            base = values[memory.buffer], memory.strides[:count]
            if base not in bases:
                bases.append(base)
            return Memory(bases.index(base), memory.dtype, memory.strides, memory.offset)

        domain: Shape = fusion.attrs["domain"]
        sizes = (*[1] * count, *domain[count:])
        nest = schedule_tile(region, fusion.attrs, name, self.context.target, sizes, place)
        nest.limit_copies(self.context.parameters.copies)
        loops = map_kernel(nest, reach(nest), self.context.target)
        self.code += emit_inside(loops, self.w, [self._base(*base) for base in bases])
        self.cycles += nest.cycles * plan.lines
        self.descriptions.append(str(ScheduledLoops(nest, loops)))

    def _base(self, value: Value, strides: Sequence[int]) -> str:
        """Pointer to the start of an access of `value` that moves by `strides` along the batch."""
        w, plan = self.w, self.plan
        whole = contiguous_strides(value.shape)[: len(plan.batch)]
        if plan.of_lines(value) and all(
            size == 1 or stride == step for size, stride, step in zip(plan.batch, strides, whole, strict=True)
        ):
            return self._own_part(value)
        total: Number = 0
        for index, stride in zip(self.at, strides, strict=True):
            if stride:
                total = w.add(w.mul(index, stride), total)
        return w.offset(f"%b{plan.buffers[value]}", SHORT_NAME[value.dtype], total)

    def _fetch_ahead(self, values: Sequence[Value]) -> None:
        """Ask for the next line's part of `values`."""
        w, plan = self.w, self.plan
        for value in values:
            nbytes = value.type.nbytes // plan.lines
            following = w.offset(self._own_part(value), "u8", nbytes)
            write = value in plan.region.results

            def fetch(index: Reg, _: list[Reg], start: str = following, write: bool = write) -> Sequence[Reg]:
                w.prefetch(w.offset(start, "u8", index), near=False, write=write)
                return ()

            w.loop(0, nbytes, machine().line_bytes, fetch)


def tiled_kernel(name: str, instruction: Instruction, context: LoweringContext) -> Kernel:
    """The kernel of a ``tiled`` instruction."""
    plan = TiledPlan(instruction, context.target)
    writer = TiledWriter(plan, context, name)
    code = writer.write()
    head = f"tiled {name}: for each of the lines {list(plan.batch)}"
    inside = "\n".join(f"  {line}" for text in writer.descriptions for line in text.split("\n"))
    return Kernel(name, code, f"{head}\n{inside}", tasks=plan.tasks, cycles=writer.cycles, slowdown=2.0)


def tiled_workspace(instruction: Instruction, context: LoweringContext) -> int:
    """Bytes of scratch that is not on the stack."""
    plan = TiledPlan(instruction, context.target)
    return 0 if plan.on_stack else plan.scratch_bytes * plan.tasks


def _content(instruction: Instruction, context: LoweringContext) -> str:
    """Text that is equal for instructions with equal kernels."""
    (region,) = instruction.regions
    return f"{attributes(instruction.attrs)}\n{content(region)}"


TILED: Final = Lowering(
    (Kind.TILED,),
    tiled_kernel,
    workspace=tiled_workspace,
    content=_content,
    arithmetic="A chain of Fourier transforms",
)
