"""Passes on control flow ops: what of their operands, carries and results is not needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ...dataflow import needed
from ...graph import Function, Instruction, Value
from ...registry import Kind

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
    body = tuple(
        [instruction for instruction in region.body if any(result in live for result in instruction.results)]
    )
    return Function(region.name, _at(region.params, params), body, kept)


__all__ = ["CONTROL", "map_regions", "trim"]
