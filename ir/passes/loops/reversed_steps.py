"""Steps of loops, and branches, run backwards with what they need on a tape: one Function at a time.

`Reversal` makes two Functions of one. The *forward* one does the same, and pushes a record of values. The
*backward* one pops the record and gets the cotangents of the results, and the arrays as they are behind the
step; it gives the cotangents of the parameters, and the arrays as they were before it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...analysis.affine import counted_by
from ...builder import Builder, inline
from ...dataflow import increment, needed
from ...dtypes import INT64, is_differentiable
from ...graph import Function, Instruction, Value
from ...ops.control_flow.versions import is_array, origin
from ...registry import OPS, Kind
from ...transforms.differentiation import strength_at
from ...types import TensorType
from .reversed_values import NUMBER, ReversedValues


class Reversal(ReversedValues):
    """The forward and backward Functions of a Function."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        #: Functions of the regions of loops and branches.
        self.children: dict[Instruction, list[Reversal]] = {}

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

    # -- loops and branches ---------------------------------------------------------------------------

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
            strength=strength_at(loop, self.strengths),
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
        strength = strength_at(switch, self.strengths)
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
                strength=strength,
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
            most = max([child.rows.get(type_, 0) for child in children])
            rows = most * steps if steps is not None else math.inf if most else 0
            self.rows[type_] = self.rows.get(type_, 0) + rows

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
        tops = [Value(NUMBER, "top") for _ in types]
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
        number, trips = Value(NUMBER, "number"), Value(NUMBER, "trips")
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
            base = self.base.setdefault(type_, Value(NUMBER, "top"))
            if not pushes:
                tops.append(base)
                continue
            tops.append(Value(NUMBER, "top"))
            b.sub(tops[-1], len(pushes))
            _rename(b, base)
            for i, value in enumerate(pushes.values()):
                b.gather(self.tape(type_), b.add(base, i) if i else base)
                _rename(b, value)
        return b.body, tops, [self.tops.get(type_, self.base[type_]) for type_ in types]


def _rename(b: Builder, result: Value) -> None:
    """Give the last instruction of `b` its `result`."""
    b.body[-1] = b.body[-1].replace(results=(result,))
