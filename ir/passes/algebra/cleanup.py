"""Decomposition of composites, constant folding, common subexpressions, dead code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...builder import Builder
from ...effects import has_effect
from ...errors import TracejitError
from ...graph import Function, Instruction, Substitution, Value
from ...registry import OPS, Kind
from ..loops.control_flow import trim
from ..rewriting import Definitions, Rule, constant_of, rewrite
from .adjugates import factored_adjugate
from .eigenvalues import with_vectors


def decompose(function: Function) -> Function:
    """*Requires*: valid IR. *Ensures*: no op of kind COMPOSITE is left, and no op that is its region."""
    composites: dict[str, Sequence[Rule]] = {
        op.name: (_expand,) for op in OPS if op.kind is Kind.COMPOSITE and op.decompose
    }
    return rewrite(_expand_regions(function), {**composites, "adjugate": (factored_adjugate,)})


def _expand_regions(function: Function) -> Function:
    """Ops that are there for differentiation alone, in terms of the ops in their regions."""
    while any(op.regions and op.regions.expand for op in function.ops):
        builder = Builder()
        builder.params = list(function.params)
        table = Substitution()
        used = {operand for instruction in function.body for operand in instruction.operands} | set(
            function.results
        )
        for original in function.body:
            instruction = table.apply(original)
            regions = instruction.op.regions
            if regions is None or regions.expand is None:
                builder.body.append(instruction)
                continue
            builder.location = instruction.location
            if regions.expand_used is not None:
                results = regions.expand_used(builder, instruction, used)
            else:
                results = regions.expand(
                    builder, instruction.regions, instruction.operands, instruction.attrs
                )
            for old, new in zip(original.results, results, strict=True):
                table[old] = new
        function = Function(function.name, function.params, tuple(builder.body), table.all(function.results))
    return function


def _expand(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    assert instruction.op.decompose is not None
    return instruction.op.decompose(b, *instruction.operands, **instruction.attrs)  # type: ignore[no-any-return]


def fold(function: Function) -> Function:
    """Evaluate elementwise ops whose operands are uniform constants.

    *Requires*: valid IR. *Ensures*: the same results; what is folded is a ``full`` of the same type.
    """
    names = (op.name for op in OPS if op.kind is Kind.ELEMENTWISE)
    return rewrite(function, dict.fromkeys(names, (_evaluate,)))


def _evaluate(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    constants: list[Any] = []
    for operand in instruction.operands:
        constant = constant_of(operand, defs)
        if constant is None:
            return None
        constants.append(np.asarray(constant, operand.dtype))
    try:
        with np.errstate(all="ignore"):
            value = instruction.op.eval(*constants, **instruction.attrs)
    except (ValueError, TracejitError):
        return None  # the program fails at run time, where the error belongs
    item = np.asarray(value, instruction.result.dtype).item()
    return b.full(value=item, shape=instruction.result.shape, dtype=instruction.result.dtype)  # type: ignore[no-any-return]


def cse(function: Function) -> Function:
    """Common subexpression elimination: equal ops on equal operands are computed once.

    *Requires*: valid IR. *Ensures*: no two instructions with the same op, operands and attributes,
    operands of commutative ops in either order, save those with an effect.
    """
    table = Substitution()
    seen: dict[Any, Instruction] = {}
    merged: dict[Instruction, list[Instruction]] = {}
    body: list[Instruction] = []
    for original in with_vectors(function.body):
        instruction = table.apply(original) if table.table else original
        if instruction.regions or instruction.op.effect:
            body.append(instruction)
            continue
        key = _key(instruction)
        earlier = seen.get(key)
        if earlier is None:
            seen[key] = instruction
            body.append(instruction)
        else:
            merged.setdefault(earlier, []).append(original)
            for old, new in zip(original.results, earlier.results, strict=True):
                table[old] = new
    if len(body) == len(function.body):
        return function
    body = [
        instruction.also_for(merged[instruction]) if instruction in merged else instruction
        for instruction in body
    ]
    return Function(function.name, function.params, tuple(body), table.all(function.results))


def _key(instruction: Instruction) -> Any:
    operands: tuple[Value, ...] = instruction.operands
    if instruction.op.commutative and len(operands) == 2 and id(operands[0]) > id(operands[1]):
        operands = (operands[1], operands[0])
    if not instruction.attrs:
        return instruction.op, operands
    return instruction.op, operands, *[(name, _attr_key(value)) for name, value in instruction.attrs.items()]


def _attr_key(value: Any) -> Any:
    # repr tells 0.0 from -0.0 and True from 1, which compare equal, and makes NaN equal to itself; that of a
    # dtype takes long
    return value if isinstance(value, np.dtype) else repr(value)


def dce(function: Function) -> Function:
    """Dead code elimination.

    *Requires*: valid IR. *Ensures*: every instruction contributes to a result, or has an effect or
    contributes to one; and so do the carries and operands of control flow ops.
    """
    live: set[Value] = set(function.results)
    kept: list[Instruction] = []
    changed = False
    for instruction in reversed(function.body):
        effective = (instruction.op.effect or instruction.regions) and has_effect(instruction)
        if not effective and live.isdisjoint(instruction.results):
            continue
        if instruction.regions and instruction.op.kind.traits.control and not effective:
            trimmed = trim(instruction, live)
            changed |= trimmed is not instruction
            instruction = trimmed
        live.update(instruction.operands)
        kept.append(instruction)
    if len(kept) == len(function.body) and not changed:
        return function
    return Function(function.name, function.params, tuple(reversed(kept)), function.results)
