"""Donated parameters: the results that may be written over them.

A result may take over a donated parameter's memory where everything that reads the parameter has run before
anything writes the result; or where what writes the result is what reads the parameter last, and reads each
element before it writes there: nests that say so (`nest/overwriting.py`), updates and scatters of the
parameter itself, and loops whose steps update a carry that begins as the parameter. The code is the same with
and without: `@main` is given one pointer twice.
"""

from __future__ import annotations

from collections.abc import Collection

from ...ir.access import viewed
from ...ir.analysis.loop_arrays import written_arrays
from ...ir.graph import Function, Instruction, Value
from ...ir.registry import Kind
from ..lowering.element_code import operations
from ..plan.buffers import IN_PLACE, BufferPlace, BufferPlan, reads


def reuses(function: Function, plan: BufferPlan, donated: Collection[int]) -> dict[int, int]:
    """Results of the fused `function`, each with the `donated` parameter whose memory it may be given; each
    parameter at most once, and only where result and parameter have one type.

    *Requires*: nothing else uses a donated parameter's memory while the function runs.
    """
    analysis = _Analysis(function, plan)
    params: dict[int, int] = {}
    for in_place in (True, False):  # first where a result is an update of the parameter
        for result in range(len(function.results)):
            if result in params:
                continue
            for param in sorted(set(donated) - set(params.values())):
                if analysis.allows(result, param, in_place=in_place):
                    params[result] = param
                    break
    return params


class _Analysis:
    """Positions of the instructions that read parameters and write results; the copies at the end come after
    them, in order."""

    def __init__(self, function: Function, plan: BufferPlan) -> None:
        self.function, self.plan = function, plan
        self.defs = {result: instruction for instruction in function.body for result in instruction.results}
        self.first_write: dict[int, int] = {}
        self.last_read: dict[Value, int] = {}
        self.copied: dict[int, Value] = {}
        for position, instruction in enumerate(function.body):
            if instruction.op.kind is Kind.VIEW:
                continue
            for operand in reads(instruction, self.defs):
                self.last_read[viewed(operand, self.defs)] = position
            for value in instruction.results:
                place = plan.places[value]
                if place.kind == "output":
                    self.first_write.setdefault(place.index, position)
        for number, (output, source) in enumerate(plan.copies):
            position = len(function.body) + number
            self.first_write[output] = position
            self.last_read[source] = position
            self.copied[output] = source

    def allows(self, result: int, position: int, *, in_place: bool) -> bool:
        """Whether `result` may be written over the parameter at `position`; `in_place` asks whether what
        writes it reads the parameter."""
        param = self.function.params[position]
        if param.type != self.function.results[result].type:
            return False
        read, written = self.last_read.get(param, -1), self.first_write[result]
        if read != written:
            return read < written and not in_place
        if not in_place:
            return False
        if result in self.copied:
            return self.copied[result] is param
        instruction = self.function.body[written]
        places = [self.plan.places[value] for value in instruction.results]
        return self._reads_before_writing(
            instruction, instruction.results[places.index(BufferPlace("output", result))], param
        )

    def _reads_before_writing(self, instruction: Instruction, value: Value, param: Value) -> bool:
        if instruction.op.kind.traits.updates_operand:
            return viewed(instruction.operands[0], self.defs) is param and all(
                viewed(other, self.defs) is not param for other in instruction.operands[1:]
            )
        if instruction.op.kind in (Kind.SCAN, Kind.WHILE):
            return self._updates_carry(instruction, instruction.results.index(value), param)
        read = [j for j, operand in enumerate(instruction.operands) if viewed(operand, self.defs) is param]
        pairs = self.plan.overwrites[instruction]
        return all((instruction.results.index(value), j) in pairs for j in read)

    def _updates_carry(self, loop: Instruction, position: int, param: Value) -> bool:
        """Whether the steps of a loop update a carry in place that begins as `param`, which they read as
        nothing else."""
        if position >= loop.attrs["carries"]:
            return False
        if operations(loop) is not None:  # scalar code
            if position not in (written_arrays(loop) or ()):
                return False
        elif self.plan.layouts[loop][0].spares[position] != IN_PLACE:
            return False
        roots = [viewed(operand, self.defs) for operand in loop.operands]
        return roots[position] is param and roots.count(param) == 1
