"""Instructions that load and store: variables, globals, attributes, imports, the stack itself."""

from __future__ import annotations

import sys

from .bytecode import Instruction
from .execution import Execution, on
from .values import UNKNOWN, Cell, Constant, Place, Source


@on("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW")
def _load_fast(run: Execution, i: Instruction) -> None:
    cell = run.cells.get(i.argument)  # 3.13 loads the variables of cells so
    value = run.locals.get(i.argument, UNKNOWN)
    run.push(value if cell is None or i.argument in run.locals else cell)


@on("LOAD_FAST_AND_CLEAR")
def _load_fast_and_clear(run: Execution, i: Instruction) -> None:
    run.push(run.locals.pop(i.argument, UNKNOWN))


@on("LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW")
def _load_two(run: Execution, i: Instruction) -> None:
    for name in i.argument:
        run.push(run.locals.get(name, UNKNOWN))


@on("STORE_FAST", "STORE_FAST_MAYBE_NULL")
def _store_fast(run: Execution, i: Instruction) -> None:
    run.locals[i.argument] = run.pop()


@on("STORE_FAST_STORE_FAST")
def _store_two(run: Execution, i: Instruction) -> None:
    for name in i.argument:
        run.locals[name] = run.pop()


@on("STORE_FAST_LOAD_FAST")
def _store_load(run: Execution, i: Instruction) -> None:
    stored, loaded = i.argument
    run.locals[stored] = run.pop()
    run.push(run.locals.get(loaded, UNKNOWN))


@on("DELETE_FAST")
def _delete_fast(run: Execution, i: Instruction) -> None:
    run.locals.pop(i.argument, None)


@on("LOAD_CLOSURE")
def _load_closure(run: Execution, i: Instruction) -> None:
    run.push(run.cells.setdefault(i.argument, Cell()))


@on("LOAD_DEREF", "LOAD_CLASSDEREF")
def _load_deref(run: Execution, i: Instruction) -> None:
    cell = run.cells.get(i.argument)
    run.push(UNKNOWN if cell is None or cell.value is None else cell.value)


@on("STORE_DEREF")
def _store_deref(run: Execution, i: Instruction) -> None:
    cell = run.cells.setdefault(i.argument, Cell())
    if isinstance(cell.value, Place):
        run.reader.written(cell.value)
    cell.store(run.pop())


@on("LOAD_CONST", "LOAD_SMALL_INT", "LOAD_CONST_IMMORTAL")
def _load_const(run: Execution, i: Instruction) -> None:
    run.push(Constant(i.argument))


@on("LOAD_GLOBAL", "LOAD_NAME")
def _load_global(run: Execution, i: Instruction) -> None:
    if i.name == "LOAD_GLOBAL" and i.number & 1:
        run.push(UNKNOWN)  # the NULL below what is called
    run.push(run.reader.global_name(run.module, i.argument))


@on("STORE_GLOBAL", "DELETE_GLOBAL")
def _store_global(run: Execution, i: Instruction) -> None:
    if i.name == "STORE_GLOBAL":
        run.reader.escape(run.pop())
    run.reader.written(Place(Source("global", run.module, i.argument), None))


@on("PUSH_NULL")
def _push_null(run: Execution, i: Instruction) -> None:
    run.push(UNKNOWN)


@on("POP_TOP", "END_FOR", "POP_ITER")
def _pop_top(run: Execution, i: Instruction) -> None:
    run.pop()


@on("COPY")
def _copy(run: Execution, i: Instruction) -> None:
    run.push(run.stack[-i.number] if i.number <= len(run.stack) else UNKNOWN)


@on("SWAP")
def _swap(run: Execution, i: Instruction) -> None:
    if i.number <= len(run.stack):
        run.stack[-1], run.stack[-i.number] = run.stack[-i.number], run.stack[-1]


@on("LOAD_ATTR")
def _load_attr(run: Execution, i: Instruction) -> None:
    is_method = sys.version_info >= (3, 12) and i.number & 1
    value = run.reader.attribute(run.pop(), i.argument)
    if is_method:
        run.push(value)
        run.push(UNKNOWN)
    else:
        run.push(value)


@on("LOAD_METHOD")
def _load_method(run: Execution, i: Instruction) -> None:
    value = run.reader.attribute(run.pop(), i.argument)
    run.push(UNKNOWN)
    run.push(value)


@on("LOAD_SUPER_ATTR")
def _load_super_attr(run: Execution, i: Instruction) -> None:
    _, cls, owner = run.pop_many(3)
    value = run.reader.attribute(run.reader.parent(cls, owner), i.argument)
    run.push(value)
    if i.number & 1:
        run.push(UNKNOWN)


@on("STORE_ATTR")
def _store_attr(run: Execution, i: Instruction) -> None:
    owner, value = run.pop(), run.pop()
    run.reader.store_attribute(owner, i.argument, value, (run.code.co_filename, i.line))


@on("DELETE_ATTR")
def _delete_attr(run: Execution, i: Instruction) -> None:
    run.reader.store_attribute(run.pop(), i.argument, UNKNOWN, (run.code.co_filename, i.line))


@on("IMPORT_NAME")
def _import_name(run: Execution, i: Instruction) -> None:
    level, names = run.pop_many(2)
    run.push(run.reader.imported(i.argument, level, names, run.module))


@on("IMPORT_FROM")
def _import_from(run: Execution, i: Instruction) -> None:
    run.push(run.reader.attribute(run.stack[-1] if run.stack else UNKNOWN, i.argument))


@on("PUSH_EXC_INFO")
def _push_exc_info(run: Execution, i: Instruction) -> None:
    value = run.pop()
    run.push(UNKNOWN)
    run.push(value)


@on("FORMAT_VALUE")
def _format_value(run: Execution, i: Instruction) -> None:
    for value in run.pop_many(2 if i.number & 4 else 1):
        run.reader.escape(value)
    run.push(UNKNOWN)


@on("BUILD_STRING")
def _build_string(run: Execution, i: Instruction) -> None:
    run.pop_many(i.number)
    run.push(UNKNOWN)


@on("LOAD_BUILD_CLASS", "LOAD_ASSERTION_ERROR")
def _load_unknown(run: Execution, i: Instruction) -> None:
    run.push(UNKNOWN)
