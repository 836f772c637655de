"""Systems with triangular matrices are solved by substitution."""

from __future__ import annotations

from typing import Any

from ...builder import Builder
from ...graph import Instruction, Value
from ..rewriting import Definitions, constant_of


def solve_triangular(b: Builder, instruction: Instruction, defs: Definitions) -> Value | None:
    """``lu_solve`` with a matrix that is a Cholesky factor, the r of a QR factorization or one triangle of
    another matrix, or a transpose of such: one substitution. The LU factors are dead then, unless something
    else uses them."""
    system = triangular_system(instruction, defs)
    return None if system is None else b.triangular_solve(*system[0], **system[1])


def triangular_system(
    instruction: Instruction, defs: Definitions
) -> tuple[tuple[Value, Value], dict[str, Any]] | None:
    """The operands and attributes of the ``triangular_solve`` that an ``lu_solve`` is; None where it is
    none."""
    a, right = instruction.operands[0], instruction.operands[3]
    swapped = (*range(len(a.shape) - 2), len(a.shape) - 1, len(a.shape) - 2)
    turned = conjugated = False
    while (view := defs.get(a)) is not None and view.op.name in ("transpose", "conj"):
        if view.op.name == "conj":
            conjugated = not conjugated
        elif view.attrs["perm"] == swapped:
            turned = not turned
        else:
            return None
        a = view.operands[0]
    factor = defs.get(a)
    if factor is None:
        return None
    if factor.op.name == "where":
        triangle = _triangle(factor, defs)
    else:
        is_r = factor.op.name == "qr" and a is factor.results[-1]
        triangle = "lower" if factor.op.name == "cholesky" else "upper" if is_r else ""
    if not triangle:
        return None
    attrs = instruction.attrs
    return (a, right), {
        "lower": triangle == "lower",
        "transpose": attrs["transpose"] is not turned,
        "conjugate": attrs["conjugate"] is not conjugated,
        "unit_diagonal": False,
        "on_singular": attrs["on_singular"],
    }


def _triangle(choice: Instruction, defs: Definitions) -> str:
    """The triangle that a ``where`` keeps when it sets the other one to zero: "lower" or "upper", else
    empty."""
    mask, _, other = choice.operands
    if constant_of(other, defs) != 0:
        return ""
    compared = _behind_broadcasts(mask, defs)
    if compared is None or compared.op.name not in ("lt", "le", "gt", "ge"):
        return ""
    counters = [_behind_broadcasts(operand, defs) for operand in compared.operands]
    if any(counter is None or counter.op.name != "iota" for counter in counters):
        return ""
    # axes from the end: 1 is that of columns
    axes = [len(each.attrs["shape"]) - each.attrs["axis"] for each in counters if each is not None]
    if sorted(axes) != [1, 2]:
        return ""
    column_is_less = (axes[0] == 1) is (compared.op.name in ("lt", "le"))
    return "lower" if column_is_less else "upper"


def _behind_broadcasts(value: Value, defs: Definitions) -> Instruction | None:
    """The definition of `value`, looking through broadcasts to more leading axes."""
    definition = defs.get(value)
    while definition is not None and definition.op.name == "broadcast":
        inner = definition.operands[0]
        if inner.shape[-2:] != value.shape[-2:]:
            return None
        value, definition = inner, defs.get(inner)
    return definition
