"""Values of a step of a loop in the step back, and the pullback of its straight-line part.

A version of an array in the forward step is the restored memory in the backward one, as long as nothing older
is restored. Other values are given, as counters and invariants are; are read or computed again; or are pushed
on a tape by the forward step.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence, Set
from typing import Any, Final

from ....base.records import field, record
from ...builder import Builder
from ...dataflow import needed
from ...dtypes import INT64, is_differentiable
from ...graph import Function, Instruction, Value
from ...ops.control_flow.gradients import accumulated
from ...ops.control_flow.versions import written_operand
from ...registry import NONDIFF, OPS, Kind, Strength
from ...transforms.differentiation import (
    note_strength,
    passes_gradient,
    pull_regions,
    rule_arguments,
    strength_at,
    variadic_index,
)
from ...transforms.strong_zeros import with_zeros
from ...types import TensorType

#: The longest chain of ops that is computed again.
_DEPTH: Final = 64
#: The type of counters and of the tops of tapes.
NUMBER: Final = TensorType(INT64, ())


class NoTapeError(Exception):
    """A step back needs an array as it no longer is."""


@record
class TapedNest:
    """A loop nest, as far as all its Functions are concerned."""

    #: The most steps of each loop.
    steps: dict[Instruction, int | None]
    #: Values of elementwise ops up to this cost are computed again, dearer ones are on the tape.
    dearest: float
    #: The arrays that no backward step reads, so that they are not restored: parameters of regions.
    dropped: Set[Value]
    #: The rows of the tapes, by type; infinitely many where loops have no bound. Tapes have one row while
    #: that is found out.
    rows: Mapping[TensorType, float]
    #: The arrays that backward steps read.
    read: set[Value] = field(default_factory=set)
    #: Arrays of a step that are arrays of the step around it.
    same: list[tuple[Value, Value]] = field(default_factory=list)

    def tape(self, type_: TensorType) -> TensorType:
        """The type of the tape of rows of `type_`."""
        rows = self.rows.get(type_, 1)
        return TensorType(type_.dtype, (int(rows) if 1 <= rows < math.inf else 1, *type_.shape))

    def unread(self) -> set[Value]:
        """The arrays that need not be restored."""
        read, size = set(self.read), -1
        while len(read) > size:
            size = len(read)
            for pair in self.same:
                if not read.isdisjoint(pair):
                    read.update(pair)
        return {array for pair in self.same for array in pair} - read


class ReversedValues:
    """The values of a Function, as its backward Function gets them.

    `arrays` has the positions of parameters that are arrays to restore, with those of the results that they
    become. `counters` are parameters that change by a number from step to step, and `known` those that
    backward steps are given. The results at `seeds` have cotangents, and those of the parameters `wrt` are
    computed: those of `sums` are added to what comes in. `strength` is that of zeros in them.
    """

    def __init__(
        self,
        nest: TapedNest,
        function: Function,
        arrays: Mapping[int, int],
        *,
        counters: Mapping[int, int],
        known: Collection[int],
        seeds: Sequence[int],
        wrt: Sequence[int],
        sums: Sequence[int],
        strength: Strength,
    ) -> None:
        self.nest, self.function = nest, function
        self.b: Any = Builder()
        self.counters, self.known = counters, known
        params = function.params
        self.positions = {param: i for i, param in enumerate(params)}
        self.forward_values = set(params).union(*[step.results for step in function.body])
        live = needed(function, function.results)
        self.body = [step for step in function.body if not live.isdisjoint(step.results)]
        #: Backward values of forward ones.
        self.resolved: dict[Value, Value] = {}
        self.needs: dict[int, Value] = {}
        self.counter_params: dict[int, Value] = {}
        restored = [params[i] for i in arrays if params[i] not in nest.dropped]
        #: The memory of each array as it is restored so far, and which version that is.
        self.hands = {array: self._parameter(array, array.hint) for array in restored}
        self.seed_params = {i: self._parameter(function.results[i], f"ct{i}") for i in seeds}
        self.sum_params = {i: self._parameter(params[i], f"sum_{params[i].hint or i}") for i in sums}
        self.chains: dict[Instruction, list[tuple[Value, int, int]]] = {}
        self.versions: dict[Value, tuple[Value, Value]] = {}
        self.current = {params[i]: self._chain(params[i], function.results[j]) for i, j in arrays.items()}
        for step in self.body:
            if step.op.name == "copy" and step.operands[0] in self.versions:
                self.versions.setdefault(step.result, self.versions[step.operands[0]])
        #: Values that are pushed, by their type; and the rows of the tapes, with those of regions inside.
        self.pushes: dict[TensorType, dict[Value, Value]] = {}
        self.rows: dict[TensorType, float] = {}
        self.base: dict[TensorType, Value] = {}
        self.tops: dict[TensorType, Value] = {}
        self.tapes: dict[TensorType, Value] = {}
        #: Reads of elements that are overwritten, by the write.
        self.before: dict[Instruction, Instruction] = {}
        self.wrt = wrt
        self.active = self._reached(function, [params[i] for i in wrt])
        self.cotangents: dict[Value, Value] = {}
        for i, value in self.seed_params.items():
            self._add(function.results[i], value)
        for i, value in self.sum_params.items():
            self._add(params[i], value)
        self.strengths = {function.results[i]: strength for i in seeds}

    def _parameter(self, like: Value, hint: str) -> Value:
        value: Value = self.b.parameter(like.type, hint)
        return value

    def _chain(self, array: Value, last: Value) -> Value:
        """Note the versions of `array` up to the `last`, which is returned."""
        defs, steps, value = self.function.defs, [], last
        while value is not array:
            step = defs[value]
            position = written_operand(step, value)
            assert position is not None
            self.chains.setdefault(step, []).append((array, step.results.index(value), position))
            steps.append((step, value))
            value = step.operands[position]
        version = array
        self.versions[array] = array, array
        for step, value in reversed(steps):
            version = version if step.op.name == "copy" else value
            self.versions[value] = array, version
        return version

    @staticmethod
    def _reached(function: Function, start: Sequence[Value]) -> set[Value]:
        """The floating values that depend on `start`."""
        active = set(start)
        for step in function.body:
            if passes_gradient(step.op) and not active.isdisjoint(step.operands):
                active.update(result for result in step.results if is_differentiable(result.dtype))
        return active

    # -- values of the forward step -------------------------------------------------------------------

    def resolve(self, value: Value) -> Value:
        """The backward value of a forward one."""
        if value in self.resolved:
            return self.resolved[value]
        if value in self.versions:
            array, version = self.versions[value]
            if array not in self.hands or self.current[array] is not version:
                raise NoTapeError
            self.nest.read.add(array)
            return self.hands[array]
        position = self.positions.get(value)
        if position is not None and position in self.counters:
            result = self.counter_params[position] = Value(value.type, value.hint)
        elif position is not None and position in self.known:
            result = self.needs[position] = Value(value.type, value.hint)
        elif position is None and self._is_free(value, {}):
            step = self.function.defs[value]
            operands = tuple([self.resolve(operand) for operand in step.operands])
            (result,) = self.b.repeat(step, operands)
        else:
            result = self._push(value)
        self.resolved[value] = result
        return result

    def _push(self, value: Value) -> Value:
        result = Value(value.type, value.hint)
        self.pushes.setdefault(value.type, {})[value] = result
        return result

    def _is_free(self, value: Value, free: dict[Value, bool], depth: int = 0) -> bool:
        """Whether the backward step can compute `value` now without the tape. `free` has known answers."""
        if value not in free:
            free[value] = self._can_compute(value, free, depth)
        return free[value]

    def _can_compute(self, value: Value, free: dict[Value, bool], depth: int) -> bool:
        if value in self.resolved:
            return True
        if value in self.versions:
            array, version = self.versions[value]
            return array in self.hands and self.current[array] is version
        if value in self.positions:
            return self.positions[value] in self.counters or self.positions[value] in self.known
        step = self.function.defs.get(value)
        if step is None or depth > _DEPTH or len(step.results) > 1:
            return False
        kind = step.op.kind
        cheap = kind is Kind.ELEMENTWISE and step.cost <= self.nest.dearest and not step.op.effect
        return (
            cheap or kind in (Kind.CREATION, Kind.VIEW) or (kind is Kind.GATHER and step.op.name == "gather")
        ) and all(self._is_free(operand, free, depth + 1) for operand in step.operands)

    def top(self, type_: TensorType) -> Value:
        """The number of rows of a tape that are left."""
        if type_ not in self.tops:
            self.tops[type_] = self.base[type_] = Value(NUMBER, "top")
        return self.tops[type_]

    def tape(self, type_: TensorType) -> Value:
        """The memory of the rows of a type."""
        if type_ not in self.tapes:
            self.tapes[type_] = Value(self.nest.tape(type_), "tape")
        return self.tapes[type_]

    # -- single instructions --------------------------------------------------------------------------

    def _undo(self, step: Instruction, array: Value) -> None:
        """Restore what `step` overwrote."""
        if step.op.name == "copy":
            return
        whole, hand = step.operands[0], self.hands[array]
        if step.op.kind is Kind.UPDATE:
            start, by = step.attrs["start"], step.attrs["step"]
            attrs: dict[str, Any] = {"start": start, "size": step.operands[1].shape, "step": by}
            old = self._read_before(step, "slice", (whole,), attrs)
            self.hands[array] = self.b.update(hand, self.resolve(old), start=start, step=by)
        else:
            indices, axes = step.operands[2:], step.attrs["axes"]
            old = self._read_before(step, "gather", (whole, *indices), {"axes": axes})
            replaced = self.resolve(old)
            places = [self.resolve(index) for index in indices]
            self.hands[array] = self.b.scatter(hand, replaced, *places, mode="set", axes=axes)
        self.current[array] = self.versions[whole][1]

    def _read_before(
        self, write: Instruction, name: str, operands: tuple[Value, ...], attrs: dict[str, Any]
    ) -> Value:
        """The element that `write` overwrites, a value of the forward step."""
        for step in self.body:
            if step.op.name == name and step.operands == operands and dict(step.attrs) == attrs:
                return step.result
        b = Builder()
        b.location = write.location
        (old,) = b.append(OPS[name], operands, attrs)
        self.before[write] = b.body[0]
        self.forward_values.add(old)
        return old

    def _pull(self, step: Instruction) -> None:
        """Add to the cotangents those of the operands of `step`, by the rules of its op."""
        op, operands = step.op, step.operands
        t = Builder()
        t.location = self.b.location
        parts: list[tuple[Value, Value]] = []
        if op.regions is not None:
            given = [self.cotangents.get(result) for result in step.results]
            pulled = pull_regions(t, step, given, strength_at(step, self.strengths))
            parts = [
                (operand, part)
                for operand, part in zip(operands, pulled, strict=True)
                if part is not None and operand in self.active
            ]
        elif op.vjp is not NONDIFF:
            strength = strength_at(step, self.strengths)
            b: Any = with_zeros(t, strength) if strength else t
            types = [operand.type for operand in operands]
            # what is written takes its cotangent out of the array's first
            order = range(len(operands))
            for position in reversed(order) if op.kind.traits.updates_operand else order:
                operand = operands[position]
                if operand not in self.active or not is_differentiable(operand.dtype):
                    continue
                rule = op.rule_for(position)
                if rule is None:
                    raise NoTapeError
                index = variadic_index(op, position)
                arguments = rule_arguments(rule, operands, types, step.result, index, step.attrs)
                part = rule.fn(b, self.cotangents[step.result], *arguments)
                if part is not None:
                    parts.append((operand, part))
        self._transfer(t, [part for _, part in parts])
        for operand, part in parts:
            self._add(operand, part)

    def _pull_increment(self, step: Instruction) -> bool:
        """Pull ``x[i] = x[i] + y`` or ``x[i] - y`` back, if `step` is that: the cotangent of x[i] stays."""
        if step.op.name != "scatter" or step.attrs["mode"] != "set" or step.operands[2].shape:
            return False
        whole, value, *indices = step.operands
        sum_ = self.function.defs.get(value)
        if sum_ is None or sum_.op.name not in ("add", "sub"):
            return False
        element, other = sum_.operands
        if sum_.op.name == "add" and not self._reads(element, whole, indices, step.attrs["axes"]):
            element, other = other, element
        if element is other or not self._reads(element, whole, indices, step.attrs["axes"]):
            return False
        total = self.cotangents[step.result]
        note_strength(self.strengths, (whole, other), self.strengths.get(step.result, Strength.NONE))
        if other in self.active:
            places = [self.resolve(index) for index in indices]
            part = self.b.gather(total, *places, axes=step.attrs["axes"])
            self._add(other, self.b.neg(part) if sum_.op.name == "sub" else part)
        self._add(whole, total)
        return True

    def _reads(self, element: Value, whole: Value, indices: Sequence[Value], axes: tuple[int, ...]) -> bool:
        """Whether `element` is read from the array `whole` at `indices`."""
        read = self.function.defs.get(element)
        if read is None or read.op.name != "gather" or read.attrs["axes"] != axes:
            return False
        same = read.operands[0] is whole or self.versions.get(read.operands[0], 0) == self.versions.get(whole)
        return same and list(read.operands[1:]) == list(indices)

    def _transfer(self, t: Builder, results: Sequence[Value]) -> None:
        """Append what `t` has for `results`, with backward values for forward ones."""
        live = needed(t.finish("", results), results)
        for step in t.body:
            if live.isdisjoint(step.results):
                continue
            operands = tuple(
                [
                    self.resolve(operand) if operand in self.forward_values else operand
                    for operand in step.operands
                ]
            )
            self.b.write(step.replace(operands=operands))

    def _add(self, value: Value, part: Value) -> None:
        """Add `part`, a forward value or the backward cotangent, to the cotangent of `value`."""
        if part in self.forward_values:
            part = self.resolve(part)
        total = self.cotangents.get(value)
        if total is not None:
            defs = {result: step for step in self.b.body for result in step.results}
            others = [*self.cotangents.values(), *self.hands.values(), *self.resolved.values()]
            others.remove(total)
            part = accumulated(self.b, total, part, defs, others)
        self.cotangents[value] = part

    def _zeros(self, like: Value) -> Value:
        zeros: Value = self.b.full(value=0.0, shape=like.shape, dtype=like.dtype)
        return zeros
