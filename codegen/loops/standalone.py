"""Modules of one kernel in the loop form, which tools and tests run without a Function around it."""

from __future__ import annotations

from collections.abc import Sequence

from ...base.errors import CompileError
from ..llvm.emitter import Reg, constant
from ..llvm.function import Declarations
from ..llvm.multiply_add import contracted
from ..llvm.target import Target
from ..lowering.kernel import signature
from ..maths import MathsWriter
from .emit import emit_kernel
from .nodes import LANES, TASKS, For, If, Kernel, Load, Node, Store
from .rewriting import indices_of, loops_in

#: The name of the kernel's own function.
_NAME = "kernel"


def kernel_module(kernel: Kernel, target: Target) -> str:
    """The LLVM text of a module whose ``i32 @main(ptr inputs, ptr outputs)`` runs some tasks of `kernel`:
    `inputs` are pointers to its buffers, and then as numbers its symbols, the first task, and the one behind
    the last. Raises CompileError where there is no code for such kernels yet."""
    missing = _without_code(kernel.body, ())
    if missing:
        raise CompileError(f"kernel {kernel.name}: there is no code for {missing} yet")
    if sum(loop.kind == TASKS for loop in loops_in(kernel.body)) > 1:
        raise CompileError(f"kernel {kernel.name}: there is code for one loop of tasks alone")
    declarations = Declarations(target)
    buffers, symbols = len(kernel.buffers), [name for name, _ in kernel.symbols]
    head = signature(_NAME, buffers)[:-1] + "".join(f", i64 %{name}" for name in symbols) + ")"
    renamed = Kernel(_NAME, kernel.buffers, kernel.body, kernel.symbols, kernel.schedule)
    try:
        code = emit_kernel(renamed, declarations, head)
    except AssertionError as error:
        raise CompileError(f"kernel {kernel.name}: {error}") from error
    w = MathsWriter(declarations)
    pointers = [Reg(w.load_pointer(w.offset("%inputs", "ptr", place)), "ptr") for place in range(buffers)]
    *numbers, begin, end = [
        w.load(w.offset("%inputs", "i64", buffers + place), "i64") for place in range(len(symbols) + 2)
    ]
    w.run(_NAME, *pointers, begin, end, *numbers)
    w.ret(constant(0, "i32"))
    main = w.function("i32 @main(ptr %inputs, ptr %outputs)", "nounwind")
    return contracted([*declarations.values(), *code, main])


def _without_code(nodes: Sequence[Node], lanes: tuple[str, ...]) -> str:
    """The part of `nodes`, inside of `lanes`, that `emit` takes for something else, in words; or nothing."""
    for node in nodes:
        if any("%" in str(index) for index in indices_of(node)):
            return "indices that are values"
        if isinstance(node, (Load, Store)) and lanes:
            count = len(node.values if isinstance(node, Store) else node.names)
            if count > 1 and node.index.coefficient(lanes[0]).number != count:
                return "columns that do not follow one another in lanes"
        elif isinstance(node, If):
            names = {name for index in indices_of(node) for name in index.names}
            if lanes and (isinstance(node.condition, str) or lanes[0] in names):
                return "conditions that lanes have of their own"
            missing = _without_code(node.then, lanes) or _without_code(node.otherwise, lanes)
            if missing:
                return missing
        elif isinstance(node, For):
            inside = (node.index,) if node.kind == LANES else lanes
            missing = _without_code(node.body, inside)
            if missing:
                return missing
    return ""
