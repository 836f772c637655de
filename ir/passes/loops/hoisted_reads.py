"""Elements that all steps of a loop read at the same place, and that no step writes, are read before it.

    for j in range(k + 1, n):            element = a[i, k]
        a[i, j] -= a[i, k] * a[k, j]     for j in range(k + 1, n):
                                             a[i, j] -= element * a[k, j]

A gradient then sums up the cotangent of the element in a carry: in memory, each step would wait for the one
before. Where the loop has no step, the element at 0 is read instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...analysis.affine import Affine, AffineValues
from ...analysis.index_ranges import UNKNOWN, Interval
from ...builder import Builder, inline
from ...dataflow import increment
from ...dtypes import INT64
from ...graph import Function, Instruction, Substitution, Value
from ...ops.control_flow.versions import is_array, written_operand
from ...ops.indexing import indexed_axes
from ...registry import Kind
from .control_flow import map_regions


def hoist_reads(function: Function, ranges: Mapping[Value, Interval]) -> Function:
    """Hoist reads out of the ``while`` loops in `function`, and in its loops and branches. `ranges` has the
    intervals of their integers."""
    if not function.has_control:
        return function
    function = map_regions(function, lambda region: hoist_reads(region, ranges))
    b, outer = Builder(), AffineValues(function.defs)
    for step in function.body:
        b.location = step.location
        b.body.append(_Reads(step, outer, ranges).before(b) if step.op.kind is Kind.WHILE else step)
    return Function(function.name, function.params, tuple(b.body), function.results)


class _Reads:
    """The reads in the steps of a loop."""

    def __init__(self, loop: Instruction, outer: AffineValues, ranges: Mapping[Value, Interval]) -> None:
        self.loop, self.ranges, self.body = loop, ranges, loop.regions[1]
        self.count = loop.attrs["carries"]
        forms: dict[Value, Affine] = {}
        for i, (param, operand) in enumerate(zip(self.body.params, loop.operands, strict=True)):
            form, each = outer.of(operand), 0 if i >= self.count else increment(self.body, i)
            if form is not None and each is not None and not param.shape:
                forms[param] = Affine(form.constant, each, (), form.scalars)
        self.affine = AffineValues(self.body.defs, forms)
        #: The array of each version, and the writes that make its versions, if nothing else does.
        self.arrays = {param: param for param in self.body.params[self.count :]}
        self.writes: dict[Value, list[Instruction]] = {}
        for i in range(self.count):
            if is_array(self.body.params[i]):
                self._note_versions(self.body.params[i], self.body.results[i])

    def _note_versions(self, array: Value, value: Value) -> None:
        versions, writes = [value], list[Instruction]()
        while (step := self.body.defs.get(value)) is not None:
            operand = written_operand(step, value)
            if operand is None or step.op.kind.traits.control:
                return
            writes += [] if step.op.name == "copy" else [step]
            value = step.operands[operand]
            versions.append(value)
        if value is array:
            self.arrays.update(dict.fromkeys(versions, array))
            self.writes[array] = writes

    def before(self, b: Any) -> Instruction:
        """The loop without reads that are done before it, which are appended to `b`."""
        loop, params = self.loop, self.body.params
        reads = [step for step in self.body.body if self._is_the_same_in_all_steps(step)]
        if not reads:
            return loop
        condition = loop.regions[0]
        (more,) = inline(b, condition, loop.operands)
        b.location = loop.location
        outside = dict(zip(params, loop.operands, strict=True))
        elements: dict[object, tuple[Value, Value]] = {}
        table = Substitution()
        for read in reads:
            array, indices, axes = self.arrays[read.operands[0]], read.operands[1:], read.attrs["axes"]
            key = array, indices, axes
            if key not in elements:
                zero = b.scalar(0, INT64)
                places = [b.where(more, outside[index], zero) for index in indices]
                elements[key] = b.gather(outside[array], *places, axes=axes), Value(read.result.type)
            table[read.result] = elements[key][1]
        kept = [table.apply(step) for step in self.body.body if step not in set(reads)]
        added = [param for _, param in elements.values()]
        body = Function(self.body.name, (*params, *added), tuple(kept), table.all(self.body.results))
        test = (*condition.params, *[Value(param.type) for param in added])
        return loop.replace(
            operands=(*loop.operands, *[element for element, _ in elements.values()]),
            regions=(Function(condition.name, test, condition.body, condition.results), body),
        )

    def _is_the_same_in_all_steps(self, step: Instruction) -> bool:
        if step.op.name != "gather" or step.result.shape:
            return False
        array = self.arrays.get(step.operands[0])
        invariants = self.body.params[self.count :]
        if (
            array is None
            or not is_array(array)
            or any(index not in invariants for index in step.operands[1:])
        ):
            return False
        return all(self._is_elsewhere(write, step) for write in self.writes.get(array, ()))

    def _is_elsewhere(self, write: Instruction, read: Instruction) -> bool:
        """Whether no step writes the element that `read` reads."""
        if write.op.kind is not Kind.SCATTER:
            return False
        written, indices = write.operands[2:], read.operands[1:]
        axes = dict(zip(indexed_axes(len(written), write.attrs["axes"]), written, strict=True))
        return any(
            axis in axes and self._differ(axes[axis], index)
            for axis, index in zip(indexed_axes(len(indices), read.attrs["axes"]), indices, strict=True)
        )

    def _differ(self, changing: Value, same: Value) -> bool:
        """Whether an index is on one side of an invariant one in all steps, neither counted from the end."""
        x, y = self.affine.of(changing), self.affine.of(same)
        if x is None or y is None or changing.shape or not (self._counts(changing) and self._counts(same)):
            return False
        distance = x.plus(y, -1)
        first, each = distance.constant, distance.step
        return not distance.scalars and ((first > 0 and each >= 0) or (first < 0 and each <= 0))

    def _counts(self, index: Value) -> bool:
        low, _ = self.ranges.get(index, UNKNOWN)
        return low is not None and low >= 0
