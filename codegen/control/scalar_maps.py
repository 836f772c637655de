"""Scans without carries whose steps are loops of scalars: the steps are lanes of vectors, and tasks.

A loop in a step goes on as long as any lane does; a lane that is done keeps its carries. Where a branch
depends on the lane, all branches run, and each lane keeps what is its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ...ir.analysis.affine import AffineValues
from ...ir.analysis.index_ranges import UNKNOWN, index_ranges
from ...ir.analysis.loop_arrays import is_array
from ...ir.dataflow import increment
from ...ir.dtypes import BOOL, SHORT_NAME
from ...ir.graph import Function, Instruction, Value
from ...ir.registry import Kind
from ..interface import INTERRUPTED
from ..kernels.indexing.slices import Slices, index_messages, slices_of
from ..llvm.emitter import Reg, constant
from ..llvm.function import FunctionCode
from ..llvm.target import Target
from ..lowering.element_code import cycles_of_step, is_scalar_map, operations
from ..lowering.exits import poll, poll_or_return, polled_loop, steps_between_polls
from ..lowering.kernel import LIGHT_SLOWDOWN, SLOWDOWN, Kernel, signature
from ..lowering.lowering import LoweringContext
from ..maths import MathsWriter
from .elements import Elements, ElementWriter, Stored, flattened, parted
from .regions import UNKNOWN_TRIPS

#: Steps of fewer operations are two vectors at a time: one waits for its last step while the other goes on.
_TWO_VECTORS: Final = 60.0


def scalar_map_kernel(name: str, instruction: Instruction, context: LoweringContext) -> Kernel | None:
    """Kernel of a scan without carries, on vectors of its steps; None for other scans, or where steps have no
    lanes."""
    if not is_scalar_map(instruction):
        return None
    length = instruction.attrs["length"]
    lanes = _lanes(instruction, context.target)
    writer = _StepWriter(name, instruction, lanes, context)
    try:
        code = [writer.write(), *writer.functions]
    except _NoLanes:
        return None
    (body,) = instruction.regions
    groups = -(-length // lanes)
    unknown = any(inner.op.kind is Kind.WHILE for inner in body.instructions())
    cycles = cycles_of_step(instruction) * groups * (UNKNOWN_TRIPS if unknown else 1.0)
    description = f"lanes {name}: {length} steps, {lanes} at a time"
    return Kernel(
        name, code, description, groups, cycles, errors=tuple(writer.errors), interruptible=writer.polls,
        worth_compiling=unknown, slowdown=LIGHT_SLOWDOWN if unknown else SLOWDOWN,
    )  # fmt: skip


class _NoLanes(Exception):
    """Raised where a step indexes an array that each lane has for itself."""


def _lanes(instruction: Instruction, target: Target) -> int:
    """Number of steps that run at a time, one per lane."""
    (body,) = instruction.regions
    dtypes = {result.dtype for inner in body.instructions() for result in inner.results}
    widths = [target.lanes(SHORT_NAME[dtype]) for dtype in dtypes if dtype.kind == "f"]
    lanes = min(widths, default=target.lanes("i64"))
    work = operations(instruction)
    if work is not None and work.code <= _TWO_VECTORS:
        lanes *= 2
    while lanes > 1 and lanes // 2 >= instruction.attrs["length"]:
        lanes //= 2
    return lanes


def first_number(value: Value, defs: Mapping[Value, Instruction]) -> int | None:
    """The first element of `value`, where a loop nest or a counter makes it and the others count on."""
    definition = defs.get(value)
    if definition is None:
        return None
    body: Sequence[Instruction] = (definition,)
    if definition.regions:
        (region,) = definition.regions
        body, value = region.body, region.results[definition.results.index(value)]
    form = AffineValues({result: step for step in body for result in step.results}).of(value)
    if form is None or form.axes != (1,) or form.scalars:
        return None
    return form.constant


class _StepWriter(ElementWriter):
    """Writes steps whose elements are vectors; what all of them share are scalars."""

    def __init__(self, name: str, instruction: Instruction, lanes: int, context: LoweringContext) -> None:
        super().__init__(name, MathsWriter(context.declarations), context.target)
        self.instruction, self.lanes = instruction, lanes
        self.ranges = index_ranges(instruction, context.defs)
        #: The lanes that run what is being written.
        self.active = constant(True, "bool", lanes)
        #: Whether an index may be out of range; then it says whether it was left, and where it is.
        self.fallible = any(self._may_fail(inner) for inner in instruction.regions[0].instructions())
        self.polls, self.stop = False, self.w.label("stop")
        #: First elements of vectors of consecutive integers, by the vectors' text.
        self.firsts: dict[str, Reg] = {}
        self.defs = context.defs

    def write(self) -> FunctionCode:
        """The code of ``@name(ptr %b0, ..., i64 %begin, i64 %end)``, over groups of steps."""
        w, instruction = self.w, self.instruction
        (body,), length = instruction.regions, instruction.attrs["length"]
        first_slice = len(instruction.operands) - instruction.attrs["slices"]
        stored = [Stored(f"%b{i}", SHORT_NAME[param.dtype]) for i, param in enumerate(body.params)]
        invariants: list[Elements] = [
            place if is_array(param) else self.load(place, param)
            for place, param in zip(stored[:first_slice], body.params, strict=False)
        ]

        def group(number: Reg, _: list[Reg]) -> Sequence[Reg]:
            start = w.mul(number, self.lanes)
            mask = None
            if length % self.lanes:
                mask = w.lt(w.add(w.splat(start, self.lanes), self._lane_numbers()), length)
                self.active = mask
            slices: list[Elements] = [
                self._numbers(operand, start) or self._taken(place.pointer, param, start, mask)
                for place, operand, param in zip(
                    stored[first_slice:], instruction.operands[first_slice:], body.params[first_slice:],
                    strict=True,
                )
            ]  # fmt: skip
            for place, elements in enumerate(self.function(body, [*invariants, *slices])):
                self._put(
                    elements, f"%b{len(instruction.operands) + place}", body.results[place], start, mask
                )
            return ()

        w.loop(Reg("%begin", "i64"), Reg("%end", "i64"), 1, group)
        w.ret(constant(0, "i32") if self.fallible else None)
        exits = [*enumerate(self.failed, 1), *([(INTERRUPTED, self.stop)] if self.polls else [])]
        for code, label in exits:
            w.start(label)
            w.ret(constant(code, "i32"))
        buffers = len(instruction.operands) + len(instruction.results)
        result = "i32" if self.fallible else "void"
        return w.function(signature(self.name, buffers, result=result), "nounwind")

    def _poll(self) -> None:
        """Let signals in."""
        if self.fallible:
            self.polls = True
            poll(self.w, self.stop)
        else:
            poll_or_return(self.w)

    def _lane_numbers(self) -> Reg:
        numbers = ", ".join(f"i64 {lane}" for lane in range(self.lanes))
        return Reg(f"<{numbers}>", "i64", self.lanes)

    def _numbers(self, operand: Value, start: Reg) -> list[Reg]:
        """The elements of `operand` from `start` on, if they are consecutive integers; else nothing."""
        first = first_number(operand, self.defs)
        if first is None:
            return []
        scalar = self.w.add(start, first)
        vector = self.w.add(self.w.splat(scalar, self.lanes), self._lane_numbers())
        self.firsts[vector.text] = scalar
        return [vector]

    def _taken(self, pointer: str, value: Value, start: Reg, mask: Reg | None) -> list[Reg]:
        """The elements of `value` in the steps from `start` on."""
        w, dtype, size = self.w, SHORT_NAME[value.dtype], value.type.size
        first = w.offset(pointer, dtype, w.mul(start, size))
        return [w.gather(w.offset(first, dtype, i), dtype, size, self.lanes, mask) for i in range(size)]

    def _put(self, elements: Elements, pointer: str, value: Value, start: Reg, mask: Reg | None) -> None:
        assert isinstance(elements, list)
        w, dtype, size = self.w, SHORT_NAME[value.dtype], value.type.size
        first = w.offset(pointer, dtype, w.mul(start, size))
        for i, element in enumerate(elements):
            w.scatter(w.splat(element, self.lanes), w.offset(first, dtype, i), size, mask)

    # -- elements ---------------------------------------------------------------------------------

    def packed(self, instruction: Instruction, rows: Sequence[Sequence[Reg]]) -> list[Reg]:
        results = []
        for row in rows:
            results.append(self.emitted(instruction, self._alike(row)))
            self._follow(instruction.op.name, row, results[-1])
        return results

    def _follow(self, name: str, row: Sequence[Reg], result: Reg) -> None:
        """Note where a sum or a difference leaves integers consecutive."""
        first = [self.firsts.get(element.text) for element in row]
        if name == "add" and first[0] is None:
            row, first = row[::-1], first[::-1]
        if name in ("add", "sub") and first[0] is not None and row[1].lanes == 1:
            emit = self.w.add if name == "add" else self.w.sub
            self.firsts[result.text] = emit(first[0], row[1])

    def _alike(self, row: Sequence[Reg]) -> Sequence[Reg]:
        """Operands of an op: vectors, where one of them is."""
        return row if all(element.lanes == 1 for element in row) else self._vectors(row)

    def _vectors(self, elements: Sequence[Reg]) -> list[Reg]:
        return [self.w.splat(element, self.lanes) for element in elements]

    # -- elements of arrays -----------------------------------------------------------------------

    def gather(self, instruction: Instruction, operands: list[Elements]) -> Elements:
        """Elements of an array that all steps share, at indices of each lane."""
        w, (x, *indices), source = self.w, operands, instruction.operands[0]
        if not isinstance(x, Stored):
            raise _NoLanes
        slices = slices_of(source.shape, len(indices), instruction.attrs["axes"])
        elements: list[Reg] = []
        for place in self._places(instruction, slices, indices):
            first = self.firsts.get(place.text)
            for offset in slices.offsets():
                if first is not None:
                    pointer = w.offset(x.pointer, x.dtype, w.add(first, offset))
                    elements.append(w.load(pointer, x.dtype, self.lanes, self._mask()))
                    continue
                here = w.add(place, offset)
                mask = self.active if here.lanes > 1 else None
                elements.append(w.gather_at(x.pointer, x.dtype, here, mask))
        return elements

    def _mask(self) -> Reg | None:
        """The lanes that run, None where all do."""
        return None if self.active.text.startswith("splat") else self.active

    def _may_fail(self, instruction: Instruction) -> bool:
        if instruction.op.kind is not Kind.GATHER:
            return False
        source, *indices = instruction.operands
        sizes = slices_of(source.shape, len(indices), instruction.attrs["axes"]).sizes
        return not all(self._is_inside(index, size) for index, size in zip(indices, sizes, strict=True))

    def _is_inside(self, index: Value, size: int) -> bool:
        low, high = self.ranges.get(index, UNKNOWN)
        return low is not None and high is not None and -size <= low and high < size

    def _places(self, instruction: Instruction, slices: Slices, indices: Sequence[Elements]) -> list[Reg]:
        w, values = self.w, instruction.operands[1:]
        labels = []
        for text, size, value in zip(index_messages(instruction, slices), slices.sizes, values, strict=True):
            label = ""
            if not self._is_inside(value, size):
                label = w.label("bad")
                self.errors.append(text)
                self.failed.append(label)
            labels.append(label)
        places = []
        for number in range(values[0].type.size):
            place: Reg | None = None
            for index, value, size, step, label in zip(
                indices, values, slices.sizes, slices.steps, labels, strict=True
            ):
                at = self.element(index, number)
                if label:
                    at = w.splat(at, self.lanes)
                    outside = w.or_(w.lt(at, -size), w.ge(at, size))
                    w.exit_if(w.ne(w.mask_bits(w.and_(self.active, outside)), 0), label)
                low, _ = self.ranges.get(value, UNKNOWN)
                if low is None or low < 0:
                    at = w.select(w.lt(at, 0), w.add(at, size), at)
                scaled = at if step * slices.unit == 1 else w.mul(at, step * slices.unit)
                if place is None:
                    place = scaled
                    continue
                row = place, scaled
                place = w.add(place, scaled)
                self._follow("add", row, place)
            assert place is not None
            places.append(place)
        return places

    # -- control flow -----------------------------------------------------------------------------

    def control(self, instruction: Instruction, operands: list[Elements]) -> Sequence[Elements]:
        if instruction.op.kind is Kind.SWITCH:
            return self._switch(instruction, operands)
        count = instruction.attrs["carries"]
        carries, invariants = operands[:count], operands[count:]
        if instruction.op.kind is Kind.WHILE:
            return self._while(instruction, carries, invariants)
        return self._scan(instruction, carries, invariants)

    def _switch(self, instruction: Instruction, operands: list[Elements]) -> Sequence[Elements]:
        w, count = self.w, len(instruction.regions)
        selector = self.element(operands[0], 0)
        if instruction.operands[0].dtype is not BOOL:
            selector = w.min(w.max(selector, 0), count - 1)
        selector = w.splat(selector, self.lanes)
        results: list[Elements] = []
        for number, region in enumerate(instruction.regions):
            if instruction.operands[0].dtype is BOOL:
                mine = selector if number else w.not_(selector)
            else:
                mine = w.eq(selector, number)
            values = self._where(mine, region, operands[1:])
            results = [
                [w.select(mine, x, y) for x, y in zip(self._vectors(flattened([new])), old, strict=True)]
                if isinstance(old, list)
                else old
                for new, old in zip(values, results or self._all_vectors(values), strict=True)
            ]
        return results

    def _all_vectors(self, values: Sequence[Elements]) -> list[Elements]:
        return [self._vectors(flattened([elements])) for elements in values]

    def _where(self, lanes: Reg, function: Function, operands: Sequence[Elements]) -> list[Elements]:
        """The results of `function`, which runs in `lanes` alone."""
        if not function.body:  # nothing that asks which lanes run
            return self.function(function, operands)
        outside = self.active
        self.active = self.w.and_(outside, lanes)
        results = self.function(function, operands)
        self.active = outside
        return results

    def _while(
        self, instruction: Instruction, carries: list[Elements], invariants: list[Elements]
    ) -> Sequence[Elements]:
        w, (condition, body) = self.w, instruction.regions
        every = constant(steps_between_polls(cycles_of_step(instruction)), "i64")
        start = self._vectors(flattened(carries))
        region = w.begin_while([every, self.active, *start])
        left, running, *state = region.carried
        (test,) = self._where(running, condition, [*parted(state, carries), *invariants])
        running = w.and_(running, w.splat(self.element(test, 0), self.lanes))
        w.break_unless(region, w.ne(w.mask_bits(running), 0), state)
        results = self._where(running, body, [*parted(state, carries), *invariants])
        state = [
            w.select(running, new, old)
            for new, old in zip(self._vectors(flattened(results)), state, strict=True)
        ]
        fewer = w.sub(left, 1)
        w.continue_unless(region, w.eq(fewer, 0), [fewer, running, *state])
        self._poll()
        return parted(w.end_while(region, [every, running, *state]), carries)

    def _scan(
        self, instruction: Instruction, carries: list[Elements], invariants: list[Elements]
    ) -> Sequence[Elements]:
        (body,) = instruction.regions

        def each(values: Sequence[Elements]) -> list[Reg]:
            """Vectors, but for counters, which are one number for all lanes."""
            return flattened(
                [
                    value if counts else self._vectors(flattened([value]))
                    for value, counts in zip(values, counters, strict=True)
                ]
            )

        def step(_: Reg, state: list[Reg]) -> Sequence[Reg]:
            return each(self.function(body, [*parted(state, carries), *invariants]))

        counters = [
            all(element.lanes == 1 for element in flattened([value])) and increment(body, carry) is not None
            for carry, value in enumerate(carries)
        ]
        ends = polled_loop(
            self.w, instruction.attrs["length"], step, each(carries), cycles_of_step(instruction), self._poll
        )
        return parted(ends, carries)
