"""Loops whose step works element by element: each vector of the carries runs through all steps in registers.

A scan over memory walks its carries once a step; where a step reads of each carry just the element that it
writes, the loops can change places. It takes a body that is one fused map, carries of one shape, and nothing
that is stacked or sliced.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ....ir.access import resolve
from ....ir.graph import Function, Instruction, Substitution, Value
from ....ir.ops.fusion import EACH, READ
from ....ir.registry import Kind
from ....ir.types import Shape
from ...llvm.emitter import Reg
from ...llvm.function import Declarations
from ...llvm.target import Target
from ...lowering.exits import poll_or_return, polled_loop
from ...lowering.kernel import Kernel
from ...lowering.loop_nest import Leaf, Memory, Nest, Window
from ...lowering.lowering import LoweringContext
from ...nest.schedule import schedule
from ...nest.tasks import task_count
from ...nest.writing.element import Places
from ...nest.writing.nest_writer import NestWriter

#: Vectors of carries that are in registers together: one element's steps wait for each other.
REGISTERS: Final = 12
COPIES: Final = 4
#: Steps of more operations are nests over memory. LLVM's time for one block grows faster than the block, and
#: where there is so much to do between reading and writing, both cost little.
MAX_MEMBERS: Final = 400


def element_loop_kernel(name: str, instruction: Instruction, context: LoweringContext) -> Kernel | None:
    """A scan as one map over its carries; None where its steps do not work element by element."""
    nest = _nest(name, instruction, context.target)
    if nest is None:
        return None
    length: int = instruction.attrs["length"]
    nest.cycles *= length
    tasks = 0 if 0 in nest.sizes else task_count(nest)
    code = _LoopWriter(nest, instruction, context.declarations).write(
        len(instruction.operands) + len(instruction.results)
    )
    return Kernel(
        name, code, f"{length} steps of each element in registers: {nest}", tasks, nest.cycles, nest=nest
    )


def _nest(name: str, instruction: Instruction, target: Target) -> Nest | None:
    """The nest of the step, its buffers those of the loop: operands, then results, one for each carry."""
    carries = instruction.attrs["carries"]
    (body,) = instruction.regions
    if instruction.attrs["slices"] or len(instruction.results) != carries or instruction.attrs["length"] < 1:
        return None
    shapes = {result.shape for result in instruction.results}
    step = _flat(body) if len(shapes) == 1 else None
    if step is None or not _own_elements_alone(step, *shapes):
        return None
    levels = tuple([EACH if inner.op.kind.traits.fusable else READ for inner in step.body])
    attrs = {"domain": instruction.results[0].shape, "axes": (), "levels": levels}
    nest = schedule(step, attrs, name, target)
    if len(nest.sizes) != nest.parallel or nest.vector_dim is None or len(nest.members) > MAX_MEMBERS:
        return None
    own = nest.writes[0].memory.strides
    sources = {operand for member in nest.members for operand in member.operands}
    for source in sources | {write.source for write in nest.writes}:
        if (
            isinstance(source, Memory)
            and _is_carry(source, carries)
            and (source.strides, source.offset) != (own, 0)
        ):
            return None  # another element's
        if isinstance(source, Window) and _is_carry(source.inside, carries):
            return None
    nest.unroll = 1 << max(1, min(COPIES, REGISTERS // carries)).bit_length() - 1
    while nest.unroll > 1 and (
        nest.sizes[nest.vector_dim] < nest.unroll * nest.lanes
        or len(nest.members) * nest.unroll > MAX_MEMBERS
    ):
        nest.unroll //= 2
    return nest


def _flat(body: Function) -> Function | None:
    """`body` with its fusions written out; None where something else is in it."""
    table, instructions = Substitution(), list[Instruction]()
    for instruction in body.body:
        if instruction.op.kind is Kind.VIEW:
            instructions.append(table.apply(instruction))
        elif instruction.op.kind is Kind.REGION:
            (region,) = instruction.regions
            for param, operand in zip(region.params, instruction.operands, strict=True):
                table[param] = table[operand]
            instructions += [table.apply(inner) for inner in region.body]
            for result, inside in zip(instruction.results, region.results, strict=True):
                table[result] = table[inside]
        else:
            return None
    return Function(body.name, body.params, tuple(instructions), table.all(body.results))


def _own_elements_alone(step: Function, shape: Shape) -> bool:
    """Whether everything computed has `shape`, by elementwise ops that read of each other just the element at
    their own place."""
    if any(instruction.op.kind is Kind.CONCAT for instruction in step.body):
        return False
    defs = {result: instruction for instruction in step.body for result in instruction.results}
    computed = {instruction.result for instruction in step.body if instruction.op.kind.traits.fusable}
    if any(defs[value].op.kind is Kind.REDUCTION or value.shape != shape for value in computed):
        return False
    reads = [operand for value in computed for operand in defs[value].operands]
    if any(
        resolve(instruction.operands[1], defs)[0] in computed
        for instruction in step.body
        if instruction.op.kind is Kind.UPDATE
    ):
        return False
    for value in [*reads, *step.results]:
        source, access = resolve(value, defs)
        if source in computed and any(
            size != 1 and (axis, stride, offset) != (place, 1, 0)
            for place, ((axis, stride, offset), size) in enumerate(zip(access.dims, shape, strict=True))
        ):
            return False
    return True


def _is_carry(source: Leaf | Value, carries: int) -> bool:
    return isinstance(source, Memory) and source.buffer is not None and source.buffer < carries


class _LoopWriter(NestWriter):
    """Writes the steps inside the loops over elements."""

    def __init__(self, nest: Nest, instruction: Instruction, declarations: Declarations) -> None:
        super().__init__(nest, declarations)
        self.length: int = instruction.attrs["length"]
        self.carries: int = instruction.attrs["carries"]
        own = nest.writes[0].memory.strides
        self.starts = [Memory(i, write.memory.dtype, own, 0) for i, write in enumerate(nest.writes)]

    def _accesses(self) -> list[Memory]:
        return list(dict.fromkeys([*super()._accesses(), *self.starts]))

    def point(self, places: Places, copies: int, mask: Reg | None) -> None:
        nest, count = self.nest, len(self.starts)
        sources = [operand for member in nest.members for operand in member.operands]
        sources += [write.source for write in nest.writes]
        constants: list[Leaf] = [
            fromkey
            for fromkey in dict.fromkeys(sources)
            if not isinstance(fromkey, Value) and not _is_carry(fromkey, self.carries)
        ]
        leaves = [
            {leaf: self.read(leaf, places, copy, mask, row_level=False) for leaf in constants}
            for copy in range(copies)
        ]

        def step(_: Reg, state: list[Reg]) -> Sequence[Reg]:
            out: list[Reg] = []
            for copy in range(copies):
                out += self._step(state[copy * count : (copy + 1) * count], leaves[copy])
            return out

        start = [
            self.read(memory, places, copy, mask, row_level=False)
            for copy in range(copies)
            for memory in self.starts
        ]
        cycles = 1.0 * len(nest.members) * copies
        state = polled_loop(self.w, self.length, step, start, cycles, lambda: poll_or_return(self.w))
        for copy in range(copies):
            for write, value in zip(nest.writes, state[copy * count :], strict=False):
                self.put(value, write.memory, places, copy, mask, row_level=False)

    def _step(self, state: list[Reg], leaves: dict[Leaf, Reg]) -> list[Reg]:
        """State of one vector after one step."""
        values: dict[Value, Reg] = {}

        def read(source: Leaf | Value) -> Reg:
            if isinstance(source, Value):
                return values[source]
            if _is_carry(source, self.carries):
                assert isinstance(source, Memory)
                assert source.buffer is not None
                return state[source.buffer]
            return leaves[source]

        for member in self.nest.members:
            values[member.value] = self.emit(member, [read(operand) for operand in member.operands])
        return [self.w.splat(read(write.source), self.nest.lanes) for write in self.nest.writes]
