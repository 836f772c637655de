"""Parallel loops: the division of work into tasks, their execution, and the folding of partial results.

A *task* is a function ``void @name_task(ptr context, i64 begin, i64 end)`` over a range of numbers. The pool
claims some numbers at a time; a context holds the buffers of the kernel that asked. How work is cut follows
from shapes alone, and partial results are folded in the order of their numbers: so no result depends on the
number of threads.

The law of tasks: no task writes a byte that another task of its region reads or writes. There are two
exceptions. One is a byte that several tasks each store once, as its final value, and never read, as where the
last tile of a result overlaps the one before. The other is a byte that all tasks access by atomic steps
alone. So tasks may run in any order, and interleaved in any way. `tests/codegen/kernels/test_tasks.py`
compares what the tasks of each family of kernels read and write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ..interface import PARALLEL_FOR
from ..llvm.emitter import Number, Reg, constant, pointer
from ..llvm.function import FunctionCode
from ..llvm.loops import FunctionWriter
from ..llvm.operations import Load, Slot


def tasks_at_a_time(tasks: int, cycles: float, grain: float) -> int:
    """Number of the `tasks`, which take `cycles` together, that a thread claims at a time: about `grain`
    cycles."""
    return max(1, int(tasks * grain / max(cycles, 1.0)))


def part_of(w: FunctionWriter, number: Reg, size: Number, extent: Number) -> tuple[Reg, Reg]:
    """Begin and end of part `number`, of `extent` elements in parts of `size`, the last one shorter."""
    first = w.mul(number, size)
    return first, w.min(w.add(first, size), extent)


def lines_of_tasks(
    w: FunctionWriter, lines: int, tasks: int, body: Callable[[Reg, Reg], Sequence[Reg]]
) -> None:
    """``body(task, line)`` for the part of some `lines` that each of the kernel's tasks has."""
    each = -(-lines // tasks)

    def task(index: Reg, _: list[Reg]) -> Sequence[Reg]:
        first, stop = part_of(w, index, each, lines)
        w.loop(first, stop, 1, lambda line, _: body(index, line))
        return ()

    w.loop(Reg("%begin", "i64"), Reg("%end", "i64"), 1, task)


def fold_parts(
    w: FunctionWriter,
    count: int,
    first: Sequence[Reg],
    part: Callable[[Reg], Iterable[Reg]],
    combine: Callable[[int, Reg, Reg], Reg],
) -> list[Reg]:
    """Fold `count` parts in their order: ``combine(i, total, value)`` for each value i of ``part(number)``,
    from those of part 0, which are `first`."""

    def step(number: Reg, totals: list[Reg]) -> Sequence[Reg]:
        values = zip(totals, part(number), strict=True)
        return [combine(i, total, value) for i, (total, value) in enumerate(values)]

    return w.loop(1, count, 1, step, first)


# -- code -----------------------------------------------------------------------------------------


def run_tasks(
    w: FunctionWriter, name: str, tasks: Number, at_a_time: int = 1, context: str = "%context"
) -> None:
    """Run the tasks 0 to `tasks` of ``@name_task``, and return when all are done."""
    count = tasks if isinstance(tasks, Reg) else constant(tasks, "i64")
    w.run(PARALLEL_FOR, pointer(f"@{name}_task"), pointer(context), count, constant(at_a_time, "i64"))


def task_signature(name: str) -> str:
    """The LLVM signature of a task."""
    return f"internal void @{name}(ptr %context, i64 %begin, i64 %end)"


def context_of(w: FunctionWriter, buffers: int) -> str:
    """A context for tasks that holds the kernel's buffers; returns its pointer."""
    w.slots.take(Slot("%context", "ptr", buffers))
    for i in range(buffers):
        w.store_pointer(f"%b{i}", w.offset("%context", "i64", i))
    return "%context"


def take_context(w: FunctionWriter, buffers: int) -> None:
    """Give a task the kernel's buffers, by their names there."""
    for i in range(buffers):
        w.operations.append(Load(f"%b{i}", "ptr", 1, w.offset("%context", "i64", i)))


def task_function(name: str, buffers: int) -> FunctionCode:
    """``@name_task(ptr context, i64 begin, i64 end)``: unpacks the context and runs the tasks."""
    w = FunctionWriter()
    take_context(w, buffers)
    w.run(name, *[pointer(f"%b{i}") for i in range(buffers)], Reg("%begin", "i64"), Reg("%end", "i64"))
    w.ret()
    return w.function(task_signature(f"{name}_task"), "nounwind")


def task_from_the_end(kernel: str, name: str, buffers: int, together: int) -> FunctionCode:
    """``@name_task(ptr context, i64 begin, i64 end)``: runs the tasks of `kernel` from the last ones on, some
    `together`."""
    w = FunctionWriter()
    take_context(w, buffers)
    begin, end = Reg("%begin", "i64"), Reg("%end", "i64")

    def some(done: Reg, _: list[Reg]) -> Sequence[Reg]:
        stop = w.sub(end, done)
        first = w.max(begin, w.sub(stop, together))
        w.run(kernel, *[pointer(f"%b{i}") for i in range(buffers)], first, stop)
        return ()

    w.loop(0, w.sub(end, begin), together, some)
    w.ret()
    return w.function(task_signature(f"{name}_task"), "nounwind")
