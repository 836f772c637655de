"""Maps over batches of small matrices: factorizations, solves and the arithmetic around them become one loop.

A map is a scan without carries (`capabilities.is_matrix_map`): from the matrices that are read to the results
that something else needs, nothing of it lies in memory.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ...builder import Builder
from ...capabilities import is_matrix_map, unrolls_elements, unrolls_matrix
from ...dataflow import has_effect, read_counts
from ...graph import Function, Instruction, Substitution, Value
from ...ops.control_flow.definitions import SCAN
from ...registry import Attrs, Kind
from ...types import Shape
from ..algebra.cleanup import dce

#: Ops that join a map without depending on what it solves, where nothing else reads them.
_LEADING = frozenset((Kind.VIEW, Kind.ELEMENTWISE, Kind.CONTRACTION, Kind.REDUCTION, Kind.CONCAT))


def map_matrices(function: Function) -> Function:
    """Make a map of each group of ops on batches of small matrices.

    *Requires*: composite ops are decomposed. *Ensures*: the same results; maps have two ops or more, or
    replace an operand in memory by a constant.
    """
    tried: set[Instruction] = set()
    changed = False
    while any(op.kind is Kind.LINALG for op in function.ops):
        seed = next((step for step in function.body if step not in tried and _is_seed(step)), None)
        if seed is None:
            break
        tried.add(seed)
        batch = seed.operands[0].shape[:-2]
        parted = _with_parted_reductions(function, batch)
        mapped = None if parted is None else _Group(parted, batch).mapped()
        if mapped is None:
            mapped = _Group(function, batch).mapped()
        if mapped is not None:
            function, changed = mapped, True
    return dce(function) if changed else function


def _with_parted_reductions(function: Function, batch: Shape) -> Function | None:
    """Split reductions over a whole batch that depends on factors: first over the axes of each matrix, which
    a map can do, then over the batch. None where there are none."""
    uses = read_counts(function)
    dependent: set[Value] = set()
    b, table, rank = Builder(), Substitution(), len(batch)
    parted = False
    b.params = list(function.params)
    for original in function.body:
        step = table.apply(original)
        if _is_seed(step) or any(operand in dependent for operand in step.operands):
            dependent.update(step.results)
        if (
            step.op.kind is Kind.REDUCTION
            and (x := step.operands[0]) in dependent
            and uses[x] == 1
            and x.shape[:rank] == batch
            and len(x.shape) > rank
            and unrolls_elements(x.type.size // math.prod(batch))
            and tuple(sorted(step.attrs["axes"])) == tuple(range(len(x.shape)))
        ):
            b.location, parted = step.location, True
            while len(x.shape) > rank:
                (x,) = b.append(step.op, (x,), {"axes": (len(x.shape) - 1,)})
            (total,) = b.append(step.op, (x,), {"axes": tuple(range(rank))})
            table[original.result] = total
        else:
            b.body.append(step)
    return b.finish(function.name, table.all(function.results)) if parted else None


def _is_seed(instruction: Instruction) -> bool:
    """Whether `instruction` factors or solves several matrices in code without loops."""
    if instruction.op.kind is not Kind.LINALG or not unrolls_matrix(instruction):
        return False
    return math.prod(instruction.operands[0].shape[:-2]) > 1


class _Group:
    """The ops of `function` that one map over `batch` takes."""

    def __init__(self, function: Function, batch: Shape) -> None:
        self.function, self.batch = function, batch
        self.defs = {result: step for step in function.body for result in step.results}
        self.uses = read_counts(function)
        #: The members, in order, and what depends on them and is none.
        self.members: list[Instruction] = []
        self.after: set[Instruction] = set()
        self._take_dependent()
        self._take_leading()
        self._leave_trailing()

    # -- members ----------------------------------------------------------------------------------

    def _take_dependent(self) -> None:
        """Collect the members: factorizations and solves, and ops that depend on them, unless those wait for
        an op that is no member."""
        inside: set[Value] = set()
        outside: set[Value] = set()
        effects_wait = False  # they stay in order
        for step in self.function.body:
            depends = any(operand in inside for operand in step.operands)
            waits = any(operand in outside for operand in step.operands)
            if has_effect(step):
                effects_wait = waits = waits or depends or effects_wait
            waits = waits or (depends and self._is_repeat(step))  # each step would read what all give
            if not waits and (depends or step.op.kind is Kind.LINALG) and self._item(step) is not None:
                self.members.append(step)
                inside.update(step.results)
            elif depends or waits:
                self.after.add(step)
                outside.update(step.results)

    def _take_leading(self) -> None:
        """Values that nothing but members reads, each its own part."""
        members = set(self.members)
        read = Counter(operand for step in self.members for operand in self._own(step))
        for step in reversed(self.function.body):
            if step in members or step in self.after or step.op.kind not in _LEADING:
                continue
            if self._item(step) is not None and all(
                0 < self.uses[result] == read[result] for result in step.results
            ):
                members.add(step)
                read.update(self._own(step))
        self.members = [step for step in self.function.body if step in members]

    def _leave_trailing(self) -> None:
        """Remove members from the end whose operands are smaller than their results, so that the map stores
        less."""
        read = Counter(operand for step in self.members for operand in step.operands)
        computed = {result for step in self.members for result in step.results}
        for step in reversed(self.members):
            if step.op.kind is Kind.LINALG or any(read[result] for result in step.results):
                continue
            inner = {operand for operand in step.operands if operand in computed}
            more = sum(operand.type.nbytes for operand in inner if self.uses[operand] == read[operand])
            if more < step.result.type.nbytes:
                self.members.remove(step)
                self.after.add(step)
                read.subtract(step.operands)
                computed -= set(step.results)

    # -- elements of the batch --------------------------------------------------------------------

    def _batched(self, value: Value) -> bool:
        return value.shape[: len(self.batch)] == self.batch

    def _item(self, step: Instruction) -> Attrs | None:
        """The attributes of `step` for one matrix; None where it is no op on each of them."""
        size = math.prod(self.batch)
        if step.op.effect or any(
            not self._batched(result) or not unrolls_elements(result.type.size // size)
            for result in step.results
        ):
            return None
        if step.op.kind is Kind.LINALG:
            own = unrolls_matrix(step) and step.operands[0].shape[:-2] == self.batch
            return step.attrs if own else None
        if step.op.kind is Kind.ELEMENTWISE:
            kinds = {operand.dtype.kind for operand in step.operands}
            return step.attrs if step.op.emit is not None and kinds <= set(step.op.emit_kinds) else None
        return self._moved(step)

    def _moved(self, step: Instruction) -> Attrs | None:
        """The attributes of what moves, folds or multiplies elements."""
        rank, attrs, batch = len(self.batch), step.attrs, self.batch
        name, shape = step.op.name, step.results[0].shape
        if name == "broadcast":
            (x,) = step.operands
            fits = len(x.shape) == len(shape) and self._batched(x)
            return {"shape": shape[rank:]} if fits or self._is_repeat(step) else None
        if step.op.kind is Kind.CREATION:
            if name == "full":
                return {**attrs, "shape": shape[rank:]}
            if name == "iota" and attrs["axis"] >= rank:
                return {**attrs, "shape": shape[rank:], "axis": attrs["axis"] - rank}
            return None
        if not all(self._batched(operand) for operand in step.operands):
            return None
        if name == "reshape":
            return {"shape": shape[rank:]}
        if name == "transpose" and tuple(attrs["perm"][:rank]) == tuple(range(rank)):
            return {"perm": tuple([axis - rank for axis in attrs["perm"][rank:]])}
        if name == "slice":
            if any(attrs["start"][:rank]) or tuple(attrs["size"][:rank]) != batch:
                return None
            if any(by != 1 for by in attrs["step"][:rank]):
                return None
            return {key: tuple(attrs[key][rank:]) for key in ("start", "size", "step")}
        if name == "concat" and attrs["axis"] >= rank:
            return {"axis": attrs["axis"] - rank}
        if step.op.kind is Kind.REDUCTION and all(axis >= rank for axis in attrs["axes"]):
            return {"axes": tuple([axis - rank for axis in attrs["axes"]])}
        if step.op.kind is Kind.CONTRACTION and len(shape) == rank + 2:
            return attrs
        return None

    def _own(self, step: Instruction) -> tuple[Value, ...]:
        """The operands of which `step` reads one matrix's part for each matrix."""
        return () if self._is_repeat(step) else step.operands

    def _is_repeat(self, step: Instruction) -> bool:
        """Whether `step` repeats a small value for each matrix: all of it, also where its first axes are as
        long as the batch's."""
        if step.op.name != "broadcast":
            return False
        (x,) = step.operands
        rank = len(step.result.shape) - len(self.batch)
        return len(x.shape) <= rank and unrolls_elements(x.type.size)

    # -- the map ----------------------------------------------------------------------------------

    def mapped(self) -> Function | None:
        """The function with a map in place of the members; None where it would be no such map, or
        nothing is gained."""
        if not self.members:
            return None
        region = _RegionWriter(self)
        inside = set(self.members)
        read = Counter(operand for step in self.members for operand in step.operands)
        results = [
            result for step in self.members for result in step.results if self.uses[result] > read[result]
        ]
        body = region.write(results)
        if len(self.members) < 2 and not region.cloned:
            return None
        b = Builder()
        b.params = list(self.function.params)
        b.body = [step for step in self.function.body if step not in inside and step not in self.after]
        b.location = self.members[0].location
        length = math.prod(self.batch)
        slices = [self._flat(b, value, (length,), len(self.batch)) for value in region.slices]
        stacked = b.append(
            SCAN,
            (*region.invariants, *slices),
            {"carries": 0, "slices": len(slices), "length": length, "reverse": False},
            regions=(body,),
        )
        if not is_matrix_map(b.body[-1]):
            return None
        table = Substitution()
        for result, stack in zip(results, stacked, strict=True):
            table[result] = self._flat(b, stack, self.batch, 1)
        b.body += [table.apply(step) for step in self.function.body if step in self.after]
        return b.finish(self.function.name, table.all(self.function.results))

    def _flat(self, b: Builder, value: Value, leading: Shape, rank: int) -> Value:
        """`value` with `leading` in place of its first `rank` axes."""
        shape = (*leading, *value.shape[rank:])
        return value if value.shape == shape else b.reshape(value, shape=shape)


class _RegionWriter:
    """Writer of the region of a map: the members of a group for one matrix."""

    def __init__(self, group: _Group) -> None:
        self.group, self.b = group, Builder()
        #: The parameters for values that every step reads whole, and for values that are read by step.
        self.invariants: dict[Value, Value] = {}
        self.slices: dict[Value, Value] = {}
        #: Whether a step makes constants that lay in memory.
        self.cloned = False
        self.items: dict[Value, Value] = {}
        self.shared: dict[Value, Value] = {}

    def write(self, results: Sequence[Value]) -> Function:
        for step in self.group.members:
            self._append(step)
        params = (*self.invariants.values(), *self.slices.values())
        return Function("map", params, tuple(self.b.body), tuple([self.items[result] for result in results]))

    def _append(self, step: Instruction) -> None:
        """Append `step` for one matrix."""
        attrs = self.group._item(step)
        assert attrs is not None
        # of a value that is smaller than the result by the batch's axes, all steps read the whole
        is_repeat = self.group._is_repeat(step)
        operands = tuple([self._shared(x) if is_repeat else self._item(x) for x in step.operands])
        self.b.location = step.location
        self._define(self.items, step, operands, attrs)

    def _define(
        self,
        table: dict[Value, Value],
        step: Instruction,
        operands: tuple[Value, ...],
        attrs: Mapping[str, Any],
    ) -> None:
        computed = self.b.append(step.op, operands, attrs)
        table.update(zip(step.results, computed, strict=True))

    def _item(self, value: Value) -> Value:
        """The part of `value` for one matrix."""
        if value in self.items:
            return self.items[value]
        step = self.group.defs.get(value)
        constant = step is not None and (step.op.kind is Kind.CREATION or self.group._is_repeat(step))
        if step is not None and constant and self.group._item(step) is not None:
            self.cloned = True
            self._append(step)
            return self.items[value]
        shape = value.shape[len(self.group.batch) :]
        param = self.slices[value] = self.items[value] = Value(value.type.with_shape(shape))
        return param

    def _shared(self, value: Value) -> Value:
        """`value`, of which each step reads the whole: computed there, if it is made of constants alone."""
        if value in self.shared:
            return self.shared[value]
        step = self.group.defs.get(value)
        if step is not None and self._is_constant(step):
            self.b.location = step.location
            self._define(self.shared, step, tuple([self._shared(x) for x in step.operands]), step.attrs)
        else:
            self.invariants[value] = self.shared[value] = Value(value.type)
        return self.shared[value]

    def _is_constant(self, step: Instruction) -> bool:
        """Whether `step` and what it reads make a small constant."""
        if step.op.effect or any(not unrolls_elements(result.type.size) for result in step.results):
            return False
        if step.op.kind is Kind.CREATION:
            return True
        is_pure = step.op.kind is Kind.VIEW or (step.op.kind is Kind.ELEMENTWISE and step.op.emit is not None)
        defs = self.group.defs
        return is_pure and all(x in defs and self._is_constant(defs[x]) for x in step.operands)
