"""Modules of one kernel in the loop form, which tools and tests run without a Function around it."""

from __future__ import annotations

from collections.abc import Sequence

from ...base.errors import CompileError
from ..interface import PARALLEL_FOR
from ..llvm.emitter import Reg, constant
from ..llvm.function import Declarations
from ..llvm.multiply_add import contracted
from ..llvm.target import Target
from ..lowering.kernel import signature
from ..maths import MathsWriter
from .emit import emit_kernel
from .nodes import LANES, TASKS, Call, For, If, Kernel, Load, Node, Store, While
from .phases import emit_phases, has_phases
from .rewriting import indices_of, loops_in

#: The name of the kernel's own function.
_NAME = "kernel"


def kernel_module(kernel: Kernel, target: Target) -> str:
    """The LLVM text of a module whose ``i32 @main(ptr inputs, ptr outputs)`` runs some tasks of `kernel`:
    `inputs` are pointers to its buffers, and to its workspace if it has phases, and then as numbers its
    symbols, the first task, and the one behind the last. Raises CompileError where there is no code for such
    kernels yet."""
    missing = _without_code(kernel.body, ())
    if missing:
        raise CompileError(f"kernel {kernel.name}: there is no code for {missing} yet")
    if has_phases(kernel):
        return _module_of_phases(kernel, target)
    ends = {loop.hi for loop in loops_in(kernel.body) if loop.kind == TASKS}
    if ends and (len(ends) > 1 or _loops_of_tasks(kernel.body) > 1 or _stores_beside_tasks(kernel.body)):
        raise CompileError(
            f"kernel {kernel.name}: there is code for one loop of tasks, and nothing beside it"
        )
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


def _module_of_phases(kernel: Kernel, target: Target) -> str:
    """The module of a kernel that runs all of its tasks."""
    if kernel.symbols:
        raise CompileError(f"kernel {kernel.name}: there is no code for phases with symbols yet")
    declarations = Declarations(target)
    declarations[PARALLEL_FOR] = f"declare void @{PARALLEL_FOR}(ptr, ptr, i64, i64)"
    try:
        code = emit_phases(Kernel(_NAME, kernel.buffers, kernel.body), declarations)
    except AssertionError as error:
        raise CompileError(f"kernel {kernel.name}: {error}") from error
    w, count = MathsWriter(declarations), len(kernel.buffers) + 1
    pointers = [Reg(w.load_pointer(w.offset("%inputs", "ptr", place)), "ptr") for place in range(count)]
    w.run(_NAME, *pointers, constant(0, "i64"), constant(1, "i64"))
    w.ret(constant(0, "i32"))
    main = w.function("i32 @main(ptr %inputs, ptr %outputs)", "nounwind")
    return contracted([*declarations.values(), *code, main])


def _without_code(nodes: Sequence[Node], lanes: tuple[str, ...]) -> str:
    """The part of `nodes`, inside of `lanes`, that `emit` takes for something else, in words; or nothing."""
    for node in nodes:
        if isinstance(node, For) and any("%" in str(bound) for bound in (*node.lo, *node.hi)):
            return "bounds that are values"
        if not isinstance(node, For) and any("*" in name for i in indices_of(node) for name, _ in i.terms):
            return "rows whose length is a symbol"
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
            if lanes and node.kind == LANES:
                return "lanes in lanes"
            inside = (node.index,) if node.kind == LANES else lanes
            missing = _without_code(node.body, inside)
            if missing:
                return missing
    return ""


def _loops_of_tasks(nodes: Sequence[Node]) -> int:
    """Loops of tasks that are run one after the other in `nodes`, at most."""
    count = 0
    for node in nodes:
        if isinstance(node, For):
            count += 1 if node.kind == TASKS else _loops_of_tasks(node.body)
        elif isinstance(node, If):
            count += max(_loops_of_tasks(node.then), _loops_of_tasks(node.otherwise))
    return count


def _stores_beside_tasks(nodes: Sequence[Node]) -> bool:
    """Whether something in `nodes` is stored outside of tasks, which each part of them would do."""
    for node in nodes:
        inside: Sequence[Node] = ()
        if isinstance(node, (Store, Call)):
            return True
        if isinstance(node, If):
            inside = (*node.then, *node.otherwise)
        elif isinstance(node, While) or (isinstance(node, For) and node.kind != TASKS):
            inside = node.body
        if _stores_beside_tasks(inside):
            return True
    return False
