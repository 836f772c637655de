"""Small state in registers: a whole loop or branch as straight-line scalar code in one function.

Where every value that a control flow op computes has few elements, each element is a register, and carries
are phis. What is large (an invariant, stacked operands and results) stays in memory, and is read and written
by element. Anything else has no such code: `register_kernel` returns None, and the op is written over memory.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from ...ir.analysis.affine import Counter, counted_by
from ...ir.analysis.index_ranges import UNKNOWN, index_ranges
from ...ir.analysis.linear_indices import linear_indices
from ...ir.analysis.loop_arrays import MAX_ELEMENTS, is_array, written_arrays
from ...ir.dtypes import BOOL, INT64, SHORT_NAME
from ...ir.graph import Function, Instruction, Value
from ...ir.registry import Kind
from ..interface import INTERRUPTED
from ..kernels.indexing.copies import copy_unless_empty
from ..llvm.emitter import Reg, constant
from ..llvm.function import FunctionCode
from ..lowering.element_code import Work, cycles_of_step, operations
from ..lowering.exits import poll, polled_loop, steps_between_polls
from ..lowering.kernel import LIGHT_SLOWDOWN, SLOWDOWN, Kernel, signature
from ..lowering.lowering import LoweringContext
from ..maths import MathsWriter
from ..plan.buffers import on_stack
from .elements import Elements, ElementWriter, Stored, flattened, parted
from .lane_steps import LaneSteps, LaneWriter, first_lanes, folded_lanes, lane_steps
from .loop_records import Stack, no_memory
from .proven_indices import all_inside
from .regions import UNKNOWN_TRIPS

#: Estimated cycles of what LLVM's code generator optimizes in the baseline tier, too.
_LONG: Final = 6e7
#: Steps of a while loop are written out as often as this gives operations, and not more often.
_TOGETHER: Final = 48.0


def register_kernel(name: str, instruction: Instruction, context: LoweringContext) -> Kernel | None:
    """Kernel of a control flow instruction as straight-line code; None where its values are too large or too
    many, or where an op has no scalar code."""
    work = operations(instruction)
    if work is None:
        return None
    writer = _RegisterWriter(name, instruction, context)
    code = [writer.write(), *writer.functions]
    description = f"registers {name}: {instruction.op.name}, {work.cycles:.0f} operations a step"
    if writer.loops_in_lanes:
        description += f", {writer.loops_in_lanes} inner loops in lanes"
    cycles = _cycles(instruction, work)
    worth = cycles > _LONG or instruction.op.kind not in (Kind.SCAN, Kind.SWITCH)
    return Kernel(
        name, code, description, cycles=cycles, errors=tuple(writer.errors), interruptible=writer.polls,
        shortened=writer.shortened, worth_compiling=worth,
        slowdown=LIGHT_SLOWDOWN if worth else SLOWDOWN,
    )  # fmt: skip


def _cycles(instruction: Instruction, work: Work) -> float:
    """Estimated cycles of all steps, in which `work` is done, and of the loops in them."""
    cycles = work.cycles
    for region in instruction.regions:
        for inner in region.body:
            if inner.op.kind.traits.control and (nested := operations(inner)) is not None:
                cycles += _cycles(inner, nested) - nested.cycles
    return cycles * _trips(instruction)


def _trips(instruction: Instruction) -> float:
    if instruction.op.kind is Kind.SWITCH:
        return 1.0
    return float(instruction.attrs["length"]) if instruction.op.kind is Kind.SCAN else UNKNOWN_TRIPS


# -- writing --------------------------------------------------------------------------------------


class _RegisterWriter(ElementWriter):
    def __init__(self, name: str, instruction: Instruction, context: LoweringContext) -> None:
        super().__init__(name, MathsWriter(context.declarations), context.target)
        self.w.moves_extrema = True
        self.instruction, self.parameters = instruction, context.parameters
        #: Number of times that the code being written runs; and whether other parameters would have made more
        #: code of it.
        self.trips, self.shortened = 1.0, False
        self.defs, self.ranges = context.defs, index_ranges(instruction, context.defs)
        #: Number of loops whose steps are lanes.
        self.loops_in_lanes = 0
        #: Whether it lets signals in, and where it is left where they raise.
        self.polls, self.stop = False, self.w.label("stop")

    def write(self) -> FunctionCode:
        """The code of ``@name(ptr %b0, ..., i64 %begin, i64 %end)``."""
        w, instruction = self.w, self.instruction
        carries = _results_in_registers(instruction)
        operands: list[Elements] = []
        for i, operand in enumerate(instruction.operands):
            stored = Stored(f"%b{i}", SHORT_NAME[operand.dtype])
            small = operand.type.size <= MAX_ELEMENTS
            slices = (
                instruction.op.kind is Kind.SCAN
                and i >= len(instruction.operands) - instruction.attrs["slices"]
            )
            operands.append(self.load(stored, operand) if small and not slices else stored)
        pointers = [f"%b{len(instruction.operands) + i}" for i in range(len(instruction.results))]
        for place, origin in (written_arrays(instruction) or {}).items():
            operand, copied = instruction.operands[origin], f"%b{origin}"
            copy_unless_empty(w, operand, self.defs, copied, pointers[place])
            operands[origin] = Stored(pointers[place], SHORT_NAME[instruction.results[place].dtype])
        stacks = [
            Stored(pointer, SHORT_NAME[result.dtype])
            for pointer, result in zip(pointers[carries:], instruction.results[carries:], strict=True)
        ]
        finals = self._control(instruction, operands, stacks)
        for pointer, elements, result in zip(pointers, finals, instruction.results, strict=False):
            self.store(elements, Stored(pointer, SHORT_NAME[result.dtype]), 0)
        w.free_held()
        fallible = bool(self.errors) or self.polls
        w.ret(constant(0, "i32") if fallible else None)
        exits = [*enumerate(self.failed, 1), *([(INTERRUPTED, self.stop)] if self.polls else [])]
        for code, label in exits:
            w.start(label)
            w.free_held()
            w.ret(constant(code, "i32"))
        buffers = len(instruction.operands) + len(instruction.results)
        return w.function(signature(self.name, buffers, result="i32" if fallible else "void"), "nounwind")

    # -- control flow -----------------------------------------------------------------------------

    def control(self, instruction: Instruction, operands: list[Elements]) -> Sequence[Elements]:
        """Write a control flow instruction inside another one: its stacked results go through memory of the
        stack."""
        carries = _results_in_registers(instruction)
        slices = instruction.attrs["slices"] if instruction.op.kind is Kind.SCAN else 0
        for i in range(len(operands) - slices, len(operands)):
            elements = operands[i]
            if isinstance(elements, list):
                dtype = SHORT_NAME[instruction.operands[i].dtype]
                operands[i] = Stored(self.w.slot(dtype, len(elements)), dtype)
                self.store(elements, operands[i], 0)  # type: ignore[arg-type]
        stacks = [
            Stored(self.w.slot(SHORT_NAME[result.dtype], result.type.size), SHORT_NAME[result.dtype])
            for result in instruction.results[carries:]
        ]
        finals = self._control(instruction, operands, stacks)
        stacked = [
            self.load(stack, result)
            for stack, result in zip(stacks, instruction.results[carries:], strict=True)
        ]
        return [*finals, *stacked]

    def _control(
        self, instruction: Instruction, operands: list[Elements], stacks: list[Stored]
    ) -> list[Elements]:
        """Write a control flow instruction; the elements of its carries, or of the results of a switch."""
        if instruction.op.kind is Kind.SWITCH:
            return self._switch(instruction, operands)
        count = instruction.attrs["carries"]
        carries = operands[:count]
        if instruction.op.kind is Kind.WHILE:
            return parted(self._while(instruction, carries, operands[count:]), carries)
        if instruction.op.kind is Kind.REWIND:
            return self._rewind(instruction, carries, operands[count:])
        first_slice = len(operands) - instruction.attrs["slices"]
        (body,), length = instruction.regions, instruction.attrs["length"]
        copies = self._steps_together(instruction)

        def step(index: Reg, state: list[Reg]) -> Sequence[Reg]:
            at = self.w.sub(length - 1, index) if instruction.attrs["reverse"] else index
            slices: list[Elements] = []
            for stored, param in zip(operands[first_slice:], body.params[first_slice:], strict=True):
                assert isinstance(stored, Stored)
                slices.append(self._slice(stored, param, at))
            places = [
                (result, self._slice(stack, result, at))
                for stack, result in zip(stacks, body.results[count:], strict=True)
            ]
            arguments = [*parted(state, carries), *operands[count:first_slice], *slices]
            results = self.function(body, arguments, places)
            return flattened(results[:count])

        def steps(index: Reg, state: list[Reg]) -> Sequence[Reg]:
            for copy in range(copies):
                state = list(step(self.w.add(index, copy) if copy else index, state))
            return state

        whole = length - length % copies
        cycles = cycles_of_step(instruction) * copies
        outside, self.trips = self.trips, self.trips * _trips(instruction)
        state = polled_loop(self.w, whole, steps, flattened(carries), cycles, self._poll, by=copies)
        for rest in range(whole, length):
            state = list(step(constant(rest, "i64"), state))
        self.trips = outside
        return parted(state, carries)

    def _poll(self) -> None:
        """Let signals in."""
        self.polls = True
        poll(self.w, self.stop)

    def _slice(self, stored: Stored, like: Value, at: Reg) -> Stored:
        return Stored(
            self.w.offset(stored.pointer, stored.dtype, self.w.mul(at, like.type.size)), stored.dtype
        )

    def _while(
        self, instruction: Instruction, carries: list[Elements], invariants: list[Elements]
    ) -> list[Reg]:
        w, (condition, body) = self.w, instruction.regions
        counter = counted_by(instruction)
        if counter is not None:
            return self._counted(instruction, counter, carries, invariants)
        copies = self._steps_together(instruction)
        every = constant(steps_between_polls(cycles_of_step(instruction) * copies), "i64")
        region = w.begin_while([every, *flattened(carries)])
        left, *state = region.carried
        for _ in range(copies):
            (test,) = self.function(condition, [*parted(state, carries), *invariants])
            w.break_unless(region, self.element(test, 0), state)
            results = self.function(body, [*parted(state, carries), *invariants])
            state = flattened(results)
        fewer = w.sub(left, 1)
        w.continue_unless(region, w.eq(fewer, 0), [fewer, *state])
        self._poll()
        return w.end_while(region, [every, *state])

    def _counted(
        self, instruction: Instruction, counter: Counter, carries: list[Elements], invariants: list[Elements]
    ) -> list[Reg]:
        """A while loop that counts by one, as a loop of known length."""
        w, (condition, body) = self.w, instruction.regions

        def steps(copies: int) -> Callable[[Reg, list[Reg]], Sequence[Reg]]:
            def run(_: Reg, state: list[Reg]) -> Sequence[Reg]:
                for _copy in range(copies):
                    state = flattened(self.function(body, [*parted(state, carries), *invariants]))
                return state

            return run

        (bound,) = self.function(
            Function(condition.name, condition.params, condition.body, (counter.bound,)),
            [*carries, *invariants],
        )
        trips = w.max(w.sub(self.element(bound, 0), self.element(carries[counter.carry], 0)), 0)
        copies = self._steps_together(instruction)
        cycles = cycles_of_step(instruction) * copies
        whole = w.and_(trips, -copies) if copies > 1 else trips
        start = flattened(carries)
        indices = linear_indices(body, len(carries), self.ranges)
        inside: Reg | None = None
        if indices:
            inside = self._all_inside(body, [*carries, *invariants], len(carries), indices, trips)
        plan = self._lanes(body, [*carries, *invariants], len(carries), indices)
        if plan is not None:
            many = w.and_(trips, -plan.lanes)
            if inside is not None:
                many = w.select(inside, many, 0)
            arguments = [*carries, *invariants]
            start = w.when(w.gt(many, 0), lambda: self._in_lanes(plan, arguments, many, cycles), start)
            trips, copies, cycles = w.sub(trips, many), 1, cycles_of_step(instruction)
            whole = trips
        if inside is None:
            state = polled_loop(w, whole, steps(copies), start, cycles, self._poll, by=copies)
            return state if copies == 1 else w.loop(whole, trips, 1, steps(1), state)
        # the other steps, all of them where an index may lie outside, check it
        whole = w.select(inside, whole, 0)
        outside, self.proven = self.proven, self.proven | set(indices)
        state = polled_loop(w, whole, steps(copies), start, cycles, self._poll, by=copies)
        self.proven = outside
        rest = w.sub(trips, whole)
        return polled_loop(w, rest, steps(1), state, cycles_of_step(instruction), self._poll)

    def _lanes(
        self, body: Function, arguments: Sequence[Elements], carries: int, indices: Mapping[Value, int]
    ) -> LaneSteps | None:
        """The steps of a loop as lanes, if they may be, where `indices` lie inside."""
        params = zip(body.params, arguments, strict=True)
        if any(isinstance(elements, Stored) != is_array(param) for param, elements in params):
            return None

        def is_inside(index: Value, size: int) -> bool:
            low, high = self.ranges.get(index, UNKNOWN)
            return index in indices or (low is not None and low >= 0 and high is not None and high < size)

        return lane_steps(body, carries, is_inside, self.target)

    def _in_lanes(
        self, plan: LaneSteps, arguments: Sequence[Elements], trips: Reg, cycles: float
    ) -> list[Reg]:
        """Write the first `trips` steps of a loop, a multiple of the lanes; its carries behind them."""
        w, carries = self.w, list(arguments[: len(plan.body.results)])
        self.loops_in_lanes += 1
        start = flattened(carries)
        numbers = [place for place, elements in enumerate(carries) if isinstance(elements, list)]
        state = [
            first_lanes(plan.folds[place], plan.lanes) if place in plan.folds else register
            for place, register in zip(numbers, start, strict=True)
        ]

        def step(_: Reg, state: list[Reg]) -> Sequence[Reg]:
            values = [*parted(state, carries), *arguments[len(carries) :]]
            return LaneWriter(self, plan, dict(zip(plan.body.params, values, strict=True))).write()

        ends = polled_loop(w, trips, step, state, cycles, self._poll, by=plan.lanes)
        return [
            folded_lanes(self, plan.folds[place], end, first) if place in plan.folds else end
            for place, end, first in zip(numbers, ends, start, strict=True)
        ]

    def _all_inside(
        self,
        body: Function,
        arguments: Sequence[Elements],
        carries: int,
        indices: Mapping[Value, int],
        trips: Reg,
    ) -> Reg:
        """Whether `indices` lie inside in all steps of a loop that begins with `arguments`."""
        numbers = {
            param: self.element(elements, 0)
            for param, elements in zip(body.params, arguments, strict=True)
            if param.dtype is INT64 and not param.shape
        }
        return all_inside(self.w, body, numbers, carries, indices, trips)

    def _steps_together(self, instruction: Instruction) -> int:
        """Unroll factor of a loop, a power of two: above 1 where a step is short, so that counting costs, and
        the loop is long."""
        work = operations(instruction)
        if work is None or any(inner.regions for region in instruction.regions for inner in region.body):
            return 1
        copies = max(1, min(self.parameters.loop_steps, int(_TOGETHER / max(work.code, 1.0))))
        copies = 1 << copies.bit_length() - 1
        if copies > 1 and self.trips * _trips(instruction) < self.parameters.least_steps:
            self.shortened = True
            return 1
        return copies

    def _rewind(
        self, instruction: Instruction, first: list[Elements], others: list[Elements]
    ) -> list[Elements]:
        """A while loop that keeps on a stack what its steps were given, and the steps of the third region
        from the last to the first."""
        w, (condition, body, backward) = self.w, instruction.regions
        own = len(others) - instruction.attrs["states"]
        invariants, states = others[:own], others[own:]
        kept = on_stack(instruction)
        values = [value for value, on in zip(instruction.operands, kept, strict=False) if on]
        stack = Stack(w, values, lambda: self._no_memory(values)) if values else None
        limits = stack.open() if stack else (constant(0, "i64"), constant(0, "i64"))
        region = w.begin_while([constant(0, "i64"), *limits, *flattened(first)])
        steps, block, capacity, *state = region.carried
        carries = parted(state, first)
        (test,) = self.function(condition, [*carries, *invariants])
        w.break_unless(region, self.element(test, 0))
        room = stack.room(block, capacity, steps) if stack else limits
        for stored, elements in zip(
            self._record(stack, room[0], steps, values),
            [elements for elements, on in zip(carries, kept, strict=True) if on],
            strict=True,
        ):
            self.store(elements, stored, 0)
        results = self.function(body, [*carries, *invariants])
        cycles = cycles_of_step(instruction)
        every = steps_between_polls(cycles)
        w.when(w.eq(w.and_(steps, every - 1), every - 1), self._poll)
        state = flattened(results)
        w.end_while(region, [w.add(steps, 1), *room, *state])

        def step(index: Reg, regs: list[Reg]) -> Sequence[Reg]:
            records = iter(self._record(stack, block, w.sub(w.sub(steps, 1), index), values))
            # what is not on the stack, the region does not read
            taken: list[Elements] = [next(records) if on else [] for on in kept]
            results = self.function(backward, [*taken, *invariants, *parted(regs, states)])
            return flattened(results)

        ends = polled_loop(w, steps, step, flattened(states), cycles, self._poll)
        return parted(ends, states)

    def _record(self, stack: Stack | None, block: Reg, index: Reg, values: list[Value]) -> list[Stored]:
        pointers = stack.record(block, index) if stack else []
        return [
            Stored(pointer, SHORT_NAME[value.dtype]) for pointer, value in zip(pointers, values, strict=True)
        ]

    def _no_memory(self, values: list[Value]) -> None:
        self.errors.append(no_memory(sum(value.type.nbytes for value in values)))
        self.failed.append(self.w.label("bad"))
        self.w.branch(self.failed[-1])

    def _switch(self, instruction: Instruction, operands: list[Elements]) -> list[Elements]:
        w, count = self.w, len(instruction.regions)
        selector = self.element(operands[0], 0)
        if instruction.operands[0].dtype is BOOL:
            index = w.cast(selector, "i64")
        else:
            index = w.min(w.max(selector, 0), count - 1)

        def part(region: Function) -> list[Reg]:
            results = self.function(region, operands[1:], outside=instruction.operands[1:])
            return flattened(results)

        values = w.one_of(index, [functools.partial(part, region) for region in instruction.regions])
        arrays = written_arrays(instruction) or {}
        like: list[Elements] = [
            operands[arrays[place]] if place in arrays else [constant(0, "i64")] * result.type.size
            for place, result in enumerate(instruction.results)
        ]
        return parted(values, like)


def _results_in_registers(instruction: Instruction) -> int:
    """Number of results that are not stacked."""
    return (
        len(instruction.results)
        if instruction.op.kind in (Kind.SWITCH, Kind.REWIND)
        else int(instruction.attrs["carries"])
    )
