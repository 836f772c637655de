"""Steps of loops, and branches, run backwards with what they need on a tape: one Function at a time.

`Reversal` makes two Functions of one. The *forward* one does the same, and pushes a record of values. The
*backward* one pops the record and gets the cotangents of the results, and the arrays as they are behind the
step; it gives the cotangents of the parameters, and the arrays as they were before it. A version of an array
in the forward step is the restored memory in the backward one, as long as nothing older is restored.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from typing import Any, Final

from ....base.records import field, record
from ...analysis.affine import counted_by
from ...builder import Builder, inline
from ...dataflow import increment, needed
from ...dtypes import INT64, is_differentiable
from ...graph import Function, Instruction, Value
from ...ops.control_flow.gradients import accumulated
from ...ops.control_flow.versions import is_array, origin, written_operand
from ...registry import NONDIFF, OPS, Kind
from ...transforms.differentiation import (
    has_choice,
    passes_gradient,
    pull_regions,
    rule_arguments,
    variadic_index,
)
from ...transforms.strong_zeros import StrongZeros
from ...types import TensorType

#: Values of ops up to this cost are computed again from elements, dearer ones are on the tape.
_CHEAP: Final = 4.0
#: The longest chain of ops that is computed again.
_DEPTH: Final = 12
_NUMBER: Final = TensorType(INT64, ())


class NoTapeError(Exception):
    """The gradient of a loop nest has no tape of a known size."""


@record
class TapedNest:
    """A loop nest, as far as all its Functions are concerned."""

    #: The most steps of each loop.
    steps: dict[Instruction, int | None]
    #: The arrays that no backward step reads, so that they are not restored: parameters of regions.
    dropped: Set[Value]
    #: The rows of the tapes, by type. Others have one, while it is found out how many they need.
    rows: Mapping[TensorType, int]
    #: The arrays that backward steps read.
    read: set[Value] = field(default_factory=set)
    #: Arrays of a step that are arrays of the step around it.
    same: list[tuple[Value, Value]] = field(default_factory=list)

    def tape(self, type_: TensorType) -> TensorType:
        """The type of the tape of rows of `type_`."""
        return TensorType(type_.dtype, (max(self.rows.get(type_, 1), 1), *type_.shape))

    def unread(self) -> set[Value]:
        """The arrays that need not be restored."""
        read, size = set(self.read), -1
        while len(read) > size:
            size = len(read)
            for pair in self.same:
                if not read.isdisjoint(pair):
                    read.update(pair)
        return {array for pair in self.same for array in pair} - read


class Reversal:
    """The forward and backward Functions of `function`.

    `arrays` has the positions of parameters that are arrays to restore, with those of the results that they
    become. `counters` are parameters that change by a number from step to step, and `known` those that
    backward steps are given. The results at `seeds` have cotangents, and those of the parameters `wrt` are
    computed: those of `sums` are added to what comes in. `behind` says whether they come of a choice.
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
        behind: bool,
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
        self.rows: dict[TensorType, int] = {}
        self.base: dict[TensorType, Value] = {}
        self.tops: dict[TensorType, Value] = {}
        self.tapes: dict[TensorType, Value] = {}
        self.children: dict[Instruction, list[Reversal]] = {}
        #: Reads of elements that are overwritten, by the write.
        self.before: dict[Instruction, Instruction] = {}
        self.wrt = wrt
        self.active = self._reached(function, [params[i] for i in wrt])
        self.cotangents: dict[Value, Value] = {}
        for i, value in self.seed_params.items():
            self._add(function.results[i], value)
        for i, value in self.sum_params.items():
            self._add(params[i], value)
        self.chosen = {function.results[i] for i in seeds} if behind else set()

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

    def run(self) -> Reversal:
        """Write the backward steps."""
        for step in reversed(self.body):
            self._back(step)
        return self

    def _back(self, step: Instruction) -> None:
        self.b.location = step.location and step.location.of_gradient()
        if step.op.kind is Kind.WHILE:
            self._loop(step)
        elif step.op.kind is Kind.SWITCH:
            self._branches(step)
        else:
            for array, _, _ in self.chains.get(step, ()):
                if array in self.hands:
                    self._undo(step, array)
            if any(result in self.cotangents for result in step.results) and not self._pull_increment(step):
                self._pull(step)
        for result in step.results:
            self.cotangents.pop(result, None)

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
        elif position is None and self._is_free(value):
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

    def _is_free(self, value: Value, depth: int = 0) -> bool:
        """Whether the backward step can compute `value` now without the tape."""
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
        cheap = kind is Kind.ELEMENTWISE and step.cost <= _CHEAP and not step.op.effect
        return (
            cheap or kind in (Kind.CREATION, Kind.VIEW) or (kind is Kind.GATHER and step.op.name == "gather")
        ) and all(self._is_free(operand, depth + 1) for operand in step.operands)

    def top(self, type_: TensorType) -> Value:
        """The number of rows of a tape that are left."""
        if type_ not in self.tops:
            self.tops[type_] = self.base[type_] = Value(_NUMBER, "top")
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
            behind = not self.chosen.isdisjoint(step.results) or has_choice(step.regions)
            if behind:
                self.chosen.update(operands)
            given = [self.cotangents.get(result) for result in step.results]
            pulled = pull_regions(t, step, given, behind)
            parts = [
                (operand, part)
                for operand, part in zip(operands, pulled, strict=True)
                if part is not None and operand in self.active
            ]
        elif op.vjp is not NONDIFF:
            behind = step.result in self.chosen and not op.kind.traits.mixes
            if behind or op.chooses:
                self.chosen.update(operands)
            b: Any = StrongZeros(t) if behind else t
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
        if step.result in self.chosen:
            self.chosen.update((whole, other))
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

    # -- loops and branches ---------------------------------------------------------------------------

    def _is_chosen(self, step: Instruction) -> bool:
        behind = not self.chosen.isdisjoint(step.results) or has_choice(step.regions)
        if behind:
            self.chosen.update(step.operands)
        return behind

    def _loop(self, loop: Instruction) -> None:
        count, body = loop.attrs["carries"], loop.regions[1]
        outer = {place: array for array, place, _ in self.chains.get(loop, ())}
        arrays = {i: i for i in range(count) if is_array(body.params[i]) and origin(loop, i) == i}
        self.nest.same.extend((body.params[i], outer.get(i, body.params[i])) for i in arrays)
        restored = [i for i in arrays if body.params[i] not in self.nest.dropped]
        wrt = self._active_operands(loop)
        if not wrt and outer.keys().isdisjoint(restored):
            return
        carried = [i for i in wrt if i < count]
        invariants = [i for i in wrt if i >= count]
        steps = {i: increment(body, i) for i in range(count)}
        child = Reversal(
            self.nest,
            body,
            arrays,
            counters={i: each for i, each in steps.items() if each is not None},
            known={i for i, param in enumerate(body.params) if i >= count or body.results[i] is param},
            seeds=carried,
            wrt=wrt,
            sums=invariants,
            behind=self._is_chosen(loop),
        ).run()
        child.finish()
        self.children[loop] = [child]
        self._note_rows([child], self.nest.steps.get(loop))
        self.ran(loop)
        b, types = self.b, child.types
        trips = self._trips(loop)
        last = b.sub(trips, 1)
        counters = list(child.counter_params)
        ends = [b.add(self.resolve(loop.operands[i]), b.mul(last, child.counters[i])) for i in counters]
        hands = [self.hands[outer[i]] if i in outer else self.resolve(loop.results[i]) for i in restored]
        needs = [self.resolve(loop.operands[i]) for i in child.needs]
        cotangents = [self.cotangents.get(loop.results[i]) or self._zeros(body.params[i]) for i in carried]
        totals = self._totals([loop.operands[i] for i in invariants])
        tops = [self.top(type_) for type_ in types]
        start = b.full(value=0, shape=(), dtype=INT64)
        carries = [start, *ends, *hands, *cotangents, *totals, *tops]
        others = [trips, *needs, *[self.tape(type_) for type_ in types]]
        step = child.step_back(types)
        test: Any = Builder()
        params = [test.parameter(param.type, param.hint) for param in step.params]
        condition = test.finish("condition", [test.lt(params[0], params[len(carries)])])
        results = list(
            b.append(OPS["while"], (*carries, *others), {"carries": len(carries)}, regions=(condition, step))
        )
        del results[: 1 + len(ends)]
        for i in restored:
            self._restored(outer.get(i), loop.operands[i], results.pop(0))
        ends = [results.pop(0) for _ in carried]
        self._set_totals([loop.operands[i] for i in invariants], totals, [results.pop(0) for _ in invariants])
        for i, cotangent in zip(carried, ends, strict=True):
            if loop.operands[i] in self.active:
                self._add(loop.operands[i], cotangent)
        self.tops.update(zip(types, results, strict=True))

    def _active_operands(self, step: Instruction) -> list[int]:
        """The positions of the operands of a loop whose cotangents are computed."""
        if not any(result in self.cotangents for result in step.results):
            return []
        count, body = step.attrs["carries"], step.regions[1]
        wrt = {
            i
            for i, operand in enumerate(step.operands)
            if operand in self.active and is_differentiable(operand.dtype)
        }
        while True:
            reached = self._reached(body, [body.params[i] for i in wrt])
            more = {
                i
                for i in range(count)
                if body.results[i] in reached and is_differentiable(body.params[i].dtype)
            } - wrt
            if not more:
                return sorted(wrt)
            wrt |= more

    def _trips(self, loop: Instruction) -> Value:
        """The number of steps that a loop ran."""
        counter = counted_by(loop)
        if counter is None:  # its last carry counts
            return self.resolve(loop.results[-1])
        condition, b = loop.regions[0], self.b
        live = needed(condition, [counter.bound])
        params = [param for param in condition.params if param in live]
        body = tuple([step for step in condition.body if step.results[0] in live])
        bound = Function(condition.name, tuple(params), body, (counter.bound,))
        operands = [self.resolve(loop.operands[condition.params.index(param)]) for param in params]
        location = b.location
        (stop,) = inline(b, bound, operands)
        b.location = location
        trips: Value = b.maximum(b.sub(stop, self.resolve(loop.operands[counter.carry])), 0)
        return trips

    def _branches(self, switch: Instruction) -> None:
        index, *operands = switch.operands
        outer = {origin_ - 1: (array, place) for array, place, origin_ in self.chains.get(switch, ())}
        for region in switch.regions:
            self.nest.same.extend((region.params[i], array) for i, (array, _) in outer.items())
        arrays = {i: place for i, (_, place) in outer.items()}
        restored = [i for i, (array, _) in outer.items() if array in self.hands]
        seeds = [i for i, result in enumerate(switch.results) if result in self.cotangents]
        wrt = [
            i
            for i, operand in enumerate(operands)
            if seeds and operand in self.active and is_differentiable(operand.dtype)
        ]
        written = [i for i in wrt if i in outer and outer[i][1] in seeds]
        sums = [i for i in wrt if i not in written]
        if not restored and not seeds:
            return
        behind = self._is_chosen(switch)
        children = [
            Reversal(
                self.nest,
                region,
                arrays,
                counters={},
                known=range(len(operands)),
                seeds=seeds,
                wrt=wrt,
                sums=sums,
                behind=behind,
            ).run()
            for region in switch.regions
        ]
        for child in children:
            child.finish()
        types = list(dict.fromkeys([type_ for child in children for type_ in child.types]))
        self.children[switch] = children
        self._note_rows(children, 1)
        chosen = self.resolve(index)
        hands = [self.hands[outer[i][0]] for i in restored]
        needed_params = sorted({i for child in children for i in child.needs})
        needs = [self.resolve(operands[i]) for i in needed_params]
        cotangents = [self.cotangents[switch.results[i]] for i in seeds]
        totals = self._totals([operands[i] for i in sums])
        tops = [self.top(type_) for type_ in types]
        tapes = [self.tape(type_) for type_ in types]
        given = [*hands, *cotangents, *totals, *tops, *needs, *tapes]
        regions = tuple([child.branch_back(written, types, needed_params) for child in children])
        results = list(self.b.append(OPS["switch"], (chosen, *given), {}, regions=regions))
        for i in restored:
            self._restored(outer[i][0], operands[i], results.pop(0))
        ends = [results.pop(0) for _ in written]
        self._set_totals([operands[i] for i in sums], totals, [results.pop(0) for _ in sums])
        for i, cotangent in zip(written, ends, strict=True):
            self._add(operands[i], cotangent)
        self.tops.update(zip(types, results, strict=True))

    def _restored(self, array: Value | None, version: Value, hand: Value) -> None:
        if array is not None:
            self.hands[array], self.current[array] = hand, self.versions[version][1]

    def _totals(self, operands: Sequence[Value]) -> list[Value]:
        """The sums so far of the cotangents of `operands`, once each."""
        totals: list[Value] = []
        for i, operand in enumerate(operands):
            total = None if operand in operands[:i] else self.cotangents.get(operand)
            totals.append(total or self._zeros(operand))
        return totals

    def _set_totals(
        self, operands: Sequence[Value], totals: Sequence[Value], results: Sequence[Value]
    ) -> None:
        for operand, total, result in zip(operands, totals, results, strict=True):
            if self.cotangents.get(operand) is total:
                del self.cotangents[operand]
            self._add(operand, result)

    def _note_rows(self, children: Sequence[Reversal], steps: int | None) -> None:
        """Note the rows that `children`, of which one runs in each of so many steps, have on the tape."""
        for type_ in dict.fromkeys([type_ for child in children for type_ in child.types]):
            if steps is None:
                raise NoTapeError
            most = max([child.rows.get(type_, 0) for child in children])
            self.rows[type_] = self.rows.get(type_, 0) + steps * most

    def ran(self, loop: Instruction) -> None:
        """Take note of a loop whose pushes are known."""

    # -- the two Functions ----------------------------------------------------------------------------

    def finish(self) -> None:
        """Take stock of what is pushed."""
        for type_, pushes in self.pushes.items():
            self.rows[type_] = self.rows.get(type_, 0) + len(pushes)
        #: The types of the rows that this and what is inside pushes.
        self.types = list(self.rows)

    def forward(self, count: int, types: Sequence[TensorType], tapes: Sequence[TensorType]) -> Function:
        """``(*first count params, *tapes, *tops, *params) -> (*results, *tapes, *tops)``."""
        b: Any = Builder()
        params = self.function.params
        memory = [Value(tape, "tape") for tape in tapes]
        tops = [Value(_NUMBER, "top") for _ in types]
        state = dict(zip(types, zip(memory, tops, strict=True), strict=True))
        for step in self.body:
            if step in self.before:
                b.write(self.before[step])
            b.write(self.with_tapes(step, state))
        b.location = None
        for type_, pushes in self.pushes.items():
            tape, top = state[type_]
            for i, value in enumerate(pushes):
                tape = b.scatter(tape, value, b.add(top, i) if i else top, mode="set")
            state[type_] = tape, b.add(top, len(pushes))
        ends = [state[type_] for type_ in types]
        results = (*self.function.results, *[tape for tape, _ in ends], *[top for _, top in ends])
        return Function(
            self.function.name, (*params[:count], *memory, *tops, *params[count:]), tuple(b.body), results
        )

    def with_tapes(self, step: Instruction, state: dict[TensorType, tuple[Value, Value]]) -> Instruction:
        """`step`, a loop or branch, with what it pushes on the tapes in `state`, which then has the tapes
        behind it."""
        children = self.children.get(step, ())
        types = list(dict.fromkeys([type_ for child in children for type_ in child.types]))
        if not types:
            return step
        memory, tops = [state[type_][0] for type_ in types], [state[type_][1] for type_ in types]
        tapes = [tape.type for tape in memory]
        is_loop = step.op.kind is Kind.WHILE
        count = step.attrs["carries"] if is_loop else len(step.operands)
        added = [Value(value.type, value.hint) for value in (*memory, *tops)]
        inner = count if is_loop else count - 1
        regions = [child.forward(inner, types, tapes) for child in children]
        attrs = step.attrs
        if is_loop:
            attrs = {"carries": count + len(added)}
            condition = step.regions[0]
            more = [Value(value.type, value.hint) for value in added]
            params = (*condition.params[:count], *more, *condition.params[count:])
            regions.insert(0, Function(condition.name, params, condition.body, condition.results))
        state.update(zip(types, zip(added[: len(types)], added[len(types) :], strict=True), strict=True))
        return step.replace(
            operands=(*step.operands[:count], *memory, *tops, *step.operands[count:]),
            attrs=attrs,
            results=(*step.results, *added),
            regions=tuple(regions),
        )

    def step_back(self, types: Sequence[TensorType]) -> Function:
        """``(number, *counters, *arrays, *cotangents, *sums, *tops, trips, *needs, *tapes) -> those before
        ``trips``, a step earlier``."""
        number, trips = Value(_NUMBER, "number"), Value(_NUMBER, "trips")
        popped, tops, ends = self._popped(types)
        b = self.b
        b.location = None
        following = b.add(number, 1)
        counters = [b.sub(value, self.counters[i]) for i, value in self.counter_params.items()]
        cotangents = [self.cotangent(i) for i in self.wrt]
        results = [following, *counters, *self.hands.values(), *cotangents, *ends]
        params = [
            number,
            *self.counter_params.values(),
            *b.params,
            *tops,
            trips,
            *self.needs.values(),
            *[self.tape(type_) for type_ in types],
        ]
        body = (*popped, *b.body)
        return Function(f"{self.function.name}_backward", tuple(params), body, tuple(results))

    def branch_back(
        self, written: Sequence[int], types: Sequence[TensorType], needs: Sequence[int]
    ) -> Function:
        """``(*arrays, *cotangents, *sums, *tops, *needs, *tapes) -> (*arrays, *cotangents of the parameters
        written, *sums, *tops)``."""
        popped, tops, ends = self._popped(types)
        self.b.location = None
        params = self.function.params
        cotangents = [self.cotangent(i) for i in (*written, *self.sum_params)]
        given = [self.needs.get(i) or Value(params[i].type, params[i].hint) for i in needs]
        inner = (*self.b.params, *tops, *given, *[self.tape(type_) for type_ in types])
        results = (*self.hands.values(), *cotangents, *ends)
        return Function(f"{self.function.name}_backward", inner, (*popped, *self.b.body), results)

    def cotangent(self, position: int) -> Value:
        """The cotangent of the parameter at `position`."""
        param = self.function.params[position]
        return self.cotangents.get(param) or self._zeros(param)

    def _popped(self, types: Sequence[TensorType]) -> tuple[list[Instruction], list[Value], list[Value]]:
        """The instructions that take a record off the tapes; the tops of the tapes before that, and behind
        the whole Function."""
        b: Any = Builder()
        tops: list[Value] = []
        for type_ in types:
            pushes = self.pushes.get(type_, {})
            base = self.base.setdefault(type_, Value(_NUMBER, "top"))
            if not pushes:
                tops.append(base)
                continue
            tops.append(Value(_NUMBER, "top"))
            b.sub(tops[-1], len(pushes))
            _rename(b, base)
            for i, value in enumerate(pushes.values()):
                b.gather(self.tape(type_), b.add(base, i) if i else base)
                _rename(b, value)
        return b.body, tops, [self.tops.get(type_, self.base[type_]) for type_ in types]


def _rename(b: Builder, result: Value) -> None:
    """Give the last instruction of `b` its `result`."""
    b.body[-1] = b.body[-1].replace(results=(result,))
