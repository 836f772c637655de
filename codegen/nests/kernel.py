"""What every lowering yields: one LLVM function for one instruction of the optimised Function."""

from __future__ import annotations

from ...ir.records import field, record


@record(eq=False, frozen=False)
class Kernel:
    """An LLVM function over buffers: operands first, then results.

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
    #: External symbols it calls, by name and address.
    imports: dict[str, int] = field(default_factory=dict)

    @property
    def fallible(self) -> bool:
        return bool(self.errors)


def signature(name: str, buffers: int, *, result: str = "void") -> str:
    """The LLVM signature of a kernel."""
    pointers = "".join(f"ptr %b{i}, " for i in range(buffers))
    return f"internal {result} @{name}({pointers}i64 %begin, i64 %end)"


def task_function(name: str, buffers: int) -> str:
    """``@name_task(ptr context, i64 begin, i64 end)``: unpacks the context and runs the tasks."""
    lines = [f"define internal void @{name}_task(ptr %context, i64 %begin, i64 %end) nounwind {{"]
    for i in range(buffers):
        lines.append(f"  %s{i} = getelementptr ptr, ptr %context, i64 {i}")
        lines.append(f"  %b{i} = load ptr, ptr %s{i}")
    pointers = "".join(f"ptr %b{i}, " for i in range(buffers))
    lines.append(f"  call void @{name}({pointers}i64 %begin, i64 %end)")
    lines.append("  ret void\n}")
    return "\n".join(lines)
