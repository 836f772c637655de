"""Control flow in native code: branches and loops around calls of the regions' functions.

A region's function takes an arena, pointers to its inputs and pointers to where its results go. A loop's
carries go back and forth between two buffers, chosen so that the last step writes the result; where a step
updates its carry in place there is only the result's. Slices and stacked results are read and written where
they lie. The steps of a ``rewind`` write their carries into the next record of its stack.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Final, Protocol

from ...base.records import record
from ...ir.dtypes import BOOL
from ...ir.graph import Function, Instruction, Value
from ...ir.registry import Kind
from ..kernels.indexing.copies import copy_operand
from ..llvm.emitter import Reg, constant
from ..llvm.loops import FunctionWriter
from ..lowering.exits import polled_loop, steps_between_polls
from ..plan.buffers import FIRST_VALUE, IN_PLACE, BufferLayout, BufferPlan, on_stack
from .loop_records import Stack, no_memory

#: Number of steps that estimates assume for a loop of unknown length.
UNKNOWN_TRIPS: Final = 100.0
#: Least cost of a call of a region, in cycles.
CALL_CYCLES: Final = 20.0


@record
class RegionCode:
    """The LLVM function of a region; a fallible one returns the status that its caller is to return."""

    name: str
    fallible: bool
    #: Estimated cycles of a call.
    cycles: float


class RegionWriter(Protocol):
    """Interface of the writer of the function in which a control flow op stands."""

    w: FunctionWriter
    descriptions: list[object]

    def region(self, function: Function, plan: BufferPlan, name: str, trips: float) -> RegionCode: ...
    def call_region(self, region: RegionCode, pointers: Sequence[str]) -> None: ...
    def fail(self, message: str) -> None: ...
    def poll(self) -> None: ...


class ControlWriter:
    """Writes a control flow instruction over the memory of its operands and results."""

    def __init__(
        self,
        writer: RegionWriter,
        instruction: Instruction,
        name: str,
        layout: BufferLayout,
        arena: str,
        operands: list[str],
        results: list[str],
    ) -> None:
        self.writer, self.w = writer, writer.w
        self.instruction, self.name, self.layout, self.arena = instruction, name, layout, arena
        self.operands, self.results = operands, results
        self.count = instruction.attrs.get("carries", 0)

    def run(self) -> None:
        """Write the instruction."""
        kind = self.instruction.op.kind
        if kind is Kind.SWITCH:
            self._switch()
        elif kind is Kind.WHILE:
            self._while()
        elif kind is Kind.REWIND:
            self._rewind()
        else:
            self._scan()

    def _describe(self, text: str) -> None:
        self.writer.descriptions.append(f"{self.instruction.op.name} {self.name}: {text}")

    def _region(self, number: int, trips: float) -> RegionCode:
        function, plan = self.instruction.regions[number], self.layout.plans[number]
        return self.writer.region(function, plan, f"{self.name}_r{number}", trips)

    def _poll_at_times(self, steps: Reg, *regions: RegionCode) -> None:
        """Let signals in after some steps that call `regions`."""
        w = self.w
        every = steps_between_polls(sum([region.cycles + CALL_CYCLES for region in regions]))
        w.when(w.eq(w.and_(steps, every - 1), every - 1), self.writer.poll)

    # -- switch -----------------------------------------------------------------------------------

    def _switch(self) -> None:
        w = self.w
        self._describe(f"one of {len(self.instruction.regions)} regions")
        index_type = self.instruction.operands[0].dtype
        if index_type is BOOL:
            index = w.cast(w.load(self.operands[0], "u8"), "i64")
        else:
            selector = w.load(self.operands[0], "i64")
            index = w.min(w.max(selector, 0), len(self.instruction.regions) - 1)
        codes = [self._region(i, 1.0) for i in range(len(self.instruction.regions))]

        def part(code: RegionCode) -> None:
            self.writer.call_region(code, [self.arena, *self.operands[1:], *self.results])

        w.one_of(index, [functools.partial(part, code) for code in codes])

    # -- carries ----------------------------------------------------------------------------------

    def _spares(self, inits: Sequence[str]) -> list[str]:
        """The second buffer of each carry; the result's own where steps update it in place, which then starts
        as a copy of what comes in."""
        spares = []
        for position, offset in enumerate(self.layout.spares):
            if offset == IN_PLACE:
                spares.append(self.results[position])
                nbytes = self.instruction.results[position].type.nbytes
                if nbytes:
                    copy_operand(self.w, nbytes, inits[position], self.results[position])
            elif offset == FIRST_VALUE:
                spares.append(inits[position])
            else:
                spares.append(self.w.offset(self.arena, "u8", offset))
        return spares

    def _copy(self, position: int, source: str) -> None:
        nbytes = self.instruction.results[position].type.nbytes
        if nbytes and source != self.results[position]:
            self.w.copy(self.results[position], source, nbytes)

    def _buffers(
        self, inits: Sequence[str], spares: list[str], to_result: Reg, first: Reg
    ) -> tuple[list[str], list[str]]:
        """Pointers from which a step reads the carries, and to which it writes them: those of the results
        where `to_result`."""
        read, written = [], []
        for position, spare in enumerate(spares):
            result = self.results[position]
            if spare == result:
                read.append(result)
                written.append(result)
                continue
            written.append(self._choose(to_result, result, spare))
            read.append(self._choose(first, inits[position], self._choose(to_result, spare, result)))
        return read, written

    def _choose(self, condition: Reg, text: str, other: str) -> str:
        return self.w.choose(condition, text, other)

    # -- while ------------------------------------------------------------------------------------

    def _while(self) -> None:
        w, count = self.w, self.count
        self._describe(f"{count} carries")
        condition = self._region(0, UNKNOWN_TRIPS)
        body = self._region(1, UNKNOWN_TRIPS)
        spares = self._spares(self.operands)
        flag = w.offset(self.arena, "u8", self.layout.condition)
        invariants = self.operands[count:]
        region = w.begin_while([constant(0, "i64")])
        (steps,) = region.carried
        first = w.eq(steps, 0)
        even = w.eq(w.and_(steps, 1), 0)
        read, written = self._buffers(self.operands, spares, even, first)
        self.writer.call_region(condition, [self.arena, *read, *invariants, flag])
        w.break_unless(region, w.load(flag, "bool"))
        self.writer.call_region(body, [self.arena, *read, *invariants, *written])
        self._poll_at_times(steps, condition, body)
        w.end_while(region, [w.add(steps, 1)])

        def copy() -> None:
            for position, (source, spare) in enumerate(zip(read, spares, strict=True)):
                if spare != self.results[position]:
                    self._copy(position, source)

        w.when(even, copy)

    # -- scan -------------------------------------------------------------------------------------

    def _scan(self) -> None:
        w, attrs = self.w, self.instruction.attrs
        length, reverse = attrs["length"], attrs["reverse"]
        self._describe(f"{length} steps{' in reverse' if reverse else ''}, {self.count} carries")
        body = self._region(0, float(length))
        spares = self._spares(self.operands)
        if length == 0:
            for position, source in enumerate(self.operands[: self.count]):
                self._copy(position, source)
            return
        first_slice = len(self.operands) - attrs["slices"]
        (region,) = self.instruction.regions

        def step(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            left = w.sub(length - 1, index)
            at = left if reverse else index
            even = w.eq(w.and_(left, 1), 0)
            read, written = self._buffers(self.operands, spares, even, w.eq(index, 0))
            slices = self._slices(self.operands[first_slice:], region.params[first_slice:], at)
            stacked = self._slices(self.results[self.count :], region.results[self.count :], at)
            invariants = self.operands[self.count : first_slice]
            self.writer.call_region(body, [self.arena, *read, *invariants, *slices, *written, *stacked])
            return ()

        polled_loop(w, length, step, (), body.cycles + CALL_CYCLES, self.writer.poll)

    def _slices(self, pointers: Sequence[str], values: Sequence[Value], at: Reg) -> list[str]:
        return [
            self.w.offset(pointer, "u8", self.w.mul(at, value.type.nbytes))
            for pointer, value in zip(pointers, values, strict=True)
        ]

    # -- rewind -----------------------------------------------------------------------------------

    def _rewind(self) -> None:
        """Forward, step t reads record t - 1 and writes record t; backward, it reads record t - 1 again. Step
        0 reads what came in."""
        w, count = self.w, self.count
        own = len(self.operands) - self.instruction.attrs["states"]
        kept = on_stack(self.instruction)
        values = [operand for operand, on in zip(self.instruction.operands, kept, strict=False) if on]
        self._describe(f"{count} carries, {len(values)} of them on a stack, {len(self.results)} states")
        codes = [self._region(number, UNKNOWN_TRIPS) for number in range(3)]
        nbytes = sum(value.type.nbytes for value in values)
        stack = Stack(w, values, lambda: self.writer.fail(no_memory(nbytes))) if values else None
        invariants, inits = self.operands[count:own], self.operands[own:]
        steps, block = self._run_forward(codes, stack, invariants)
        spares = self._spares(inits)

        def step(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            left = w.sub(w.sub(steps, 1), index)
            carries = self._carries(stack, block, left)
            read, written = self._buffers(inits, spares, w.eq(w.and_(left, 1), 0), w.eq(index, 0))
            self.writer.call_region(codes[2], [self.arena, *carries, *invariants, *read, *written])
            return ()

        polled_loop(w, steps, step, (), codes[2].cycles + CALL_CYCLES, self.writer.poll)

        def copy() -> None:
            for position, source in enumerate(inits):
                if spares[position] != self.results[position]:
                    self._copy(position, source)

        w.when(w.eq(steps, 0), copy)

    def _run_forward(
        self, codes: Sequence[RegionCode], stack: Stack | None, invariants: Sequence[str]
    ) -> tuple[Reg, Reg]:
        """The loop itself; how many steps it ran, and the stack's block."""
        w = self.w
        for position, places in enumerate(self.layout.carries):
            if places is not None and places[0] == places[1]:  # updated in place
                buffer = w.offset(self.arena, "u8", places[0])
                w.copy(buffer, self.operands[position], self.instruction.operands[position].type.nbytes)
        start = stack.open() if stack else (constant(0, "i64"), constant(0, "i64"))
        flag = w.offset(self.arena, "u8", self.layout.condition)
        region = w.begin_while([constant(0, "i64"), *start])
        steps, block, capacity = region.carried
        read = self._carries(stack, block, steps)
        self.writer.call_region(codes[0], [self.arena, *read, *invariants, flag])
        w.break_unless(region, w.load(flag, "bool"))
        room = stack.room(block, capacity, steps) if stack else start
        following = w.add(steps, 1)
        read = self._carries(stack, room[0], steps)
        written = self._carries(stack, room[0], following)
        self.writer.call_region(codes[1], [self.arena, *read, *invariants, *written])
        self._poll_at_times(steps, *codes[:2])
        w.end_while(region, [following, *room])
        return steps, block

    def _carries(self, stack: Stack | None, block: Reg, step: Reg) -> list[str]:
        """Pointers to the carries that a step is given."""
        w = self.w
        first, even = w.eq(step, 0), w.eq(w.and_(step, 1), 0)
        records = iter(stack.record(block, w.sub(step, 1)) if stack else ())
        places_read = []
        for init, places in zip(self.operands[: self.count], self.layout.carries, strict=True):
            if places is None:
                places_read.append(self._choose(first, init, next(records)))
            elif places[0] == places[1]:
                places_read.append(w.offset(self.arena, "u8", places[0]))
            else:
                text, other = [w.offset(self.arena, "u8", place) for place in places]
                places_read.append(self._choose(first, init, self._choose(even, text, other)))
        return places_read
