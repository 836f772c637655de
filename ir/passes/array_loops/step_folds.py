"""Carries to which the steps of a loop only add, or of which they keep the extremum: folds over the steps.

    total = total + f(i)                              the sum
    if f(i) < best: best, where = f(i), g(i)          the first minimum, and what goes with it

A fold under a condition is an unconditional one of a select:

    where(t, total + x, total)                        total + where(t, x, -0.0)

So ``if t: total += x`` in a loop is a sum of selects. Sums of floats with -0.0 are exact.

Sums of products of arrays that are repeated are matrix products:

    sum over k of a[i, k] * b[k, j]                   matmul(a, b)
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from ...access import resolve
from ...builder import Builder
from ...dataflow import read_counts
from ...dtypes import INT64, is_inexact, is_real_floating
from ...graph import Function, Instruction, Substitution, Value
from ...records import record
from ...registry import OPS, Op
from ...types import Shape
from ..algebra.cleanup import dce
from ..rewriting import Definitions, Rule, rewrite
from .affine import Affine

#: A product of fewer multiplications is as quick as a loop nest.
MIN_PRODUCT: Final = 1 << 12


def contract_product_sums(function: Function) -> Function:
    """*Requires*: valid IR. *Ensures*: the same results up to the order of sums; no large sum of products of
    floats goes along axes of which each factor misses one that the other has."""
    uses = read_counts(function)
    return rewrite(function, {"sum": (_contracted(uses),)})


def _contracted(uses: Counter[Value]) -> Rule:
    def rule(b: Builder, total: Instruction, defs: Definitions) -> Value | None:
        product = defs.get(total.operands[0])
        if product is None or product.op.name != "mul" or uses[product.result] != 1:
            return None
        return _product(b, total, product, defs)

    return rule


def _product(b: Any, total: Instruction, product: Instruction, defs: Definitions) -> Value | None:
    shape, summed = product.result.shape, total.attrs["axes"]
    if not is_real_floating(product.result.dtype) or math.prod(shape) < MIN_PRODUCT:
        return None
    x, y = product.operands
    of_x, of_y = _axes(x, defs), _axes(y, defs)
    wide = [axis for axis, size in enumerate(shape) if size > 1]
    kept = [axis for axis in wide if axis not in summed]
    rows = [axis for axis in kept if axis not in of_y]
    columns = [axis for axis in kept if axis not in of_x]
    batch = [axis for axis in kept if axis in of_x and axis in of_y]
    inner = [axis for axis in wide if axis in summed]
    if not (rows and columns and inner) or set(rows) & set(columns):
        return None
    if any(axis not in of_x or axis not in of_y for axis in inner):
        return None
    left = _matrix(b, _once(b, x, of_x, defs), batch, rows, inner, shape)
    right = _matrix(b, _once(b, y, of_y, defs), batch, inner, columns, shape)
    order = [*batch, *rows, *columns]
    result = b.reshape(b.matmul(left, right), shape=tuple([shape[axis] for axis in order]))
    back = sorted(range(len(order)), key=lambda position: order[position])
    value: Value = b.reshape(b.transpose(result, perm=tuple(back)), shape=total.result.shape)
    return value


def _axes(value: Value, defs: Definitions) -> set[int]:
    """The axes along which `value` is not merely repeated."""
    _, access = resolve(value, defs)
    return {axis for axis, step, _ in access.dims if axis is not None and step}


def _once(b: Any, value: Value, axes: set[int], defs: Definitions) -> Value:
    """`value` with size 1 along the axes along which it is repeated; those in `axes` are not."""
    size = tuple([extent if axis in axes else 1 for axis, extent in enumerate(value.shape)])
    view = defs.get(value)
    if view is not None and view.op.name == "broadcast":
        (source,) = view.operands
        value = b.reshape(source, shape=(1,) * (len(value.shape) - len(source.shape)) + source.shape)
    if value.shape == size:
        return value
    part: Value = b.slice(value, start=(0,) * len(size), size=size, step=(1,) * len(size))
    return part


def _matrix(
    b: Any, once: Value, batch: list[int], rows: list[int], columns: list[int], shape: Shape
) -> Value:
    """Reshape `once`, a result of `_once`, to matrices of `rows` and `columns`."""
    order = [*batch, *rows, *columns]
    rest = [axis for axis in range(len(shape)) if axis not in order]
    moved = b.transpose(once, perm=(*order, *rest))
    sizes = [[shape[axis] for axis in group] for group in (rows, columns)]
    matrix: Value = b.reshape(
        moved, shape=(*[shape[axis] for axis in batch], *[math.prod(group) for group in sizes])
    )
    return matrix


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
