"""Removal of carries that no step changes.

Such a carry is an invariant, which a loop reads where it lies. So a tuple that is handed on whole costs
nothing for its parts that stay the same. A scan that stacks them, for its gradient to read step by step,
needs one array and no stack.
"""

from __future__ import annotations

from ...builder import Builder
from ...graph import Function, Instruction, Substitution, Value
from ...registry import Kind
from .control_flow import map_regions


def free_unchanged_carries(function: Function) -> Function:
    """*Requires*: valid IR. *Ensures*: the same results; no step of a loop hands on a carry as it came, no
    scan stacks an invariant or takes slices of what repeats one array, and what all branches of a switch hand
    on as they got it is no result of the switch."""
    if not function.has_control:
        return function
    return _Rewriter(map_regions(function, free_unchanged_carries)).run()


class _Rewriter:
    """Rewrites one Function, whose regions are done."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.b = Builder()
        self.table = Substitution()
        #: The arrays of which others are nothing but repetitions along a new leading axis.
        self.repeated: dict[Value, Value] = {}
        self.changed = False

    def run(self) -> Function:
        for original in self.function.body:
            instruction = self.table.apply(original)
            kind = instruction.op.kind
            if kind is Kind.SWITCH:
                self._equal_branches(instruction)
            elif kind in (Kind.SCAN, Kind.WHILE, Kind.REWIND):
                if kind is Kind.SCAN:
                    instruction = self._without_repeated_slices(instruction)
                instruction = self._without_unchanged_carries(instruction)
                if kind is Kind.SCAN:
                    self._stack(instruction)
                    continue
            elif instruction.op.name == "broadcast":
                (operand,) = instruction.operands
                if operand.type.shape == instruction.result.type.shape[1:]:
                    self.repeated[instruction.result] = operand
            self.b.body.append(instruction)
        if not self.changed:
            return self.function
        results = self.table.all(self.function.results)
        return Function(self.function.name, self.function.params, tuple(self.b.body), results)

    def _replace(self, old: Value, new: Value) -> None:
        self.table[old] = new
        self.changed = True

    def _equal_branches(self, switch: Instruction) -> None:
        """Results that are the same operand in all branches are that operand."""
        operands = switch.operands[1:]
        for position, result in enumerate(switch.results):
            places = {
                region.params.index(value) if (value := region.results[position]) in region.params else -1
                for region in switch.regions
            }
            if len(places) == 1 and (place := places.pop()) >= 0:
                self._replace(result, operands[place])

    def _without_unchanged_carries(self, loop: Instruction) -> Instruction:
        """`loop`, in which carries that a step hands on as they came stand among the invariants."""
        count = loop.attrs["carries"]
        #: The region that makes the next step's carries.
        step = loop.regions[1 if loop.op.kind is Kind.REWIND else -1]
        same = [i for i in range(count) if step.results[i] is step.params[i]]
        if not same:
            return loop
        order = [i for i in range(count) if i not in same]
        kept = len(order)
        order += same

        def reordered(values: tuple[Value, ...]) -> tuple[Value, ...]:
            return (*[values[i] for i in order], *values[count:])

        def without(values: tuple[Value, ...]) -> tuple[Value, ...]:
            return (*[values[i] for i in order[:kept]], *values[count:])

        regions = tuple(
            [
                Function(
                    region.name,
                    reordered(region.params),
                    region.body,
                    without(region.results) if region is step else region.results,
                )
                for region in loop.regions
            ]
        )
        results = loop.results
        if loop.op.kind is not Kind.REWIND:
            for i in same:
                self._replace(results[i], loop.operands[i])
            results = without(results)
        self.changed = True
        attrs = {**loop.attrs, "carries": kept}
        return loop.replace(operands=reordered(loop.operands), attrs=attrs, results=results, regions=regions)

    def _without_repeated_slices(self, scan: Instruction) -> Instruction:
        """Make slices of a repeated array an invariant of `scan`: the array itself."""
        first = len(scan.operands) - scan.attrs["slices"]
        same = [i for i in range(first, len(scan.operands)) if scan.operands[i] in self.repeated]
        if not same:
            return scan
        (body,) = scan.regions
        rest = [i for i in range(first, len(scan.operands)) if i not in same]

        def reordered(values: tuple[Value, ...]) -> tuple[Value, ...]:
            return (*values[:first], *[values[i] for i in [*same, *rest]])

        arrays = tuple([self.repeated.get(value, value) for value in scan.operands[first:]])
        operands = reordered((*scan.operands[:first], *arrays))
        self.changed = True
        return scan.replace(
            operands=(*operands[: first + len(same)], *[scan.operands[i] for i in rest]),
            attrs={**scan.attrs, "slices": len(rest)},
            regions=(Function(body.name, reordered(body.params), body.body, body.results),),
        )

    def _stack(self, scan: Instruction) -> None:
        """Append `scan` without stacks of invariants, which are repeated along a new axis instead."""
        (body,) = scan.regions
        count, first = scan.attrs["carries"], len(scan.operands) - scan.attrs["slices"]
        invariants = dict(zip(body.params[count:first], scan.operands[count:first], strict=True))
        stacked = range(count, len(scan.results))
        same = [i for i in stacked if body.results[i] in invariants]
        if not same:
            self.b.body.append(scan)
            return
        kept = [i for i in range(len(scan.results)) if i not in same]
        results = tuple([body.results[i] for i in kept])
        region = Function(body.name, body.params, body.body, results)
        self.b.body.append(scan.replace(results=tuple([scan.results[i] for i in kept]), regions=(region,)))
        self.b.location = scan.location
        for i in same:
            array = invariants[body.results[i]]
            repeated = self.b.broadcast_to(array, scan.results[i].type.shape)
            self.repeated[repeated] = array
            self._replace(scan.results[i], repeated)
