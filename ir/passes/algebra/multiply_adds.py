"""Products that only one sum reads, joined with it: rounded once, by one instruction where there is one.

    x * y + z  =  fma(x, y, z)        x * y - z  =  fma(x, y, -z)        z - x * y  =  fma(-x, y, z)

It is decided here, once for each value, and nowhere later. Fusion computes a value in several nests, each of
which may have other readers of the product; were each to decide for itself, the same value would differ in
the last place between them, and no element would equal the minimum of all.

In a loop in registers a sum that waits for the step before takes a product that does not wait as it is: what
is added to enters a sum faster than a joint operation.
"""

from __future__ import annotations

from typing import Final

from ...builder import Builder
from ...dataflow import read_counts
from ...graph import Function, Instruction, Value
from ..loops.carry_chains import CarryChains, step_chains
from ..loops.register_state import is_small
from ..rewriting import Definitions, Rule, rewrite

#: Ops that are a product, with the positions of its factors.
_PRODUCTS: Final = {"mul": (0, 1), "square": (0, 0)}
_SUMS: Final = ("add", "sub")


def multiply_adds(function: Function) -> Function:
    """*Requires*: no composites. *Ensures*: no float sum reads a product that nothing else reads, unless that
    is of constants, as in ``linspace``, whose elements stay NumPy's, or the sum alone waits for a carry; the
    same results up to the rounding of those products. Regions of loops in registers are done as well."""
    return _joined(function, None)


def _joined(function: Function, chains: CarryChains | None) -> Function:
    """`function`, and regions of loops in registers; `chains` are those of a step of such a loop."""
    body, changed = [], False
    for instruction in function.body if function.has_control else ():
        if instruction.op.kind.traits.control and is_small(instruction):
            inner = step_chains(instruction)
            last = len(instruction.regions) - 1
            regions = tuple(
                [
                    _joined(region, inner if number == last else None)
                    for number, region in enumerate(instruction.regions)
                ]
            )
            if any(new is not old for new, old in zip(regions, instruction.regions, strict=True)):
                instruction = instruction.replace(regions=regions)
                changed = True
        body.append(instruction)
    if changed:
        function = Function(function.name, function.params, tuple(body), function.results)
    names = {op.name for op in function.ops}
    if names.isdisjoint(_PRODUCTS) or names.isdisjoint(_SUMS):
        return function
    uses = read_counts(function)
    negatives: dict[Value, Value] = {}
    joined_products: set[Value] = set()
    constants: set[Value] = set()
    for instruction in function.body:
        if constants.issuperset(instruction.operands) and not instruction.regions:
            constants.update(instruction.results)

    def rule(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
        if instruction.results[0].type.dtype.kind != "f":
            return None
        for position, value in enumerate(instruction.operands):
            product = defs.get(value)
            if product is None or product.op.name not in _PRODUCTS or uses[value] != 1 or value in constants:
                continue
            first, second = _PRODUCTS[product.op.name]
            x, y = product.operands[first], product.operands[second]
            other = instruction.operands[1 - position]
            if chains is not None and _waits_alone(instruction, value, other, chains):
                continue
            if instruction.op.name == "sub":
                negated = other if position == 0 else x
                negative = negatives.get(negated)
                if negative is None:
                    negative = negatives[negated] = b.neg(negated)
                x, other = (x, negative) if position == 0 else (negative, other)
            joined_products.add(value)
            return b.fma(x, y, other)  # type: ignore[no-any-return]
        return None

    rules: dict[str, tuple[Rule, ...]] = dict.fromkeys(_SUMS, (rule,))
    joined = rewrite(function, rules)
    if joined is function:
        return function
    left = [
        instruction for instruction in joined.body if joined_products.isdisjoint(instruction.results)
    ]  # nothing else reads those products
    return Function(joined.name, joined.params, tuple(left), joined.results)


def _waits_alone(total: Instruction, product: Value, other: Value, chains: CarryChains) -> bool:
    """Whether the sum `total` of `product` and `other` is on a chain by the latter alone."""
    return chains.on_chain(total.result) and other in chains.late and product not in chains.late
