"""Tiers: how much LLVM optimizes, and the sizes in which kernels are written.

A tier is chosen once, where a compilation begins (`runtime.compilation`). Kernels see its schedule parameters
and never ask which tier it is: LLVM takes as long as the text is, so the baseline tier has small sizes. No
parameter changes a bit of a result (`docs/tiers.md`).
"""

from __future__ import annotations

import enum
from typing import Final

from ..base.records import record


class Effort(enum.Enum):
    """Effort that LLVM makes for the speed of code."""

    #: Every optimization that pays.
    FULL = "full"
    #: The code generator alone optimizes, the functions that are worth it (`Kernel.worth_compiling`); the
    #: others are as in `PLAIN`. Half of the time, and code that is about as fast.
    LIGHT = "light"
    #: No optimization: a quarter of the time, and code that takes twice as long or more.
    PLAIN = "plain"


@record
class ScheduleParameters:
    """The sizes in which kernels are written."""

    #: Copies of a loop's body for the vectors that a nest works on together. With fewer than there are such
    #: vectors, maps take less of them at a time, and folds along rows keep their accumulators in memory.
    copies: int = 4
    #: Whether kernels of large results have a second body, which stores past the cache.
    streams: bool = True
    #: Multiply-adds of vectors that the code of a small product's tile has at most.
    product_copies: int = 64
    #: Micro-kernels of packed products: for whole tiles, parts of them, and few rows; or one for all.
    micro_kernels: int = 3
    #: Whether squares are transposed in registers, which takes a shuffle for each vector and step.
    register_transposes: bool = True
    #: Rows that a sorting network has in registers; its text grows with the square of it.
    network_rows: int = 16
    #: Steps of a loop in registers that are counted as one, each with code of its own; and how many steps the
    #: loop has at least where they are.
    loop_steps: int = 8
    least_steps: int = 1


@record
class Tier:
    """Compilation tier: how well a function is compiled."""

    name: str
    effort: Effort
    parameters: ScheduleParameters
    #: Whether LLVM looks for better addresses in loops, see `llvm.compiler.emit_object`.
    reduces_loops: bool = True


OPTIMIZED: Final = Tier("optimized", Effort.FULL, ScheduleParameters())
BASELINE: Final = Tier(
    "baseline",
    Effort.PLAIN,
    ScheduleParameters(
        copies=1, streams=False, product_copies=8, micro_kernels=1, register_transposes=False,
        network_rows=4, least_steps=1 << 16,
    ),
    reduces_loops=False,
)  # fmt: skip
