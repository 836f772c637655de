"""Code of kernels of several phases: loops of tasks with other statements before, between and behind them.

Each loop of tasks is a function of its own, which the pool runs; the other statements are the kernel's, which
asks the pool. What one phase leaves for another is in memory that all tasks share: they lie in one workspace,
a buffer behind the kernel's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...base.machine import machine
from ...ir.dtypes import BY_NAME
from ..llvm.function import Code, Declarations
from ..lowering.kernel import signature
from ..lowering.parallel_for import context_of, run_tasks, take_context, task_signature
from ..maths import MathsWriter
from .accesses import accesses_of
from .emit import emit_inside
from .nodes import TASKS, Alloc, Buffer, Call, Fence, Kernel, Node
from .rewriting import loops_in, statements_in


def shared_by(kernel: Kernel) -> list[Alloc]:
    """The memory that the phases of `kernel` share."""
    return [node for node in kernel.body if isinstance(node, Alloc) and node.shared]


def has_phases(kernel: Kernel) -> bool:
    """Whether `kernel` shares memory among phases."""
    return bool(shared_by(kernel))


def workspace_bytes(shared: Sequence[Alloc]) -> int:
    """The bytes of the workspace in which `shared` lie."""
    return sum(map(_bytes, shared))


def emit_phases(kernel: Kernel, declarations: Declarations) -> Code:
    """The code of a function that runs `kernel`, all tasks and phases; its last pointer is the workspace."""
    count = len(kernel.buffers) + 1
    allocs = [node for node in kernel.body if isinstance(node, Alloc)]
    shared = shared_by(kernel)
    buffers = (*kernel.buffers, *[Buffer(node.name, node.dtype, node.size, out=True) for node in shared])

    def pointers(w: MathsWriter) -> list[str]:
        places, begin = [f"%b{number}" for number in range(count - 1)], 0
        for node in shared:
            places.append(w.offset(f"%b{count - 1}", "u8", begin))
            begin += _bytes(node)
        return places

    functions: Code = []
    whole = MathsWriter(declarations)
    context, whole_pointers = context_of(whole, count), pointers(whole)
    for number, nodes in enumerate(_phases(kernel.body)):
        used = {access.buffer for access in accesses_of(nodes)}
        used |= {
            buffer for node in statements_in(nodes) if isinstance(node, Call) for buffer, *_ in node.places
        }
        own = [node for node in allocs if not node.shared and node.name in used]
        name = f"{kernel.name}_p{number}"
        phase = Kernel(name, buffers, (*own, *nodes))
        tasks = _tasks_in(nodes)
        if tasks is None:
            functions += emit_inside(phase, whole, whole_pointers)
            continue
        w = MathsWriter(declarations)
        take_context(w, count)
        called = emit_inside(phase, w, pointers(w))
        w.ret()
        functions += [w.function(task_signature(f"{name}_task"), "nounwind"), *called]
        run_tasks(whole, name, tasks, context=context)
    whole.ret()
    return [*functions, whole.function(signature(kernel.name, count), "nounwind")]


def _bytes(node: Alloc) -> int:
    """The bytes of shared memory, whole lines of the cache."""
    assert node.size.number is not None, "shared memory has a known size"
    line = machine().line_bytes
    return -(-node.size.number * BY_NAME[node.dtype].itemsize // line) * line


def _phases(nodes: Sequence[Node]) -> Iterator[tuple[Node, ...]]:
    """Loops of tasks among `nodes`, each with the fence behind it, and what is between them."""
    phase: list[Node] = []
    for node in nodes:
        if isinstance(node, Alloc):
            continue
        if phase and (_tasks_in([node]) or (_tasks_in(phase) and not isinstance(node, Fence))):
            yield tuple(phase)
            phase = []
        phase.append(node)
    if phase:
        yield tuple(phase)


def _tasks_in(nodes: Sequence[Node]) -> int | None:
    """The number of tasks that `nodes` are; None where they are none."""
    loops = [loop for loop in loops_in(nodes) if loop.kind == TASKS]
    return min(bound.constant for bound in loops[0].hi) if loops else None
