"""Removal of unneeded loop state: carries that no step changes, stacked results that exist already, and dead
writes.

A carry that no step changes is an invariant, which a loop reads where it lies. So a tuple that is handed on
whole costs nothing for its parts that stay the same. A scan that stacks them, for its gradient to read step
by step, needs one array and no stack.

Gradients of loops stack much that is there already: the backward scan stacks the factors of each step's
products, and some are what the forward scan has stacked before.

Writes that nobody reads any more are left out:

    for i in range(1, n):                             for i in range(1, n):
        u = c[i] + 0.9 * u; c[i] = 0                      u = c[i] + 0.9 * u
    return u, c[0]                                    return u, c[0]

A step back through ``y[i] = ...`` takes what y[i] passes back and leaves zero. Where no step meets the
element of another one, and nothing behind the loop reads what was written, the array is what it was before.
And what such steps add to zeros they write.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...builder import Builder
from ...graph import Function, Instruction, Substitution, Value
from ...ops.indexing import indexed_axes
from ...registry import Kind
from ..array_loops.affine import AffineValues, loop_forms
from ..layout.updates import add_parts
from ..rewriting import Definitions, constant_of
from .control_flow import map_regions


def drop_unread_writes(function: Function) -> Function:
    """*Requires*: valid IR. *Ensures*: the same results, but for the signs of zeros; no scan writes elements
    of an array, each step its own, that nothing but the step itself reads, or adds to such that are zero."""
    if not any(op.kind is Kind.SCAN for op in function.ops):
        return function
    function = add_parts(map_regions(function, drop_unread_writes))
    readers: dict[Value, list[Instruction]] = {}
    for instruction in function.body:
        for operand in instruction.operands:
            readers.setdefault(operand, []).append(instruction)
    defs = function.defs
    body, changed = [], False
    for instruction in function.body:
        if instruction.op.kind is Kind.SCAN:
            step = _without_writes(instruction, readers, function.results, defs)
            if step is not instruction.regions[0]:
                instruction, changed = instruction.replace(regions=(step,)), True
        body.append(instruction)
    return Function(function.name, function.params, tuple(body), function.results) if changed else function


def _without_writes(
    scan: Instruction,
    readers: Mapping[Value, Sequence[Instruction]],
    returned: Sequence[Value],
    defs: Definitions,
) -> Function:
    """The body of `scan` without dead writes: a carry whose written elements are not read is handed on
    unchanged."""
    (body,) = scan.regions
    results, steps = list(body.results), list(body.body)
    forms = None
    for carry in range(scan.attrs["carries"]):
        result, param = scan.results[carry], body.params[carry]
        write = _only_write(body, carry) if param.shape else None
        if write is None:
            continue
        forms = forms or loop_forms(scan, AffineValues(defs))
        box = _written_box(write, forms, scan.attrs["length"])
        if box is None:
            continue
        outside = readers.get(result, ())
        if write.attrs["mode"] == "add":
            start = constant_of(scan.operands[carry], defs)
            if start == 0 and sum(param in step.operands for step in steps) == 1:
                steps[steps.index(write)] = write.replace(attrs={**write.attrs, "mode": "set"})
        elif result not in returned and all(
            reader.op.name == "slice" and _lies_apart(reader, box) for reader in outside
        ):
            results[carry] = param
    if results == list(body.results) and steps == list(body.body):
        return body
    return Function(body.name, body.params, tuple(steps), tuple(results))


def _only_write(body: Function, carry: int) -> Instruction | None:
    """The scatter that gives a carry its next value, where else steps read the element that it writes alone,
    before that."""
    param, result = body.params[carry], body.results[carry]
    touching = [step for step in body.body if param in step.operands or result in step.operands]
    writes = [step for step in touching if result in step.results]
    if len(writes) != 1 or writes[0].op.name != "scatter" or writes[0].attrs["mode"] not in ("set", "add"):
        return None
    (write,) = writes
    if write.operands[0] is not param or param in write.operands[1:] or body.results.count(result) > 1:
        return None
    for step in touching:
        reads = (
            step.op.kind is Kind.GATHER
            and step.operands[0] is param
            and step.operands[1:] == write.operands[2:]
            and step.attrs["axes"] == write.attrs["axes"]
        )
        if step is not write and not reads:
            return None
    return None if param in body.results else write


def _written_box(write: Instruction, forms: AffineValues, length: int) -> dict[int, tuple[int, int]] | None:
    """The first and the last place that steps write along each axis; None where two steps may write one
    element."""
    box: dict[int, tuple[int, int]] = {}
    indices = write.operands[2:]
    apart = False
    for axis, index in zip(indexed_axes(len(indices), write.attrs["axes"]), indices, strict=True):
        form = forms.of(index) if not index.shape else None
        bounds = form.bounds((), length) if form is not None else None
        if form is None or bounds is None or not 0 <= bounds[0] <= bounds[1] < write.operands[0].shape[axis]:
            return None
        apart |= form.step != 0
        box[axis] = bounds
    return box if apart else None


def _lies_apart(read: Instruction, box: Mapping[int, tuple[int, int]]) -> bool:
    """Whether a slice has nothing of `box`."""
    for axis, (first, last) in box.items():
        start, size, step = (read.attrs[name][axis] for name in ("start", "size", "step"))
        ends = sorted((start, start + step * (size - 1)))
        if not size or ends[1] < first or ends[0] > last:
            return True
    return False


def reuse_stacks(function: Function) -> Function:
    """*Requires*: valid IR. *Ensures*: the same results; of a scan's stacked results none that is used is
    another one again, or what the scan was given as slices; no operand is given to it twice as such.

    What this leaves unused goes with `dce`.
    """
    if not function.has_control:
        return function
    function = map_regions(function, reuse_stacks)
    table = Substitution()
    body: list[Instruction] = []
    changed = False
    for original in function.body:
        instruction = table.apply(original)
        if instruction.op.kind is Kind.SCAN:
            merged = _without_repeated_operands(instruction)
            changed |= merged is not instruction
            instruction = merged
            for old, new in _known(instruction).items():
                table[old] = new
                changed = True
        body.append(instruction)
    if not changed:
        return function
    return Function(function.name, function.params, tuple(body), table.all(function.results))


def _known(scan: Instruction) -> dict[Value, Value]:
    """Map stacked results to an equal operand among the slices of the scan, or to an equal stacked result.
    Step t writes element t of them and reads element t of its slices, in either direction."""
    (body,) = scan.regions
    count, first = scan.attrs["carries"], len(scan.operands) - scan.attrs["slices"]
    holders = dict(zip(body.params[first:], scan.operands[first:], strict=True))
    held = {}
    for value, result in zip(body.results[count:], scan.results[count:], strict=True):
        if value in holders:
            held[result] = holders[value]
        else:
            holders[value] = result
    return held


def _without_repeated_operands(scan: Instruction) -> Instruction:
    """`scan` with each value once among its invariants, and once among its slices."""
    (body,) = scan.regions
    count, slices = scan.attrs["carries"], scan.attrs["slices"]
    first = len(scan.operands) - slices
    table = Substitution()
    taken = list(range(count))
    for positions in (range(count, first), range(first, len(scan.operands))):
        seen: dict[Value, Value] = {}
        for i in positions:
            param = seen.setdefault(scan.operands[i], body.params[i])
            if param is body.params[i]:
                taken.append(i)
            else:
                table[body.params[i]] = param
    if len(taken) == len(scan.operands):
        return scan
    inside = tuple([table.apply(instruction) for instruction in body.body])
    params = tuple([body.params[i] for i in taken])
    region = Function(body.name, params, inside, table.all(body.results))
    attrs = {**scan.attrs, "slices": sum(i >= first for i in taken)}
    operands = tuple([scan.operands[i] for i in taken])
    return scan.replace(operands=operands, attrs=attrs, regions=(region,))


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
