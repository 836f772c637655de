"""Products that a loop only adds up become one product after the loop.

The gradient of a recurrent step with respect to its weights is a product of what came in and of what came
back, added up over the steps:

    sum over t of  a[t].T @ b[t]   =   a.T @ b,    rows of all steps below each other

In the loop each is a product with few rows, or one, and a pass over a matrix as large as the weights. After
it they are one product of the matrices that the loop stacks.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....base.records import record
from ...builder import Builder
from ...capabilities import by_element
from ...dataflow import has_effect, read_counts
from ...graph import Function, Instruction, Value
from ...registry import OPS, Kind
from ...types import TensorType
from ..algebra.cleanup import dce
from ..rewriting import Definitions, constant_of


def defer_products(function: Function) -> Function:
    """*Requires*: no composites. *Ensures*: no scan has a carry to which its steps only add products, where
    these read little that is not stacked already; the same results up to the order of sums."""
    if not any(op.kind is Kind.SCAN for op in function.ops):
        return function
    b = Builder()
    b.params = list(function.params)
    defs = function.defs
    changed = False
    for instruction in function.body:
        loop = (
            instruction.op.kind is Kind.SCAN
            and instruction.attrs["length"] > 0
            and not has_effect(instruction)
        )
        deferred = _Loop(instruction).deferred() if loop and not by_element(instruction) else {}
        if deferred:
            changed = True
            b.location = instruction.location
            _Writer(b, instruction, deferred, defs).run()
        else:
            b.body.append(instruction)
    return Function(function.name, function.params, tuple(b.body), function.results) if changed else function


@record
class _Product:
    """``left.T @ right`` of one step, both with `rows` rows in row-major order, whatever their shapes."""

    left: Value
    right: Value
    rows: int


class _Loop:
    """Analysis of a scan for carries that only add up products."""

    def __init__(self, instruction: Instruction) -> None:
        self.instruction = instruction
        (self.body,) = instruction.regions
        self.carries: int = instruction.attrs["carries"]
        self.defs = self.body.defs
        self.uses = read_counts(self.body)
        first = len(self.body.params) - instruction.attrs["slices"]
        #: The values that are stacked in any case.
        self.stacked = {*self.body.params[first:], *self.body.results[self.carries :]}
        self.invariant = set(self.body.params[self.carries : first])

    def deferred(self) -> dict[int, list[_Product]]:
        """The products that the steps add to each carry, for carries whose products can be stacked at little
        cost."""
        deferred: dict[int, list[_Product]] = {}
        sliced = self.instruction.operands[len(self.body.params) - self.instruction.attrs["slices"] :]
        room = sum(value.type.nbytes for value in sliced)
        for position in range(self.carries):
            products = self._added(position)
            if not products:
                continue
            fresh = {
                x for product in products for x in (product.left, product.right) if x not in self.stacked
            }
            count = sum(value.type.size for value in fresh)
            nbytes = sum(value.type.nbytes for value in fresh) * self.instruction.attrs["length"]
            if count <= self.body.params[position].type.size and nbytes <= room:
                deferred[position] = products
                self.stacked |= fresh
                room -= nbytes
        return deferred

    def _added(self, position: int) -> list[_Product]:
        """The products that a step adds to a carry; none where it does anything else with it."""
        param, result = self.body.params[position], self.body.results[position]
        if self.uses[param] != 1 or param.dtype.kind != "f" or param.type.ndim != 2:
            return []
        products, stack, seen = list[_Product](), [result], False
        while stack:
            value = stack.pop()
            definition = self.defs.get(value)
            if value is param:
                seen = True
                continue
            if definition is None or self.uses[value] != 1:
                return []
            if definition.op.name == "add":
                stack += definition.operands
            elif definition.op.kind is Kind.CONTRACTION:
                left, right = definition.operands
                turned, right = self._turned(left), self._rows(right)
                if turned is None or {turned, right} & self.invariant or left.type.size == 0:
                    return []
                products.append(_Product(turned, right, left.shape[1]))
            else:
                return []
        return products if seen else []

    def _turned(self, value: Value) -> Value | None:
        """A value with the elements of the transpose of `value` in memory; None if there is none."""
        definition = self.defs.get(value)
        if definition is not None and definition.op.name == "transpose":
            return self._rows(definition.operands[0])
        return self._rows(value) if 1 in value.shape else None

    def _rows(self, value: Value) -> Value:
        """Look through the reshapes that make `value`, up to a stacked one."""
        definition = self.defs.get(value)
        while definition is not None and definition.op.name == "reshape" and value not in self.stacked:
            value = definition.operands[0]
            definition = self.defs.get(value)
        return value


class _Writer:
    """Writes a scan without the carries in `deferred`, and their products after it."""

    def __init__(
        self, b: Builder, instruction: Instruction, deferred: dict[int, list[_Product]], defs: Definitions
    ) -> None:
        self.b, self.instruction, self.found, self.defs = b, instruction, deferred, defs
        (self.body,) = instruction.regions
        self.carries: int = instruction.attrs["carries"]

    def run(self) -> None:
        instruction, body = self.instruction, self.body
        kept = [i for i in range(self.carries) if i not in self.found]
        products = [product for some in self.found.values() for product in some]
        stacks = list(body.results[self.carries :])
        first = len(body.params) - instruction.attrs["slices"]
        for value in dict.fromkeys(x for product in products for x in (product.left, product.right)):
            if value not in stacks and value not in body.params[first:]:
                stacks.append(value)
        params = [body.params[i] for i in kept] + list(body.params[self.carries :])
        region = Function(body.name, tuple(params), body.body, (*[body.results[i] for i in kept], *stacks))
        operands = tuple([instruction.operands[i] for i in kept]) + instruction.operands[self.carries :]
        length: int = instruction.attrs["length"]
        fresh = [
            Value(TensorType(value.dtype, (length, *value.shape)))
            for value in stacks[len(body.results) - self.carries :]
        ]
        results = (*[instruction.results[i] for i in kept], *instruction.results[self.carries :], *fresh)
        attrs = {**instruction.attrs, "carries": len(kept)}
        self.b.body.append(
            instruction.replace(operands=operands, attrs=attrs, results=results, regions=(dce(region),))
        )
        self.outside: dict[Value, Value] = dict(zip(stacks, results[len(kept) :], strict=True))
        self.outside.update(zip(body.params[first:], instruction.operands[first:], strict=True))
        for position, some in self.found.items():
            self._add(position, some)

    def _add(self, position: int, products: Sequence[_Product]) -> None:
        """Append the final value of a carry: its start plus the products over all steps."""
        b, instruction = self.b, self.instruction
        total: Value | None = instruction.operands[position]
        if constant_of(instruction.operands[position], self.defs) == 0:
            total = None
        for product in products:
            rows = instruction.attrs["length"] * product.rows
            left, right = [
                b.append(OPS["reshape"], (self.outside[x],), {"shape": (rows, x.type.size // product.rows)})[
                    0
                ]
                for x in (product.left, product.right)
            ]
            (turned,) = b.append(OPS["transpose"], (left,), {"perm": (1, 0)})
            (sum_of_all,) = b.append(OPS["matmul"], (turned, right), {})
            total = sum_of_all if total is None else b.append(OPS["add"], (total, sum_of_all), {})[0]
        last = b.body.pop()
        b.body.append(
            Instruction(
                last.op, last.operands, last.attrs, (instruction.results[position],), instruction.location
            )
        )
