"""Folds under a condition become unconditional ones of a select.

    where(t, total + x, total)                        total + where(t, x, -0.0)

So ``if t: total += x`` in a loop is a sum of selects. Sums of floats with -0.0 are exact.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from ...builder import Builder
from ...dataflow import read_counts
from ...graph import Function, Instruction, Substitution, Value
from ..algebra.cleanup import dce
from ..rewriting import Definitions

#: The neutral element of each op, by its name: for floats, and for integers.
_NEUTRAL: Final[dict[str, tuple[float, int]]] = {"add": (-0.0, 0), "sub": (0.0, 0), "mul": (1.0, 1)}


def select_terms(step: Function) -> Function:
    """*Requires*: valid IR. *Ensures*: the same results; numbers to which something is added, or with which
    it is multiplied, under a condition, are so in any case. Itself where there are none."""
    if not any(_is_choice(instruction) for instruction in step.body):
        return step
    uses = read_counts(step)
    defs = step.defs
    b = Builder()
    b.params = list(step.params)
    table = Substitution()
    for original in step.body:
        instruction = table.apply(original)
        b.location = original.location
        fold = _conditional_fold(original, uses, defs) if _is_choice(original) else None
        if fold is None:
            b.body.append(instruction)
            continue
        kept, term, name = table[fold[0]], table[fold[1]], fold[2]
        table[original.result] = _folded(b, instruction.operands[0], kept, term, name, fold[3])
    return dce(b.finish(step.name, table.all(step.results)))


def _is_choice(instruction: Instruction) -> bool:
    return instruction.op.name == "where" and not instruction.result.shape


def _conditional_fold(
    choice: Instruction, uses: Counter[Value], defs: Definitions
) -> tuple[Value, Value, str, bool] | None:
    """Match a conditional fold: the accumulator, the folded value, the op, and whether it folds where the
    condition is true (else where it is false)."""
    for position in (1, 2):
        fold, kept = defs.get(choice.operands[position]), choice.operands[3 - position]
        if (
            fold is None
            or fold.op.name not in _NEUTRAL
            or uses[fold.result] != 1
            or kept.dtype.kind not in "iuf"
            or fold.operands.count(kept) != 1
        ):
            continue
        place = fold.operands.index(kept)
        if not (place and fold.op.name == "sub"):
            return kept, fold.operands[1 - place], fold.op.name, position == 1
    return None


def _folded(b: Any, test: Value, kept: Value, term: Value, name: str, holds: bool) -> Value:
    neutral = b.scalar(_NEUTRAL[name][kept.dtype.kind != "f"], kept.dtype)
    chosen = b.where(test, term, neutral) if holds else b.where(test, neutral, term)
    result: Value = getattr(b, name)(kept, chosen)
    return result
