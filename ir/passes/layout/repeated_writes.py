"""Writes of repeated values to all of their places."""

from __future__ import annotations

import math

from ...builder import Builder
from ...dataflow import read_counts
from ...graph import Function, Substitution, Value
from ...grouping.inlining import parts_of
from ...grouping.reasons import why_alone
from ...registry import OPS, Kind
from ..rewriting import constant_of
from .factors import MAX_PLACES, Factors, wide


class RepeatedWrites:
    """Expansion of values that are repeated to few places: they are computed again in the repeated shape, and
    the nest writes them to all places."""

    def __init__(self, function: Function, repeated: dict[Value, Factors]) -> None:
        self.function, self.repeated = function, repeated
        self.uses = read_counts(function)
        self.defs = function.defs
        self.b = Builder()
        self.table = Substitution()

    def run(self) -> Function:
        table = self.table
        for instruction in self.function.body:
            factors = self.repeated.get(instruction.results[0]) if instruction.results else None
            if factors is not None and math.prod(factors.fine) <= MAX_PLACES * factors.value.type.size:
                table[instruction.result] = self._computed(factors)
            else:
                self.b.body.append(table.apply(instruction))
        results = table.all(self.function.results)
        return Function(self.function.name, self.function.params, tuple(self.b.body), results)

    def _computed(self, factors: Factors) -> Value:
        """A value with all the axes of `factors`."""
        value, fine, repeated = factors.value, factors.fine, factors.repeated
        definition = self.defs.get(value)
        constant = constant_of(value, self.defs)
        if constant is not None:
            return self.b.broadcast_to(self.b.scalar(constant, value.dtype), fine)
        if definition is not None and self.uses[value] == 1:
            self.b.location = definition.location
            if definition.op.kind is Kind.ELEMENTWISE and not why_alone(definition):
                parts = [self._computed(Factors(operand, fine, repeated)) for operand in definition.operands]
                return self.b.append(definition.op, tuple(parts), definition.attrs)[0]
            if parts_of(definition, self.defs):
                kept = [axis for axis, own in enumerate(repeated) if not own]
                axis = kept[definition.attrs["axis"]]
                parts = [
                    self._computed(Factors(part, (*fine[:axis], size, *fine[axis + 1 :]), repeated))
                    for part in definition.operands
                    for size in (part.shape[definition.attrs["axis"]],)
                ]
                return self.b.append(OPS["concat"], tuple(parts), {"axis": axis})[0]
            if definition.op.name == "reshape" and (
                definition.operands[0].shape == wide(value.shape) != value.shape
            ):
                # without the axes of 1 that it adds
                long = [own or size != 1 for size, own in zip(fine, repeated, strict=True)]
                axes, among = (
                    tuple(own for own, keeps in zip(of, long, strict=True) if keeps)
                    for of in (fine, repeated)
                )
                part = self._computed(Factors(definition.operands[0], axes, among))  # type: ignore[arg-type]
                return self.b.append(OPS["reshape"], (part,), {"shape": fine})[0]
        value = self.table[value]
        if value.shape != factors.among:
            (value,) = self.b.append(OPS["reshape"], (value,), {"shape": factors.among})
        return self.b.broadcast_to(value, fine)
