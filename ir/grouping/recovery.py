"""Simpler forms of a program, for where the compiler fails on a part of it.

A fusion becomes its ops, each a group of its own; any other instruction becomes an ``interpreted`` one, which
runs the NumPy kernel of its op, and so may the whole Function.
"""

from __future__ import annotations

from ..graph import Function, Instruction, Substitution, Value
from ..ops.fusion import INTERPRETED
from ..registry import Kind
from .groups import Unit
from .inlining import Definitions, Reads
from .outlining import outline


def fuse_nothing(function: Function) -> Function:
    """Outline each op as a group of its own, in place of the pass ``fuse``."""
    reads = Reads(function)
    units = [Unit.of(instruction, 0) for instruction in function.body if not reads.is_inline(instruction)]
    return outline(function, reads, units)


def without(function: Function, failing: Instruction) -> Function | None:
    """`function` with something simpler in place of the instruction `failing`, which may be in a region; None
    where it is not there or nothing is simpler."""
    defs = function.defs
    body: list[Instruction] = []
    changed = False
    for instruction in function.body:
        simpler = (
            _simpler(instruction, defs) if instruction is failing else _regions_without(instruction, failing)
        )
        body += [instruction] if simpler is None else simpler
        changed |= simpler is not None
    return Function(function.name, function.params, tuple(body), function.results) if changed else None


def without_fusions(function: Function) -> Function:
    """`function` with all its fusions taken apart, also in regions; itself where none has several ops."""
    for instruction in function.instructions():
        if instruction.op.kind is Kind.REGION and _taken_apart(instruction) is not None:
            function = without(function, instruction) or function
    return function


def interpreted(function: Function) -> Function:
    """`function` as one ``interpreted`` instruction."""
    params = tuple([Value(param.type, param.hint) for param in function.params])
    results = tuple([Value(result.type) for result in function.results])
    whole = Instruction(INTERPRETED, params, {}, results, None, (function,))
    return Function(function.name, params, (whole,), results)


def is_interpreted(function: Function) -> bool:
    """Whether `function` is what `interpreted` gives."""
    return len(function.body) == 1 and function.body[0].op is INTERPRETED


def _regions_without(instruction: Instruction, failing: Instruction) -> list[Instruction] | None:
    if not instruction.op.kind.traits.control:
        return None
    regions = [without(region, failing) for region in instruction.regions]
    if all(region is None for region in regions):
        return None
    kept = tuple([new or old for new, old in zip(regions, instruction.regions, strict=True)])
    return [instruction.replace(regions=kept)]


def _simpler(instruction: Instruction, defs: Definitions) -> list[Instruction] | None:
    if instruction.op is INTERPRETED:
        return None
    if instruction.op.kind is Kind.TILED:
        return _one_by_one(instruction, instruction.regions[0])
    apart = _taken_apart(instruction) if instruction.op.kind is Kind.REGION else None
    return [_on_the_host(instruction, defs)] if apart is None else apart


def _taken_apart(fusion: Instruction) -> list[Instruction] | None:
    """The ops of a fusion, each a group of its own; None where that is the same."""
    (region,) = fusion.regions
    apart = fuse_nothing(region)
    outer = dict(zip(apart.results, fusion.results, strict=False))
    computed = {result for instruction in apart.body for result in instruction.results}
    kernels = [instruction for instruction in apart.body if instruction.op.kind is not Kind.VIEW]
    if len(kernels) < 2 or len(outer) < len(fusion.results) or not outer.keys() <= computed:
        return None
    return _one_by_one(fusion, apart)


def _one_by_one(group: Instruction, region: Function) -> list[Instruction]:
    """The instructions of the `region` of a group in its place."""
    outer = dict(zip(region.results, group.results, strict=False))
    table = Substitution(dict(zip(group.regions[0].params, group.operands, strict=True)))
    body = []
    for instruction in region.body:
        results = tuple([outer.get(result) or Value(result.type) for result in instruction.results])
        operands = table.all(instruction.operands)
        body.append(instruction.replace(operands=operands, results=results))
        table.table.update(zip(instruction.results, results, strict=True))
    return body


def _on_the_host(instruction: Instruction, defs: Definitions) -> Instruction:
    """`instruction` as an ``interpreted`` instruction, with the views through which it reads."""
    inputs: dict[Value, None] = {}
    views: dict[Instruction, None] = {}

    def visit(value: Value) -> None:
        definition = defs.get(value)
        if definition is None or definition.op.kind is not Kind.VIEW:
            inputs[value] = None
            return
        for operand in definition.operands:
            visit(operand)
        views[definition] = None

    for operand in instruction.operands:
        visit(operand)
    table = Substitution({value: Value(value.type) for value in inputs})
    params = table.all(tuple(inputs))
    body = []
    for each in (*views, instruction):
        fresh = tuple([Value(result.type) for result in each.results])
        operands = table.all(each.operands)
        body.append(each.replace(operands=operands, results=fresh))
        table.table.update(zip(each.results, fresh, strict=True))
    region = Function("interpreted", params, tuple(body), table.all(instruction.results))
    return Instruction(INTERPRETED, tuple(inputs), {}, instruction.results, instruction.location, (region,))
