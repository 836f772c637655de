"""Products that only one sum reads, joined with it: rounded once, by one instruction where there is one.

    x * y + z  =  fma(x, y, z)        x * y - z  =  fma(x, y, -z)        z - x * y  =  fma(-x, y, z)

It is decided here, once for each value, and nowhere later. Fusion computes a value in several nests, each of
which may have other readers of the product; were each to decide for itself, the same value would differ in
the last place between them, and no element would equal the minimum of all.

Sums of two products are rounded as NumPy rounds them: ``x * y - y * x`` is 0, as users expect of a
determinant or a cross product, and of a joint product would stay its rounding. So are all operations on
numbers, of rank 0 or in the steps of loops, which compute what Python does. Where steps became operations on
arrays, ``rounded`` stands between their products and what reads these. ``jit(fastmath=True)`` asks for the
joining of all, on traces.
"""

from __future__ import annotations

from typing import Final

from ...builder import Builder
from ...dataflow import read_counts
from ...graph import Function, Instruction, Substitution, Value
from ...registry import Kind
from ..rewriting import Definitions, Rule, rewrite

#: Ops that are a product, with the positions of its factors.
_PRODUCTS: Final = {"mul": (0, 1), "square": (0, 0)}
_SUMS: Final = ("add", "sub")


def multiply_adds(function: Function, *, everywhere: bool = False) -> Function:
    """*Requires*: no composites, unless it is `everywhere`: on numbers and in all regions, too. *Ensures*: no
    float sum of arrays reads a product that nothing else reads, unless that is of constants, as in
    ``linspace``, whose elements stay NumPy's, or the other operand is a product as well; no ``rounded`` but
    of a product that is folded, which codegen reads, and none `everywhere`; the same results up to the
    rounding of those products."""
    if everywhere:
        function = _without_rounded(function, frozenset())
    # maps over a batch are its arrays, a part at a time: their elements have the bits of single ones
    inside = _in_regions if everywhere else _in_map
    body = tuple(map(inside, function.body)) if function.has_control else function.body
    if body != function.body:
        function = Function(function.name, function.params, body, function.results)
    joined = _joined(function, everywhere=everywhere)
    return _without_rounded(joined, _folded_products(joined))


def _joined(function: Function, *, everywhere: bool) -> Function:
    """`function`, the products in its body joined with the sums that read them."""
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
        total = instruction.results[0].type
        if total.dtype.kind != "f" or not (total.shape or everywhere):
            return None
        terms = [defs.get(value) for value in instruction.operands]
        if all(term is not None and term.op.name in _PRODUCTS for term in terms):
            return None
        for position, value in enumerate(instruction.operands):
            product = defs.get(value)
            if product is None or product.op.name not in _PRODUCTS or uses[value] != 1 or value in constants:
                continue
            first, second = _PRODUCTS[product.op.name]
            x, y = product.operands[first], product.operands[second]
            other = instruction.operands[1 - position]
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


def _folded_products(function: Function) -> frozenset[Value]:
    """The products in the body of `function` that are rounded and then folded."""
    defs = function.defs
    return frozenset(
        operand
        for instruction in function.body
        if instruction.op.kind is Kind.REDUCTION
        for value in instruction.operands
        if (rounded := defs.get(value)) is not None and rounded.op.name == "rounded"
        for operand in rounded.operands
        if (product := defs.get(operand)) is not None and product.op.name in _PRODUCTS
    )


def _without_rounded(function: Function, kept: frozenset[Value]) -> Function:
    """`function` without ``rounded`` in its body, but of the values `kept`."""
    if all(op.name != "rounded" for op in function.ops):
        return function
    table = Substitution()
    body: list[Instruction] = []
    for original in function.body:
        instruction = table.apply(original)
        if instruction.op.name == "rounded" and instruction.operands[0] not in kept:
            table[original.result] = instruction.operands[0]
        else:
            body.append(instruction)
    return Function(function.name, function.params, tuple(body), table.all(function.results))


def _in_map(instruction: Instruction) -> Instruction:
    """`instruction`, with the regions done of a scan that carries nothing."""
    if instruction.op.name != "scan" or instruction.attrs["carries"]:
        return instruction
    return _with_regions(instruction, tuple(map(multiply_adds, instruction.regions)))


def _in_regions(instruction: Instruction) -> Instruction:
    """`instruction` with all its regions done."""
    regions = tuple([multiply_adds(region, everywhere=True) for region in instruction.regions])
    return _with_regions(instruction, regions)


def _with_regions(instruction: Instruction, regions: tuple[Function, ...]) -> Instruction:
    if all(new is old for new, old in zip(regions, instruction.regions, strict=True)):
        return instruction
    return instruction.replace(regions=regions)
