"""Sorting long lines digit by digit, the least significant one first.

Source: Knuth, The Art of Computer Programming 3, 5.2.5. A pass counts the digits, then moves each key behind
those with lower ones; it is left out where all keys have the same digit. A line may be cut into chunks, whose
counts make places that do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...llvm.emitter import Reg, constant, pointer
from ...llvm.function import Code, Declarations
from ...llvm.loops import FunctionWriter
from ...llvm.target import Target
from ...lowering.kernel import signature
from ...lowering.parallel_for import context_of, lines_of_tasks, part_of, run_tasks, task_function
from .ordered_keys import key_of, value_of
from .strategy import SortPlan

#: Places in the head of a task's memory: which buffer holds the keys, the pass's first bit, and the line.
_FLIP, _SHIFT, _LINE = range(3)


class DigitWriter:
    """Writes the kernel. The parts of a pass are functions, over the kernel's buffers and a range.

    The range is of chunks where a line is cut into them, else of tasks, whose line is in the task's memory.
    """

    def __init__(self, plan: SortPlan, target: Target, declarations: Declarations) -> None:
        self.plan, self.target, self.declarations = plan, target, declarations
        self.w = FunctionWriter(declarations)
        self.name = ""

    def write(self, name: str) -> Code:
        """The code of ``@name(ptr %b0, ptr %b1, ptr %b2, i64 %begin, i64 %end)`` and of its parts."""
        plan, self.name = self.plan, name
        parts = [
            *self._part("open", self._open),
            *self._part("count", self._count),
            *self._part("move", self._move),
            *self._part("close", self._close),
        ]
        self.w = w = FunctionWriter(self.declarations)
        if plan.chunked:
            context_of(w, 3)
            w.loop(0, plan.lines, 1, lambda line, _: self._line(constant(0, "i64"), line))
        else:
            lines_of_tasks(w, plan.lines, plan.tasks, self._line)
        w.ret()
        return [*parts, w.function(signature(name, 3), "nounwind")]

    def _part(self, part: str, body: Callable[[Reg, Reg], None]) -> Code:
        """The function of a part: ``body(task, chunk)`` over its range."""
        self.w = w = FunctionWriter(self.declarations)
        zero = constant(0, "i64")

        def one(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            body(*((zero, index) if self.plan.chunked else (index, zero)))
            return ()

        w.loop(Reg("%begin", "i64"), Reg("%end", "i64"), 1, one)
        w.ret()
        name = f"{self.name}_{part}"
        function = w.function(signature(name, 3), "nounwind")
        return [function, task_function(name, 3)] if self.plan.chunked else [function]

    def _run(self, part: str, task: Reg) -> None:
        w = self.w
        if self.plan.chunked:
            run_tasks(w, f"{self.name}_{part}", self.plan.chunks)
            return
        w.run(f"{self.name}_{part}", *map(pointer, ("%b0", "%b1", "%b2")), task, w.add(task, 1))

    # -- memory -----------------------------------------------------------------------------------

    def _memory(self, task: Reg, offset: int) -> str:
        """Pointer to a part of a task's memory."""
        return self.w.offset("%b2", "u8", self.w.add(self.w.mul(task, self.plan.region), offset))

    def _get(self, task: Reg, slot: int) -> Reg:
        return self.w.load(self.w.offset(self._memory(task, self.plan.head), "i64", slot), "i64")

    def _set(self, task: Reg, slot: int, value: Reg) -> None:
        self.w.store(value, self.w.offset(self._memory(task, self.plan.head), "i64", slot))

    def _buffer(self, task: Reg, offset: int, dtype: str, flip: Reg) -> str:
        """The first or second buffer, of two that begin at `offset`."""
        return self.w.offset(self._memory(task, offset), dtype, self.w.mul(flip, self.plan.extent))

    def _bounds(self, chunk: Reg) -> tuple[Reg, Reg]:
        return part_of(self.w, chunk, self.plan.size, self.plan.extent)

    def _counts(self, task: Reg, chunk: Reg) -> str:
        counts = self._memory(task, self.plan.counts)
        return self.w.offset(counts, self.plan.count, self.w.mul(chunk, self.plan.digits))

    # -- a line -----------------------------------------------------------------------------------

    def _line(self, task: Reg, line: Reg) -> Sequence[Reg]:
        w, plan = self.w, self.plan
        self._set(task, _LINE, line)
        self._set(task, _FLIP, constant(0, "i64"))
        self._run("open", task)

        def digit(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            self._set(task, _SHIFT, w.mul(index, plan.bits))
            self._run("count", task)
            differ = self._places(task)

            def move() -> None:
                self._run("move", task)
                self._set(task, _FLIP, w.sub(1, self._get(task, _FLIP)))

            w.when(differ, move)
            return ()

        w.loop(0, plan.passes, 1, digit)
        self._run("close", task)
        return ()

    def _places(self, task: Reg) -> Reg:
        """Counts to the places of the first key of each chunk with each digit; whether digits differ."""
        w, plan = self.w, self.plan
        counts = self._counts(task, constant(0, "i64"))

        def digit(index: Reg, state: list[Reg]) -> Sequence[Reg]:
            total, same = state

            def chunk(number: Reg, inner: list[Reg]) -> Sequence[Reg]:
                place = w.offset(counts, plan.count, w.add(w.mul(number, plan.digits), index))
                earlier = w.load(place, plan.count)
                w.store(inner[0], place)
                return [w.add(inner[0], earlier)]

            (after,) = w.loop(0, plan.chunks, 1, chunk, [total])
            return [after, w.or_(same, w.eq(w.sub(after, total), plan.extent))]

        start = [constant(0, plan.count), constant(False, "bool")]
        _, same = w.loop(0, plan.digits, 1, digit, start)
        return w.not_(same)

    # -- parts ------------------------------------------------------------------------------------

    def _across(self, first: Reg, stop: Reg, body: Callable[[Reg, int], None]) -> None:
        """Call ``body(index, lanes)``, vectors first."""
        w, lanes = self.w, self.target.lanes("i64")
        whole = w.add(first, w.and_(w.sub(stop, first), -lanes))

        def each(lanes: int) -> Callable[[Reg, list[Reg]], Sequence[Reg]]:
            def run(index: Reg, _: list[Reg]) -> Sequence[Reg]:
                body(index, lanes)
                return ()

            return run

        w.loop(first, whole, lanes, each(lanes))
        if lanes > 1:
            w.loop(whole, stop, 1, each(1))

    def _open(self, task: Reg, chunk: Reg) -> None:
        """Elements to keys."""
        w, plan = self.w, self.plan
        start, zero = w.mul(self._get(task, _LINE), plan.extent), constant(0, "i64")
        keys = self._buffer(task, plan.keys, plan.key, zero)
        indices = self._buffer(task, plan.indices, plan.count, zero)

        def element(index: Reg, lanes: int) -> None:
            x = w.load(w.offset("%b0", plan.dtype, w.add(start, index)), plan.dtype, lanes)
            w.store(key_of(w, x, merged=plan.places), w.offset(keys, plan.key, index))
            if plan.places:
                own = w.add(w.splat(w.cast(index, plan.count), lanes), w.ramp(lanes, plan.count))
                w.store(own, w.offset(indices, plan.count, index))

        self._across(*self._bounds(chunk), element)

    def _digit(self, key: Reg, shift: Reg) -> Reg:
        w = self.w
        return w.cast(w.and_(w.lshr(key, shift), self.plan.digits - 1), "i64")

    def _count(self, task: Reg, chunk: Reg) -> None:
        """Count the keys of a chunk by digit."""
        w, plan = self.w, self.plan
        keys = self._buffer(task, plan.keys, plan.key, self._get(task, _FLIP))
        shift, counts = w.cast(self._get(task, _SHIFT), plan.key), self._counts(task, chunk)
        lanes = self.target.lanes(plan.count)

        def clear(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            w.store(constant(0, plan.count, lanes), w.offset(counts, plan.count, index))
            return ()

        def key(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            digit = self._digit(w.load(w.offset(keys, plan.key, index), plan.key), shift)
            place = w.offset(counts, plan.count, digit)
            w.store(w.add(w.load(place, plan.count), 1), place)
            return ()

        w.loop(0, plan.digits, lanes, clear)
        w.loop(*self._bounds(chunk), 1, key)

    def _move(self, task: Reg, chunk: Reg) -> None:
        """Each key of a chunk to its place in the other buffer."""
        w, plan = self.w, self.plan
        flip = self._get(task, _FLIP)
        other = w.sub(1, flip)
        source = self._buffer(task, plan.keys, plan.key, flip)
        target = self._buffer(task, plan.keys, plan.key, other)
        shift, counts = w.cast(self._get(task, _SHIFT), plan.key), self._counts(task, chunk)
        indices = [self._buffer(task, plan.indices, plan.count, reg) for reg in (flip, other)]

        def key(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            moved = w.load(w.offset(source, plan.key, index), plan.key)
            place = w.offset(counts, plan.count, self._digit(moved, shift))
            number = w.load(place, plan.count)
            w.store(w.add(number, 1), place)
            to = w.cast(number, "i64")
            w.store(moved, w.offset(target, plan.key, to))
            if plan.places:
                own = w.load(w.offset(indices[0], plan.count, index), plan.count)
                w.store(own, w.offset(indices[1], plan.count, to))
            return ()

        w.loop(*self._bounds(chunk), 1, key)

    def _close(self, task: Reg, chunk: Reg) -> None:
        """Keys to elements, or the places they came from."""
        w, plan = self.w, self.plan
        start, flip = w.mul(self._get(task, _LINE), plan.extent), self._get(task, _FLIP)
        keys = self._buffer(task, plan.keys, plan.key, flip)
        indices = self._buffer(task, plan.indices, plan.count, flip)

        def element(index: Reg, lanes: int) -> None:
            if plan.places:
                place = w.load(w.offset(indices, plan.count, index), plan.count, lanes)
                result = w.cast(place, "i64")
            else:
                result = value_of(w, w.load(w.offset(keys, plan.key, index), plan.key, lanes), plan.dtype)
            w.store(result, w.offset("%b1", result.dtype, w.add(start, index)))

        self._across(*self._bounds(chunk), element)
