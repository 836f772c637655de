"""Batching rules of the control flow ops.

A loop of many examples is one loop: its carries get a batch axis, as far as they come to differ between
examples. Where examples want different numbers of steps, or different branches, all compute what any of them
needs, and each keeps what is its own. An op that can fail, such as a gather, must not do so for an example
that would not have run it: that one is lent the values of an example that does (`_lent`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...builder import Builder
from ...dataflow import can_fail
from ...dtypes import BOOL, is_differentiable
from ...graph import Function, Instruction, Value
from ...registry import Kind
from ...transforms.batching import all_mapped, batch_region, inline_batched, mapped_results, spread
from ...types import TensorType


def batch_switch(
    b: Builder, instruction: Instruction, operands: Sequence[Value], mapped: Sequence[bool], size: int
) -> Sequence[Value]:
    """A switch of batched regions; where the index is mapped, all of them, and for each example its own."""
    index, *arguments = operands
    if not mapped[0]:
        regions = tuple([batch_region(region, mapped[1:], size) for region in instruction.regions])
        return b.append(instruction.op, tuple(operands), instruction.attrs, regions=regions)
    results: list[Value] = []
    for number, region in enumerate(instruction.regions):
        mine = _wants(b, index, number, len(instruction.regions) - 1)
        if can_fail(region):
            regions = _guarded(region, mine, arguments, mapped[1:], size)
            outputs = list(b.append(instruction.op, (_any(b, mine), mine, *arguments), {}, regions=regions))
        else:
            inner, shields = _shielded(b, region, mine, arguments, mapped[1:], size)
            values, flags = inline_batched(b, region, inner, shields, size)
            outputs = all_mapped(b, values, flags, size)
        if results:
            outputs = [_chosen(b, mine, value, other) for value, other in zip(outputs, results, strict=True)]
        results = outputs
    return results


def _shielded(
    b: Any,
    region: Function,
    mine: Value,
    arguments: Sequence[Value],
    mapped: Sequence[bool],
    size: int,
) -> tuple[list[Value], list[bool]]:
    """The operands of a region that all examples compute, from which it passes no gradient back for examples
    that are not `mine`: with a cotangent of 0 the gradient of ``sqrt(x)`` is NaN, where x is not positive."""
    operands, flags = list(arguments), list(mapped)
    if all(
        step.op.kind is Kind.VIEW or step.op.finite_gradient or not is_differentiable(result.dtype)
        for step in region.body
        for result in step.results
        if step.op.kind is not Kind.CREATION
    ):
        return operands, flags
    for i, (value, many) in enumerate(zip(arguments, mapped, strict=True)):
        if is_differentiable(value.dtype) and (many or not value.shape):
            value = value if many else spread(b, value, size)
            operands[i], flags[i] = _chosen(b, mine, value, b.stop_gradient(value)), True
    return operands, flags


def _wants(b: Any, index: Value, number: int, last: int) -> Value:
    """Whether the clamped index of each example is `number`."""
    chosen: Value
    if index.dtype is BOOL:
        chosen = index if number else b.logical_not(index)
    elif last == 0:
        chosen = b.full(value=True, shape=index.shape, dtype=BOOL)
    elif number == 0:
        chosen = b.le(index, 0)
    else:
        chosen = b.ge(index, last) if number == last else b.eq(index, number)
    return chosen


def _any(b: Any, flags: Value) -> Value:
    result: Value = b.any(flags, axes=(0,))
    return result


def _lent(b: Any, runs: Value, values: Sequence[Value], mapped: Sequence[bool], size: int) -> list[Value]:
    """Replace the values of examples that do not run by those of the first example that does."""
    first = b.argmax(runs, axis=0)
    return [
        _chosen(b, runs, value, spread(b, b.gather(value, first), size)) if many else value
        for value, many in zip(values, mapped, strict=True)
    ]


def _guarded(
    region: Function, mine: Value, arguments: Sequence[Value], mapped: Sequence[bool], size: int
) -> tuple[Function, Function]:
    """The two branches for `region`, as Functions of (mine, *arguments): zeros for when no example takes it,
    and the batched region for when one does."""
    b = Builder()
    wants, *operands = [b.parameter(argument.type, argument.hint) for argument in (mine, *arguments)]
    values, flags = inline_batched(b, region, _lent(b, wants, operands, mapped, size), mapped, size)
    branch = b.finish(region.name, all_mapped(b, values, flags, size))
    b = Builder()
    for value in (mine, *arguments):
        b.parameter(value.type, value.hint)
    zeros = [b.broadcast_to(b.scalar(0, result.dtype), result.shape) for result in branch.results]
    return b.finish(f"no_{region.name}", zeros), branch


def _chosen(b: Any, condition: Value, x: Value, y: Value) -> Value:
    """Select `x` or `y` for each example, by `condition`."""
    aligned = b.reshape(condition, shape=(*condition.shape, *[1] * (len(x.shape) - 1)))
    result: Value = b.where(b.broadcast_to(aligned, x.shape), x, y)
    return result


def _stable(body: Function, mapped: Sequence[bool], count: int) -> list[bool]:
    """`mapped`, with each carry that a step makes differ between examples."""
    flags = list(mapped)
    while True:
        results_mapped = mapped_results(body, flags)[:count]
        grown = [flag or other for flag, other in zip(flags, results_mapped, strict=False)]
        if grown == flags[:count]:
            return flags
        flags[:count] = grown


def batch_while(
    b: Builder, instruction: Instruction, operands: Sequence[Value], mapped: Sequence[bool], size: int
) -> Sequence[Value]:
    """One loop, as long as any example goes on; those that are done keep their carries."""
    count = instruction.attrs["carries"]
    regions, flags = _batched_loop(instruction, mapped, size, lends=can_fail(instruction.regions[1]))
    batched = _with(b, operands, mapped, flags, size)
    results = b.append(instruction.op, tuple(batched), instruction.attrs, regions=regions)
    return all_mapped(b, results, flags[:count], size)


def batch_while_vjp(
    b: Builder, instruction: Instruction, operands: Sequence[Value], mapped: Sequence[bool], size: int
) -> Sequence[Value]:
    """The gradient of the loop of all examples. Each example has cotangents of its own for shared operands.

    Examples that are done are lent values even if the body cannot fail: where its derivative is infinite at
    theirs, their cotangents of zero would be NaN.
    """
    own = len(instruction.regions[1].params)
    many = [flag or is_differentiable(x.dtype) for flag, x in zip(mapped, instruction.operands, strict=True)]
    regions, flags = _batched_loop(instruction, many[:own], size, lends=True)
    batched = _with(b, operands, mapped, [*flags, *many[own:]], size)
    return b.append(instruction.op, tuple(batched), instruction.attrs, regions=regions)


def _batched_loop(
    instruction: Instruction, mapped: Sequence[bool], size: int, *, lends: bool
) -> tuple[tuple[Function, Function], list[bool]]:
    """The condition and the body of many examples, and which operands of the loop have a batch axis.

    With `lends`, examples that are done compute with the values of one that is not.
    """
    condition, body = instruction.regions
    count = instruction.attrs["carries"]
    flags = _stable(body, mapped, count)
    if mapped_results(condition, flags)[0]:
        flags[:count] = [True] * count
        kept = _kept_when_done(condition, body, flags, size, lends=lends)
        return (_any_goes_on(condition, flags, size), kept), flags
    regions = (
        batch_region(condition, flags, size, [False]),
        batch_region(body, flags, size, flags[:count]),
    )
    return regions, flags


def _with(
    b: Builder, operands: Sequence[Value], mapped: Sequence[bool], flags: Sequence[bool], size: int
) -> list[Value]:
    """`operands`, with a batch axis also for those that only `flags` says have one."""
    either = [flag or not other for flag, other in zip(mapped, flags, strict=True)]
    return all_mapped(b, operands, either, size)


def _params(b: Builder, region: Function, flags: Sequence[bool], size: int) -> list[Value]:
    types = [
        TensorType(param.dtype, (size, *param.shape)) if many else param.type
        for param, many in zip(region.params, flags, strict=True)
    ]
    return [b.parameter(type, param.hint) for type, param in zip(types, region.params, strict=True)]


def _any_goes_on(condition: Function, flags: Sequence[bool], size: int) -> Function:
    b = Builder()
    (going,), _ = inline_batched(b, condition, _params(b, condition, flags, size), flags, size)
    b.location = None
    return b.finish(f"{condition.name}_of_any", [_any(b, going)])


def _kept_when_done(
    condition: Function, body: Function, flags: Sequence[bool], size: int, *, lends: bool
) -> Function:
    b = Builder()
    params = _params(b, body, flags, size)
    (going,), _ = inline_batched(b, condition, params, flags, size)
    arguments = _lent(b, going, params, flags, size) if lends else params
    values, many = inline_batched(b, body, arguments, flags, size)
    b.location = None
    values = all_mapped(b, values, many, size)
    results = [_chosen(b, going, new, old) for new, old in zip(values, params, strict=False)]
    return b.finish(f"{body.name}_where_it_goes_on", results)


def batch_scan(
    b: Any, instruction: Instruction, operands: Sequence[Value], mapped: Sequence[bool], size: int
) -> Sequence[Value]:
    """One scan, whose slices are those of all examples: their batch axis comes after the axis of steps."""
    (body,) = instruction.regions
    count, first = instruction.attrs["carries"], len(operands) - instruction.attrs["slices"]
    flags = _stable(body, mapped, count)
    batched = _with(b, operands, mapped, flags, size)
    for position in range(first, len(batched)):
        if flags[position]:
            batched[position] = _exchanged(b, batched[position])
    many = mapped_results(body, flags)
    result_flags = [*flags[:count], *many[count:]]
    region = batch_region(body, flags, size, result_flags)
    results = list(b.append(instruction.op, tuple(batched), instruction.attrs, regions=(region,)))
    for position in range(count, len(results)):
        if result_flags[position]:
            results[position] = _exchanged(b, results[position])
    return all_mapped(b, results, result_flags, size)


def _exchanged(b: Any, value: Value) -> Value:
    """The first two axes exchanged."""
    result: Value = b.transpose(value, perm=(1, 0, *range(2, len(value.shape))))
    return result
