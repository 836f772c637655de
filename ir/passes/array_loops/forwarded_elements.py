"""Scalar replacement of array elements that a step reads where an earlier step wrote them: they become
carries, which are in registers.

    y[i] = a * y[i - 1] + x[i]                        last = a * last + x[i]
                                                      y[i] = last

A step need not wait until what it reads has come through memory. The gradient of the element also goes from
step to step by itself, not through an array of gradients.

Elements that all steps of a loop inside read, and that are known to be there, are read before it:

    while abs(root * root - x[i]) > 1e-9:          element = x[i]
                                                   while abs(root * root - element) > 1e-9:
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ...builder import Builder
from ...dtypes import INT64
from ...graph import Function, Instruction, Substitution, Value
from ...ops.indexing import indexed_axes
from ...records import record
from ...registry import OPS, Kind
from ...types import TensorType
from ..rewriting import Definitions
from .affine import Affine, AffineValues, loop_forms

#: Whether the elements that a gather reads, at these operands, are inside of the array.
Proof = Callable[[Instruction, Sequence[Value]], bool]
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


#: Number of steps back for which a value is kept.
MOST_STEPS: Final = 2


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
            for steps in range(1, min(MOST_STEPS, self.scan.attrs["length"]) + 1):
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
