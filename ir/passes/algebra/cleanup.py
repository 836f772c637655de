"""Decomposition of composites, constant folding, common subexpressions, dead code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ....base.errors import TracejitError
from ....base.loading import LazyModule
from ...builder import Builder
from ...dataflow import has_effect
from ...graph import Function, Instruction, Substitution, Value
from ...ops.strong_zeros import PLAIN
from ...registry import OPS, Attrs, Kind, Op
from ..loops.control_flow import trim
from ..rewriting import Definitions, Rule, constant_of, rewrite
from .values_with_vectors import with_vectors

if TYPE_CHECKING:
    from . import adjugates, strong_products
else:  # with the first of their ops
    adjugates = LazyModule(".adjugates", __package__)
    strong_products = LazyModule(".strong_products", __package__)


def decompose(function: Function) -> Function:
    """*Requires*: valid IR. *Ensures*: no op of kind COMPOSITE is left, and no op that is its region."""
    composites: dict[str, Sequence[Rule]] = {
        op.name: (_expand,) for op in OPS if op.kind is Kind.COMPOSITE and op.decompose
    }
    products = dict.fromkeys(PLAIN, (_product,))
    own: dict[str, Sequence[Rule]] = {"adjugate": (_adjugate,), **products}
    return rewrite(expand_regions(function), {**composites, **own})


def _adjugate(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    return adjugates.factored_adjugate(b, instruction, defs)


def _product(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    return strong_products.branching_product(b, instruction, defs)


def expand_regions(function: Function, stays: Op | None = None) -> Function:
    """Ops that are there for differentiation alone, but for the op `stays`, in terms of the ops in their
    regions."""
    while any(op.regions and op.regions.expand and op is not stays for op in function.ops):
        builder = Builder()
        builder.params = list(function.params)
        table = Substitution()
        used = {operand for instruction in function.body for operand in instruction.operands} | set(
            function.results
        )
        for original in function.body:
            instruction = table.apply(original)
            regions = instruction.op.regions
            if regions is None or regions.expand is None or instruction.op is stays:
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
    if not _has_constant_result(function):
        return function
    names = (op.name for op in OPS if op.kind is Kind.ELEMENTWISE)
    return rewrite(function, dict.fromkeys(names, (_evaluate,)))


def _has_constant_result(function: Function) -> bool:
    """Whether an elementwise op has nothing but uniform constants for operands."""
    full, constants = OPS["full"], set[Value]()
    if full not in function.ops:
        return False
    for instruction in function.body:
        if instruction.op is full:
            constants.add(instruction.results[0])
        elif constants.issuperset(instruction.operands):
            if instruction.op.kind is Kind.ELEMENTWISE:
                return True
            if instruction.op.kind is Kind.VIEW:
                constants.add(instruction.results[0])
    return False


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
    replaced = table.table.keys()
    attr_keys: dict[int, Any] = {}
    for original in with_vectors(function):
        instruction = original if replaced.isdisjoint(original.operands) else table.apply(original)
        op, operands = instruction.op, instruction.operands
        if instruction.regions or op.effect:
            body.append(instruction)
            continue
        if op.commutative and len(operands) == 2 and id(operands[0]) > id(operands[1]):
            operands = (operands[1], operands[0])
        attrs = instruction.attrs
        key = (op, operands, *_attr_keys(attrs, attr_keys)) if attrs else (op, operands)
        earlier = seen.setdefault(key, instruction)
        if earlier is instruction:
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


def _attr_keys(attrs: Attrs, attr_keys: dict[int, Any]) -> Sequence[Any]:
    """The hashable key of `attrs`, which equal attributes share; `attr_keys` caches the keys of values."""
    return [*attrs, *[attr_keys.get(id(value)) or _attr_key(value, attr_keys) for value in attrs.values()]]


def _attr_key(value: Any, attr_keys: dict[int, Any]) -> Any:
    # repr tells 0.0 from -0.0 and True from 1, which compare equal, and makes NaN equal to itself; it takes
    # long
    if type(value) is float and value and value == value:
        return float, value
    key = attr_keys[id(value)] = repr(value)
    return key


def dce(function: Function) -> Function:
    """Dead code elimination.

    *Requires*: valid IR. *Ensures*: every instruction contributes to a result, or has an effect or
    contributes to one; and so do the carries and operands of control flow ops.
    """
    if not function.has_control and _all_read(function):
        return function
    live: set[Value] = set(function.results)
    kept: list[Instruction] = []
    changed = False
    for instruction in reversed(function.body):
        if instruction.regions or instruction.op.effect:
            effective = has_effect(instruction)
            if not effective and live.isdisjoint(instruction.results):
                continue
            if instruction.regions and instruction.op.kind.traits.control and not effective:
                trimmed = trim(instruction, live)
                changed |= trimmed is not instruction
                instruction = trimmed
        elif live.isdisjoint(instruction.results):
            continue
        live.update(instruction.operands)
        kept.append(instruction)
    if len(kept) == len(function.body) and not changed:
        return function
    return Function(function.name, function.params, tuple(reversed(kept)), function.results)


def _all_read(function: Function) -> bool:
    """Whether some result of each instruction is an operand or is returned, so that none is dead: a last dead
    one would have no reader."""
    read = set(function.results).union(*[instruction.operands for instruction in function.body])
    results = [instruction.results for instruction in function.body]
    return not any(map(read.isdisjoint, results))
