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
from ..registry import NONDIFF, Op, Rule
from ..types import TensorType
from .strong_zeros import StrongZeros

#: Whether the cotangents of the Functions that are differentiated, regions of another one, come of a choice.
_behind_choice: Final[contextvars.ContextVar[bool]] = contextvars.ContextVar("behind_choice", default=False)


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
) -> list[Value | None]:
    """Append to `builder` the cotangents of `wrt`, given those of some values of `body` in `seeds`.

    *Requires*: `body`'s values are visible to `builder`. *Ensures*: only values on a path from `wrt` to a
    seed are visited; None where there is no path.
    """
    active = set(wrt)
    for instruction in body:
        if passes_gradient(instruction.op) and any(operand in active for operand in instruction.operands):
            active.update(result for result in instruction.results if is_differentiable(result.dtype))
    cotangents = dict(seeds)
    chosen = set(seeds) if is_behind_choice() else set()
    for instruction in reversed(body):
        if instruction.op.regions is not None:
            _differentiate_regions(builder, instruction, cotangents, active, chosen)
        elif instruction.op.vjp is not NONDIFF and any(
            result in cotangents for result in instruction.results
        ):
            _differentiate(builder, instruction, cotangents, active, chosen)
    return [cotangents.get(value) for value in wrt]


def passes_gradient(op: Op) -> bool:
    """Whether a gradient may flow through `op` to its operands."""
    return op.regions is not None or (op.vjp is not NONDIFF and op.name != "stop_gradient")


def _differentiate(
    builder: Builder,
    instruction: Instruction,
    cotangents: dict[Value, Value],
    active: set[Value],
    chosen: set[Value],
) -> None:
    """Add to `cotangents` those of the instruction's operands. `chosen` are values behind a choice."""
    op, operands = instruction.op, instruction.operands
    cotangent = cotangents.get(instruction.results[0])
    types = [operand.type for operand in operands]
    behind = instruction.results[0] in chosen and not op.kind.traits.mixes
    if behind or op.chooses:
        chosen.update(operands)
    b: Any = StrongZeros(builder) if behind else builder
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
    chosen: set[Value],
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
    behind = any(result in chosen for result in instruction.results) or has_choice(instruction.regions)
    if behind:
        chosen.update(instruction.operands)
    parts = pull_regions(builder, instruction, result_cotangents, behind)
    if regions.pulled is not None and instruction in builder.body:
        builder.body[builder.body.index(instruction)] = regions.pulled(instruction)
    for operand, part in zip(instruction.operands, parts, strict=True):
        if part is not None and operand in active:
            cotangent = cotangents.get(operand)
            cotangents[operand] = part if cotangent is None else builder.add(cotangent, part)


def has_choice(regions: Sequence[Function]) -> bool:
    """Whether an op of `regions` chooses."""
    return any(inner.op.chooses or has_choice(inner.regions) for region in regions for inner in region.body)


def pull_regions(
    builder: Builder, instruction: Instruction, cotangents: list[Value | None], behind_choice: bool
) -> list[Value | None]:
    """The cotangents of the operands of an instruction with regions, by the rule of its op. `behind_choice`
    says whether those of its results, or in its regions, come of a choice."""
    assert instruction.op.regions is not None
    assert instruction.op.regions.pull is not None
    with behind_a_choice(behind_choice):
        parts: list[Value | None] = instruction.op.regions.pull(builder, instruction, cotangents)
    return parts


@contextlib.contextmanager
def behind_a_choice(behind: bool) -> Iterator[None]:
    """Differentiate Functions whose cotangents come of a choice, or do not."""
    token = _behind_choice.set(behind)
    try:
        yield
    finally:
        _behind_choice.reset(token)


def is_behind_choice() -> bool:
    """Whether the cotangents of a Function that is differentiated come of a choice."""
    return _behind_choice.get()


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
    function: Function, wrt: Sequence[int], positions: Sequence[int] | None = None
) -> Pullback:
    """Differentiate `function` and cut it where the cotangents come in: those of the results at
    `positions`, by default of every floating one.

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
    pulled = pull_back(joint, tuple(joint.body[:length]), seeds, targets)
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
