"""Small state in registers: a whole loop or branch as straight-line scalar code in one function.

Where every value that a control flow op computes has few elements, each element is a register, and carries
are phis. What is large (an invariant, stacked operands and results) stays in memory, and is read and written
by element. Anything else has no such code: `register_kernel` returns None, and the op is written over memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from ..ir.dtypes import BOOL, SHORT_NAME
from ..ir.graph import Function, Instruction, Value
from ..ir.passes.control import CONTROL
from ..ir.passes.small import MAX_ELEMENTS, operations
from ..ir.records import record
from ..ir.registry import Kind
from .control import UNKNOWN_TRIPS
from .emitter import Reg, constant
from .loops import FunctionWriter
from .marks import mark_of
from .nests.kernel import Kernel, signature
from .nests.movement import index_messages
from .packing import PackingWriter, in_groups
from .target import Target


@record(eq=False)
class Stored:
    """A value in memory, read by element where it is used."""

    pointer: str
    dtype: str


#: A value's elements in row-major order.
Elements: TypeAlias = "list[Reg] | Stored"


def register_kernel(
    name: str, instruction: Instruction, target: Target, declarations: dict[str, str]
) -> Kernel | None:
    """A control flow instruction as straight-line code; None where its values are too large or too many, or
    where an op has no scalar code."""
    count = operations(instruction)
    if count is None:
        return None
    writer = _RegisterWriter(name, instruction, target, declarations)
    text = "\n".join([writer.write(), *writer.texts])
    description = f"registers {name}: {instruction.op.name}, {count:.0f} operations a step"
    cycles = count * _trips(instruction)
    return Kernel(name, text, description, cycles=cycles, errors=tuple(writer.errors))


def _trips(instruction: Instruction) -> float:
    if instruction.op.kind is Kind.SWITCH:
        return 1.0
    return float(instruction.attrs["length"]) if instruction.op.kind is Kind.SCAN else UNKNOWN_TRIPS


# -- writing --------------------------------------------------------------------------------------


class _RegisterWriter(PackingWriter):
    def __init__(
        self, name: str, instruction: Instruction, target: Target, declarations: dict[str, str]
    ) -> None:
        super().__init__(name, FunctionWriter(declarations), target)
        self.instruction = instruction
        self.errors: list[str] = []
        self.failed: list[str] = []

    def write(self) -> str:
        """The text of ``@name(ptr %b0, ..., i64 %begin, i64 %end)``."""
        w, one = self.w, self.instruction
        carries = one.attrs.get("carries", len(one.results))
        operands: list[Elements] = []
        for i, operand in enumerate(one.operands):
            stored = Stored(f"%b{i}", SHORT_NAME[operand.dtype])
            small = operand.type.size <= MAX_ELEMENTS
            slices = one.op.kind is Kind.SCAN and i >= len(one.operands) - one.attrs["slices"]
            operands.append(self._load(stored, operand) if small and not slices else stored)
        pointers = [f"%b{len(one.operands) + i}" for i in range(len(one.results))]
        stacks = [
            Stored(pointer, SHORT_NAME[result.dtype])
            for pointer, result in zip(pointers[carries:], one.results[carries:], strict=True)
        ]
        finals = self._control(one, operands, stacks)
        for pointer, elements, result in zip(pointers, finals, one.results, strict=False):
            self._store(elements, Stored(pointer, SHORT_NAME[result.dtype]), 0)
        w.line("ret i32 0" if self.errors else "ret void")
        for code, label in enumerate(self.failed, 1):
            w.start(label)
            w.line(f"ret i32 {code}")
        buffers = len(one.operands) + len(one.results)
        return w.function(signature(self.name, buffers, result="i32" if self.errors else "void"), "nounwind")

    # -- elements ---------------------------------------------------------------------------------

    def _load(self, stored: Stored, like: Value) -> list[Reg]:
        return [self._element(stored, i) for i in range(like.type.size)]

    def _element(self, elements: Elements, index: int) -> Reg:
        if isinstance(elements, list):
            return elements[index]
        return self.w.load(self.w.offset(elements.pointer, elements.dtype, index), elements.dtype)

    def _store(self, elements: Elements, target: Stored, first: int) -> None:
        assert isinstance(elements, list)
        for i, one in enumerate(elements):
            self.w.store(one, self.w.offset(target.pointer, target.dtype, first + i))

    # -- functions --------------------------------------------------------------------------------

    def _function(self, function: Function, arguments: Sequence[Elements]) -> list[Elements]:
        values: dict[Value, Elements] = dict(zip(function.params, arguments, strict=True))
        for group in in_groups(function):
            self.w.mark = mark_of(tuple(n for one in group for n in one.origins))
            if len(group) > 1 or group[0].op.kind is Kind.ELEMENTWISE:
                self._elementwise(group, values)
                continue
            (one,) = group
            operands = [values[operand] for operand in one.operands]
            values.update(zip(one.results, self._instruction(one, operands), strict=True))
        self.w.mark = ""
        return [values[one] for one in function.results]

    def _instruction(self, one: Instruction, operands: list[Elements]) -> Sequence[Elements]:
        kind = one.op.kind
        if kind in CONTROL:
            return self._inner(one, operands)
        return [_WRITERS[kind](self, one, operands)]

    def _elementwise(self, group: Sequence[Instruction], values: dict[Value, Elements]) -> None:
        """Instructions with one op, of all of whose elements none depends on another."""
        rows = [
            [self._element(values[x], i) for x in one.operands]
            for one in group
            for i in range(one.result.type.size)
        ]
        made = self.packed(group[0], rows)
        start = 0
        for one in group:
            values[one.result] = made[start : start + one.result.type.size]
            start += one.result.type.size

    def move(self, one: Instruction, operands: list[Elements]) -> Elements:
        """Elements in other places: the op's meaning, on numbers that stand for the elements."""
        numbers, start = [], 0
        for operand in one.operands:
            numbers.append(np.arange(start, start + operand.type.size).reshape(operand.shape))
            start += operand.type.size
        starts = np.cumsum([0, *[operand.type.size for operand in one.operands]])
        found: list[Reg] = []
        for number in np.asarray(one.op.eval(*numbers, **one.attrs)).reshape(-1).tolist():
            which = int(np.searchsorted(starts, number, side="right")) - 1
            found.append(self._element(operands[which], number - int(starts[which])))
        return found

    def create(self, one: Instruction, operands: list[Elements]) -> Elements:
        values = np.asarray(one.op.eval(**one.attrs), one.result.dtype).reshape(-1).tolist()
        return [constant(value, SHORT_NAME[one.result.dtype]) for value in values]

    def reduce(self, one: Instruction, operands: list[Elements]) -> Elements:
        reduction = one.op.reduction
        assert reduction is not None
        shape, axes = one.operands[0].shape, one.attrs["axes"]
        kept = [axis for axis in range(len(shape)) if axis not in axes]
        numbers = np.arange(one.operands[0].type.size).reshape(shape).transpose([*kept, *axes])
        dtype = SHORT_NAME[one.result.dtype]
        found: list[Reg] = []
        length = int(np.prod([shape[axis] for axis in axes], dtype=np.int64))
        for row in numbers.reshape(one.result.type.size, length).tolist():
            total = constant(reduction.identity(dtype), dtype)
            for number in row:
                total = reduction.combine(self.w, total, self._element(operands[0], number))
            found.append(total)
        return found

    def contract(self, one: Instruction, operands: list[Elements]) -> Elements:
        x, y = [np.arange(operand.type.size).reshape(operand.shape) for operand in one.operands]
        w, found = self.w, []
        for *batch, row, column in np.ndindex(*one.result.shape):
            left, right = x[(*batch, row)], y[(*batch, slice(None), column)]
            total = constant(0, SHORT_NAME[one.result.dtype])
            for a, b in zip(left.tolist(), right.tolist(), strict=True):
                total = w.add(w.mul(self._element(operands[0], a), self._element(operands[1], b)), total)
            found.append(total)
        return found

    def gather(self, one: Instruction, operands: list[Elements]) -> Elements:
        """Elements at traced indices: from memory, where registers are put first."""
        w, (x, *indices) = self.w, operands
        source = one.operands[0]
        if isinstance(x, list):
            spilled = Stored(w.slot(SHORT_NAME[source.dtype], len(x)), SHORT_NAME[source.dtype])
            self._store(x, spilled, 0)
            x = spilled
        base = len(self.errors)
        self.errors += index_messages(one, source.shape, len(indices))
        labels = [w.label("bad") for _ in indices]
        self.failed += labels
        assert len(self.failed) == base + len(indices)
        wrapped: list[list[Reg]] = []
        for number in range(one.operands[1].type.size):
            wrapped.append([])
            for axis, index in enumerate(indices):
                at, size = self._element(index, number), source.shape[axis]
                good = w.label("good")
                w.branch_if(w.and_(w.ge(at, -size), w.lt(at, size)), good, labels[axis])
                w.start(good)
                wrapped[-1].append(w.select(w.lt(at, 0), w.add(at, size), at))
        stretch = int(np.prod(source.shape[len(indices) :], dtype=np.int64))
        found: list[Reg] = []
        for place in wrapped:
            flat = constant(0, "i64")
            for axis, at in enumerate(place):
                flat = w.add(w.mul(flat, source.shape[axis]), at)
            here = Stored(w.offset(x.pointer, x.dtype, w.mul(flat, stretch)), x.dtype)
            found += [self._element(here, i) for i in range(stretch)]
        return found

    # -- control flow -----------------------------------------------------------------------------

    def _inner(self, one: Instruction, operands: list[Elements]) -> Sequence[Elements]:
        """A control flow instruction inside another one: what it stacks goes through the stack's memory."""
        carries = one.attrs.get("carries", len(one.results))
        slices = one.attrs["slices"] if one.op.kind is Kind.SCAN else 0
        for i in range(len(operands) - slices, len(operands)):
            elements = operands[i]
            if isinstance(elements, list):
                dtype = SHORT_NAME[one.operands[i].dtype]
                operands[i] = Stored(self.w.slot(dtype, len(elements)), dtype)
                self._store(elements, operands[i], 0)  # type: ignore[arg-type]
        stacks = [
            Stored(self.w.slot(SHORT_NAME[result.dtype], result.type.size), SHORT_NAME[result.dtype])
            for result in one.results[carries:]
        ]
        finals = self._control(one, operands, stacks)
        stacked = [self._load(stack, one) for stack, one in zip(stacks, one.results[carries:], strict=True)]
        return [*finals, *stacked]

    def _control(self, one: Instruction, operands: list[Elements], stacks: list[Stored]) -> list[list[Reg]]:
        """Write a control flow instruction; the elements of its carries, or of the results of a switch."""
        if one.op.kind is Kind.SWITCH:
            return self._switch(one, operands)
        count = one.attrs["carries"]
        sizes = [operand.type.size for operand in one.operands[:count]]
        start = [reg for elements in operands[:count] for reg in _listed(elements)]
        if one.op.kind is Kind.WHILE:
            return _parted(self._while(one, start, sizes, operands[count:]), sizes)
        first_slice = len(operands) - one.attrs["slices"]
        (body,), length = one.regions, one.attrs["length"]

        def step(index: Reg, state: list[Reg]) -> Sequence[Reg]:
            at = self.w.sub(length - 1, index) if one.attrs["reverse"] else index
            slices: list[Elements] = []
            for stored, param in zip(operands[first_slice:], body.params[first_slice:], strict=True):
                assert isinstance(stored, Stored)
                place = self._slice(stored, param, at)
                slices.append(self._load(place, param) if param.type.size <= MAX_ELEMENTS else place)
            made = self._function(body, [*_parted(state, sizes), *operands[count:first_slice], *slices])
            for elements, stack, result in zip(made[count:], stacks, body.results[count:], strict=True):
                self._store(elements, self._slice(stack, result, at), 0)
            return [reg for elements in made[:count] for reg in _listed(elements)]

        return _parted(self.w.loop(0, length, 1, step, start), sizes)

    def _slice(self, stored: Stored, like: Value, at: Reg) -> Stored:
        return Stored(
            self.w.offset(stored.pointer, stored.dtype, self.w.mul(at, like.type.size)), stored.dtype
        )

    def _while(
        self, one: Instruction, start: list[Reg], sizes: list[int], invariants: list[Elements]
    ) -> list[Reg]:
        w, (condition, body) = self.w, one.regions
        head, inside, done = w.label("while"), w.label("do"), w.label("done")
        before = w.block
        w.branch(head)
        w.start(head)
        phis = [Reg(w.fresh("c"), reg.dtype) for reg in start]
        position = len(w.lines)
        (test,) = self._function(condition, [*_parted(phis, sizes), *invariants])
        w.branch_if(self._element(test, 0), inside, done)
        w.start(inside)
        made = self._function(body, [*_parted(phis, sizes), *invariants])
        following = [reg for elements in made for reg in _listed(elements)]
        w.lines[position:position] = [
            f"  {phi.text} = phi {phi.type} [ {init.text}, %{before} ], [ {new.text}, %{w.block} ]"
            for phi, init, new in zip(phis, start, following, strict=True)
        ]
        w.branch(head)
        w.start(done)
        return phis

    def _switch(self, one: Instruction, operands: list[Elements]) -> list[list[Reg]]:
        w, count = self.w, len(one.regions)
        given = self._element(operands[0], 0)
        if one.operands[0].dtype is BOOL:
            index = w.cast(given, "i64")
        else:
            index = w.min(w.max(given, 0), count - 1)
        labels = [w.label("case") for _ in range(count)]
        after = w.label("chosen")
        cases = " ".join(f"i64 {i}, label %{label}" for i, label in enumerate(labels[:-1]))
        w.line(f"switch i64 {index.text}, label %{labels[-1]} [ {cases} ]")
        ends: list[tuple[str, list[Reg]]] = []
        for region, label in zip(one.regions, labels, strict=True):
            w.start(label)
            made = self._function(region, operands[1:])
            ends.append((str(w.block), [reg for elements in made for reg in _listed(elements)]))
            w.branch(after)
        w.start(after)
        merged = []
        for regs in zip(*[found for _, found in ends], strict=True):
            sources = [f"[ {reg.text}, %{block} ]" for reg, (block, _) in zip(regs, ends, strict=True)]
            merged.append(w.assign(f"phi {regs[0].type} {', '.join(sources)}", regs[0].dtype))
        return _parted(merged, [result.type.size for result in one.results])


def _listed(elements: Elements) -> list[Reg]:
    assert isinstance(elements, list), "what is too large for registers is never a result"
    return elements


def _parted(regs: Sequence[Reg], sizes: Sequence[int]) -> list[Any]:
    found, start = [], 0
    for size in sizes:
        found.append(list(regs[start : start + size]))
        start += size
    return found


_WRITERS: Final[dict[Kind, Callable[[_RegisterWriter, Instruction, list[Elements]], Elements]]] = {
    Kind.VIEW: _RegisterWriter.move,
    Kind.CONCAT: _RegisterWriter.move,
    Kind.UPDATE: _RegisterWriter.move,
    Kind.CREATION: _RegisterWriter.create,
    Kind.REDUCTION: _RegisterWriter.reduce,
    Kind.CONTRACTION: _RegisterWriter.contract,
    Kind.GATHER: _RegisterWriter.gather,
}
