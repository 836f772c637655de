"""The machine that code is made for: caches, arithmetic, memory, what a task costs, and the CPU's features.

Passes and code generation derive their thresholds from the current machine, each beside the decision, as a
share of one of its fields. The default is one machine wherever code is compiled, so that a program is
compiled alike everywhere; vector widths follow from the features of the CPU (`codegen.llvm.target`). Which
constants are no thresholds of a machine: docs/decisions/0018-machine.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from .records import record


@record
class Machine:
    """Sizes in bytes and costs in cycles of one thread. The default is about a Zen 4 or an Ice Lake."""

    #: The data caches that a core has alone, and the last one, which cores share.
    l1_bytes: int = 1 << 15
    l2_bytes: int = 1 << 20
    l3_bytes: int = 1 << 25
    #: The size of a cache line.
    line_bytes: int = 64
    #: The pages that a large block of memory is asked for in.
    huge_page_bytes: int = 1 << 21
    #: Multiply-adds that a core has in flight: ports times latency.
    multiply_adds_in_flight: int = 8
    #: Bandwidth of one thread, in memory and in the last-level cache.
    bytes_per_cycle: int = 8
    l3_bytes_per_cycle: int = 16
    #: The least work that pays for handing a task to another thread, and how many such tasks pay for waking
    #: threads at all.
    task_cycles: float = 30_000.0
    least_tasks: int = 5
    #: The least work of a task of matrix products, whose estimates are close, and its multiplications.
    product_task_cycles: float = 8_000.0
    task_multiplications: int = 1 << 17
    #: Parts that reductions and scans are cut into at most: enough for some cores, few enough that what they
    #: give is little work. Results may depend on it.
    chunks: int = 16
    #: Changes of this CPU's features, as ``-avx512f,-avx2``, for the code of a CPU that has less. What needs
    #: a feature that is missing is missing, too. Eager functions are for the process's own CPU.
    features: str = ""

    @property
    def parallel_cycles(self) -> float:
        """The least work that pays for threads."""
        return self.least_tasks * self.task_cycles


DEFAULT: Final = Machine()

_CURRENT: Final[ContextVar[Machine]] = ContextVar("machine", default=DEFAULT)


def machine() -> Machine:
    """The machine that code is compiled for now."""
    return _CURRENT.get()


@contextmanager
def use_machine(other: Machine) -> Iterator[None]:
    """Compile for `other` within the ``with`` block, in this thread; what is compiled already stays as it is.

    Example:
        >>> with use_machine(Machine(l1_bytes=1 << 12)):
        ...     machine().l1_bytes
        4096
    """
    token = _CURRENT.set(other)
    try:
        yield
    finally:
        _CURRENT.reset(token)
