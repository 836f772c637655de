"""Removal of operands, carries and results of control flow ops that nothing needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import is_not

from ...dataflow import needed
from ...graph import Function, Instruction, Value
from ...registry import Kind


def map_regions(
    function: Function,
    change: Callable[[Function], Function],
    skips: Callable[[Instruction], bool] | None = None,
) -> Function:
    """`function` with `change` applied to the regions of its control flow ops, save of those that `skips`
    names; itself where nothing changes."""
    if not function.has_control:
        return function
    body: list[Instruction] | None = None
    for place, instruction in enumerate(function.body):
        if instruction.regions and instruction.op.kind.traits.control and not (skips and skips(instruction)):
            regions = tuple([change(region) for region in instruction.regions])
            if any(map(is_not, regions, instruction.regions)):
                body = list(function.body) if body is None else body
                body[place] = instruction.replace(regions=regions)
    if body is None:
        return function
    return Function(function.name, function.params, tuple(body), function.results)


# -- what is not needed ---------------------------------------------------------------------------


def trim(instruction: Instruction, live: set[Value]) -> Instruction:
    """Reduce a control flow op to the results in `live`, and to the carries and operands that they need.

    *Requires*: one of its results is in `live`.
    """
    if instruction.op.kind is Kind.SWITCH:
        return _trim_switch(instruction, live)
    if instruction.op.kind is Kind.REWIND:
        return _trim_rewind(instruction, live)
    return _trim_loop(instruction, live)


def _trim_switch(instruction: Instruction, live: set[Value]) -> Instruction:
    kept = [i for i, result in enumerate(instruction.results) if result in live]
    used = [needed(region, [region.results[i] for i in kept]) for region in instruction.regions]
    taken = [
        i
        for i in range(len(instruction.operands) - 1)
        if any(region.params[i] in values for region, values in zip(instruction.regions, used, strict=True))
    ]
    if len(kept) == len(instruction.results) and len(taken) == len(instruction.operands) - 1:
        return instruction
    regions = tuple([_part(region, taken, kept) for region in instruction.regions])
    operands = (instruction.operands[0], *_at(instruction.operands[1:], taken))
    return instruction.replace(operands=operands, results=_at(instruction.results, kept), regions=regions)


def _trim_loop(instruction: Instruction, live: set[Value]) -> Instruction:
    count = instruction.attrs["carries"]
    body = instruction.regions[-1]
    live_results = {i for i, result in enumerate(instruction.results) if result in live}
    conditions = [needed(region, region.results) for region in instruction.regions[:-1]]
    while True:  # a carry is wanted where a step makes something wanted of it
        values = needed(body, [body.results[i] for i in sorted(live_results)])
        used = [
            any(
                region.params[i] in needed_values
                for region, needed_values in zip(instruction.regions, [*conditions, values], strict=True)
            )
            for i in range(len(instruction.operands))
        ]
        more = {i for i in range(count) if used[i]} - live_results
        if not more:
            break
        live_results |= more
    taken = [i for i, is_used in enumerate(used) if is_used or (i < count and i in live_results)]
    if len(live_results) == len(instruction.results) and len(taken) == len(instruction.operands):
        return instruction
    kept = sorted(live_results)
    regions = tuple([_part(region, taken, range(len(region.results))) for region in instruction.regions[:-1]])
    attrs = dict(instruction.attrs)
    attrs["carries"] = sum(i < count for i in kept)
    if instruction.op.kind is Kind.SCAN:
        attrs["slices"] = sum(i >= len(instruction.operands) - instruction.attrs["slices"] for i in taken)
    return instruction.replace(
        operands=_at(instruction.operands, taken),
        attrs=attrs,
        results=_at(instruction.results, kept),
        regions=(*regions, _part(body, taken, kept)),
    )


def _trim_rewind(instruction: Instruction, live: set[Value]) -> Instruction:
    condition, body, backward = instruction.regions
    count, own = instruction.attrs["carries"], len(instruction.operands) - instruction.attrs["states"]
    states = _closed(
        backward, {i for i, result in enumerate(instruction.results) if result in live}, backward.params[own:]
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
    if len(carries) == count and len(states) == len(instruction.results) and len(invariants) == own - count:
        return instruction
    taken, kept = [*sorted(carries), *invariants], sorted(states)
    places = [*taken, *[own + i for i in kept]]
    regions = (
        _part(condition, taken, [0]),
        _part(body, taken, sorted(carries)),
        _part(backward, places, kept),
    )
    attrs = {"carries": len(carries), "states": len(states)}
    results = _at(instruction.results, kept)
    return instruction.replace(
        operands=_at(instruction.operands, places), attrs=attrs, results=results, regions=regions
    )


def _closed(step: Function, positions: set[int], params: tuple[Value, ...]) -> set[int]:
    """Results at `positions` of a step, with those that `params`, a step later, need of it."""
    while True:
        values = needed(step, [step.results[i] for i in sorted(positions)])
        more = {i for i, param in enumerate(params) if param in values} - positions
        if not more:
            return positions
        positions = positions | more


def _at(values: tuple[Value, ...], positions: Iterable[int]) -> tuple[Value, ...]:
    return tuple([values[i] for i in positions])


def _part(region: Function, params: Iterable[int], results: Iterable[int]) -> Function:
    """Restrict `region` to some of its parameters and results, and to the instructions that these need."""
    kept = _at(region.results, results)
    live = needed(region, kept)
    body = tuple(
        [instruction for instruction in region.body if any(result in live for result in instruction.results)]
    )
    return Function(region.name, _at(region.params, params), body, kept)
