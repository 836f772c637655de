"""Ops that compute nothing of their own, and say how something is differentiated."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.errors import GradientError, ShapeError
from ..builder import Builder, inline
from ..dataflow import without_effects
from ..dtypes import is_differentiable
from ..graph import Function, Instruction, Value
from ..registry import NONDIFF, OPS, Attrs, Kind, Regions
from ..transforms.batching import batch_pointwise, batch_region
from ..transforms.differentiation import pull_back, strength_around
from ..types import Types
from .define import check_parameters, define, define_with_regions, region_count


def _custom_types(types: Types, attrs: Attrs, regions: tuple[Any, ...], name: str = "custom_vjp") -> Types:
    region_count(name, regions, 2)
    forward, backward = regions
    check_parameters(name, "the forward region", forward, types)
    results = tuple(result.type for result in forward.results)
    count, wrt = attrs["outputs"], attrs["wrt"]
    if not 0 <= count <= len(results) or any(not 0 <= position < len(types) for position in wrt):
        raise ShapeError(f"{name}: outputs={count} or wrt={list(wrt)} is out of range")
    cotangents = tuple(result for result in results[:count] if is_differentiable(result.dtype))
    check_parameters(name, "the backward region", backward, (*types, *results, *cotangents))
    gradients = tuple(result.type for result in backward.results)
    if gradients != tuple(types[position] for position in wrt):
        raise ShapeError(
            f"{name}: the backward region must return the types of operands {list(wrt)}, got "
            f"({', '.join(map(str, gradients))})"
        )
    return results


def repeated_backward(region: Function, wrt: tuple[int, ...]) -> Function:
    """``(*inputs, *results, *cotangents) -> gradients``, which computes `region` again from the inputs."""
    b = Builder()
    inputs = [b.parameter(param.type, param.hint) for param in region.params]
    for i, result in enumerate(region.results):
        b.parameter(result.type, f"y{i}")
    again = [b.append(OPS["barrier"], (input_,), {})[0] for input_ in inputs]
    outputs = inline(b, region, again)
    body = tuple(b.body)
    seeds: dict[Value, Value] = {}
    for i, output in enumerate(outputs):
        if is_differentiable(output.dtype):
            cotangent = b.parameter(output.type, f"ct{i}")
            earlier = seeds.get(output)
            seeds[output] = cotangent if earlier is None else b.add(earlier, cotangent)
    targets = [again[i] for i in wrt]
    gradients = [
        b.full(value=0.0, shape=target.shape, dtype=target.dtype) if gradient is None else gradient
        for target, gradient in zip(targets, pull_back(b, body, seeds, targets), strict=True)
    ]
    return b.finish(f"{region.name}_backward", gradients)


def _custom_pull(b: Any, instruction: Any, cotangents: list[Any]) -> list[Any]:
    forward, backward, *_ = instruction.regions
    if instruction.attrs.get("repeats") and strength_around():
        backward = repeated_backward(forward, instruction.attrs["wrt"])
    pairs = list(zip(instruction.results, cotangents, strict=True))[: instruction.attrs["outputs"]]
    seeds = [
        b.full(value=0.0, shape=result.shape, dtype=result.dtype) if cotangent is None else cotangent
        for result, cotangent in pairs
        if is_differentiable(result.dtype)
    ]
    gradients = inline(b, backward, [*instruction.operands, *instruction.results, *seeds])
    by_operand: list[Any] = [None] * len(instruction.operands)
    for position, gradient in zip(instruction.attrs["wrt"], gradients, strict=True):
        by_operand[position] = gradient
    return by_operand


def _custom_batch(b: Any, instruction: Any, operands: Any, mapped: Any, size: int) -> Any:
    """Batch both regions. The cotangent of an operand that the examples share is summed over them."""
    forward, backward = instruction.regions
    flags = [*mapped, *[True] * (len(backward.params) - len(mapped))]
    regions = (
        batch_region(forward, mapped, size),
        batch_region(backward, flags, size, [mapped[position] for position in instruction.attrs["wrt"]]),
    )
    return b.append(instruction.op, tuple(operands), instruction.attrs, regions=regions)


CUSTOM_VJP = define_with_regions(
    "custom_vjp", Kind.REGION, "*inputs", vjp=NONDIFF,
    doc="the results of its first region; the second, of (*inputs, *results, *cotangents of the first "
    "`outputs` results that are floating), gives the cotangents of the inputs `wrt`; with `repeats` it is "
    "`repeated_backward` of the first one",
    attrs={"name": (str,), "outputs": (int,), "wrt": (tuple,), "repeats": (bool,)},
    defaults={"repeats": False}, batch=_custom_batch,
    regions=Regions(
        types=_custom_types,
        run=lambda call, regions, operands, attrs: call(regions[0], operands),
        pull=_custom_pull,
        expand=lambda b, regions, operands, attrs: inline(b, regions[0], operands),
    ),
)  # fmt: skip


def _same(types: Types, attrs: Attrs) -> Types:
    return (types[0],)


def _refuse(b: Any, ct: Any, message: str) -> Any:
    raise GradientError(message)


UNDIFFERENTIABLE = define(
    "undifferentiable", Kind.COMPOSITE, "x", attrs={"message": (str,)}, infer=_same,
    eval=lambda x, message: x, vjp={"x": _refuse}, decompose=lambda b, x, message: x, batch=batch_pointwise,
    doc="x, whose gradient is the error `message`",
)  # fmt: skip


def _rewritten_types(types: Types, attrs: Attrs) -> Types:
    if types[0] != types[1]:
        raise ShapeError(f"rewritten: expected two operands of one type, got {types[0]} and {types[1]}")
    return (types[0],)


REWRITTEN = define(
    "rewritten", Kind.COMPOSITE, "x v", infer=_rewritten_types, eval=lambda x, v: v,
    vjp={"x": lambda b, ct: ct, "v": lambda b, ct: None}, decompose=lambda b, x, v: v, batch=batch_pointwise,
    doc="v, which was written over x unseen by gradients: they pass to x",
)  # fmt: skip


def _rule_types(types: Types, attrs: Attrs, regions: tuple[Any, ...]) -> Types:
    region_count("custom_rule", regions, 3)
    results = _custom_types(types, attrs, regions[:2], "custom_rule")
    primal = regions[2]
    check_parameters("custom_rule", "the primal region", primal, types)
    returned = tuple(result.type for result in primal.results)
    if returned != results[: attrs["outputs"]]:
        raise ShapeError(
            f"custom_rule: the primal region returns ({', '.join(map(str, returned))}), the forward region "
            f"({', '.join(map(str, results[: attrs['outputs']]))})"
        )
    return results


def _rule_pull(b: Any, instruction: Any, cotangents: list[Any]) -> list[Any]:
    """Differentiate by the user's backward region for the outputs, and by the forward region's ops for the
    residuals."""
    outputs, operands = instruction.attrs["outputs"], instruction.operands
    by_operand: list[Any] = [None] * len(operands)
    if any(cotangent is not None for cotangent in cotangents[:outputs]):
        by_operand = _custom_pull(b, instruction, cotangents)
    seeds: dict[Any, Any] = {}
    start = len(b.body)
    values: tuple[Any, ...] = ()
    if any(cotangent is not None for cotangent in cotangents[outputs:]):
        values = inline(b, without_effects(instruction.regions[0]), operands)
    body = tuple(b.body[start:])
    for value, cotangent in zip(values[outputs:], cotangents[outputs:], strict=False):
        if cotangent is not None:
            seed = seeds.get(value)
            seeds[value] = cotangent if seed is None else b.add(seed, cotangent)
    targets = list(dict.fromkeys(operand for operand in operands if is_differentiable(operand.dtype)))
    for target, part in zip(targets, pull_back(b, body, seeds, targets), strict=True):
        position = operands.index(target)
        if part is not None:
            by_operand[position] = part if by_operand[position] is None else b.add(by_operand[position], part)
    return by_operand


def _rule_expand(b: Any, instruction: Any, used: Any) -> Any:
    """The primal region, unless something was differentiated and so uses what the forward region kept."""
    forward, _, primal = instruction.regions
    outputs, operands = instruction.attrs["outputs"], instruction.operands
    if any(result in used for result in instruction.results[outputs:]):
        return inline(b, forward, operands)
    return (*inline(b, primal, operands), *[None] * (len(instruction.results) - outputs))


def _rule_pulled(instruction: Instruction) -> Instruction:
    """Replace the primal region by the forward region without its residuals. So the outputs are the same
    whether or not the backward region uses any residual."""
    forward, backward, primal = instruction.regions
    outputs = forward.results[: instruction.attrs["outputs"]]
    regions = (forward, backward, Function(primal.name, forward.params, forward.body, outputs))
    return instruction.replace(regions=regions)


def _rule_batch(b: Any, instruction: Any, operands: Any, mapped: Any, size: int) -> Any:
    """All three regions batched."""
    forward, backward, primal = instruction.regions
    flags = [*mapped, *[True] * (len(backward.params) - len(mapped))]
    regions = (
        batch_region(forward, mapped, size),
        batch_region(backward, flags, size, [mapped[position] for position in instruction.attrs["wrt"]]),
        batch_region(primal, mapped, size),
    )
    return b.append(instruction.op, tuple(operands), instruction.attrs, regions=regions)


CUSTOM_RULE = define_with_regions(
    "custom_rule", Kind.REGION, "*inputs", vjp=NONDIFF, batch=_rule_batch,
    doc="as custom_vjp, with JAX's meaning of its gradient's gradient: what the second region uses of the "
    "first is differentiated by the first region's ops; the third region computes the outputs alone",
    attrs={"name": (str,), "outputs": (int,), "wrt": (tuple,)},
    regions=Regions(
        types=_rule_types,
        run=lambda call, regions, operands, attrs: call(regions[0], operands),
        pull=_rule_pull,
        expand=lambda b, regions, operands, attrs: inline(b, regions[0], operands),
        pulled=_rule_pulled,
        expand_used=_rule_expand,
    ),
)  # fmt: skip

BARRIER = define(
    "barrier", Kind.ELEMENTWISE, "x", infer=_same, eval=np.copy, vjp={"x": lambda b, ct: ct},
    emit=lambda b, x: x, takes_float16=True,
    doc="x, but no pass knows that: what is computed of it is not shared with what is computed of x",
)  # fmt: skip
