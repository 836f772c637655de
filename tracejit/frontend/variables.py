"""Instructions that load and store, and those that build containers and functions and take them apart."""

from __future__ import annotations

import builtins
import sys
from types import CodeType
from typing import Any

import numpy as np

from .bytecode import Instruction
from .execution import Execution, on
from .handlers import handles_at
from .values import (
    TRACED,
    UNKNOWN,
    Cell,
    Closure,
    Constant,
    Group,
    Instance,
    Iteration,
    Place,
    Source,
    options,
)


@on("BINARY_SUBSCR")
def _binary_subscr(run: Execution, i: Instruction) -> None:
    owner, key = run.pop_many(2)
    run.push(run.reader.contents.item(owner, key))


@on("BINARY_SLICE")
def _binary_slice(run: Execution, i: Instruction) -> None:
    owner, start, stop = run.pop_many(3)
    run.push(run.reader.contents.item(owner, run.reader.operations.slice([start, stop])))


@on("BUILD_SLICE")
def _build_slice(run: Execution, i: Instruction) -> None:
    run.push(run.reader.operations.slice(run.pop_many(i.number)))


@on("STORE_SUBSCR")
def _store_subscr(run: Execution, i: Instruction) -> None:
    value, owner, key = run.pop_many(3)
    run.reader.operations.store_item(owner, key, value)


@on("STORE_SLICE")
def _store_slice(run: Execution, i: Instruction) -> None:
    value, owner, start, stop = run.pop_many(4)
    run.reader.operations.store_item(owner, run.reader.operations.slice([start, stop]), value)


@on("DELETE_SUBSCR")
def _delete_subscr(run: Execution, i: Instruction) -> None:
    owner, key = run.pop_many(2)
    run.reader.operations.store_item(owner, key, UNKNOWN)


@on("UNPACK_SEQUENCE")
def _unpack(run: Execution, i: Instruction) -> None:
    run.stack += reversed(run.reader.contents.unpack(run.pop(), i.number))


@on("UNPACK_EX")
def _unpack_ex(run: Execution, i: Instruction) -> None:
    before, after = i.number & 0xFF, i.number >> 8
    element = run.reader.contents.iterate(run.pop())
    run.stack += [element] * after + [Group("list", (element,))] + [element] * before


@on("BUILD_TUPLE")
def _build_tuple(run: Execution, i: Instruction) -> None:
    run.push(Group("tuple", tuple(run.pop_many(i.number))))


@on("BUILD_LIST", "BUILD_SET")
def _build_list(run: Execution, i: Instruction) -> None:
    run.push(Group("list", tuple(run.pop_many(i.number))))


@on("BUILD_MAP")
def _build_map(run: Execution, i: Instruction) -> None:
    pairs = run.pop_many(2 * i.number)
    run.push(run.reader.operations.mapping(pairs[::2], pairs[1::2]))


@on("BUILD_CONST_KEY_MAP")
def _build_const_key_map(run: Execution, i: Instruction) -> None:
    keys = run.pop()
    values = run.pop_many(i.number)
    names = keys.value if isinstance(keys, Constant) else (None,) * i.number
    run.push(run.reader.operations.mapping([Constant(name) for name in names], values))


@on("LIST_EXTEND", "SET_UPDATE")
def _extend(run: Execution, i: Instruction) -> None:
    added = run.pop()
    target = run.stack[-i.number] if i.number <= len(run.stack) else UNKNOWN
    if i.number <= len(run.stack):
        run.stack[-i.number] = run.reader.operations.extended(target, added)


@on("LIST_APPEND", "SET_ADD")
def _append(run: Execution, i: Instruction) -> None:
    added = run.pop()
    if i.number <= len(run.stack):
        run.stack[-i.number] = run.reader.operations.extended(run.stack[-i.number], Iteration(added))


@on("LIST_TO_TUPLE")
def _list_to_tuple(run: Execution, i: Instruction) -> None:
    pass


@on("MAP_ADD")
def _map_add(run: Execution, i: Instruction) -> None:
    key, value = run.pop_many(2)
    run.reader.escapes.escape(key)
    if i.number <= len(run.stack):
        run.stack[-i.number] = run.reader.operations.extended(run.stack[-i.number], Iteration(value))


@on("DICT_UPDATE", "DICT_MERGE")
def _dict_update(run: Execution, i: Instruction) -> None:
    added = run.pop()
    if i.number <= len(run.stack):
        run.stack[-i.number] = run.reader.operations.updated(run.stack[-i.number], added)


@on("MAKE_FUNCTION")
def _make_function(run: Execution, i: Instruction) -> None:
    code = run.pop()
    parts: dict[int, Any] = {}
    if sys.version_info < (3, 13):
        for flag in (8, 4, 2, 1):
            if i.number & flag:
                parts[flag] = run.pop()
    run.push(_function(run, code, parts))


@on("SET_FUNCTION_ATTRIBUTE")
def _set_function_attribute(run: Execution, i: Instruction) -> None:
    function = run.pop()
    part = run.pop()
    if isinstance(function, Closure):
        function = _function(run, Constant(function.code), {i.number: part}, function)
    run.push(function)


def _function(run: Execution, code: Any, parts: dict[int, Any], function: Closure | None = None) -> Any:
    """The function that code makes of `code`: `parts` are its defaults (1), keyword-only defaults (2),
    annotations (4) and cells (8)."""
    if not (isinstance(code, Constant) and isinstance(code.value, CodeType)):
        return UNKNOWN
    cells = {} if function is None else function.cells
    closure = parts.get(8)
    if isinstance(closure, Group):
        cells = {
            name: cell if isinstance(cell, Cell) else Cell(cell)
            for name, cell in zip(code.value.co_freevars, closure.items, strict=False)
        }
    defaults = () if function is None else function.defaults
    positional = parts.get(1)
    if isinstance(positional, Group):
        defaults = positional.items
    elif isinstance(positional, Constant):
        defaults = tuple(map(Constant, positional.value))
    keyword_defaults = {} if function is None else function.keyword_defaults
    named = parts.get(2)
    if isinstance(named, Group) and named.keys is not None:
        keyword_defaults = dict(zip(named.keys, named.items, strict=True))
    return Closure(code.value, run.module, cells, defaults, keyword_defaults)


@on("GET_LEN")
def _get_len(run: Execution, i: Instruction) -> None:
    run.reader.operations.search(run.stack[-1] if run.stack else UNKNOWN)
    run.push(UNKNOWN)


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


@on("STORE_NAME")
def _store_name(run: Execution, i: Instruction) -> None:
    value = run.pop()  # in the body of a class, which tells its attributes their names
    if isinstance(value, Instance):
        run.reader.escapes.call_for_others(
            run.reader.attributes.read(value, "__set_name__"), [], {"*": UNKNOWN}
        )
    run.reader.escapes.escape(value)


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
        run.reader.operations.written(cell.value)
    cell.store(run.pop())


@on("LOAD_CONST", "LOAD_SMALL_INT", "LOAD_CONST_IMMORTAL")
def _load_const(run: Execution, i: Instruction) -> None:
    run.push(Constant(i.argument))


@on("LOAD_GLOBAL", "LOAD_NAME")
def _load_global(run: Execution, i: Instruction) -> None:
    if i.name == "LOAD_GLOBAL" and i.number & 1:
        run.push(UNKNOWN)  # the NULL below what is called
    run.push(run.reader.attributes.global_name(run.module, i.argument))


@on("STORE_GLOBAL", "DELETE_GLOBAL")
def _store_global(run: Execution, i: Instruction) -> None:
    place = Place(Source("global", run.module, i.argument), None)
    if i.name == "STORE_GLOBAL":
        run.reader.operations.escape_to([place], run.pop())
    run.reader.operations.written(place)


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
    owner = run.pop()
    _note_missing(run, i, owner)
    value = run.reader.attributes.read(owner, i.argument)
    if is_method:
        run.push(value)
        run.push(UNKNOWN)
    else:
        run.push(value)


def _note_missing(run: Execution, i: Instruction, owner: Any) -> None:
    """Note where code handles the error that an argument is a number of Python's, which has no such attribute
    as arrays have. A handler of all errors is for others."""
    if hasattr(float, i.argument) or not hasattr(np.ndarray, i.argument) or TRACED not in options(owner):
        return
    handled = [
        handles_at(run.code, run.module, i.offset, (error,)) for error in (AttributeError, MemoryError)
    ]
    if handled == [True, False]:
        run.reader.uses.asked_of_numbers = f"for `.{i.argument}` of a traced number"


@on("LOAD_METHOD")
def _load_method(run: Execution, i: Instruction) -> None:
    owner = run.pop()
    _note_missing(run, i, owner)
    run.push(UNKNOWN)
    run.push(run.reader.attributes.read(owner, i.argument))


@on("LOAD_SUPER_ATTR")
def _load_super_attr(run: Execution, i: Instruction) -> None:
    _, cls, owner = run.pop_many(3)
    value = run.reader.attributes.read(run.reader.builtins.parent(cls, owner), i.argument)
    run.push(value)
    if i.number & 1:
        run.push(UNKNOWN)


@on("STORE_ATTR")
def _store_attr(run: Execution, i: Instruction) -> None:
    owner, value = run.pop(), run.pop()
    run.reader.operations.store_attribute(owner, i.argument, value, (run.code.co_filename, i.line))


@on("DELETE_ATTR")
def _delete_attr(run: Execution, i: Instruction) -> None:
    run.reader.operations.store_attribute(run.pop(), i.argument, UNKNOWN, (run.code.co_filename, i.line))


@on("IMPORT_NAME")
def _import_name(run: Execution, i: Instruction) -> None:
    level, names = run.pop_many(2)
    run.push(run.reader.attributes.imported(i.argument, level, names, run.module))


@on("IMPORT_FROM")
def _import_from(run: Execution, i: Instruction) -> None:
    run.push(run.reader.attributes.read(run.stack[-1] if run.stack else UNKNOWN, i.argument))


@on("PUSH_EXC_INFO")
def _push_exc_info(run: Execution, i: Instruction) -> None:
    value = run.pop()
    run.push(UNKNOWN)
    run.push(value)


@on("FORMAT_VALUE")
def _format_value(run: Execution, i: Instruction) -> None:
    for value in run.pop_many(2 if i.number & 4 else 1):
        run.reader.escapes.show(value)
        run.reader.escapes.escape(value)
    run.push(UNKNOWN)


@on("BUILD_STRING")
def _build_string(run: Execution, i: Instruction) -> None:
    run.pop_many(i.number)
    run.push(UNKNOWN)


@on("LOAD_BUILD_CLASS")
def _load_build_class(run: Execution, i: Instruction) -> None:
    run.push(Constant(builtins.__build_class__))


@on("LOAD_ASSERTION_ERROR")
def _load_unknown(run: Execution, i: Instruction) -> None:
    run.push(UNKNOWN)
