"""Multiply-adds made in LLVM text, so that every code generator makes the same of it.

Float instructions are flagged ``contract``: LLVM may make one operation, with one rounding, of a product and
a sum. Its optimising code generator does where the product has no other reader, its baseline one never does,
and so their results differ in the last place. What is compiled by both is contracted here, by the same rule,
and keeps no flags.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

_OPERAND: Final = r"(%[\w.]+|splat \([^()]*\)|-?[\w.+]+)"
_TYPE: Final = r"(<\d+ x (?:float|double)>|float|double)"
_NAME: Final = re.compile(r"%[\w.]+")
_PRODUCT: Final = re.compile(rf"  (%[\w.]+) = fmul contract {_TYPE} {_OPERAND}, {_OPERAND}")
_SUM: Final = re.compile(rf"  (%[\w.]+) = (fadd|fsub) contract {_TYPE} {_OPERAND}, {_OPERAND}")
_VECTOR: Final = re.compile(r"<(\d+) x (\w+)>")


def contracted(text: str) -> str:
    """The LLVM module `text` without ``contract``, its products that only one sum reads joined with that."""
    if " contract " not in text:
        return text
    types, parts, at = set[str](), list[str](), 0
    while (begin := text.find("define ", at)) >= 0:
        end = text.find("\n}", begin) + 2
        parts += text[at:begin], _function(text[begin:end], types)
        at = end
    text = "".join([*parts, text[at:]])
    declared = [
        f"declare {type_} @{_intrinsic(type_)}({type_}, {type_}, {type_})"
        for type_ in sorted(types)
        if f"declare {type_} @{_intrinsic(type_)}(" not in text
    ]
    return "\n".join([*declared, text])


def _function(text: str, types: set[str]) -> str:
    if " = fmul contract " in text:
        text = _joined(text, types)
    return text.replace(" contract ", " ")


def _joined(text: str, types: set[str]) -> str:
    """The text of a function, line by line."""
    lines: list[str | None] = [*text.split("\n")]
    products: dict[str, tuple[int, re.Match[str]]] = {}
    sums: list[tuple[int, re.Match[str]]] = []
    for number, line in enumerate(text.split("\n")):
        if " contract " not in line:
            continue
        if (found := _PRODUCT.fullmatch(line)) is not None:
            products[found[1]] = number, found
        elif (found := _SUM.fullmatch(line)) is not None:
            sums.append((number, found))
    sums = [sum_ for sum_ in sums if sum_[1][4] in products or sum_[1][5] in products]
    uses = Counter(_NAME.findall(text)) if sums else Counter[str]()
    for number, found in sums:
        name, op, kind, left, right = found.groups()
        for one, other in ((left, right), (right, left)):
            if one not in products or uses[one] != 2:  # where it is made, and here
                continue
            place, product = products[one]
            lines[place] = None
            types.add(kind)
            x, y, negated = product[3], product[4], ""
            if op == "fsub":  # x * y - z, or z - x * y
                negative = other if one is left else x
                negated = f"  {name}.minus = fneg {kind} {negative}\n"
                x, other = (x, f"{name}.minus") if one is left else (f"{name}.minus", other)
            operands = ", ".join(f"{kind} {operand}" for operand in (x, y, other))
            lines[number] = f"{negated}  {name} = call {kind} @{_intrinsic(kind)}({operands})"
            break
    return "\n".join([line for line in lines if line is not None])


def _intrinsic(kind: str) -> str:
    vector = _VECTOR.fullmatch(kind)
    count, scalar = (f"v{vector[1]}", vector[2]) if vector else ("", kind)
    return f"llvm.fma.{count}{ {'float': 'f32', 'double': 'f64'}[scalar] }"
