"""Products of numbers that keep their own rounding when the steps of a loop become operations on arrays.

    o[i] = x[i] * y[i] + 0.1                          o = rounded(x * y) + 0.1

Python rounds each operation on numbers, but a sum of arrays takes over the rounding of a product (the pass
`multiply-adds`), unless ``rounded`` stands between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...builder import Builder
from ...dtypes import is_inexact
from ...graph import Function, Instruction, Substitution, Value
from ...registry import Kind
from ..rewriting import Definitions

#: Ops that are a product, or that simplification makes one of.
_PRODUCTS: Final = frozenset(("mul", "strong_mul", "square", "pow", "div"))
#: Elementwise ops that are a sum, or whose result may become their operand.
_PASSING: Final = frozenset(
    ("add", "sub", "neg", "where", "cast", "conj", "real", "imag", "complex", "barrier", "stop_gradient")
)


def products_to_round(step: Function, results: Sequence[Value]) -> set[Value]:
    """The products of numbers in `step` that a sum may come to read: all but those that are only operands of
    other products, comparisons, roots and the like. `results` are those of `step` that others read."""
    read = {
        operand
        for instruction in step.body
        if instruction.op.kind is not Kind.ELEMENTWISE or instruction.op.name in _PASSING
        for operand in instruction.operands
    }
    read.update(results)
    return {
        result
        for instruction in step.body
        if instruction.op.name in _PRODUCTS
        for result in instruction.results
        if not result.shape and is_inexact(result.dtype) and result in read
    }


def round_products(branch: Function) -> Function:
    """*Requires*: valid IR. *Ensures*: the same results; no sum reads a product of numbers but by
    ``rounded``, in `branch` and in those inside of it."""
    products = products_to_round(branch, branch.results)
    if not products and not branch.has_control:
        return branch
    b = Builder()
    b.params = list(branch.params)
    table = Substitution()
    for original in branch.body:
        b.location = original.location
        instruction = rounded_inside(table.apply(original))
        b.body.append(instruction)
        for result in original.results:
            if result in products:
                table[result] = b.rounded(result)
    return b.finish(branch.name, table.all(branch.results))


def rounded_inside(step: Instruction) -> Instruction:
    """`step`, with `round_products` of its regions where it is a branch."""
    if step.op.kind is not Kind.SWITCH:
        return step
    return step.replace(regions=tuple(map(round_products, step.regions)))


def may_be_product(value: Value, defs: Definitions) -> bool:
    """Whether `value` is a product of floating or complex numbers, its negative, or a view of these."""
    definition = defs.get(value)
    while definition is not None and (definition.op.kind is Kind.VIEW or definition.op.name == "neg"):
        definition = defs.get(definition.operands[0])
    return definition is not None and definition.op.name in _PRODUCTS and is_inexact(value.dtype)
