"""What exported functions call, as LLVM text: products, and what stands for the runtime's pool and signals
where there is no runtime. And what their module answers: sizes of workspaces, messages by status."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ..interface import PARALLEL_FOR, POLL, PRODUCT_KERNELS, PRODUCT_TABLE, THREADS
from ..kernels.gemm.library import driver_text, kernels_text
from ..llvm.literals import bytes_constant
from ..llvm.target import Target
from ..tiers import OPTIMIZED

#: All tasks in the thread that calls, no other thread, and no signals.
RUNTIME_TEXT: Final = f"""\
define void @{PARALLEL_FOR}(ptr %task, ptr %context, i64 %tasks, i64 %chunk) nounwind {{
  call void %task(ptr %context, i64 0, i64 %tasks)
  ret void
}}
define i64 @{THREADS}() nounwind {{
  ret i64 1
}}
define i32 @{POLL}() nounwind {{
  ret i32 0
}}
"""
RUNTIME_EXPORTS: Final = (PARALLEL_FOR, THREADS, POLL)
_UNKNOWN_STATUS: Final = "unknown status"


def product_texts(target: Target, dtype: str) -> list[str]:
    """The modules that products of `dtype` are linked from."""
    kernels = ", ".join([f"ptr @{name}" for name in PRODUCT_KERNELS])
    table = f"@{PRODUCT_TABLE} = constant [{len(PRODUCT_KERNELS)} x ptr] [{kernels}]"
    return [driver_text(target, dtype), f"{kernels_text(target, dtype, OPTIMIZED.parameters)}\n{table}\n"]


def queries_text(name: str, workspaces: Mapping[str, int], messages: Sequence[str], size_type: str) -> str:
    """``size_t f_workspace_size(void)`` for each function ``f`` of `workspaces`, in bytes, and ``const char
    *name_status_message(int)`` for the statuses from 0 on, of which the first is success."""
    parts = []
    texts = [*messages, _UNKNOWN_STATUS]
    for number, message in enumerate(texts):
        parts.append(bytes_constant(f"message{number}", message.encode() + b"\0"))
    table = ", ".join([f"ptr @message{number}" for number in range(len(texts))])
    parts.append(f"@messages = internal constant [{len(texts)} x ptr] [{table}]")
    parts += [
        f"define {size_type} @{function}_workspace_size() nounwind {{\n  ret {size_type} {nbytes}\n}}"
        for function, nbytes in workspaces.items()
    ]
    last = len(messages)
    parts.append(
        f"define ptr @{name}_status_message(i32 %status) nounwind {{\n"
        f"  %known = icmp ult i32 %status, {last}\n"
        f"  %number = select i1 %known, i32 %status, i32 {last}\n"
        f"  %place = getelementptr [{len(texts)} x ptr], ptr @messages, i32 0, i32 %number\n"
        "  %text = load ptr, ptr %place\n"
        "  ret ptr %text\n}"
    )
    return "\n".join(parts)
