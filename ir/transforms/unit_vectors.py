"""Functions of unit vectors, as Jacobians map them: elements that are 0 by position stay 0.

A unit vector is a choice, ``where(mask, 1, 0)``. An op on elements that is linear in it commutes with the
choice: ``c where(mask, t, 0)`` is ``where(mask, c t, 0)``, in which an infinite c meets no 0. So the choice
is put off to where elements mix, and what comes before does not depend on the unit vector: batching computes
it once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ..access import viewed
from ..builder import Builder
from ..dtypes import BOOL
from ..graph import Function, Instruction, Value
from ..registry import Kind, Op

#: Most choices that a value may be a sum of; sums of more are written out.
_MAX_TERMS: Final = 4

#: A sum of choices: values, by the masks where they count.
_Terms = dict[Value, Value]


def with_late_choices(function: Function, units: Sequence[int]) -> Function:
    """`function` of unit vectors as its parameters at `units`, which become their masks, of bools.

    *Ensures*: the same results, but for products of infinity or NaN and an element that is 0 because of the
    mask, which are 0.
    """
    return _Rewriting(function, units).run()


class _Rewriting:
    def __init__(self, function: Function, units: Sequence[int]) -> None:
        self.function, self.units = function, set(units)
        self.b = Builder()
        #: The new values of values that are not, or no longer, sums of choices.
        self.values: dict[Value, Value] = {}
        self.terms: dict[Value, _Terms] = {}
        #: Masks behind views, so that equal ones are one value.
        self.masks: dict[tuple[Op, str, Value], Value] = {}

    def run(self) -> Function:
        b, function = self.b, self.function
        params = []
        for position, param in enumerate(function.params):
            is_unit = position in self.units
            params.append(b.parameter(param.type.with_dtype(BOOL) if is_unit else param.type, param.hint))
            if not is_unit:
                self.values[param] = params[-1]
        for position in sorted(self.units):
            type_ = function.params[position].type
            unit = b.full(value=1.0, shape=type_.shape, dtype=type_.dtype)
            self.terms[function.params[position]] = {params[position]: unit}
        for instruction in function.body:
            b.location = instruction.location
            results = self._late(instruction)
            if results is not None and len(results) <= _MAX_TERMS:
                self.terms[instruction.results[0]] = results
                continue
            operands = [self._written(operand) for operand in instruction.operands]
            self.values.update(zip(instruction.results, b.repeat(instruction, tuple(operands)), strict=True))
        return b.finish(function.name, [self._written(result) for result in function.results])

    def _written(self, value: Value) -> Value:
        """The new value of `value`, with its choices."""
        if value not in self.values:
            total: Value | None = None
            for mask, term in self.terms[value].items():
                chosen = self.b.where(mask, term, 0.0)
                total = chosen if total is None else self.b.add(total, chosen)
            assert total is not None
            self.values[value] = total
        return self.values[value]

    def _late(self, instruction: Instruction) -> _Terms | None:
        """The result as a sum of choices, where the op commutes with those of its operands."""
        op, operands = instruction.op, instruction.operands
        places = [place for place, operand in enumerate(operands) if operand in self.terms]
        if not places or len(instruction.results) != 1 or instruction.regions:
            return None
        if op.kind is Kind.VIEW:
            # the parts of complex numbers are not the elements that a mask is about
            if places != [0] or len(operands) > 1 or instruction.result.dtype != operands[0].dtype:
                return None
            return self._behind_view(instruction)
        if (
            op.kind is Kind.UPDATE
            and places == [1] == [*range(1, len(operands))]
            and self._is_zero(operands[0])
        ):
            return self._among_zeros(instruction)
        is_sum = op.reduction is not None and op.reduction.additive
        if is_sum and operands[0].type.size == instruction.result.type.size:
            shape = instruction.result.shape  # sums of one element each
            return {
                self.b.reshape(mask, shape=shape): self.b.reshape(term, shape=shape)
                for mask, term in self.terms[operands[0]].items()
            }
        together = [{op.params.index(name) for name in names.split()} for names in op.linear]
        for group in together:
            if group.issuperset(places) and all(self._is_zero(operands[i]) for i in group - {*places}):
                return self._term_by_term(instruction, places)
        return None

    def _term_by_term(self, instruction: Instruction, places: Sequence[int]) -> _Terms:
        operands, results = instruction.operands, _Terms()
        for mask in dict.fromkeys(mask for place in places for mask in self.terms[operands[place]]):
            parts = [
                self._part(operand, mask) if place in places else self.values[operand]
                for place, operand in enumerate(operands)
            ]
            (results[mask],) = self.b.repeat(instruction, tuple(parts))
        return results

    def _part(self, value: Value, mask: Value) -> Value:
        """The part of `value` that counts where `mask` is."""
        term = self.terms[value].get(mask)
        if term is not None:
            return term
        zero: Value = self.b.full(value=0.0, shape=value.shape, dtype=value.dtype)
        return zero

    def _behind_view(self, instruction: Instruction) -> _Terms:
        results = _Terms()
        for mask, term in self.terms[instruction.operands[0]].items():
            (value,) = self.b.repeat(instruction, (term,))
            seen = self._mask(instruction, mask) if instruction.attrs else mask
            results[seen] = self.b.add(results[seen], value) if seen in results else value
        return results

    def _among_zeros(self, instruction: Instruction) -> _Terms:
        zeros = self.values[instruction.operands[0]]
        return {
            self._mask(instruction, mask): self.b.repeat(instruction, (zeros, term))[0]
            for mask, term in self.terms[instruction.operands[1]].items()
        }

    def _mask(self, instruction: Instruction, mask: Value) -> Value:
        """`mask` behind a view, or written among zeros."""
        op, attrs = instruction.op, instruction.attrs
        key = op, f"{instruction.result.shape} {sorted(attrs.items())}", mask
        if key not in self.masks:
            none = [self.b.full(value=False, shape=instruction.result.shape, dtype=BOOL)]
            (self.masks[key],) = self.b.append(op, (*none[: len(instruction.operands) - 1], mask), attrs)
        return self.masks[key]

    def _is_zero(self, value: Value) -> bool:
        """Whether `value` is the constant 0."""
        definitions: Mapping[Value, Instruction] = self.function.defs
        maker = definitions.get(viewed(value, definitions))
        return maker is not None and maker.attrs.get("value", None) == 0 and maker.op.name == "full"
