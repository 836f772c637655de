"""Elements that branches write are written behind the branches, which give the values.

    if t:                                     value = 2 * x if t else y[i]
        y[i] = 2 * x                          y[i] = value

A loop whose steps do so may be operations on arrays: branches on numbers are selects there. Where a side
leaves the element as it is, the index must be known to lie inside, since that element is read then.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...analysis.index_ranges import UNKNOWN, Interval, index_ranges
from ...graph import Function, Instruction, Substitution, Value
from ...ops.indexing import GATHER, indexed_axes
from ...registry import Kind
from ..loops.control_flow import trim


def writes_behind_branches(loop: Instruction, defs: Mapping[Value, Instruction]) -> Instruction:
    """A control flow op with the same results, in whose regions no branch writes an element that the other
    one writes as well, or that is known to be there; itself where there is none. `defs` has what makes
    operands."""
    if not any(_has_array_branch(region) for region in loop.regions):
        return loop
    ranges = index_ranges(loop, defs)
    regions = tuple([_Region(region, ranges).rewritten() for region in loop.regions])
    if all(new is old for new, old in zip(regions, loop.regions, strict=True)):
        return loop
    return loop.replace(regions=regions)


def _has_array_branch(function: Function) -> bool:
    return any(
        (step.op.kind is Kind.SWITCH and any(result.shape for result in step.results))
        or any(_has_array_branch(region) for region in step.regions)
        for step in function.body
    )


class _Region:
    """A region in which branches are rewritten."""

    def __init__(self, function: Function, ranges: Mapping[Value, Interval]) -> None:
        self.function, self.ranges = function, ranges
        self.body: list[Instruction] = []

    def rewritten(self) -> Function:
        changed = False
        for original in self.function.body:
            step, writes = original, list[Instruction]()
            if step.op.kind.traits.control:
                regions = tuple([_Region(region, self.ranges).rewritten() for region in step.regions])
                if any(new is not old for new, old in zip(regions, step.regions, strict=True)):
                    step = step.replace(regions=regions)
            if step.op.kind is Kind.SWITCH:
                for place in range(len(step.results)):
                    step = self._written_behind(step, place, writes)
            changed |= step is not original
            self.body += [step, *writes]
        if not changed:
            return self.function
        function = self.function
        return Function(function.name, function.params, tuple(self.body), function.results)

    def _written_behind(self, switch: Instruction, place: int, writes: list[Instruction]) -> Instruction:
        """Replace the array at `place` of `switch` by a number, if its branches only write one element of the
        array. The write after the switch is added to `writes`."""
        scatters = [_last_write(region, place) for region in switch.regions]
        write = next((scatter for scatter in scatters if scatter is not None), None)
        if write is None:
            return switch
        region = switch.regions[scatters.index(write)]
        at = [region.params.index(operand) for operand in (write.operands[0], *write.operands[2:])]
        for other, scatter in zip(switch.regions, scatters, strict=True):
            array, *indices = [other.params[position] for position in at]
            if scatter is None:
                if _copied(other, other.results[place])[0] is not array:
                    return switch
            elif (scatter.operands[0], *scatter.operands[2:]) != (array, *indices) or (
                scatter.attrs != write.attrs
            ):
                return switch
        return self._by_number(switch, place, scatters, at, writes)

    def _by_number(
        self,
        switch: Instruction,
        place: int,
        scatters: list[Instruction | None],
        at: list[int],
        writes: list[Instruction],
    ) -> Instruction:
        write = next(scatter for scatter in scatters if scatter is not None)
        array, *indices = [switch.operands[1 + position] for position in at]
        read = GATHER, (array, *indices), {"axes": write.attrs["axes"]}
        olds = [[x for x in region.body if self._reads(x, region, at, read[2])] for region in switch.regions]
        operands, params = switch.operands, [region.params for region in switch.regions]
        if any(olds) or None in scatters:
            if not self._is_inside(array, indices, write.attrs["axes"]):
                return switch
            element = Value(write.operands[1].type, "old")
            self.body.append(Instruction(*read, (element,), switch.location))
            operands = (*operands, element)
            params = [(*own, Value(element.type, "old")) for own in params]
        regions = []
        for region, own, scatter, reads in zip(switch.regions, params, scatters, olds, strict=True):
            table = Substitution()
            for old in reads:
                table[old.result] = own[-1]
            gone = [*reads, *_copied(region, region.results[place])[1], scatter]
            body = tuple([table.apply(x) for x in region.body if not any(x is y for y in gone)])
            value = own[-1] if scatter is None else table[scatter.operands[1]]
            results = table.all(region.results)
            results = (*results[:place], value, *results[place + 1 :])
            regions.append(Function(region.name, own, body, results))
        number = Value(write.operands[1].type, switch.results[place].hint)
        results = (*switch.results[:place], number, *switch.results[place + 1 :])
        writes.append(
            Instruction(
                write.op, (array, number, *indices), write.attrs, (switch.results[place],), write.location
            )
        )
        changed = switch.replace(operands=operands, results=results, regions=tuple(regions))
        return trim(changed, set(results))

    def _is_inside(self, array: Value, indices: list[Value], axes: tuple[int, ...]) -> bool:
        for axis, index in zip(indexed_axes(len(indices), axes), indices, strict=True):
            low, high = self.ranges.get(index, UNKNOWN)
            if low is None or high is None or low < -array.shape[axis] or high >= array.shape[axis]:
                return False
        return True

    @staticmethod
    def _reads(step: Instruction, region: Function, at: list[int], attrs: Mapping[str, object]) -> bool:
        """Whether `step` reads the element that is written."""
        operands = tuple([region.params[position] for position in at])
        return step.op is GATHER and step.operands == operands and dict(step.attrs) == dict(attrs)


def _copied(region: Function, value: Value) -> tuple[Value, list[Instruction]]:
    """Follow `value` through copies to its source; also the copies."""
    defs = {result: step for step in region.body for result in step.results}
    copies = []
    while (step := defs.get(value)) is not None and step.op.name == "copy":
        copies.append(step)
        value = step.operands[0]
    return value, copies


def _last_write(region: Function, place: int) -> Instruction | None:
    """The scatter of a number to a parameter, at indices that are parameters, that is the result of `region`
    at `place`, and nothing else."""
    result, copies = _copied(region, region.results[place])
    scatter = next((step for step in region.body if result in step.results), None)
    if (
        scatter is None
        or scatter.op.name != "scatter"
        or scatter.attrs["mode"] != "set"
        or scatter.operands[1].shape
        or any(operand not in region.params for operand in (scatter.operands[0], *scatter.operands[2:]))
    ):
        return None
    versions = [result, *[copy.result for copy in copies]]
    reads = [operand for step in region.body for operand in step.operands if operand in versions]
    return scatter if len(reads) == len(copies) and sum(x in versions for x in region.results) == 1 else None
