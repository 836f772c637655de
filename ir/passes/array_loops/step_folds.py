"""Carries to which the steps of a loop only add, or of which they keep the extremum: folds over the steps.

    total = total + f(i)                              the sum
    if f(i) < best: best, where = f(i), g(i)          the first minimum, and what goes with it

The terms of all steps are one array, and the fold is a reduction of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from ....base.records import record
from ...analysis.affine import Affine
from ...builder import Builder
from ...dataflow import read_counts
from ...dtypes import INT64, is_inexact
from ...graph import Function, Instruction, Value
from ...registry import OPS, Op

#: The reduction that folds many values with an op, by the op's name.
FOLDS: Final = {
    "add": "sum",
    "sub": "sum",
    "mul": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
}


@record(eq=False)
class Fold:
    """A carry to which each step applies ops of one reduction.

    Attributes:
        members: the instructions that do so, in order.
        terms: what they fold in, and whether it is subtracted.
    """

    carry: int
    op: str
    members: tuple[Instruction, ...]
    terms: tuple[tuple[Value, bool], ...]

    def appended(self, b: Builder, first: Value, terms: Sequence[Value]) -> Value:
        """The carry after all steps, from `first` on; `terms` have an axis of steps in front."""
        reduction = FOLDS[self.op]
        last: Any = first
        for value, (_, negative) in zip(terms, self.terms, strict=True):
            part = b.apply(_op(reduction), (value,), {"axes": (0,)})
            name = "sub" if negative else "add" if self.op == "sub" else self.op
            last = b.apply(_op(name), (last, part), {})
        result: Value = last
        return result


@record(eq=False)
class Extremum:
    """A carry that keeps the least or the greatest candidate, with the companions that are replaced with it.

    Attributes:
        comparison: ``lt`` or ``gt``, of the candidate with the carry.
        companions: by carry what is taken at the extremum.
    """

    carry: int
    comparison: str
    candidate: Value
    members: tuple[Instruction, ...]
    companions: dict[int, Value]

    def appended(
        self, b: Any, first: Value, candidates: Value, others: dict[int, tuple[Value, Value, Affine | None]]
    ) -> dict[int, Value]:
        """The carries after all steps: `first` and `candidates` are those of the extremum, `others` has the
        same for each companion, and its form where it is affine."""
        kept = candidates
        if is_inexact(first.dtype):  # a NaN is neither less nor greater
            worst = float("inf") if self.comparison == "lt" else -float("inf")
            kept = b.where(b.eq(candidates, candidates), candidates, worst)
        best = b.apply(_op("min" if self.comparison == "lt" else "max"), (kept,), {"axes": (0,)})
        replaced = b.apply(_op(self.comparison), (best, first), {})
        results = {self.carry: b.where(replaced, best, first)}
        if others:
            place = _first_place(b, kept, best)
            for carry, (start, values, form) in others.items():
                if form is None or form.axes or form.scalars:
                    taken = b.gather(values, place)
                else:
                    taken = b.add(b.mul(place, form.step), form.constant)
                results[carry] = b.where(replaced, taken, start)
        return results


def _first_place(b: Any, values: Value, best: Value) -> Value:
    """The first place of `best` along the first axis of `values`, by a fold, which is fused with the code
    that computes the values."""
    size = values.shape[0]
    numbers = b.iota(shape=values.shape, axis=0, dtype=INT64)
    is_best = b.eq(values, b.broadcast_to(best, values.shape))
    place: Value = b.apply(_op("min"), (b.where(is_best, numbers, size - 1),), {"axes": (0,)})
    return place


def _op(name: str) -> Op:
    return OPS[name]


def folds(body: Function, carries: int) -> list[Fold | Extremum]:
    """Find the folds of a loop with that body: the reductions over all steps into carries that nothing else
    reads."""
    uses = read_counts(body)
    readers: dict[Value, list[Instruction]] = {}
    for instruction in body.body:
        for operand in dict.fromkeys(instruction.operands):
            readers.setdefault(operand, []).append(instruction)
    result: list[Fold | Extremum] = []
    taken: set[int] = set()
    for carry in range(carries):
        extremum = _extremum(body, carry, carries, uses, readers)
        if extremum is not None:
            result.append(extremum)
            taken |= {carry, *extremum.companions}
    for carry in range(carries):
        fold = _fold(body, carry, uses, readers) if carry not in taken else None
        if fold is not None:
            result.append(fold)
    return result


def _fold(
    body: Function, carry: int, uses: Counter[Value], readers: dict[Value, list[Instruction]]
) -> Fold | None:
    value, last = body.params[carry], body.results[carry]
    members: list[Instruction] = []
    terms: list[tuple[Value, bool]] = []
    reduction = ""
    while value is not last:
        if uses[value] != 1 or len(readers.get(value, ())) != 1:
            return None
        (instruction,) = readers[value]
        name = instruction.op.name
        if name not in FOLDS or reduction not in ("", FOLDS[name]):
            return None
        x, y = instruction.operands
        if name == "sub" and y is value:
            return None
        reduction = FOLDS[name]
        members.append(instruction)
        terms.append((y if x is value else x, name == "sub"))
        value = instruction.result
    if not members or uses[value] != 1:
        return None
    names = {member.op.name for member in members}
    op = "sub" if "sub" in names else members[0].op.name
    return Fold(carry, op, tuple(members), tuple(terms))


_FLIPPED: Final = {"lt": "gt", "gt": "lt"}


def _extremum(
    body: Function, carry: int, carries: int, uses: Counter[Value], readers: dict[Value, list[Instruction]]
) -> Extremum | None:
    """``where(candidate < carry, candidate, carry)``, with companions that the same comparison chooses."""
    param, last = body.params[carry], body.results[carry]
    if uses[param] != 2 or uses[last] != 1:
        return None
    compares = [reader for reader in readers[param] if reader.op.name in _FLIPPED]
    chooses = [reader for reader in readers[param] if reader.op.name == "where" and last in reader.results]
    if len(compares) != 1 or len(chooses) != 1:
        return None
    compare, choose = compares[0], chooses[0]
    test, candidate, kept = choose.operands
    x, y = compare.operands
    name = compare.op.name if y is param else _FLIPPED[compare.op.name]
    if test is not compare.result or kept is not param or (x if y is param else y) is not candidate:
        return None
    members, companions = [compare, choose], {}
    for reader in readers[test]:
        if reader is choose:
            continue
        place = next((i for i in range(carries) if reader.results[0] is body.results[i]), -1)
        if reader.op.name != "where" or place < 0 or uses[reader.result] != 1:
            return None
        if reader.operands[2] is not body.params[place] or uses[reader.operands[2]] != 1:
            return None
        members.append(reader)
        companions[place] = reader.operands[1]
    if uses[test] != len(members) - 1:
        return None
    return Extremum(carry, name, candidate, tuple(members), companions)
