"""Maps as kernels in the loop form: the algorithm of a nest that folds nothing, and its schedule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...base.loading import LazyModule
from ...base.records import record
from ..llvm.target import Target
from ..loops.clocks import clocked
from ..loops.nodes import Kernel, Node
from ..loops.passes import Step, scheduled
from ..lowering.loop_nest import Member, Memory, Nest, memories_of
from .divisors import shared_in_map
from .elements import ElementBuilder, index_of
from .tasks import polling_dim, task_count, vector_block
from .transposed_reads import UNROLLED_COST, Tiles
from .window import Interior

if TYPE_CHECKING:
    from ..loops import printer
else:
    printer = LazyModule("..loops.printer", __package__)


@record(eq=False)
class ScheduledLoops:
    """Description of a kernel: its nest, with some words before it, or words alone, and the loops that are
    written of it."""

    nest: Nest | str
    loops: Kernel
    words: str = ""

    def __str__(self) -> str:
        return f"{self.words}{self.nest}\n{printer.print_kernel(self.loops)}"


def is_map(nest: Nest) -> bool:
    """Whether `nest` folds nothing."""
    return (
        len(nest.sizes) == nest.parallel and nest.stages == 1 and nest.across is None and not nest.transposed
    )


@clocked("algorithm")
def algorithm(nest: Nest, sizes: Sequence[int]) -> Kernel:
    """The loops of a map as its nest says them, over buffers of `sizes`."""
    builder, members = ElementBuilder(nest), _needed(nest)
    body: tuple[Node, ...] = ()
    if 0 not in nest.sizes:
        sources = [operand for member in members for operand in member.operands]
        builder.read_together([*sources, *[write.source for write in nest.writes]])
        for member in members:
            builder.compute(member)
        builder.store(nest.writes, members)
        body = builder.loops(tuple(builder.nodes), range(len(nest.sizes)))
    return Kernel(nest.name, builder.buffers(sizes, members), body)


def _needed(nest: Nest) -> list[Member]:
    """The members that writes need, in order."""
    needed = {write.source for write in nest.writes}
    for member in reversed(nest.members):
        if member.value in needed:
            needed.update(member.operands)
    return [member for member in nest.members if member.value in needed]


def reach(nest: Nest) -> list[int]:
    """The elements of each buffer up to the last one that a map accesses."""
    sizes: dict[int, int] = {}
    sources = [operand for member in nest.members for operand in member.operands]
    sources += [write.source for write in nest.writes]
    memories = [m for source in sources for m in memories_of(source)] + [w.memory for w in nest.writes]
    for memory in memories:
        if memory.buffer is not None:
            steps = zip(memory.strides, nest.sizes, strict=True)
            last = memory.offset + sum(max(0, stride) * (size - 1) for stride, size in steps)
            sizes[memory.buffer] = max(sizes.get(memory.buffer, 1), last + 1)
    return [sizes.get(number, 1) for number in range(max(sizes) + 1)]


@clocked("schedule")
def schedule_of(
    nest: Nest, tiles: Tiles | None, target: Target, streamed: frozenset[Memory] = frozenset(),
    *, tasks: int = 1,
) -> list[Step]:  # fmt: skip
    """The schedule of a map: in square `tiles`, or in vectors along its last dimension; as so many
    `tasks`."""
    steps: list[Step] = [("forward", ())]
    last = nest.vector_dim
    if last is None or 0 in nest.sizes:
        return steps
    j = index_of(last)
    polls_in = polling_dim(nest.sizes, 1, nest.cycles / max(1, task_count(nest)))
    polls: list[Step] = [] if polls_in is None else [("poll", (index_of(polls_in),))]
    if tiles is not None:
        tall, i = tiles.edge * tiles.group, index_of(tiles.dim)
        if tasks > 1:
            steps.append(("parallelize", (index_of(0), tall if tiles.dim == 0 else 1)))
        steps.append(("tile", (i, j, tiles.edge, tiles.group)))
        steps += [("peel", (i, tall)), ("peel", (j, tiles.edge)), ("peel", ("a", tiles.edge))]
        steps += [("transpose_reads", ("r",)), *polls]
        if sum(member.instruction.cost for member in nest.members) < UNROLLED_COST:
            steps.append(("unroll", ("r",)))
    else:
        if shared_in_map(nest, target.wide_tables):
            steps.append(("invert", (j,)))
        if tasks > 1:
            size = nest.lanes * nest.unroll * vector_block(nest) if last == 0 else 1
            steps.append(("parallelize", (index_of(0), size)))
        steps.append(("vectorize", (j, nest.lanes)))
        steps += task_of_line(nest, j) if last == 0 and tasks > 1 else lines(nest, j)
        steps += polls
    steps.append(("normalize", ()))
    if streamed:
        steps.append(("stream", tuple(sorted({f"b{memory.buffer}" for memory in streamed}))))
    if nest.asked:
        steps.append(("ask", tuple(sorted(f"b{memory.buffer}+{memory.offset}" for memory in nest.asked))))
    return steps


def known_ranges(nest: Nest) -> dict[int, tuple[int, int]]:
    """The indices of loops around lanes, and of lanes, where windows are known to be inside or outside."""
    return {dim: bounds for dim, bounds in Interior(nest).ranges.items() if dim < nest.parallel}


def lines(nest: Nest, j: str) -> list[Step]:
    """The steps for vectors along lines: apart where windows are known, and in groups."""
    ranges, last = known_ranges(nest), nest.parallel - 1
    first, stop = ranges.get(last, (0, nest.sizes[last]))
    outer = [dim for dim in sorted(ranges) if dim != last]
    steps: list[Step] = []
    if outer:
        parts = [(index_of(dim), *ranges[dim]) for dim in outer]
        steps.append(("specialize", tuple(word for part in parts for word in part)))
        steps += _groups(nest, f"{j}#1")
    if last in ranges:
        group, lanes = nest.lanes * nest.unroll, nest.lanes
        first = -(-first // lanes) * lanes
        stop = first + max(stop - first, 0) // group * group
        if first < stop:
            main, rest = (1, 2) if first else (0, 1)
            steps.append(("split", (f"{j}#0", first, stop)))
            if stop < nest.sizes[last]:
                steps.append(("peel", (f"{j}#{rest}", lanes)))
            if nest.unroll > 1:
                steps.append(("interleave", (f"{j}#{main}", nest.unroll)))
            return steps
        return [*steps, ("peel", (f"{j}#0", lanes))]
    return [*steps, *_groups(nest, f"{j}#0" if outer else j)]


def _groups(nest: Nest, j: str) -> list[Step]:
    """The steps for groups of vectors, single ones, and lanes that fill none."""
    steps: list[Step] = [("peel", (j, nest.lanes))]
    if nest.unroll > 1:
        first = j if "#" in j else f"{j}#0"
        steps += [("peel", (first, nest.lanes * nest.unroll)), ("interleave", (first, nest.unroll))]
    return steps


def task_of_line(nest: Nest, j: str) -> list[Step]:
    """The steps for the vectors of a task, where it is a part of the only line."""
    steps, group = list[Step](), nest.lanes * nest.unroll
    steps.append(("peel", (j, nest.lanes)))
    if nest.unroll > 1:
        steps.append(("peel", (f"{j}#0", group)))
    parts = 1
    ranges = known_ranges(nest)
    if ranges:
        first, stop = ranges[0]
        whole = nest.sizes[0] // group * group
        first = min(-(-first // group) * group, whole)
        stop = min(max(stop // group * group, first), whole)
        if first < stop:
            steps.append(("split", (f"{j}#0", first, stop)))
            parts += (first > 0) + (stop < whole)
    if nest.unroll > 1:
        steps += [("interleave", (f"{j}#{number}", nest.unroll)) for number in range(parts)]
    return steps


def map_kernel(
    nest: Nest, sizes: Sequence[int], target: Target, tiles: Tiles | None = None,
    streamed: frozenset[Memory] = frozenset(), *, tasks: int = 1,
) -> Kernel:  # fmt: skip
    """The scheduled kernel of a map."""
    schedule = schedule_of(nest, tiles, target, streamed, tasks=tasks)
    return scheduled(algorithm(nest, sizes), schedule)
