"""Kernels, which lowerings yield: one LLVM function for one instruction of the optimised Function."""

from __future__ import annotations

from typing import Final

from ...base.machine import machine
from ...base.records import field, record
from ...ir.graph import Instruction
from ..llvm.function import Code, FunctionCode
from ..llvm.loops import FunctionWriter
from ..llvm.stack import most_along_calls
from .loop_nest import Nest
from .parallel_for import tasks_at_a_time

#: Slowdown of a kernel as the baseline tier compiles it, in its estimated cycles: measured on the benchmarks,
#: where estimates are for one thread and much waits for memory. The same for products; and for what is
#: `Kernel.worth_compiling`.
SLOWDOWN: Final = 0.5
PRODUCT_SLOWDOWN: Final = 6.0
LIGHT_SLOWDOWN: Final = 0.1


@record(eq=False, frozen=False)
class Kernel:
    """An LLVM function over buffers: operands first, then results, then its workspace if it has one.

    Its signature is ``void @name(ptr..., i64 begin, i64 end)``, or ``i32`` where `fallible`: 0 for success,
    else 1 plus the index of the message in `errors`, or INTERRUPTED.
    """

    name: str
    code: Code
    #: Description of the kernel: a text, or an object that prints as one; see `description`.
    described: object
    tasks: int = 1
    cycles: float = 0.0
    errors: tuple[str, ...] = ()
    #: Whether it returns INTERRUPTED where it lets signals in and is left.
    interruptible: bool = False
    #: Estimated cycles that a task should at least have.
    grain: float = field(default_factory=lambda: machine().task_cycles)
    #: The dtype whose product function it calls; see `codegen.kernels.gemm.library`.
    product: str = ""
    #: The symbols of LAPACK's functions that it calls.
    lapack: tuple[str, ...] = ()
    #: Reason why its tasks run one after the other, in the user's words, where nothing else says so.
    serial: str = ""
    #: Whether it hands tasks to the pool itself.
    pooled: bool = False
    #: The instruction that it computes, and the loops of a fusion.
    instruction: Instruction | None = None
    nest: Nest | None = None
    #: Number of times that one call of the whole function runs it, as far as that is known.
    trips: float = 1.0
    #: Whether schedule parameters made it shorter than it is at the full sizes.
    shortened: bool = False
    #: Whether LLVM's code generator optimizes it in the baseline tier, too: as it stands, it would take too
    #: long, or it is not known how long.
    worth_compiling: bool = False
    #: Slowdown as the baseline tier compiles it, of `cycles`.
    slowdown: float = SLOWDOWN

    def copy(self) -> Kernel:
        """Copy of the kernel for another instruction, with the same code."""
        return Kernel(**{name: getattr(self, name) for name in Kernel.__annotations__})

    @property
    def description(self) -> str:
        """Description for ``--stage loops``, made when it is asked for: compilations do not read it."""
        return str(self.described)

    @property
    def chunk(self) -> int:
        """Number of tasks that a thread claims at a time."""
        return tasks_at_a_time(self.tasks, self.cycles, self.grain)

    @property
    def stack_bytes(self) -> int:
        """Bytes of stack for the slots of its functions, of those that call one another and have most."""
        sizes = [
            part.stack_bytes for part in self.code if isinstance(part, FunctionCode) and part.stack_bytes
        ]
        return sum(sizes) if len(sizes) < 2 else most_along_calls(self.code, lambda part: part.stack_bytes)

    @property
    def scratch_blocks(self) -> list[int]:
        """Bytes of the scratch blocks that its functions take."""
        sizes = {part.scratch_bytes for part in self.code if isinstance(part, FunctionCode)}
        if sizes - {0}:
            nested = most_along_calls(self.code, lambda part: int(part.scratch_bytes > 0))
            assert nested == 1, f"kernel {self.name}: a function that has a scratch block waits for another"
        return sorted(sizes - {0})

    @property
    def fallible(self) -> bool:
        return bool(self.errors) or self.interruptible

    def why_serial(self) -> str:
        """Reason why the kernel runs on one thread, in the user's words; empty where threads share its
        tasks."""
        if self.pooled:
            return ""
        if self.tasks <= 1:
            return "its work is one task: there is no outer loop to share among threads"
        if self.serial:
            return self.serial
        if self.errors:
            return "it checks indices and may fail, and what may fail runs on one thread"
        least = machine().least_tasks * self.grain
        if self.cycles <= least:
            return f"about {self.cycles:,.0f} cycles are little work: threads pay from {least:,.0f} on"
        return ""


def empty_kernel(name: str, buffers: int, description: str) -> Kernel:
    """The kernel of an instruction whose result has no elements."""
    w = FunctionWriter()
    w.ret()
    return Kernel(name, [w.function(signature(name, buffers), "nounwind")], description, tasks=0)


def signature(name: str, buffers: int, *, result: str = "void") -> str:
    """The LLVM signature of a kernel."""
    pointers = "".join(f"ptr %b{i}, " for i in range(buffers))
    return f"internal {result} @{name}({pointers}i64 %begin, i64 %end)"
