"""Passes on control flow ops: what of their operands, carries and results is not needed, and loops that
are one loop."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..dataflow import needed
from ..graph import Function, Instruction, Substitution, Value
from ..registry import Kind

#: The kinds of ops whose regions are programs of their own, to which every pass applies.
CONTROL = frozenset((Kind.SWITCH, Kind.WHILE, Kind.SCAN, Kind.REWIND))


def map_regions(
    function: Function,
    change: Callable[[Function], Function],
    skips: Callable[[Instruction], bool] | None = None,
) -> Function:
    """`function` with `change` applied to the regions of its control flow ops, save of those that `skips`
    names; itself where nothing changes."""
    body: list[Instruction] = []
    changed = False
    for one in function.body:
        if one.op.kind in CONTROL and not (skips and skips(one)):
            regions = tuple([change(region) for region in one.regions])
            if any(new is not old for new, old in zip(regions, one.regions, strict=True)):
                one = Instruction(one.op, one.operands, one.attrs, one.results, one.location, regions)
                changed = True
        body.append(one)
    if not changed:
        return function
    return Function(function.name, function.params, tuple(body), function.results)


# -- what is not needed ---------------------------------------------------------------------------


def trim(instruction: Instruction, live: set[Value]) -> Instruction:
    """A control flow op with the results in `live` and what they need: fewer results, carries and operands.

    *Requires*: one of its results is in `live`.
    """
    if instruction.op.kind is Kind.SWITCH:
        return _trim_switch(instruction, live)
    if instruction.op.kind is Kind.REWIND:
        return _trim_rewind(instruction, live)
    return _trim_loop(instruction, live)


def _trim_switch(one: Instruction, live: set[Value]) -> Instruction:
    kept = [i for i, result in enumerate(one.results) if result in live]
    used = [needed(region, [region.results[i] for i in kept]) for region in one.regions]
    taken = [
        i
        for i in range(len(one.operands) - 1)
        if any(region.params[i] in values for region, values in zip(one.regions, used, strict=True))
    ]
    if len(kept) == len(one.results) and len(taken) == len(one.operands) - 1:
        return one
    regions = tuple([_part(region, taken, kept) for region in one.regions])
    operands = (one.operands[0], *_at(one.operands[1:], taken))
    return Instruction(one.op, operands, one.attrs, _at(one.results, kept), one.location, regions)


def _trim_loop(one: Instruction, live: set[Value]) -> Instruction:
    count = one.attrs["carries"]
    body = one.regions[-1]
    wanted = {i for i, result in enumerate(one.results) if result in live}
    conditions = [needed(region, region.results) for region in one.regions[:-1]]
    while True:  # a carry is wanted where a step makes something wanted of it
        values = needed(body, [body.results[i] for i in sorted(wanted)])
        used = [
            any(
                region.params[i] in known
                for region, known in zip(one.regions, [*conditions, values], strict=True)
            )
            for i in range(len(one.operands))
        ]
        more = {i for i in range(count) if used[i]} - wanted
        if not more:
            break
        wanted |= more
    taken = [i for i, is_used in enumerate(used) if is_used or (i < count and i in wanted)]
    if len(wanted) == len(one.results) and len(taken) == len(one.operands):
        return one
    kept = sorted(wanted)
    regions = tuple([_part(region, taken, range(len(region.results))) for region in one.regions[:-1]])
    attrs = dict(one.attrs)
    attrs["carries"] = sum(i < count for i in kept)
    if one.op.kind is Kind.SCAN:
        attrs["slices"] = sum(i >= len(one.operands) - one.attrs["slices"] for i in taken)
    return Instruction(
        one.op, _at(one.operands, taken), attrs, _at(one.results, kept), one.location,
        (*regions, _part(body, taken, kept)),
    )  # fmt: skip


def _trim_rewind(one: Instruction, live: set[Value]) -> Instruction:
    condition, body, backward = one.regions
    count, own = one.attrs["carries"], len(one.operands) - one.attrs["states"]
    states = _closed(
        backward, {i for i, result in enumerate(one.results) if result in live}, backward.params[own:]
    )
    read = needed(backward, [backward.results[i] for i in sorted(states)])
    tested = needed(condition, condition.results)
    carries = _closed(
        body,
        {i for i in range(count) if backward.params[i] in read or condition.params[i] in tested},
        body.params[:count],
    )
    run = needed(body, [body.results[i] for i in sorted(carries)])
    invariants = [
        i
        for i in range(count, own)
        if condition.params[i] in tested or body.params[i] in run or backward.params[i] in read
    ]
    if len(carries) == count and len(states) == len(one.results) and len(invariants) == own - count:
        return one
    taken, kept = [*sorted(carries), *invariants], sorted(states)
    given = [*taken, *[own + i for i in kept]]
    regions = (
        _part(condition, taken, [0]),
        _part(body, taken, sorted(carries)),
        _part(backward, given, kept),
    )
    attrs = {"carries": len(carries), "states": len(states)}
    results = _at(one.results, kept)
    return Instruction(one.op, _at(one.operands, given), attrs, results, one.location, regions)


def _closed(step: Function, wanted: set[int], params: tuple[Value, ...]) -> set[int]:
    """`wanted` results of a step, with those that `params`, a step later, need of it."""
    while True:
        values = needed(step, [step.results[i] for i in sorted(wanted)])
        more = {i for i, param in enumerate(params) if param in values} - wanted
        if not more:
            return wanted
        wanted = wanted | more


def _at(values: tuple[Value, ...], positions: Iterable[int]) -> tuple[Value, ...]:
    return tuple([values[i] for i in positions])


def _part(region: Function, params: Iterable[int], results: Iterable[int]) -> Function:
    """`region` with some of its parameters and results, and what those need."""
    kept = _at(region.results, results)
    live = needed(region, kept)
    body = tuple([one for one in region.body if any(result in live for result in one.results)])
    return Function(region.name, _at(region.params, params), body, kept)


# -- one loop instead of two ----------------------------------------------------------------------


def merge_scans(function: Function) -> Function:
    """Run a scan once where another one does the same and more: gradients extend a scan by what they read.

    *Requires*: valid IR. *Ensures*: the same results; no scan whose results another scan with the same
    operands computes, too.
    """
    if sum(one.op.kind is Kind.SCAN for one in function.body) < 2:
        return function
    table = Substitution()
    body: list[Instruction | None] = []
    known: dict[Any, list[tuple[int, list[int]]]] = {}
    numbers: dict[Any, int] = {}
    for original in function.body:
        one = table.apply(original)
        body.append(one)
        if one.op.kind is not Kind.SCAN:
            continue
        key = (one.operands, tuple(one.attrs.items()))
        mine = _meanings(one.regions[0], numbers)
        count = one.attrs["carries"]
        for entry, (position, theirs) in enumerate(known.setdefault(key, [])):
            earlier = body[position]
            assert earlier is not None
            if mine[:count] != theirs[:count]:
                continue
            if set(mine[count:]) <= set(theirs[count:]):
                _redirect(table, one, mine, earlier, theirs)
                body[-1] = None
                break
            if set(theirs[count:]) <= set(mine[count:]):
                _redirect(table, earlier, theirs, one, mine)
                body[position], body[-1] = one, None
                known[key][entry] = (position, mine)
                break
        else:
            known[key].append((len(body) - 1, mine))
    if all(one is not None for one in body):
        return function
    kept = tuple([table.apply(one) for one in body if one is not None])
    return Function(function.name, function.params, kept, table.all(function.results))


def _redirect(
    table: Substitution, old: Instruction, named: list[int], new: Instruction, names: list[int]
) -> None:
    """Let the results of `new` stand for those of `old`; `named` and `names` are what they mean."""
    count = old.attrs["carries"]
    stack = {name: i + count for i, name in enumerate(names[count:])}
    for i, (value, name) in enumerate(zip(old.results, named, strict=True)):
        table[value] = new.results[i if i < count else stack[name]]


def _meanings(function: Function, numbers: dict[Any, int]) -> list[int]:
    """A number for each result, from the table `numbers`: equal ones mean equal computations on the
    parameters."""

    def number(*key: Any) -> int:
        return numbers.setdefault(key, len(numbers))

    names: dict[Value, int] = {}
    for position, param in enumerate(function.params):
        names[param] = number("parameter", position, str(param.type))
    for one in function.body:
        given = (
            one.op.name,
            tuple([names[operand] for operand in one.operands]),
            repr(tuple(one.attrs.items())),
        )
        regions = [tuple(_meanings(region, numbers)) for region in one.regions]
        for index, result in enumerate(one.results):
            if one.op.kind is Kind.SCAN:  # the same whatever else the scan stacks
                count = one.attrs["carries"]
                names[result] = number(*given, regions[0][:count], index < count and index, regions[0][index])
            else:
                names[result] = number(*given, tuple(regions), index)
    return [names[result] for result in function.results]


__all__ = ["CONTROL", "map_regions", "merge_scans", "trim"]
