"""Products of each step of a loop with one matrix become one product before the loop.

    for i in range(n):                            p = x @ a
        y = f(y, x[i] @ a)                        for i in range(n):
                                                      y = f(y, p[i])

A product of a few rows with a matrix is a pass over the matrix, in each step. All rows together are one
product, which reads the matrix from the caches.
"""

from __future__ import annotations

from typing import Any, Final

from ....base.records import record
from ...analysis.affine import AffineValues, loop_forms
from ...builder import Builder
from ...capabilities import by_element
from ...dataflow import has_effect, increment, invariant
from ...dtypes import INT64
from ...graph import Function, Instruction, Value
from ...registry import Kind
from ...transforms.batching import inline_batched, spread
from ..algebra.cleanup import dce
from .step_dependence import is_inside

#: Fewest elements of the matrix: a smaller one stays where the next step finds it.
MIN_MATRIX: Final = 1 << 10
#: Most rows of a step: more are a product that reads the matrix often enough by itself.
MAX_ROWS: Final = 4
#: Fewest steps.
MIN_STEPS: Final = 8
#: The values of all steps have at most so many elements, or twice as many as the matrix.
MAX_KEPT: Final = 1 << 16
#: Kinds of the ops by which the rows of a step come from arrays and counters, beside reads of elements.
_KINDS: Final = frozenset((Kind.ELEMENTWISE, Kind.VIEW, Kind.CREATION))


def multiply_before(function: Function) -> Function:
    """*Requires*: no composites; no loop computes what depends on its invariants alone. *Ensures*: the same
    results up to the order of sums; no scan multiplies, in each step, a few rows that are known before it
    with a large matrix that is the same in all steps, unless much memory would be needed for the rows."""
    if not any(op.kind is Kind.SCAN for op in function.ops):
        return function
    b = Builder()
    b.params = list(function.params)
    outer = AffineValues(function.defs)
    for step in function.body:
        b.body.append(_Loop(step, outer).without_products(b) if _is_long(step) else step)
    if len(b.body) == len(function.body):
        return function
    return Function(function.name, function.params, tuple(b.body), function.results)


def _is_long(loop: Instruction) -> bool:
    return loop.op.kind is Kind.SCAN and loop.attrs["length"] >= MIN_STEPS and not by_element(loop)


@record
class _Product:
    """A product in a step, with the instructions that make its rows."""

    product: Instruction
    made_by: tuple[Instruction, ...]


class _Loop:
    """A scan, with what is known of its steps before it."""

    def __init__(self, loop: Instruction, outer: AffineValues) -> None:
        self.loop, (self.body,) = loop, loop.regions
        self.affine = loop_forms(loop, outer)
        self.length: int = loop.attrs["length"]
        count, self.first_slice = loop.attrs["carries"], len(loop.operands) - loop.attrs["slices"]
        params = self.body.params
        self.counters = {i: each for i in range(count) if (each := self._increment(i)) is not None}
        self.same = {*params[count : self.first_slice]} | invariant(
            self.body, params[count : self.first_slice]
        )
        self.known = {*self.same, *params[self.first_slice :], *[params[i] for i in self.counters]}
        self.made_before: set[Instruction] = set()
        for step in self.body.body:
            if self.known.issuperset(step.operands) and self._may_be_made_before(step):
                self.known.update(step.results)
                self.made_before.add(step)

    def _increment(self, carry: int) -> int | None:
        param = self.body.params[carry]
        return increment(self.body, carry) if not param.shape and param.dtype is INT64 else None

    def _may_be_made_before(self, step: Instruction) -> bool:
        """Whether `step` takes little memory for all steps, and cannot fail."""
        if step.op.kind is Kind.GATHER:
            return is_inside(step, step.operands, self.affine, self.length)
        return step.op.kind in _KINDS and step.op.name != "pow" and not has_effect(step)

    def _products(self) -> list[_Product]:
        products = []
        for step in self.body.body:
            if step.op.name != "matmul" or not self.known.issuperset(step.operands):
                continue
            rows, matrix = step.operands if step.operands[1] in self.same else step.operands[::-1]
            few = rows.type.size // max(step.operands[0].shape[-1], 1)
            if matrix not in self.same or rows in self.same or len(matrix.shape) != 2:
                continue
            if matrix.type.size < MIN_MATRIX or few > MAX_ROWS:
                continue
            made_by = self._made_by(rows)
            values = [rows, *step.results, *[result for made in made_by for result in made.results]]
            most = max(MAX_KEPT, 2 * matrix.type.size)
            if all(value.type.size * self.length <= most for value in values):
                products.append(_Product(step, made_by))
        return products

    def _made_by(self, rows: Value) -> tuple[Instruction, ...]:
        needed = {rows}
        made: list[Instruction] = []
        for step in reversed(self.body.body):
            if step in self.made_before and step.results[0] in needed and step.results[0] not in self.same:
                made.append(step)
                needed.update(step.operands)
        return tuple(reversed(made))

    def without_products(self, b: Any) -> Instruction:
        """The loop without products that are appended to `b` for all steps."""
        products = self._products()
        if not products:
            return self.loop
        loop, params = self.loop, self.body.params
        stacked = []
        for each in products:
            b.location = each.product.location
            stacked.append(self._of_all_steps(b, each))
        gone = {each.product for each in products}
        rest = tuple([step for step in self.body.body if step not in gone])
        added = tuple([each.product.result for each in products])
        body = Function(self.body.name, (*params, *added), rest, self.body.results)
        attrs = {**loop.attrs, "slices": loop.attrs["slices"] + len(added)}
        return loop.replace(operands=(*loop.operands, *stacked), attrs=attrs, regions=(dce(body),))

    def _of_all_steps(self, b: Any, each: _Product) -> Value:
        """A product of all steps, in the order of the slices of the loop."""
        loop, params = self.loop, self.body.params
        read = {operand for step in (*each.made_by, each.product) for operand in step.operands}
        used, kept = set(read), list[Instruction]()
        for step in reversed(self.body.body):
            if step.results[0] in self.same and step.results[0] in used:
                kept.append(step)
                used.update(step.operands)
        inputs = [i for i, param in enumerate(params) if param in used]
        region = Function(
            "product",
            tuple([params[i] for i in inputs]),
            (*reversed(kept), *each.made_by, each.product),
            (each.product.result,),
        )
        operands, mapped = [], []
        for i in inputs:
            operand = loop.operands[i]
            if i in self.counters:
                operand = self._counted(b, operand, self.counters[i])
            operands.append(operand)
            mapped.append(i in self.counters or i >= self.first_slice)
        ((result,), (is_mapped,)) = inline_batched(b, region, operands, mapped, self.length)
        return result if is_mapped else spread(b, result, self.length)

    def _counted(self, b: Any, start: Value, each: int) -> Value:
        """The values of a counter, in the order of the slices."""
        last = self.length - 1 if self.loop.attrs["reverse"] else 0
        steps = b.iota(shape=(self.length,), axis=0, dtype=INT64)
        if last:
            steps = b.sub(last, steps)
        value: Value = b.add(b.mul(steps, each), start)
        return value
