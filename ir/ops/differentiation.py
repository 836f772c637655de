"""Ops that compute nothing of their own, and say how something is differentiated."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..batching import batch_pointwise, batch_region
from ..builder import inline
from ..dtypes import is_float
from ..errors import GradientError, ShapeError
from ..registry import NONDIFF, Attrs, Kind, Regions
from ..types import TensorType
from .define import check_parameters, define, define_with_regions, region_count

Types = tuple[TensorType, ...]


def _custom_types(types: Types, attrs: Attrs, regions: tuple[Any, ...]) -> Types:
    region_count("custom_vjp", regions, 2)
    forward, backward = regions
    check_parameters("custom_vjp", "the forward region", forward, types)
    results = tuple(one.type for one in forward.results)
    count, wrt = attrs["outputs"], attrs["wrt"]
    if not 0 <= count <= len(results) or any(not 0 <= one < len(types) for one in wrt):
        raise ShapeError(f"custom_vjp: outputs={count} or wrt={list(wrt)} is out of range")
    cotangents = tuple(one for one in results[:count] if is_float(one.dtype))
    check_parameters("custom_vjp", "the backward region", backward, (*types, *results, *cotangents))
    gradients = tuple(one.type for one in backward.results)
    if gradients != tuple(types[one] for one in wrt):
        raise ShapeError(
            f"custom_vjp: the backward region must return the types of operands {list(wrt)}, got "
            f"({', '.join(map(str, gradients))})"
        )
    return results


def _custom_pull(b: Any, instruction: Any, cotangents: list[Any]) -> list[Any]:
    _, backward = instruction.regions
    given = [
        b.full(value=0.0, shape=one.shape, dtype=one.dtype) if cotangent is None else cotangent
        for one, cotangent in zip(instruction.results, cotangents, strict=True)
    ][: instruction.attrs["outputs"]]
    given = [one for one in given if is_float(one.dtype)]
    gradients = inline(b, backward, [*instruction.operands, *instruction.results, *given])
    found: list[Any] = [None] * len(instruction.operands)
    for position, gradient in zip(instruction.attrs["wrt"], gradients, strict=True):
        found[position] = gradient
    return found


def _custom_batch(b: Any, instruction: Any, operands: Any, mapped: Any, size: int) -> Any:
    """Both regions batched; the cotangent of an operand that the examples share is the sum of theirs."""
    forward, backward = instruction.regions
    given = [*mapped, *[True] * (len(backward.params) - len(mapped))]
    regions = (
        batch_region(forward, mapped, size),
        batch_region(backward, given, size, [mapped[one] for one in instruction.attrs["wrt"]]),
    )
    return b.append(instruction.op, tuple(operands), instruction.attrs, regions=regions)


CUSTOM_VJP = define_with_regions(
    "custom_vjp", Kind.REGION, "*inputs", vjp=NONDIFF,
    doc="the results of its first region; the second, of (*inputs, *results, *cotangents of the first "
    "`outputs` results that are floating), gives the cotangents of the inputs `wrt`",
    attrs={"name": (str,), "outputs": (int,), "wrt": (tuple,)}, batch=_custom_batch,
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

BARRIER = define(
    "barrier", Kind.ELEMENTWISE, "x", infer=_same, eval=np.copy, vjp={"x": lambda b, ct: ct},
    emit=lambda b, x: x,
    doc="x, but no pass knows that: what is computed of it is not shared with what is computed of x",
)  # fmt: skip
