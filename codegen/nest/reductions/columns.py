"""Folds of columns as kernels in the loop form: the algorithm is that of rows, a loop along each column in
each stage. Lanes lie along the columns, which are scheduled as the elements of a map."""

from __future__ import annotations

from collections.abc import Sequence

from ...llvm.target import Target
from ...loops.clocks import clocked
from ...loops.nodes import Kernel
from ...loops.passes import Step, scheduled
from ...lowering.loop_nest import Memory, Nest
from ..elements import index_of
from ..tasks import task_count, vector_block
from ..window import Interior
from .rows import algorithm, polls_in_dim
from .totals import LONG, LONG_COLUMN, is_float_sum


def are_columns(nest: Nest) -> bool:
    """Whether `nest` folds columns along one dimension, each a lane, from memory, and no long sums of
    floats, which are blocks."""
    if nest.row_lanes or not nest.parallel or len(nest.sizes) != nest.parallel + 1 or 0 in nest.sizes:
        return False
    if nest.split is not None or nest.across is not None or nest.turned or nest.kept or nest.in_registers:
        return False
    sums = any(member.is_reduction and is_float_sum(member.instruction) for member in nest.members)
    short = not sums or nest.sizes[-1] <= (LONG if nest.reads_across else LONG_COLUMN)
    return short and not Interior(nest).ranges


@clocked("schedule")
def schedule_of(nest: Nest, streamed: frozenset[Memory] = frozenset()) -> list[Step]:
    """The schedule of columns: vectors of them, in groups, and tasks."""
    dim, steps = nest.parallel - 1, list[Step]()
    j, group, tasks = index_of(dim), nest.lanes * nest.unroll, task_count(nest)
    if tasks > 1:
        steps.append(("parallelize", (index_of(0), group * vector_block(nest) if dim == 0 else 1)))
    steps += [("vectorize", (j, nest.lanes)), ("peel", (j, nest.lanes))]
    if nest.unroll > 1:
        steps += [("peel", (f"{j}#0", group)), ("interleave", (f"{j}#0", nest.unroll))]
    polls_in = polls_in_dim(nest)
    if polls_in is not None:
        steps.append(("poll", (index_of(polls_in),)))
    steps.append(("normalize", ()))
    if streamed:
        steps.append(("stream", tuple(sorted({f"b{memory.buffer}" for memory in streamed}))))
    return steps


def column_kernel(
    nest: Nest, sizes: Sequence[int], target: Target, streamed: frozenset[Memory] = frozenset()
) -> Kernel:
    """The scheduled kernel of columns."""
    return scheduled(algorithm(nest, sizes, target), schedule_of(nest, streamed))
