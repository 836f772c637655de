"""Multiply-adds made in LLVM text, so that every code generator makes the same of it.

Float instructions are flagged ``contract``: LLVM may make one operation, with one rounding, of a product and
a sum. Its optimising code generator does where the product has no other reader, its quick one never does, and
so their results differ in the last place. What is compiled by both is contracted here, by the same rule, and
keeps no flags.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

_OPERAND: Final = r"(%[\w.]+|splat \([^()]*\)|-?[\w.+]+)"
_TYPE: Final = r"(<\d+ x (?:float|double)>|float|double)"
_FUNCTION: Final = re.compile(r"^define .*?^}$", re.MULTILINE | re.DOTALL)
_NAME: Final = re.compile(r"%[\w.]+")
_PRODUCT: Final = re.compile(rf"^  (%[\w.]+) = fmul contract {_TYPE} {_OPERAND}, {_OPERAND}\n", re.MULTILINE)
_SUM: Final = re.compile(
    rf"^  (%[\w.]+) = (fadd|fsub) contract {_TYPE} {_OPERAND}, {_OPERAND}\n", re.MULTILINE
)
_VECTOR: Final = re.compile(r"<(\d+) x (\w+)>")


def contracted(text: str) -> str:
    """The LLVM module `text` without ``contract``, its products that only one sum reads joined with that."""
    types = set[str]()
    text = _FUNCTION.sub(lambda found: _function(found[0], types), text)
    declared = [
        f"declare {one} @{_intrinsic(one)}({one}, {one}, {one})"
        for one in sorted(types)
        if f"declare {one} @{_intrinsic(one)}(" not in text
    ]
    return "\n".join([*declared, text])


def _function(text: str, types: set[str]) -> str:
    if " contract " not in text:
        return text
    products = {found[1]: found for found in _PRODUCT.finditer(text)}
    uses = Counter(_NAME.findall(text))
    joined = set[str]()

    def join(found: re.Match[str]) -> str:
        name, op, kind, left, right = found.groups()
        for one, other in ((left, right), (right, left)):
            product = products.get(one)
            if product is None or uses[one] != 2:  # where it is made, and here
                continue
            joined.add(one)
            types.add(kind)
            x, y, negated = product[3], product[4], ""
            if op == "fsub":  # x * y - z, or z - x * y
                negative = other if one is left else x
                negated = f"  {name}.minus = fneg {kind} {negative}\n"
                x, other = (x, f"{name}.minus") if one is left else (f"{name}.minus", other)
            operands = ", ".join(f"{kind} {operand}" for operand in (x, y, other))
            return f"{negated}  {name} = call {kind} @{_intrinsic(kind)}({operands})\n"
        return found[0]

    text = _SUM.sub(join, text)
    text = _PRODUCT.sub(lambda found: "" if found[1] in joined else found[0], text)
    return text.replace(" contract ", " ")


def _intrinsic(kind: str) -> str:
    vector = _VECTOR.fullmatch(kind)
    count, scalar = (f"v{vector[1]}", vector[2]) if vector else ("", kind)
    return f"llvm.fma.{count}{ {'float': 'f32', 'double': 'f64'}[scalar] }"
