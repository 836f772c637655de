"""Products at the end of a step that the next step begins with: they move to the beginning of that step.

    for g in gs:                                      for g in gs:
        v = g + p                                         v = g + 0.9 * v
        p = 0.9 * v                                   p = 0.9 * v

A product and a sum one behind the other are one operation, `multiply-adds`, and half of the time that steps
wait for each other. Steps back through a recurrence end with the product.
"""

from __future__ import annotations

import math

from ...builder import Builder
from ...dataflow import read_counts
from ...dtypes import is_real_floating
from ...graph import Function, Instruction, Substitution, Value
from ...registry import Kind
from ..rewriting import Definitions, constant_of
from .control_flow import map_regions


def rotate_products(function: Function) -> Function:
    """*Requires*: valid IR. *Ensures*: the same results; no step of a scan ends with the product of a number
    with a positive constant that the next one adds to something, where that begins with zero."""
    if not any(op.kind is Kind.SCAN for op in function.ops):
        return function
    function = map_regions(function, rotate_products)
    defs = function.defs
    b = Builder()
    b.params = list(function.params)
    table = Substitution()
    changed = False
    for original in function.body:
        instruction = table.apply(original)
        factors = _factors(original, defs) if original.op.kind is Kind.SCAN else {}
        if not factors:
            b.body.append(instruction)
            continue
        changed = True
        results = tuple(
            [
                Value(result.type, result.hint) if place in factors else result
                for place, result in enumerate(instruction.results)
            ]
        )
        region = _rotated(instruction.regions[0], factors)
        b.body.append(instruction.replace(regions=(region,), results=results))
        b.location = instruction.location
        for carry, factor in factors.items():
            table[original.results[carry]] = b.mul(results[carry], factor)
    return b.finish(function.name, table.all(function.results)) if changed else function


def _factors(scan: Instruction, defs: Definitions) -> dict[int, float]:
    """Find the carries that end a step as a product with a constant and that the next step adds; the
    constants by carry."""
    (body,) = scan.regions
    uses = read_counts(body)
    inner = {result: step for step in body.body for result in step.results}
    factors: dict[int, float] = {}
    for carry in range(scan.attrs["carries"]):
        param, result = body.params[carry], body.results[carry]
        start, product = constant_of(scan.operands[carry], defs), inner.get(result)
        if (
            param.shape
            or not is_real_floating(param.dtype)
            or start != 0
            or math.copysign(1.0, start) < 0
            or product is None
            or product.op.name != "mul"
            or uses[result] != 1
            or uses[param] != 1
        ):
            continue
        numbers = [constant_of(operand, inner) for operand in product.operands]
        factor = next((number for number in numbers if number is not None), None)
        adds = any(step.op.name == "add" and param in step.operands for step in body.body)
        if adds and factor is not None and 0 < factor < math.inf and None in numbers:
            factors[carry] = float(factor)
    return factors


def _rotated(body: Function, factors: dict[int, float]) -> Function:
    """`body` with the products of `factors` in front."""
    b = Builder()
    b.params = list(body.params)
    table = Substitution()
    results = list(body.results)
    inner = {result: step for step in body.body for result in step.results}
    for carry, factor in factors.items():
        product = inner[body.results[carry]]
        b.location = product.location
        table[body.params[carry]] = b.mul(body.params[carry], factor)
        x, y = product.operands
        results[carry] = x if constant_of(y, inner) is not None else y
    b.body += [table.apply(step) for step in body.body]
    return b.finish(body.name, table.all(tuple(results)))
