"""Multiply-adds formed before LLVM sees the code, so that every code generator makes the same of it.

Float instructions are flagged ``contract``: LLVM may make one operation, with one rounding, of a product and
a sum. Its optimising code generator does where the product has no other reader, its baseline one never does,
and so their results differ in the last place. What is compiled by both is contracted here, by the same rule,
and keeps no flags. Machines without multiply-adds make two operations of what is joined (``llvm.fmuladd``).
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from .function import Code, FunctionCode
from .operations import Compute, FunctionCall, Operation
from .registers import Reg, suffix

_FLAG: Final = " contract "


def contracted(code: Code) -> str:
    """The LLVM text of `code` without ``contract``, its products that only one sum reads joined with that."""
    types: dict[str, str] = {}
    parts = [_contracted(part, types) if isinstance(part, FunctionCode) else str(part) for part in code]
    declared = [f"declare {type_} @{name}({type_}, {type_}, {type_})" for name, type_ in types.items()]
    there = {part for part in code if isinstance(part, str)}
    return "\n".join([*sorted(set(declared) - there), *parts])


def _contracted(function: FunctionCode, types: dict[str, str]) -> str:
    """The text of a function; `types` are those of the intrinsics that it came to call."""
    lines = function.lines
    joined = multiply_adds(function.instructions)
    if joined:
        lines = list(lines)
        for place, operations in sorted(joined.items(), reverse=True):
            lines[place : place + 1] = [operation.line() for operation in operations]
            if operations:
                call = operations[-1]
                assert isinstance(call, FunctionCall)
                types[call.callee[1:]] = call.type
    return function.text_of(lines).replace(_FLAG, " ")


def multiply_adds(instructions: list[Operation]) -> dict[int, list[Operation]]:
    """Replacements of the products and sums in `instructions` that become multiply-adds, by their places."""
    products: dict[str, tuple[int, Compute]] = {}
    sums: list[tuple[int, Compute]] = []
    for place, operation in enumerate(instructions):
        if isinstance(operation, Compute) and operation.code.endswith(" contract"):
            if operation.code == "fmul contract":
                products[operation.text] = place, operation
            elif operation.code in ("fadd contract", "fsub contract"):
                sums.append((place, operation))
    sums = [item for item in sums if any(x.text in products for x in item[1].arguments)]
    joined: dict[int, list[Operation]] = {}
    if not sums:
        return joined
    readers = Counter(text for operation in instructions for text in operation.operands())
    for place, total in sums:
        x, y = total.arguments
        for product, other in ((x, y), (y, x)):
            if product.text in products and readers[product.text] == 1:
                at, operation = products[product.text]
                joined[at] = []
                joined[place] = _multiply_add(total, operation, other, negated=product is y)
                break
    return joined


def _multiply_add(total: Compute, product: Compute, other: Reg, *, negated: bool) -> list[Operation]:
    """``product + other``, ``product - other``, or where `negated` ``other - product``."""
    (x, y), dtype, lanes = product.arguments, total.dtype, total.lanes
    before: list[Operation] = []
    if total.code.startswith("fsub"):
        minus = Compute(f"{total.text}.minus", dtype, lanes, "fneg", (x if negated else other,))
        before = [minus]
        x, other = (minus, other) if negated else (x, minus)
    return [
        *before,
        FunctionCall(f"@llvm.fmuladd.{suffix(dtype, lanes)}", (x, y, other), total.text, dtype, lanes),
    ]
