"""Instructions that build containers and functions, take them apart, and read and write items."""

from __future__ import annotations

import sys
from types import CodeType
from typing import Any

from .bytecode import Instruction
from .execution import Execution, on
from .values import UNKNOWN, Cell, Closure, Constant, Group, Iteration


@on("BINARY_SUBSCR")
def _binary_subscr(run: Execution, i: Instruction) -> None:
    owner, key = run.pop_many(2)
    run.push(run.reader.item(owner, key))


@on("BINARY_SLICE")
def _binary_slice(run: Execution, i: Instruction) -> None:
    owner, start, stop = run.pop_many(3)
    run.push(run.reader.item(owner, run.reader.slice([start, stop])))


@on("BUILD_SLICE")
def _build_slice(run: Execution, i: Instruction) -> None:
    run.push(run.reader.slice(run.pop_many(i.number)))


@on("STORE_SUBSCR")
def _store_subscr(run: Execution, i: Instruction) -> None:
    value, owner, key = run.pop_many(3)
    run.reader.store_item(owner, key, value)


@on("STORE_SLICE")
def _store_slice(run: Execution, i: Instruction) -> None:
    value, owner, start, stop = run.pop_many(4)
    run.reader.store_item(owner, run.reader.slice([start, stop]), value)


@on("DELETE_SUBSCR")
def _delete_subscr(run: Execution, i: Instruction) -> None:
    owner, key = run.pop_many(2)
    run.reader.store_item(owner, key, UNKNOWN)


@on("UNPACK_SEQUENCE")
def _unpack(run: Execution, i: Instruction) -> None:
    run.stack += reversed(run.reader.unpack(run.pop(), i.number))


@on("UNPACK_EX")
def _unpack_ex(run: Execution, i: Instruction) -> None:
    before, after = i.number & 0xFF, i.number >> 8
    element = run.reader.iterate(run.pop())
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
    run.push(run.reader.mapping(pairs[::2], pairs[1::2]))


@on("BUILD_CONST_KEY_MAP")
def _build_const_key_map(run: Execution, i: Instruction) -> None:
    keys = run.pop()
    values = run.pop_many(i.number)
    names = keys.value if isinstance(keys, Constant) else (None,) * i.number
    run.push(run.reader.mapping([Constant(name) for name in names], values))


@on("LIST_EXTEND", "SET_UPDATE")
def _extend(run: Execution, i: Instruction) -> None:
    added = run.pop()
    target = run.stack[-i.number] if i.number <= len(run.stack) else UNKNOWN
    if i.number <= len(run.stack):
        run.stack[-i.number] = run.reader.extended(target, added)


@on("LIST_APPEND", "SET_ADD")
def _append(run: Execution, i: Instruction) -> None:
    added = run.pop()
    if i.number <= len(run.stack):
        run.stack[-i.number] = run.reader.extended(run.stack[-i.number], Iteration(added))


@on("LIST_TO_TUPLE")
def _list_to_tuple(run: Execution, i: Instruction) -> None:
    pass


@on("MAP_ADD")
def _map_add(run: Execution, i: Instruction) -> None:
    key, value = run.pop_many(2)
    run.reader.escape(key)
    if i.number <= len(run.stack):
        run.stack[-i.number] = run.reader.extended(run.stack[-i.number], Iteration(value))


@on("DICT_UPDATE", "DICT_MERGE")
def _dict_update(run: Execution, i: Instruction) -> None:
    added = run.pop()
    if i.number <= len(run.stack):
        run.stack[-i.number] = run.reader.updated(run.stack[-i.number], added)


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
    run.reader.search(run.stack[-1] if run.stack else UNKNOWN)
    run.push(UNKNOWN)
