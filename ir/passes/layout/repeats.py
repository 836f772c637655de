"""Delayed repetition: arithmetic on repeated values is done before they are repeated, and writes its results
to all places.

`repeat`, `tile` and `kron` are broadcasts whose axes a reshape merges,

    repeat(x, 2)  =  reshape(broadcast(x[:, None], (n, 2)), (2 n))

which is no affine view: apart, the repeated value goes to memory, and what follows reads it there. Here a
value is kept in *factors*, with the axes that were merged, and without those along which it is repeated,

    f(repeat(x))       =  repeat(f(x))
    sum(f(repeat(x)))  =  2 sum(f(x))

until something else than arithmetic, views, concatenations and sums reads it, or it is a result. So the
gradient of a `tile` has no sum over the copies, and one nest computes the elements and writes them to all
their places.
"""

from __future__ import annotations

import math
from typing import Final

from ...builder import Builder
from ...dataflow import read_counts
from ...graph import Function, Instruction, Substitution, Value
from ...grouping.inlining import parts_of
from ...grouping.reasons import why_alone
from ...registry import OPS, Kind
from ...types import Shape
from ..algebra.cleanup import dce
from ..algebra.simplify import simplify
from ..rewriting import constant_of
from .factors import MAX_PLACES, Factors, common, grouped, groups_of, kept_of, refined, wide
from .repeated_writes import RepeatedWrites

#: Folds that repeated elements do not change.
_IDEMPOTENT: Final = ("max", "min", "all", "any")
#: The kinds of op whose results need no memory of their own: they fuse with their readers or become views.
_WITH_ITS_READERS: Final = (Kind.ELEMENTWISE, Kind.VIEW, Kind.REDUCTION, Kind.CONCAT, Kind.UPDATE)


def delay_repeats(function: Function) -> Function:
    """*Requires*: no composites. *Ensures*: the same results; arithmetic that reads nothing but repeated
    values, constants and parameters reads what is repeated; no dead code where it changed anything."""
    if not {"broadcast", "reshape"} <= {op.name for op in function.ops}:
        return function
    repeats = {each.results[0] for each in function.body if each.op.name == "broadcast"}
    if not any(each.op.name == "reshape" and each.operands[0] in repeats for each in function.body):
        return function
    pass_ = _Repeats(function)
    delayed = pass_.run()
    return dce(simplify(RepeatedWrites(dce(delayed), pass_.repeated).run())) if pass_.gained else function


class _Repeats:
    """Rewrites a Function; values in factors are not there until something else reads them."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.b = Builder()
        self.table = Substitution()
        self.defs: dict[Value, Instruction] = {}
        self.uses = read_counts(function)
        self.factors: dict[Value, Factors] = {}
        self.converted: dict[tuple[Value, Shape], Factors | None] = {}
        self.reshaped: dict[tuple[Value, Shape], Value] = {}
        #: The broadcasts that repeat what was computed before, with what they repeat.
        self.repeated: dict[Value, Factors] = {}
        self.gained = False

    def run(self) -> Function:
        for instruction in self.function.body:
            self.b.location = instruction.location
            factors = self._factors(instruction)
            if factors is not None:
                self.factors[instruction.result] = factors
            else:
                operands = tuple([self._whole(operand) for operand in instruction.operands])
                self.b.body.append(instruction.replace(operands=operands))
            for result in instruction.results:
                self.defs[result] = instruction
        results = tuple([self._whole(result) for result in self.function.results])
        return Function(self.function.name, self.function.params, tuple(self.b.body), results)

    def _whole(self, value: Value) -> Value:
        """`value` where it is needed as it was."""
        factors = self.factors.get(value)
        if factors is None or value in self.table.table:
            return self.table[value]
        whole = factors.whole
        if whole is None:
            whole = self._reshaped(factors.value, factors.among)
            if any(factors.repeated):
                whole = self.b.broadcast_to(whole, factors.fine)
                self.repeated[whole] = factors
        self.table[value] = whole = self._reshaped(whole, value.shape)
        return whole

    def _reshaped(self, value: Value, shape: Shape) -> Value:
        if value.shape == shape:
            return value
        reshaped = self.reshaped.get((value, shape))
        if reshaped is None:
            (reshaped,) = self.b.append(OPS["reshape"], (value,), {"shape": shape})
            self.reshaped[value, shape] = reshaped
        return reshaped

    # -- each kind of instruction -----------------------------------------------------------------

    def _factors(self, instruction: Instruction) -> Factors | None:
        """The result of `instruction` in factors; None where it is none, or better there at once."""
        op = instruction.op
        if op.name == "reshape" and instruction.operands[0] not in self.factors:
            return self._begin(instruction)
        if len(instruction.results) != 1 or self.factors.keys().isdisjoint(instruction.operands):
            return None
        if op.kind is Kind.ELEMENTWISE:
            return None if why_alone(instruction) else self._elementwise(instruction)
        if op.kind is Kind.CONCAT:
            return self._concat(instruction)
        if op.kind is Kind.REDUCTION:
            return self._reduction(instruction)
        if op.name in ("reshape", "broadcast", "transpose", "slice"):
            view: Factors | None = getattr(self, f"_{op.name}")(
                instruction, self.factors[instruction.operands[0]]
            )
            return view
        return None

    def _begin(self, instruction: Instruction) -> Factors | None:
        """A reshape that merges axes of a broadcast."""
        (operand,) = instruction.operands
        definition = self.defs.get(operand)
        if definition is None or definition.op.name != "broadcast":
            return None
        (source,) = definition.operands
        if constant_of(operand, self.defs) is not None or source.type.size < 2:
            return None
        fine = refined((wide(operand.shape), wide(instruction.result.shape)))
        if fine is None or fine == wide(instruction.result.shape):
            return None
        first = len(operand.shape) - len(source.shape)
        repeated: tuple[bool, ...] = ()
        for axis, group in enumerate(groups_of(fine, operand.shape)):
            repeated += (axis < first or source.shape[axis - first] == 1,) * len(group)
        kept, base = kept_of(fine, repeated), source
        while (inner := self.defs.get(base)) is not None and inner.op.name == "reshape":
            if wide(inner.operands[0].shape) != wide(base.shape):
                break
            (base,) = inner.operands
        value = self._reshaped(self._whole(base), kept)
        few = math.prod(fine) <= MAX_PLACES * value.type.size
        if inner is not None and few and self.uses[base] == 1 and self._in_a_nest(inner):
            self.gained = True  # which writes it repeatedly
            return Factors(value, fine, repeated)
        return Factors(value, fine, repeated, self._whole(operand))

    def _in_a_nest(self, instruction: Instruction) -> bool:
        """Whether a nest of elements computes the result, or puts it together."""
        if instruction.op.kind is Kind.ELEMENTWISE:
            return why_alone(instruction) is None
        return bool(parts_of(instruction, self.defs))

    def _reshape(self, instruction: Instruction, factors: Factors) -> Factors | None:
        if grouped(factors.fine, instruction.result.shape) is None:
            return None
        return factors

    def _broadcast(self, instruction: Instruction, factors: Factors) -> Factors | None:
        (operand,), shape = instruction.operands, instruction.result.shape
        groups = [()] * (len(shape) - len(operand.shape)) + groups_of(factors.fine, operand.shape)
        repeated: list[bool] = []
        fine: list[int] = []
        for group, size in zip(groups, shape, strict=True):
            repeated += [factors.repeated[axis] for axis in group] or [True] * (size != 1)
            fine += [factors.fine[axis] for axis in group] or [size] * (size != 1)
        return Factors(factors.value, tuple(fine), tuple(repeated))

    def _transpose(self, instruction: Instruction, factors: Factors) -> Factors | None:
        groups = groups_of(factors.fine, instruction.operands[0].shape)
        order = [axis for place in instruction.attrs["perm"] for axis in groups[place]]
        kept = [axis for axis in order if not factors.repeated[axis]]
        perm = tuple(sorted(kept).index(axis) for axis in kept)
        value = factors.value
        if perm != tuple(range(len(perm))):
            (value,) = self.b.append(OPS["transpose"], (value,), {"perm": perm})
        fine, repeated = (tuple(of[axis] for axis in order) for of in (factors.fine, factors.repeated))
        return Factors(value, fine, repeated)

    def _slice(self, instruction: Instruction, factors: Factors) -> Factors | None:
        (operand,), attrs = instruction.operands, instruction.attrs
        fine = list(factors.fine)
        start, step = [0] * len(fine), [1] * len(fine)
        for place, group in enumerate(groups_of(factors.fine, operand.shape)):
            first, count, by = (attrs[name][place] for name in ("start", "size", "step"))
            if (first, count, by) == (0, operand.shape[place], 1):
                continue
            if len(group) != 1 or count == 0:
                return None
            (axis,) = group
            fine[axis], start[axis], step[axis] = count, first, by
        value, kept = factors.value, kept_of(tuple(fine), factors.repeated)
        chosen = {
            "start": kept_of(tuple(start), factors.repeated), "size": kept,
            "step": kept_of(tuple(step), factors.repeated),
        }  # fmt: skip
        if kept != value.shape or any(by != 1 for by in chosen["step"]):
            (value,) = self.b.append(OPS["slice"], (value,), chosen)
        repeated = tuple(own for own, size in zip(factors.repeated, fine, strict=True) if size != 1)
        sliced = Factors(self._reshaped(value, wide(kept)), wide(fine), repeated)
        return sliced if sliced.has_long_rows else None

    def _reduction(self, instruction: Instruction) -> Factors | None:
        (operand,), op = instruction.operands, instruction.op
        factors = self.factors[operand]
        groups = groups_of(factors.fine, operand.shape)
        folded = {axis for place in instruction.attrs["axes"] for axis in groups[place]}
        copies = math.prod(factors.fine[axis] for axis in folded if factors.repeated[axis])
        if not folded or (copies == 1 and factors.whole is not None and not any(factors.repeated)):
            return None
        sums = op.name == "sum" and factors.value.dtype.kind != "b"
        if copies > 1 and not sums and op.name not in _IDEMPOTENT:
            return None
        kept = [axis for axis, repeated in enumerate(factors.repeated) if not repeated]
        axes = tuple(place for place, axis in enumerate(kept) if axis in folded)
        value: Value = self.b.apply(op, (factors.value,), {"axes": axes})
        if copies > 1 and sums:
            value = self.b.mul(value, self.b.scalar(copies, value.dtype))
        self.gained = True
        fine, repeated = (
            tuple(own for axis, own in enumerate(of) if axis not in folded)
            for of in (factors.fine, factors.repeated)
        )
        return Factors(value, fine, repeated)  # type: ignore[arg-type]

    def _elementwise(self, instruction: Instruction) -> Factors | None:
        fine = refined(
            self.factors[operand].fine for operand in instruction.operands if operand in self.factors
        )
        return self._computed(instruction, fine) if fine else None

    def _computed(self, instruction: Instruction, fine: Shape) -> Factors | None:
        """The result of arithmetic with the axes `fine`; None where an operand is better as it is."""
        operands: list[Factors | Value] = []
        for operand in instruction.operands:
            constant = constant_of(operand, self.defs)
            part = self.b.scalar(constant, operand.dtype) if constant is not None else self._in(operand, fine)
            if part is None:
                return None
            operands.append(part)
        parts = [part for part in operands if isinstance(part, Factors)]
        if not parts:
            return None
        repeated = common(parts)
        result = Factors(parts[0].value, fine, repeated)
        if not result.has_long_rows:
            return None
        values = tuple(
            [
                self._along(part, repeated)
                if isinstance(part, Factors)
                else self.b.broadcast_to(part, kept_of(fine, repeated))
                for part in operands
            ]
        )
        (value,) = self.b.append(instruction.op, values, instruction.attrs)
        self.gained = True
        return Factors(value, fine, repeated)

    def _along(self, part: Factors, repeated: tuple[bool, ...]) -> Value:
        """The value of `part` with all axes but those that are `repeated`."""
        if part.repeated == repeated:
            return part.value
        return self.b.broadcast_to(
            self._reshaped(part.value, kept_of(part.among, repeated)), kept_of(part.fine, repeated)
        )

    def _concat(self, instruction: Instruction) -> Factors | None:
        place, result = instruction.attrs["axis"], instruction.result
        parts = []
        for operand in instruction.operands:
            factors = self.factors.get(operand)
            if factors is None:
                return None
            groups = groups_of(factors.fine, operand.shape)
            axis = sum(len(group) for group in groups[:place])
            if len(groups[place]) > 1:
                return None
            fine, repeated = factors.fine, factors.repeated
            if not groups[place]:  # one slice of several
                fine = (*fine[:axis], 1, *fine[axis:])
                repeated = (*repeated[:axis], False, *repeated[axis:])
            parts.append(Factors(factors.value, fine, repeated))
        others = {(*part.fine[:axis], *part.fine[axis + 1 :]) for part in parts}
        if len(others) != 1 or any(len(part.fine) != len(parts[0].fine) for part in parts):
            return None
        repeated = (*common(parts)[:axis], False, *common(parts)[axis + 1 :])
        fine = (*parts[0].fine[:axis], result.shape[place], *parts[0].fine[axis + 1 :])
        values = tuple(
            [self._reshaped(self._along(part, repeated), kept_of(part.fine, repeated)) for part in parts]
        )
        (value,) = self.b.append(OPS["concat"], values, {"axis": axis - sum(repeated[:axis])})
        self.gained = True
        joined = Factors(value, fine, repeated)
        return joined if joined.has_long_rows else None

    # -- operands ---------------------------------------------------------------------------------

    def _in(self, value: Value, fine: Shape) -> Factors | None:
        """`value`, which is no constant, with the axes `fine`; None where it is better as it is."""
        factors = self.factors.get(value)
        if factors is not None:
            return self._split(factors, fine)
        if (value, fine) not in self.converted:
            self.converted[value, fine] = self._converted(value, fine)
        return self.converted[value, fine]

    def _split(self, factors: Factors, fine: Shape) -> Factors | None:
        """`factors` with the axes `fine`, where those along which its elements differ stay as they are."""
        repeated: list[bool] = []
        for group, own in zip(groups_of(fine, factors.fine), factors.repeated, strict=True):
            if len(group) > 1 and not own:
                return None
            repeated += [own] * len(group)
        return Factors(factors.value, fine, tuple(repeated))

    def _converted(self, value: Value, fine: Shape) -> Factors | None:
        groups, definition = grouped(fine, value.shape), self.defs.get(value)
        if groups is None:
            return None
        if definition is None or definition.op.kind not in _WITH_ITS_READERS:
            return Factors(self._reshaped(self.table[value], fine), fine, (False,) * len(fine))
        if definition.op.name == "broadcast":
            (source,) = definition.operands
            first, base = len(value.shape) - len(source.shape), source
            while (inner := self.defs.get(base)) is not None and inner.op.name == "reshape":
                (base,) = inner.operands
            if base in self.factors or (inner is not None and inner.op.kind is Kind.VIEW):
                return None
            repeated: list[bool] = []
            for place, group in enumerate(groups):
                own = place < first or source.shape[place - first] != value.shape[place]
                repeated += [own] * len(group)
            small = self._reshaped(self.table[base], kept_of(fine, tuple(repeated)))
            return Factors(small, fine, tuple(repeated))
        if definition.op.kind is Kind.ELEMENTWISE and self.uses[value] == 1 and not why_alone(definition):
            return self._computed(definition, fine)
        return None
