"""Symbolic differentiation of Functions in reverse mode, by the gradient rules of the op records."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator, Sequence
from typing import Any, Final

from ...base.errors import GradientError
from ...base.records import record
from ..builder import Builder, inline
from ..dataflow import has_effect
from ..dtypes import is_differentiable
from ..graph import Function, Instruction, Value
from ..registry import NONDIFF, Op, Rule, Strength
from ..types import TensorType
from .strong_zeros import with_zeros

_WEAK: Final = Strength.NONE
#: Strength of the zeros in the cotangents of the Functions that are differentiated, regions of another one.
_strength: Final[contextvars.ContextVar[Strength]] = contextvars.ContextVar("strength", default=_WEAK)


def rule_arguments(
    rule: Rule, inputs: Sequence[Any], types: Sequence[TensorType], out: Any, index: int, attrs: Any
) -> list[Any]:
    """Collect the arguments that `rule` asks for, in the order of its parameters."""
    arguments: list[Any] = []
    for kind, which in rule.wants:
        if kind == "input":
            arguments.append(inputs[which])
        elif kind == "attr":
            arguments.append(attrs[which])
        elif kind == "out":
            arguments.append(out)
        elif kind == "type":
            arguments.append(types[which])
        elif kind == "rest":
            arguments.append(tuple(inputs[which:]))
        elif kind == "rest_types":
            arguments.append(tuple(types[which:]))
        else:
            arguments.append(index)
    return arguments


def variadic_index(op: Op, position: int) -> int:
    """The position among the variadic operands."""
    return position - (len(op.params) - 1) if op.variadic else position


@record
class Pullback:
    """A Function split for reverse mode.

    ``forward(*inputs) -> (*outputs, *residuals)`` and ``backward(*residuals, *cotangents) -> cotangents
    of inputs[wrt]``; `outputs` counts the original results, of which `differentiable` receive cotangents.
    """

    forward: Function
    backward: Function
    outputs: int
    differentiable: tuple[int, ...]
    wrt: tuple[int, ...]


def pull_back(
    builder: Builder,
    body: Sequence[Instruction],
    seeds: dict[Value, Value],
    wrt: Sequence[Value],
    strength: Strength | None = None,
) -> list[Value | None]:
    """Append to `builder` the cotangents of `wrt`, given those of some values of `body` in `seeds`, whose
    zeros have the `strength`: by default, in a region, that of the cotangents of its instruction.

    *Requires*: `body`'s values are visible to `builder`. *Ensures*: only values on a path from `wrt` to a
    seed are visited; None where there is no path.
    """
    active = set(wrt)
    for instruction in body:
        if passes_gradient(instruction.op) and any(operand in active for operand in instruction.operands):
            active.update(result for result in instruction.results if is_differentiable(result.dtype))
    cotangents = dict(seeds)
    strengths = dict.fromkeys(seeds, _strength.get() if strength is None else strength)
    for instruction in reversed(body):
        if instruction.op.regions is not None:
            _differentiate_regions(builder, instruction, cotangents, active, strengths)
        elif instruction.op.vjp is not NONDIFF and any(
            result in cotangents for result in instruction.results
        ):
            _differentiate(builder, instruction, cotangents, active, strengths)
    return [cotangents.get(value) for value in wrt]


def passes_gradient(op: Op) -> bool:
    """Whether a gradient may flow through `op` to its operands."""
    return op.regions is not None or (op.vjp is not NONDIFF and op.name != "stop_gradient")


def _differentiate(
    builder: Builder,
    instruction: Instruction,
    cotangents: dict[Value, Value],
    active: set[Value],
    strengths: dict[Value, Strength],
) -> None:
    """Add to `cotangents` those of the instruction's operands, whose zeros have the `strengths`."""
    op, operands = instruction.op, instruction.operands
    cotangent = cotangents.get(instruction.results[0])
    types = [operand.type for operand in operands]
    strength = strength_at(instruction, strengths)
    b: Any = with_zeros(builder, strength) if strength else builder
    builder.location = instruction.location and instruction.location.of_gradient()
    for position, operand in enumerate(operands):
        if operand not in active or not is_differentiable(operand.dtype):
            continue
        rule = op.rule_for(position)
        if rule is None:
            raise GradientError(f"{op.name}: no gradient with respect to operand {position}")
        index = variadic_index(op, position)
        arguments = rule_arguments(rule, operands, types, instruction.results[0], index, instruction.attrs)
        part = rule.fn(b, cotangent, *arguments)
        if part is None:
            continue
        if part.type != operand.type:
            raise GradientError(
                f"{op.name}: the rule for operand {position} gives {part.type}, not {operand.type}"
            )
        total = cotangents.get(operand)
        cotangents[operand] = part if total is None else builder.add(total, part)


def _differentiate_regions(
    builder: Builder,
    instruction: Instruction,
    cotangents: dict[Value, Value],
    active: set[Value],
    strengths: dict[Value, Strength],
) -> None:
    regions = instruction.op.regions
    result_cotangents = [cotangents.get(result) for result in instruction.results]
    if all(value is None for value in result_cotangents) or not any(
        operand in active for operand in instruction.operands
    ):
        return
    if regions is None or regions.pull is None:
        raise GradientError(f"{instruction.op.name}: no gradient")
    builder.location = instruction.location and instruction.location.of_gradient()
    strength = strength_at(instruction, strengths)
    parts = pull_regions(builder, instruction, result_cotangents, strength)
    if regions.pulled is not None and instruction in builder.body:
        builder.body[builder.body.index(instruction)] = regions.pulled(instruction)
    for operand, part in zip(instruction.operands, parts, strict=True):
        if part is not None and operand in active:
            cotangent = cotangents.get(operand)
            cotangents[operand] = part if cotangent is None else builder.add(cotangent, part)


def strength_at(instruction: Instruction, strengths: dict[Value, Strength]) -> Strength:
    """The strength of zeros for the rules of `instruction`, by the `strengths` of those in the cotangents of
    its results. Those of its operands are noted."""
    op = instruction.op
    if op.regions is not None:
        strength = passed = max(
            choice_in(instruction.regions),
            *[strengths.get(result, _WEAK) for result in instruction.results],
        )
    else:
        strength = strengths.get(instruction.results[0], _WEAK)
        if strength and strength <= op.kind.traits.ends_zeros:
            strength = _WEAK
        passed = strength if strength > op.chooses else op.chooses
    if passed:
        note_strength(strengths, instruction.operands, passed)
    return strength


def note_strength(strengths: dict[Value, Strength], values: Sequence[Value], strength: Strength) -> None:
    """Note that the cotangents of `values` have zeros of `strength`."""
    for value in values:
        if strengths.get(value, _WEAK) < strength:
            strengths[value] = strength


def strength_around() -> Strength:
    """The strength of zeros in the cotangents of the instruction whose regions are differentiated."""
    return _strength.get()


def choice_in(regions: Sequence[Function]) -> Strength:
    """The most strength of the zeros behind an op of `regions` that chooses."""
    inside = (max(inner.op.chooses, choice_in(inner.regions)) for region in regions for inner in region.body)
    return max(inside, default=Strength.NONE)


def pull_regions(
    builder: Builder, instruction: Instruction, cotangents: list[Value | None], strength: Strength
) -> list[Value | None]:
    """The cotangents of the operands of an instruction with regions, by the rule of its op. Zeros in those
    of its results, and in its regions, have the `strength`."""
    assert instruction.op.regions is not None
    assert instruction.op.regions.pull is not None
    with zeros_of(strength):
        parts: list[Value | None] = instruction.op.regions.pull(builder, instruction, cotangents)
    return parts


@contextlib.contextmanager
def zeros_of(strength: Strength) -> Iterator[None]:
    """Differentiate Functions in whose cotangents zeros have the `strength`."""
    token = _strength.set(strength)
    try:
        yield
    finally:
        _strength.reset(token)


def gradient(function: Function, wrt: Sequence[int]) -> Function:
    """``(*params) -> (result, *gradients)`` of a Function with one floating scalar result.

    Example:
        >>> import tracejit as tj
        >>> print(gradient(tj.trace(lambda x: x * x, 3.0), [0]).results[1].type)
        f64[]
    """
    (result,) = function.results
    if result.shape != () or not is_differentiable(result.dtype):
        raise GradientError(
            f"@{function.name}: a gradient needs one floating scalar result, got {result.type}"
        )
    builder = Builder()
    args = [builder.parameter(param.type, param.hint) for param in function.params]
    (value,) = inline(builder, function, args)
    builder.location = None
    seed = builder.scalar(1.0, value.dtype)
    targets = [args[position] for position in wrt]
    cotangents = pull_back(builder, tuple(builder.body), {value: seed}, targets)
    gradients = [
        builder.full(value=0.0, shape=target.shape, dtype=target.dtype) if cotangent is None else cotangent
        for target, cotangent in zip(targets, cotangents, strict=True)
    ]
    return builder.finish(f"grad_{function.name}", [value, *gradients])


def split_pullback(
    function: Function,
    wrt: Sequence[int],
    positions: Sequence[int] | None = None,
    strength: Strength | None = None,
) -> Pullback:
    """Differentiate `function` and cut it where the cotangents come in: those of the results at
    `positions`, by default of every floating one. `strength` as in `pull_back`.

    Cheap values (constants, broadcasts) are recomputed in the backward part; other forward values that it
    needs become residuals.
    """
    joint = Builder()
    args = [joint.parameter(param.type, param.hint) for param in function.params]
    outputs = inline(joint, function, args)
    length = len(joint.body)
    joint.location = None
    floating = tuple(i for i, output in enumerate(outputs) if is_differentiable(output.dtype))
    differentiable = floating if positions is None else tuple(positions)
    cotangents = [Value(outputs[i].type, f"ct{i}") for i in differentiable]
    seeds: dict[Value, Value] = {}
    for position, cotangent in zip(differentiable, cotangents, strict=True):
        seed = seeds.get(outputs[position])
        seeds[outputs[position]] = cotangent if seed is None else joint.add(seed, cotangent)
    targets = [args[position] for position in wrt]
    pulled = pull_back(joint, tuple(joint.body[:length]), seeds, targets, strength)
    forward_body = tuple(joint.body[:length])
    joint.location = None
    forward_body = tuple(joint.body[: len(forward_body)])  # loops were extended by what their gradients need
    gradients = [
        joint.full(value=0.0, shape=target.shape, dtype=target.dtype) if value is None else value
        for target, value in zip(targets, pulled, strict=True)
    ]
    residuals, backward_body = _cut(joint, forward_body, gradients, set(cotangents))
    forward = Function(function.name, tuple(args), forward_body, (*outputs, *residuals))
    backward = Function(
        f"{function.name}_backward", (*residuals, *cotangents), backward_body, tuple(gradients)
    )
    return Pullback(forward, backward, len(outputs), differentiable, tuple(wrt))


_RECOMPUTED = frozenset(("full", "iota", "constant", "broadcast"))


def _cut(
    joint: Builder, forward_body: tuple[Instruction, ...], gradients: list[Value], inputs: set[Value]
) -> tuple[list[Value], tuple[Instruction, ...]]:
    """The residuals, and the backward body in terms of them and `inputs`."""
    producers = {result: instruction for instruction in joint.body for result in instruction.results}
    forward = set(forward_body)
    residuals: dict[Value, None] = {}
    needed: set[Instruction] = set()
    stack = [*gradients, *_effects(joint, forward)]
    seen: set[Value] = set()
    while stack:
        value = stack.pop()
        if value in seen or value in inputs:
            continue
        seen.add(value)
        producer = producers.get(value)
        if producer is None or (producer in forward and producer.op.name not in _RECOMPUTED):
            residuals[value] = None
            continue
        needed.add(producer)
        stack.extend(producer.operands)
    return list(residuals), tuple(instruction for instruction in joint.body if instruction in needed)


def _effects(joint: Builder, forward: set[Instruction]) -> list[Value]:
    """The first results of the backward instructions that have side effects."""
    return [
        instruction.results[0]
        for instruction in joint.body
        if instruction not in forward and has_effect(instruction)
    ]


__all__ = ["Pullback", "gradient", "inline", "pull_back", "rule_arguments", "split_pullback"]
