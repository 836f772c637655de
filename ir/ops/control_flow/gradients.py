"""Gradient rules of the control flow ops: ordinary IR again, so that gradients of gradients follow.

A ``scan`` is differentiated by a scan in the other direction. What that reads of a forward step comes stacked
from the forward scan, which is extended by it; invariants and slices are read where they are. ``while`` is in
`definitions`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from ...builder import Builder, inline
from ...dataflow import increment, invariant, needed, silent
from ...dtypes import INT64, is_differentiable
from ...graph import Function, Instruction, Value
from ...registry import OPS
from ...transforms.differentiation import split_pullback
from .counters import while_of_scan
from .versions import is_array, versions_in

#: A counter, by the position of the carry, what each step adds to it, and what is added to that.
_Counted: TypeAlias = "tuple[int, int, int]"


def _zeros(b: Builder, like: Value) -> Value:
    return b.full(value=0.0, shape=like.shape, dtype=like.dtype)  # type: ignore[no-any-return]


def _floating(values: Sequence[Value]) -> list[int]:
    return [i for i, value in enumerate(values) if is_differentiable(value.dtype)]


def with_sums(b: Builder, gradients: Sequence[Value], sums: Sequence[Value], first: int) -> list[Value]:
    """`gradients`, those from `first` on added to as many `sums`."""
    defs = {result: instruction for instruction in b.body for result in instruction.results}
    added = list(gradients)
    for place, total in enumerate(sums, first):
        part = added.pop(place)
        added.insert(place, accumulated(b, total, part, defs, added))
    return added


def accumulated(
    b: Builder, total: Value, part: Value, defs: dict[Value, Instruction], others: Sequence[Value]
) -> Value:
    """``total + part``; where terms of `part` are zero but for some elements, only those are added, in place.
    `others` are the other results of the Function that `b` builds.

    Terms that a loop or branch gives come first, in the order of the instructions: each is added where it is
    computed. Zeros are left out.
    """
    places = {result: place for place, earlier in enumerate(b.body) for result in earlier.results}
    terms = [term for term in _terms(b, part, defs, others) if not _is_zero(term, defs)]
    for term in sorted(terms, key=lambda term: (_sparse(term, defs), places.get(term, -1))):
        total = _with_term(b, total, term, defs, others)
    return total


def _terms(b: Builder, part: Value, defs: dict[Value, Instruction], others: Sequence[Value]) -> list[Value]:
    """The terms of a sum, whose own instructions go; `part` itself where it is none or is read elsewhere."""
    if not _is_sum(part, defs) or not _accumulates(part, defs) or _is_read(b, part, others):
        return [part]
    instruction = defs[part]
    x, y = instruction.operands
    if x is y:
        return [part]
    b.body.remove(instruction)
    return [*_terms(b, x, defs, others), *_terms(b, y, defs, others)]


def _is_sum(value: Value, defs: dict[Value, Instruction]) -> bool:
    return value in defs and defs[value].op.name == "add"


def _is_read(b: Builder, value: Value, others: Sequence[Value]) -> bool:
    return value in others or any(value in instruction.operands for instruction in b.body)


def _accumulates(value: Value, defs: dict[Value, Instruction]) -> bool:
    """Whether `value` is zero but for some elements, an array that a loop or branch gives, or a sum with such
    a term."""
    if _is_sum(value, defs):
        return any(_accumulates(x, defs) for x in defs[value].operands)
    return _sparse(value, defs) or (value in defs and bool(value.shape and defs[value].regions))


def _with_term(
    b: Builder, total: Value, part: Value, defs: dict[Value, Instruction], others: Sequence[Value]
) -> Value:
    instruction = defs.get(part)
    if instruction is None or not _sparse(part, defs):
        within = None if instruction is None else _added_within(b, total, part, defs, others)
        return b.add(total, part) if within is None else within
    if instruction.op.name == "scatter":
        (sum_,) = b.append(instruction.op, (total, *instruction.operands[1:]), instruction.attrs)
        return sum_
    start, step, value = instruction.attrs["start"], instruction.attrs["step"], instruction.operands[1]
    old = b.slice(total, start=start, size=value.shape, step=step)
    return b.update(total, b.add(old, value), start=start, step=step)  # type: ignore[no-any-return]


def _added_within(
    b: Builder, total: Value, part: Value, defs: dict[Value, Instruction], others: Sequence[Value]
) -> Value | None:
    """Compute ``total + part`` inside the loop that sums up `part` from zeros, which then begins with
    `total`, or inside the branches that give `part`. None for any other `part`, or where `total` is computed
    later.

    In a step of a loop that is the difference between some elements and the whole array.
    """
    instruction = defs[part]
    place, number = b.body.index(instruction), instruction.results.index(part)
    there = total in b.params or any(total in earlier.results for earlier in b.body[:place])
    if not part.shape or not there or _is_read(b, part, others):
        return None
    if instruction.op.name == "scan" and number < instruction.attrs["carries"]:
        if not (_is_zero(instruction.operands[number], defs) and _only_adds(instruction.regions[0], number)):
            return None
        operands = [*instruction.operands[:number], total, *instruction.operands[number + 1 :]]
        changed = instruction.replace(operands=tuple(operands))
    elif instruction.op.name == "while_vjp":
        place_of_sum = len(instruction.operands) - len(instruction.results) + number
        if number < _seeds(instruction) or not _is_zero(instruction.operands[place_of_sum], defs):
            return None
        operands = list(instruction.operands)
        operands[place_of_sum] = total
        changed = instruction.replace(operands=tuple(operands))
    elif instruction.op.name == "switch" and any(
        _gives_part(region, number) for region in instruction.regions
    ):
        regions = tuple([_with_total(region, number, total) for region in instruction.regions])
        changed = instruction.replace(operands=(*instruction.operands, total), regions=regions)
    else:
        return None
    sum_ = Value(part.type, total.hint)
    results = tuple([sum_ if result is part else result for result in instruction.results])
    b.body[place] = changed.replace(results=results)
    defs.update(dict.fromkeys(results, b.body[place]))
    return sum_


def _seeds(loop: Instruction) -> int:
    """The number of cotangents of carries that a ``while_vjp`` is given."""
    return len(_floating(loop.operands[: loop.attrs["carries"]]))


def _is_zero(value: Value, defs: dict[Value, Instruction]) -> bool:
    definition = defs.get(value)
    return definition is not None and definition.op.name == "full" and definition.attrs["value"] == 0


def _only_adds(step: Function, carry: int) -> bool:
    """Whether all that `step` does to a carry is to add to it."""
    return _place_of_sum(step, step.params[carry]) == carry


def _place_of_sum(function: Function, value: Value) -> int | None:
    """The position of the result to which all that `function` adds to `value` leads; None where it does
    anything else with that."""
    while value not in function.results:
        readers = [instruction for instruction in function.body if value in instruction.operands]
        if len(readers) != 1 or readers[0].operands.count(value) != 1:
            return None
        (reader,) = readers
        number = reader.operands.index(value)
        if reader.op.name == "scan":
            if number >= reader.attrs["carries"] or not _only_adds(reader.regions[0], number):
                return None
        elif reader.op.name == "switch":
            places = {
                _place_of_sum(region, region.params[number - 1]) if number else None
                for region in reader.regions
            }
            place = places.pop()
            if places or place is None:
                return None
            number = place
        elif reader.op.name == "while_vjp":
            number -= len(reader.operands) - len(reader.results)
            if number < _seeds(reader):
                return None
        elif reader.op.name == "add":
            number = 0
        elif reader.op.name != "scatter" or reader.attrs["mode"] != "add" or number:
            return None
        value = reader.results[number]
    alone = function.results.count(value) == 1 and not any(
        value in instruction.operands for instruction in function.body
    )
    return function.results.index(value) if alone else None


def _gives_part(region: Function, number: int) -> bool:
    """Whether the result `number` of a branch is zero, or zero but for some elements."""
    defs = {result: instruction for instruction in region.body for result in instruction.results}
    value = region.results[number]
    return value in defs and (_is_zero(value, defs) or _accumulates(value, defs))


def _with_total(region: Function, number: int, total: Value) -> Function:
    """A branch with another parameter, to which its result `number` is added."""
    b = Builder()
    params = [b.parameter(param.type, param.hint) for param in region.params]
    results = list(inline(b, region, params))
    sum_ = b.parameter(total.type, total.hint)
    defs = {result: instruction for instruction in b.body for result in instruction.results}
    part = results.pop(number)
    results.insert(number, accumulated(b, sum_, part, defs, results))
    return b.finish(region.name, results)


def _sparse(value: Value, defs: dict[Value, Instruction]) -> bool:
    """Whether `value` has few elements added to zeros, as the cotangents of ``gather`` and ``slice`` have."""
    instruction = defs.get(value)
    if instruction is None:
        return False
    if instruction.op.name == "update" or (
        instruction.op.name == "scatter" and instruction.attrs["mode"] == "add"
    ):
        base = defs.get(instruction.operands[0])
        return base is not None and base.op.name == "full" and base.attrs["value"] == 0
    return False


def pull_switch(b: Builder, instruction: Instruction, cotangents: list[Value | None]) -> list[Value | None]:
    """A switch over the gradients of the regions, each of which computes its forward part again."""
    index, *operands = instruction.operands
    wrt = _floating(operands)
    positions = [i for i, cotangent in enumerate(cotangents) if cotangent is not None]
    regions = tuple(_joint(region, wrt, positions) for region in instruction.regions)
    present = tuple(cotangent for cotangent in cotangents if cotangent is not None)
    gradients = b.append(OPS["switch"], (index, *operands, *present), {}, regions=regions)
    by_operand: list[Value | None] = [None] * len(instruction.operands)
    for position, gradient in zip(wrt, gradients, strict=True):
        by_operand[position + 1] = gradient
    return by_operand


def _joint(region: Function, wrt: Sequence[int], positions: Sequence[int]) -> Function:
    """``(*params, *cotangents of the results `positions`) -> cotangents of the parameters `wrt```."""
    split = split_pullback(region, wrt, positions)
    b = Builder()
    params = [b.parameter(param.type, param.hint) for param in region.params]
    residuals = inline(b, split.forward, params)[split.outputs :]
    cotangents = [b.parameter(region.results[i].type, f"ct{i}") for i in positions]
    return b.finish(split.backward.name, inline(b, split.backward, [*residuals, *cotangents]))


def pull_scan(b: Builder, instruction: Instruction, cotangents: list[Value | None]) -> list[Value | None]:
    """A scan in the other direction, whose carries are the cotangents of the carries and of the invariants.
    Where that would stack arrays that steps write, the gradient of the same loop as a ``while``."""
    pullback = _ScanPullback(b, instruction, cotangents)
    return _pull_as_while(b, instruction, cotangents) if pullback.stacks_arrays() else pullback.run()


def _pull_as_while(
    b: Builder, instruction: Instruction, cotangents: list[Value | None]
) -> list[Value | None]:
    """The cotangents of the operands of a scan by those of a ``while``."""
    scan = silent(instruction)
    operands, attrs, regions = while_of_scan(b, scan)
    results = tuple([Value(operand.type) for operand in operands[: attrs["carries"]]])
    loop = Instruction(OPS["while"], operands, attrs, results, instruction.location, regions)
    assert loop.op.regions is not None
    assert loop.op.regions.pull is not None
    pulled = loop.op.regions.pull(b, loop, [None, *cotangents])
    count, stacks = scan.attrs["carries"], len(scan.results) - scan.attrs["carries"]
    return [*pulled[1 : 1 + count], *pulled[1 + count + stacks :]]


class _ScanPullback:
    """One application of the rule of ``scan``."""

    def __init__(self, b: Builder, instruction: Instruction, cotangents: list[Value | None]) -> None:
        self.b, self.instruction = b, instruction
        (self.body,) = instruction.regions
        self.count = instruction.attrs["carries"]
        self.first_slice = len(instruction.operands) - instruction.attrs["slices"]
        params = self.body.params
        self.carries = _floating(params[: self.count])
        self.invariants = [i + self.count for i in _floating(params[self.count : self.first_slice])]
        self.slices = [i + self.first_slice for i in _floating(params[self.first_slice :])]
        self.given = {i: cotangent for i, cotangent in enumerate(cotangents) if cotangent is not None}
        #: The stacked results that come with cotangents.
        self.stacked = [i for i in self.given if i >= self.count]
        wrt = (*self.carries, *self.invariants, *self.slices)
        self.split = split_pullback(self.body, wrt, (*self.carries, *self.stacked))

    def stacks_arrays(self) -> bool:
        """Whether backward steps read arrays that forward steps write in place."""
        forward, outputs = self.split.forward, self.split.outputs
        step = Function(forward.name, forward.params, forward.body, forward.results[:outputs])
        written = set[Value]().union(*[versions_in(step, i) for i in range(self.count)])
        return any(value in written and is_array(value) for value in forward.results[outputs:])

    def run(self) -> list[Value | None]:
        b, instruction = self.b, self.instruction
        fixed, read, counted = self._residuals()
        start = [self.given.get(i) or _zeros(b, self.body.params[i]) for i in self.carries]
        start += [_zeros(b, self.body.params[i]) for i in self.invariants]
        last = instruction.attrs["length"] - 1
        counters = {carry: each for carry, each, _ in counted.values()}
        start += [b.add(instruction.operands[carry], each * last) for carry, each in counters.items()]
        operands = (*start, *fixed.values(), *read.values(), *[self.given[i] for i in self.stacked])
        attrs = {
            "carries": len(start),
            "slices": len(read) + len(self.stacked),
            "length": instruction.attrs["length"],
            "reverse": not instruction.attrs["reverse"],
        }
        region = self._region(list(fixed), list(read), counted, counters)
        gradients = b.append(OPS["scan"], operands, attrs, regions=(region,))
        by_operand: list[Value | None] = [None] * len(instruction.operands)
        kept = (*gradients[: len(start) - len(counters)], *gradients[len(start) :])
        for position, gradient in zip((*self.carries, *self.invariants, *self.slices), kept, strict=True):
            by_operand[position] = gradient
        return by_operand

    def _residuals(self) -> tuple[dict[Value, Value], dict[Value, Value], dict[Value, _Counted]]:
        """The residuals that the backward steps read, by their values in the forward step: those that are the
        same in every step, stacked ones, and values of counters."""
        forward, instruction = self.split.forward, self.instruction
        position_of = {param: i for i, param in enumerate(forward.params)}
        stack_of = {
            result: i for i, result in enumerate(forward.results[: self.split.outputs]) if i >= self.count
        }
        residuals = list(dict.fromkeys(forward.results[self.split.outputs :]))
        fixed = self._same_in_every_step(residuals)
        read: dict[Value, Value] = {}
        more: list[Value] = []
        counted = self._counted([residual for residual in residuals if residual not in fixed])
        for residual in residuals:
            if residual in fixed or residual in counted:
                continue
            position = position_of.get(residual, -1)
            if position >= self.first_slice:
                read[residual] = instruction.operands[position]
            elif position >= self.count:
                fixed[residual] = instruction.operands[position]
            elif residual in stack_of:
                read[residual] = instruction.results[stack_of[residual]]
            else:
                more.append(residual)
        if more:
            results = (*forward.results[: self.split.outputs], *more)
            extended = Function(forward.name, forward.params, forward.body, results)
            read.update(zip(more, self.b.extend(instruction, (extended,)), strict=True))
        return fixed, read, counted

    def _counted(self, residuals: list[Value]) -> dict[Value, _Counted]:
        """Residuals that differ from a counter of the steps by a number: backward steps count down."""
        forward = self.split.forward
        defs = {result: step for step in forward.body for result in step.results}
        counted: dict[Value, _Counted] = {}
        for residual in residuals:
            value, offset = residual, 0
            while value.dtype is INT64 and value in defs and defs[value].op.name in ("add", "sub"):
                step = defs[value]
                x, y = step.operands
                if step.op.name == "add" and x in defs and defs[x].op.name == "full":
                    x, y = y, x
                if y not in defs or defs[y].op.name != "full":
                    break
                number = int(defs[y].attrs["value"])
                value, offset = x, offset + (number if step.op.name == "add" else -number)
            if value in forward.params[: self.count]:
                carry = forward.params.index(value)
                each = increment(forward, carry)
                if each is not None:
                    counted[residual] = carry, each, offset
        return counted

    def _same_in_every_step(self, residuals: list[Value]) -> dict[Value, Value]:
        """Residuals that depend on invariants alone, computed once."""
        forward = self.split.forward
        params = forward.params[self.count : self.first_slice]
        same = invariant(forward, params)
        chosen = [residual for residual in residuals if residual in same and residual not in params]
        live = needed(forward, chosen)
        body = tuple([step for step in forward.body if any(result in live for result in step.results)])
        part = Function(forward.name, params, body, tuple(chosen))
        values = inline(self.b, part, self.instruction.operands[self.count : self.first_slice])
        return dict(zip(chosen, values, strict=True))

    def _region(
        self, fixed: list[Value], read: list[Value], counted: dict[Value, _Counted], counters: dict[int, int]
    ) -> Function:
        """``(*cotangents of carries, *sums for invariants, *counters, *residuals, *cotangents of stacked
        results)``."""
        b: Any = Builder()
        split, params, forward = self.split, self.body.params, self.split.forward
        incoming = [b.parameter(params[i].type, f"ct_{params[i].hint or i}") for i in self.carries]
        sums = [b.parameter(params[i].type, f"sum_{params[i].hint or i}") for i in self.invariants]
        numbers = {carry: b.parameter(params[carry].type, params[carry].hint) for carry in counters}
        residuals = {value: b.parameter(value.type, value.hint) for value in (*fixed, *read)}
        stacked = [b.parameter(self.body.results[i].type, f"ct_y{i - self.count}") for i in self.stacked]
        for residual, (carry, _, offset) in counted.items():
            residuals[residual] = b.add(numbers[carry], offset) if offset else numbers[carry]
        arguments = [residuals[result] for result in forward.results[split.outputs :]]
        gradients = inline(b, split.backward, [*arguments, *incoming, *stacked])
        b.location = None
        middle = len(self.carries), len(self.carries) + len(self.invariants)
        added = with_sums(b, gradients, sums, middle[0])
        before = [b.sub(number, counters[carry]) for carry, number in numbers.items()]
        return b.finish(  # type: ignore[no-any-return]
            f"{self.body.name}_backward", [*added[: middle[1]], *before, *added[middle[1] :]]
        )
