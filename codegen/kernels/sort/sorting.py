"""Sorting along contiguous lines, without branches that depend on comparisons.

An element becomes an unsigned *key* of its width, in whose order elements are sorted
(`codegen/kernels/sort/rows.py`). Many short lines are sorted by a network, a few ranked, long
ones partitioned, or sorted digit by digit. Lines are tasks; where they are few and long, chunks of them
are. What sorts alone makes the element from its key; what asks for places carries each key's along.
"""

from __future__ import annotations

from typing import Final

from ....ir.graph import Instruction
from ....ir.registry import Kind
from ...lowering.kernel import Kernel, empty_kernel
from ...lowering.lowering import Lowering, LoweringContext
from .network import NetworkWriter
from .quicksort import QuicksortWriter
from .radix import DigitWriter
from .ranking import RankWriter
from .strategy import SortPlan

#: Cycles for an element in one pass; and see `Kernel.slowdown`.
_PASS_CYCLES: Final = 6.0
_SLOWDOWN: Final = 2.0
#: Cycles for an element and level of partitions.
_PARTITION_CYCLES: Final = 1.0


def sort_kernel(name: str, instruction: Instruction, context: LoweringContext) -> Kernel:
    """The elements of each line in order, or where they were."""
    target, declarations = context.target, context.declarations
    plan = SortPlan(instruction, target)
    head = f"{name}: {plan.lines} lines of {plan.extent} elements of {instruction.operands[0].type}"
    if plan.lines * plan.extent == 0:
        return empty_kernel(name, 2, f"sort {head}")
    if plan.networked:
        network = NetworkWriter(plan, target, context.parameters, declarations)
        how = f"by a network, {network.lanes} lines at a time"
        code, tasks, cycles = network.write(name), network.groups, network.cycles
        return Kernel(
            name, code, f"sort {head}, {how}", tasks=tasks, cycles=cycles, shortened=network.shortened,
            slowdown=_SLOWDOWN,
        )  # fmt: skip
    if plan.partitioned:
        quicksort = QuicksortWriter(plan, target, context.parameters, declarations)
        code = quicksort.write(name)
        cycles = _PARTITION_CYCLES * plan.lines * plan.extent * plan.extent.bit_length()
        how = f"by partitions into blocks of {quicksort.capacity}"
        return Kernel(
            name, code, f"sort {head}, {how}", tasks=plan.tasks, cycles=cycles, pooled=plan.chunked,
            shortened=quicksort.shortened, slowdown=_SLOWDOWN,
        )  # fmt: skip
    if plan.ranked:
        code = RankWriter(plan, target, declarations).write(name)
        cycles = 0.6 * plan.lines * plan.extent * (plan.extent / target.lanes(plan.wide) + 8)
        return Kernel(name, code, f"sort {head}, by ranks", tasks=plan.lines, cycles=cycles)
    code = DigitWriter(plan, target, declarations).write(name)
    cycles = _PASS_CYCLES * plan.lines * plan.extent * plan.passes
    how = f"in {plan.chunks} chunks" if plan.chunked else f"in {plan.tasks} tasks"
    description = f"sort {head}, by {plan.passes} digits of {plan.bits} bits, {how}"
    tasks = 1 if plan.chunked else plan.tasks
    return Kernel(
        name, code, description, tasks=tasks, cycles=cycles, pooled=plan.chunked, slowdown=_SLOWDOWN
    )


def sort_workspace(instruction: Instruction, context: LoweringContext) -> int:
    """Bytes that the kernel works in."""
    plan = SortPlan(instruction, context.target)
    return 0 if plan.networked or plan.ranked or plan.lines * plan.extent == 0 else plan.region * plan.tasks


SORTING: Final = Lowering(
    (Kind.SORT, Kind.ARG_SORT),
    sort_kernel,
    workspace=sort_workspace,
    why_scalar="each element moves by what all others are",
)
