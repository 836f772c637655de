"""Loops whose step works element by element: each vector of the carries runs through all steps in registers.

A scan over memory walks its carries once a step; where a step reads of each carry just the element that it
writes, the loops can change places. It takes a body that is one fused map, carries of one shape, and nothing
that is stacked or sliced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ....ir.access import resolve
from ....ir.graph import Function, Instruction, Substitution, Value
from ....ir.ops.fusion import EACH, READ
from ....ir.registry import Kind
from ....ir.types import Shape
from ...llvm.target import Target
from ...loops.affine import affine, variable
from ...loops.clocks import clocked
from ...loops.emit import emit_kernel
from ...loops.nodes import SERIAL, Carry, For, Node, Poll, Store
from ...loops.nodes import Kernel as LoopKernel
from ...loops.passes import scheduled
from ...lowering.exits import LONG_CYCLES, steps_between_polls
from ...lowering.kernel import Kernel, signature
from ...lowering.loop_nest import Leaf, Memory, Nest, Window
from ...lowering.lowering import LoweringContext
from ...nest.elements import ElementBuilder
from ...nest.maps import ScheduledLoops, schedule_of
from ...nest.schedule import schedule
from ...nest.tasks import task_count

#: Vectors of carries that are in registers together: one element's steps wait for each other.
REGISTERS: Final = 12
COPIES: Final = 4
#: Steps of more operations are nests over memory. LLVM's time for one block grows faster than the block, and
#: where there is so much to do between reading and writing, both cost little.
MAX_MEMBERS: Final = 400
#: The indices of steps, and of strips of them.
STEP: Final = "y"
STRIP: Final = "y0"


def element_loop_kernel(name: str, instruction: Instruction, context: LoweringContext) -> Kernel | None:
    """A scan as one map over its carries; None where its steps do not work element by element."""
    nest = _nest(name, instruction, context.target)
    if nest is None:
        return None
    length: int = instruction.attrs["length"]
    nest.cycles *= length
    tasks = 0 if 0 in nest.sizes else task_count(nest)
    steps = [step for step in schedule_of(nest, None, context.target, tasks=tasks) if step[0] != "invert"]
    loops = scheduled(_algorithm(nest, instruction), steps)
    buffers = len(instruction.operands) + len(instruction.results)
    code = emit_kernel(loops, context.declarations, signature(name, buffers))
    described = ScheduledLoops(nest, loops, f"{length} steps of each element in registers: ")
    return Kernel(name, code, described, tasks, nest.cycles, nest=nest)


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


@clocked("algorithm")
def _algorithm(nest: Nest, instruction: Instruction) -> LoopKernel:
    """The loops over elements around the loop over steps."""
    builder, length = ElementBuilder(nest), instruction.attrs["length"]
    carries: int = instruction.attrs["carries"]
    sizes = [value.type.size for value in (*instruction.operands, *instruction.results)]
    buffers = builder.buffers(sizes, nest.members)
    if 0 in nest.sizes:
        return LoopKernel(nest.name, buffers, ())
    builder.reads_once = True
    own = nest.writes[0].memory.strides
    places = [Memory(number, write.memory.dtype, own, 0) for number, write in enumerate(nest.writes)]
    firsts = [builder.operand(memory) for memory in places]
    sources = [operand for member in nest.members for operand in member.operands]
    for source in dict.fromkeys([*sources, *[write.source for write in nest.writes]]):
        if not isinstance(source, Value) and not _is_carry(source, carries):
            builder.operand(source)
    around, builder.nodes = builder.nodes, []
    before = [builder.name("t") for _ in places]
    builder.held.update(zip(places, before, strict=True))
    for member in nest.members:
        builder.compute(member)
    following = [builder.operand(write.source) for write in nest.writes]
    carried = [
        Carry(name, memory.dtype, first, after, builder.name("r"))
        for name, memory, first, after in zip(before, places, firsts, following, strict=True)
    ]
    cycles = 1.0 * len(nest.members) * nest.unroll
    loop = polled(length, tuple(builder.nodes), carried, cycles, builder.name)
    stores = [
        Store(builder.buffer(write.memory), builder.index(write.memory), (carry.result,))
        for write, carry in zip(nest.writes, carried, strict=True)
    ]
    body = builder.loops((*around, loop, *stores), range(len(nest.sizes)))
    return LoopKernel(nest.name, buffers, body)


def polled(
    length: int, step: tuple[Node, ...], carried: Sequence[Carry], cycles: float, name: Callable[[str], str]
) -> For:
    """The loop of so many steps, of about `cycles` each, that hand on what is `carried`; if they take long,
    strips of them, behind each of which signals are let in."""
    ends = (affine(0),), (affine(length),)
    if length * cycles <= LONG_CYCLES:
        return For(STEP, *ends, 1, SERIAL, step, tuple(carried))
    every, first = steps_between_polls(cycles), variable(STRIP)
    names = [(name("t"), name("r")) for _ in carried]
    inner = [
        Carry(carry.name, carry.dtype, before, carry.following, after)
        for carry, (before, after) in zip(carried, names, strict=True)
    ]
    outer = [
        Carry(before, carry.dtype, carry.first, after, carry.result)
        for carry, (before, after) in zip(carried, names, strict=True)
    ]
    strip = For(STEP, (first,), (first.plus(every), affine(length)), 1, SERIAL, step, tuple(inner))
    return For(STRIP, *ends, every, SERIAL, (strip, Poll()), tuple(outer))
