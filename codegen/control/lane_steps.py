"""Steps of loops that count, as lanes of vectors, where no step reads what another one writes.

    for k in range(i):
        x[k] += a * y[i, k]       # eight steps at a time
    for k in range(i):
        s += x[k] * y[k, i]       # eight sums, which are added up behind the loop

Elements that the steps write lie one behind the other; what they read may lie at any even distance. Sums and
products are taken in another order than one after the other, as they are where a loop becomes a reduction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...base.records import record
from ...ir.analysis.even_steps import fold_of, is_plain, neutral, slopes_of
from ...ir.analysis.loop_arrays import is_array
from ...ir.dataflow import increment
from ...ir.dtypes import SHORT_NAME
from ...ir.graph import Function, Instruction, Value
from ...ir.ops.indexing import SCATTER_FOLDS
from ...ir.registry import Kind
from ..kernels.indexing.slices import slices_of
from ..llvm.emitter import Reg, constant
from ..llvm.target import Target
from ..lowering.packing import PackingWriter
from .elements import Elements, Stored


@record(eq=False)
class LaneSteps:
    """Steps of a loop's `body` as `lanes`: what its integers grow by in each step, and its carries that are
    folded, by their places, with the instructions that fold them."""

    body: Function
    lanes: int
    slopes: Mapping[Value, int]
    folds: Mapping[int, Instruction]


def lane_steps(
    body: Function, carries: int, is_inside: Callable[[Value, int], bool], target: Target
) -> LaneSteps | None:
    """The steps of `body`, with so many carries, as lanes; None where they depend on each other, or read or
    write at other places. `is_inside` tells whether an index is known to lie inside an axis of a size."""
    slopes = slopes_of(body, carries)
    written: dict[Value, Instruction] = {}
    dtypes: list[str] = []
    for step in body.body:
        if any(result.type.size != 1 for result in step.results if step.op.kind is not Kind.SCATTER):
            return None
        if step.op.kind in (Kind.GATHER, Kind.SCATTER):
            at = _distance(step, slopes, is_inside)
            source = step.operands[0]
            if at is None or source not in body.params or not is_array(source):
                return None
            if step.op.kind is Kind.SCATTER:
                if at != 1 or source in written or step.operands[1].type.size != 1:
                    return None
                written[source] = step
            dtypes.append(SHORT_NAME[source.dtype])
        elif not (step.op.kind is Kind.CREATION or is_plain(step)):
            return None
    for step in body.body:
        own = written.get(step.operands[0]) if step.op.kind is Kind.GATHER else None
        if own is not None and (step.operands[1:], step.attrs["axes"]) != (
            own.operands[2:],
            own.attrs["axes"],
        ):
            return None
    folds: dict[int, Instruction] = {}
    for place, (param, result) in enumerate(zip(body.params, body.results, strict=False)):
        if is_array(param):
            if result is not param and (param not in written or written[param].result is not result):
                return None
        elif param.type.size != 1:
            return None
        elif increment(body, place) is None and result is not param:
            fold = fold_of(body, param, result)
            if fold is None:
                return None
            folds[place] = fold
            dtypes.append(SHORT_NAME[param.dtype])
    lanes = min([target.lanes(dtype) for dtype in dtypes if dtype != "bool"], default=1)
    if lanes == 1 or not (written or folds):
        return None
    return LaneSteps(body, lanes, slopes, folds)


def _distance(
    step: Instruction, slopes: Mapping[Value, int], is_inside: Callable[[Value, int], bool]
) -> int | None:
    """Elements from what a step reads or writes to what the next one does; None where that is not known."""
    indices = step.operands[2 if step.op.kind is Kind.SCATTER else 1 :]
    slices = slices_of(step.operands[0].shape, len(indices), step.attrs["axes"])
    if slices.elements != 1 or any(index.type.size != 1 for index in indices):
        return None
    total = 0
    for index, size, by in zip(indices, slices.sizes, slices.steps, strict=True):
        if index not in slopes or not is_inside(index, size):
            return None
        total += slopes[index] * by
    return total * slices.unit


def first_lanes(fold: Instruction, lanes: int) -> Reg:
    """The lanes with which `fold` begins."""
    return constant(neutral(fold), SHORT_NAME[fold.result.dtype], lanes)


def folded_lanes(writer: PackingWriter, fold: Instruction, lanes: Reg, first: Reg) -> Reg:
    """`first` and all `lanes` folded."""
    w, width = writer.w, lanes.lanes
    while width > 2:
        width //= 2
        halves = [w.shuffle(lanes, None, range(start, start + width)) for start in (0, width)]
        lanes = writer.emitted(fold, halves)
    last = writer.emitted(fold, [w.extract(lanes, 0), w.extract(lanes, 1)])
    return writer.emitted(fold, [first, last])


class LaneWriter:
    """Writes as many steps as there are lanes, the first of which has given values."""

    def __init__(self, writer: PackingWriter, plan: LaneSteps, values: Mapping[Value, Elements]) -> None:
        """`values` are those of the body's parameters: arrays in memory, or one register, which has lanes
        for what is folded."""
        self.writer, self.w, self.plan = writer, writer.w, plan
        self.arrays = {value: elements for value, elements in values.items() if isinstance(elements, Stored)}
        self.first: dict[Value, Reg] = {}
        self.values: dict[Value, Reg] = {}
        self.steps = {result: step for step in plan.body.body for result in step.results}
        folded = {plan.body.params[place] for place in plan.folds}
        for value, elements in values.items():
            if isinstance(elements, Stored):
                continue
            (register,) = elements
            if value in folded or not plan.slopes[value]:
                self.values[value] = register
            self.first[value] = register

    def write(self) -> list[Reg]:
        """Write the steps; the registers of the body's results that are no arrays, those that are folded as
        lanes, and others as the step behind the last lane has them."""
        body, plan = self.plan.body, self.plan
        for step in body.body:
            self.w.for_ops(step.origins)
            if step.op.kind is Kind.GATHER:
                self.values[step.result] = self._read(step)
            elif step.op.kind is Kind.SCATTER:
                self._write(step)
        results: list[Reg] = []
        for place, (param, result) in enumerate(zip(body.params, body.results, strict=False)):
            if is_array(param):
                continue
            if place in plan.folds:
                results.append(self.value(result))
            else:
                results.append(self.w.add(self.first[param], plan.slopes[param] * plan.lanes))
        self.w.for_ops(())
        return results

    def value(self, value: Value) -> Reg:
        """The values of the lanes, as one scalar where all have the same."""
        if value not in self.values:
            slope = self.plan.slopes.get(value)
            step = self.steps.get(value)
            if step is None:
                assert slope is not None
                self.values[value] = self._ramp(self.first[value], slope)
            else:
                self.values[value] = self._computed(step, [self.value(operand) for operand in step.operands])
        return self.values[value]

    def _ramp(self, first: Reg, slope: int) -> Reg:
        lanes = self.plan.lanes
        return self.w.add(self.w.splat(first, lanes), self.w.mul(self.w.ramp(lanes), slope))

    def _computed(self, step: Instruction, operands: Sequence[Reg]) -> Reg:
        if step.op.kind is Kind.VIEW:
            return operands[0]
        if step.op.kind is Kind.CREATION:
            number = step.op.eval(**step.attrs)
            return constant(number.reshape(-1).tolist()[0], SHORT_NAME[step.result.dtype])
        if any(operand.lanes > 1 for operand in operands):
            operands = [self.w.splat(operand, self.plan.lanes) for operand in operands]
        self.w.for_ops(step.origins)
        return self.writer.emitted(step, operands)

    def _integer(self, value: Value) -> Reg:
        """The integer `value` of the first lane."""
        if value not in self.first:
            step = self.steps[value]
            self.first[value] = self._computed(step, [self._integer(operand) for operand in step.operands])
        return self.first[value]

    def _place(self, step: Instruction) -> tuple[str, str, int]:
        """The address of what the first lane reads or writes, its dtype, and elements to the next one."""
        w, array = self.w, self.arrays[step.operands[0]]
        indices = step.operands[2 if step.op.kind is Kind.SCATTER else 1 :]
        slices = slices_of(step.operands[0].shape, len(indices), step.attrs["axes"])
        place, by = constant(0, "i64"), 0
        for index, each in zip(indices, slices.steps, strict=True):
            place = w.add(place, w.mul(self._integer(index), each))
            by += self.plan.slopes[index] * each
        return w.offset(array.pointer, array.dtype, w.mul(place, slices.unit)), array.dtype, by * slices.unit

    def _read(self, step: Instruction) -> Reg:
        pointer, dtype, by = self._place(step)
        if by == 1:
            return self.w.load(pointer, dtype, self.plan.lanes)
        if by == 0:
            return self.w.load(pointer, dtype)
        places = [self.w.offset(pointer, dtype, lane * by) for lane in range(self.plan.lanes)]
        return self.writer.vector([self.w.load(place, dtype) for place in places])

    def _write(self, step: Instruction) -> None:
        pointer, dtype, _ = self._place(step)
        new = self.w.splat(self.value(step.operands[1]), self.plan.lanes)
        fold = SCATTER_FOLDS.get(step.attrs["mode"])
        if fold is not None:
            assert fold.emit is not None
            new = self.w.rounded(fold.emit(self.w, self.w.load(pointer, dtype, self.plan.lanes), new))
        self.w.store(new, pointer)
