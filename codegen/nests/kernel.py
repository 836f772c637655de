"""What every lowering yields: one LLVM function for one instruction of the optimised Function."""

from __future__ import annotations

from typing import Final

from ...ir.records import record

#: Symbol of the runtime's ``void parallel_for(ptr task, ptr context, i64 tasks, i64 chunk)``.
PARALLEL_FOR: Final = "tracejit_parallel_for"


@record(eq=False, frozen=False)
class Kernel:
    """An LLVM function over buffers: operands first, then results, then its workspace if it has one.

    Its signature is ``void @name(ptr..., i64 begin, i64 end)``, or ``i32`` where `fallible`: 0 for success,
    else 1 plus the index of the message in `errors`.
    """

    name: str
    text: str
    #: What it is, for ``--stage loops``.
    description: str
    tasks: int = 1
    cycles: float = 0.0
    errors: tuple[str, ...] = ()
    #: The dtype whose product function it calls; see `codegen.products`.
    product: str = ""
    #: Whether it hands tasks to the pool itself.
    pooled: bool = False

    @property
    def fallible(self) -> bool:
        return bool(self.errors)


def signature(name: str, buffers: int, *, result: str = "void") -> str:
    """The LLVM signature of a kernel."""
    pointers = "".join(f"ptr %b{i}, " for i in range(buffers))
    return f"internal {result} @{name}({pointers}i64 %begin, i64 %end)"
