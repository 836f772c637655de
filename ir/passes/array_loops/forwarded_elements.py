"""Scalar replacement of array elements that a step reads where an earlier step wrote them: they become
carries.

    y[i] = a * y[i - 1] + x[i]                        last = a * last + x[i]
                                                      y[i] = last

A step need not wait until what it reads has come through memory. The gradient of the element also goes from
step to step by itself, not through an array of gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ....base.records import record
from ...analysis.affine import Affine, AffineValues, loop_forms
from ...builder import Builder
from ...graph import Function, Instruction, Substitution, Value
from ...ops.indexing import indexed_axes
from ...registry import OPS, Kind
from ..rewriting import Definitions

#: Steps back for which a value is kept.
MAX_STEPS: Final = 2


def forward_elements(function: Function) -> Function:
    """*Requires*: valid IR. *Ensures*: the same results; where each step of a scan writes one element of an
    array, no step reads an element that one of the last steps wrote. Itself where there is none."""
    b = Builder()
    b.params = list(function.params)
    table = Substitution()
    changed = False
    for original in function.body:
        instruction = table.apply(original)
        if instruction.op.kind.traits.control:
            regions = tuple([forward_elements(region) for region in instruction.regions])
            if any(new is not old for new, old in zip(regions, instruction.regions, strict=True)):
                instruction, changed = instruction.replace(regions=regions), True
        if instruction.op.kind is Kind.SCAN and instruction.attrs["length"] and instruction.attrs["carries"]:
            defs = {result: step for step in b.body for result in step.results}
            scan = _Scan(b, instruction, AffineValues(defs))
            if scan.forwarded:
                for old, new in zip(original.results, scan.append(), strict=True):
                    table[old] = new
                changed = True
                continue
        b.body.append(instruction)
    return b.finish(function.name, table.all(function.results)) if changed else function


@record(eq=False)
class _Forwarded:
    """A read of what was written `steps` steps before, as `value`."""

    carry: int
    steps: int
    read: Instruction
    forms: tuple[Affine, ...]
    value: Value


class _Scan:
    """One scan, and the reads in it that can be forwarded."""

    def __init__(self, b: Any, scan: Instruction, outer: AffineValues) -> None:
        self.b, self.scan = b, scan
        (self.body,) = scan.regions
        self.count: int = scan.attrs["carries"]
        self.defs: Definitions = {result: step for step in self.body.body for result in step.results}
        self.affine = loop_forms(scan, outer)
        self.forwarded = [
            forwarded
            for carry in range(self.count)
            if self.body.params[carry].shape
            for forwarded in self._of_carry(carry)
        ]

    def _of_carry(self, carry: int) -> list[_Forwarded]:
        """The reads of one array that can be forwarded."""
        array = self.body.params[carry]
        versions, latest, written = {array}, array, False
        write: Instruction | None = None
        before: list[Instruction] = []
        for step in self.body.body:
            if not any(operand in versions for operand in step.operands):
                continue
            if step.op.kind is Kind.GATHER and step.operands[0] in versions:
                if not written:
                    before.append(step)
            elif step.op.name == "copy" or (step.op.name == "scatter" and write is None):
                if step.operands[0] is not latest or any(x in versions for x in step.operands[1:]):
                    return []
                latest = step.result
                versions.add(latest)
                if step.op.name == "scatter":
                    write, written = step, True
            elif any(result.type == array.type for result in step.results):
                return []
        if write is None or write.attrs["mode"] != "set" or self.body.results[carry] is not latest:
            return []
        return self._matching(carry, write, before)

    def _matching(self, carry: int, write: Instruction, reads: list[Instruction]) -> list[_Forwarded]:
        target = self._forms(write, 2)
        if target is None or write.operands[1].shape:
            return []
        result = []
        for read in reads:
            forms = self._forms(read, 1)
            if forms is None or read.attrs["axes"] != write.attrs["axes"] or len(forms) != len(target):
                continue
            axes = indexed_axes(len(forms), read.attrs["axes"])
            sizes = [read.operands[0].shape[axis] for axis in axes]
            for steps in range(1, min(MAX_STEPS, self.scan.attrs["length"]) + 1):
                around = any(abs(form.step) * steps >= size for form, size in zip(forms, sizes, strict=True))
                if not around and all(
                    form.plus(Affine(steps * form.step, 0, ())) == other
                    for form, other in zip(forms, target, strict=True)
                ):
                    result.append(_Forwarded(carry, steps, read, forms, write.operands[1]))
                    break
        return result

    def _forms(self, access: Instruction, first: int) -> tuple[Affine, ...] | None:
        """The indices of an access of one element, where they can be told before the loop."""
        forms = []
        for index in access.operands[first:]:
            form = self.affine.of(index) if index.shape == () else None
            if form is None or any(scalar in self.defs for scalar, _ in form.scalars):
                return None
            forms.append(form)
        return tuple(forms)

    # -- writing ------------------------------------------------------------------------------------

    def append(self) -> Sequence[Value]:
        """Append the scan with the carries that it gains; the results that it had."""
        scan, body, count = self.scan, self.body, self.count
        self.b.location = scan.location
        inits: list[Value] = []
        params: list[Value] = []
        results: list[Value] = []
        table = Substitution()
        places: dict[tuple[int, tuple[Affine, ...]], Value] = {}
        for forwarded in self.forwarded:
            key = forwarded.carry, forwarded.forms
            if key not in places:
                chain = [Value(forwarded.value.type, "last") for _ in range(forwarded.steps)]
                results += [forwarded.value, *chain[:-1]]
                params += chain
                later = range(forwarded.steps - 1, -1, -1)
                inits += [self._first(forwarded, steps) for steps in later]
                places[key] = chain[-1]
            table[forwarded.read.result] = places[key]
        gone = {forwarded.read for forwarded in self.forwarded}
        inside = tuple([table.apply(step) for step in body.body if step not in gone])
        last = table.all(body.results)
        region = Function(
            body.name,
            (*body.params[:count], *params, *body.params[count:]),
            inside,
            (*last[:count], *table.all(tuple(results)), *last[count:]),
        )
        operands = (*scan.operands[:count], *inits, *scan.operands[count:])
        attrs = {**scan.attrs, "carries": count + len(params)}
        values = self.b.append(OPS["scan"], operands, attrs, regions=(region,))
        return (*values[:count], *values[count + len(params) :])

    def _first(self, forwarded: _Forwarded, steps: int) -> Value:
        """Read the element of step `steps` before the loop, where no step has written yet."""
        b = self.b
        place = dict(zip(self.body.params, self.scan.operands, strict=True))
        indices = []
        for form in forwarded.forms:
            index = b.full(
                value=form.constant + steps * form.step, shape=(), dtype=forwarded.read.operands[1].dtype
            )
            for scalar, factor in form.scalars:
                outside = place.get(scalar, scalar)
                index = b.add(index, outside if factor == 1 else b.mul(outside, factor))
            indices.append(index)
        value: Value = b.gather(
            self.scan.operands[forwarded.carry], *indices, axes=forwarded.read.attrs["axes"]
        )
        return value
