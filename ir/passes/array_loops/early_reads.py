"""Elements that all steps of a loop inside read, and that are known to be there, are read before it.

    while abs(root * root - x[i]) > 1e-9:          element = x[i]
                                                   while abs(root * root - element) > 1e-9:

So the steps inside do not wait for memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from ...dtypes import INT64
from ...graph import Function, Instruction, Substitution, Value
from ...registry import Kind
from ...types import TensorType

#: Whether a read of the given operands is known to lie inside.
Proof: TypeAlias = Callable[[Instruction, Sequence[Value]], bool]
#: The ops that compute indices.
_INTEGER_OPS: Final = frozenset(("full", "add", "sub", "mul", "neg"))


def reads_before(
    loop: Instruction, proven: Proof, define: Callable[[Instruction], None]
) -> tuple[list[Instruction], Instruction]:
    """Hoist reads of elements out of `loop`: the reads, and the loop with the elements as further operands.
    `define` gets the instructions that compute the indices before the loop."""
    reads = _Reads(proven, define)
    inside, taken = reads.control(loop, {operand: operand for operand in loop.operands})
    if not taken:
        return [], loop
    return [*reads.integers.values(), *reads.reads.values()], _with_operands(inside, taken)


class _Reads:
    """The gathers of a loop, and of loops and branches in it, that may be done before it."""

    def __init__(self, proven: Proof, define: Callable[[Instruction], None]) -> None:
        self.proven, self.define = proven, define
        #: Instructions by their operands and attributes.
        self.reads: dict[object, Instruction] = {}
        self.integers: dict[object, Instruction] = {}

    def control(
        self, instruction: Instruction, around: Mapping[Value, Value]
    ) -> tuple[Instruction, list[Value]]:
        """`instruction` without such gathers, whose regions have a parameter more for each of the elements
        that are returned. `around` has what values are outside of the loop."""
        first, last = _invariants(instruction)
        shift = 1 if instruction.op.kind is Kind.SWITCH else 0
        bodies: list[tuple[Function, list[Instruction], dict[Value, Value], dict[Instruction, list[Value]]]]
        bodies, taken = [], dict[Value, None]()
        for region in instruction.regions:
            outside: dict[Value, Value] = {}
            for position in range(first, last):
                operand = instruction.operands[position]
                if operand in around:
                    outside[region.params[position - shift]] = around[operand]
            body: list[Instruction] = []
            elements: dict[Value, Value] = {}
            below: dict[Instruction, list[Value]] = {}
            for step in region.body:
                if step.op.name in _INTEGER_OPS and all(operand in outside for operand in step.operands):
                    self._repeat(step, outside)
                read = self._read(step, outside)
                if read is not None:
                    elements[step.result] = read
                    taken[read] = None
                    continue
                if step.op.kind.traits.control and step.op.kind is not Kind.REWIND:
                    inner, more = self.control(step, outside)
                    if more:
                        below[inner] = more
                        taken.update(dict.fromkeys(more))
                        step = inner
                body.append(step)
            bodies.append((region, body, elements, below))
        if not taken:
            return instruction, []
        regions = [_widened(*parts, list(taken), last - shift) for parts in bodies]
        return instruction.replace(regions=tuple(regions)), list(taken)

    def _read(self, step: Instruction, outside: Mapping[Value, Value]) -> Value | None:
        """The element before the loop that `step` reads."""
        if step.op.kind is not Kind.GATHER or any(operand not in outside for operand in step.operands):
            return None
        operands = tuple([outside[operand] for operand in step.operands])
        if step.result.shape or not self.proven(step, operands):
            return None
        key = (operands, repr(tuple(step.attrs.items())))
        if key not in self.reads:
            result = Value(TensorType(step.result.dtype, ()))
            self.reads[key] = step.replace(operands=operands, results=(result,))
        return self.reads[key].result

    def _repeat(self, step: Instruction, outside: dict[Value, Value]) -> None:
        """Repeat `step` before the loop if it computes an integer."""
        if step.result.shape or step.result.dtype is not INT64:
            return
        operands = tuple([outside[operand] for operand in step.operands])
        key = (step.op.name, operands, repr(tuple(step.attrs.items())))
        if key not in self.integers:
            before = step.replace(operands=operands, results=(Value(step.result.type),))
            self.integers[key] = before
            self.define(before)
        outside[step.result] = self.integers[key].result


def _invariants(instruction: Instruction) -> tuple[int, int]:
    """The range of operand positions, from and up to, that are the same in all steps."""
    if instruction.op.kind is Kind.SWITCH:
        return 1, len(instruction.operands)
    return instruction.attrs["carries"], len(instruction.operands) - instruction.attrs.get("slices", 0)


def _with_operands(instruction: Instruction, more: Sequence[Value]) -> Instruction:
    _, last = _invariants(instruction)
    operands = instruction.operands
    return instruction.replace(operands=(*operands[:last], *more, *operands[last:]))


def _widened(
    region: Function,
    body: list[Instruction],
    elements: Mapping[Value, Value],
    below: Mapping[Instruction, list[Value]],
    taken: list[Value],
    place: int,
) -> Function:
    """A region of `body` with a parameter for each of the elements in `taken`."""
    params = {element: Value(element.type) for element in taken}
    table = Substitution({result: params[element] for result, element in elements.items()})
    steps = []
    for step in body:
        more = [params[element] for element in below.get(step, ())]
        step = table.apply(step)
        steps.append(_with_operands(step, more) if more else step)
    inner = (*region.params[:place], *params.values(), *region.params[place:])
    return Function(region.name, inner, tuple(steps), table.all(region.results))
