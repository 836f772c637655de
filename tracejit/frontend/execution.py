"""Follows the instructions of a code object with what is known of its values, along every branch.

Where branches meet, values are joined; a loop is followed until nothing new comes in. So what is found holds
for every way through the code. Instructions that are not listed here drop their operands, which count as
handed to somebody unknown, and their results are unknown.
"""

from __future__ import annotations

import contextlib
import dis
import operator
import sys
from collections.abc import Callable
from types import CodeType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .bytecode import Handler, Instruction, Program, decode
from .guards import is_constant
from .sources import Source
from .values import (
    MOST_ALTERNATIVES,
    UNKNOWN,
    Cell,
    Closure,
    Constant,
    Group,
    Iteration,
    Place,
    join,
    options,
)

if TYPE_CHECKING:
    from .calls import Reader

#: After so many visits of one instruction with news, what still changes is unknown.
_MOST_VISITS: Final = 6
_GENERATOR: Final = 0x20 | 0x80 | 0x200

#: Comparisons of constants, by what `dis` calls them.
_COMPARISONS: Final = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip

State = tuple[list[Any], dict[str, Any]]


class Execution:
    """One run through a code object with given locals."""

    def __init__(
        self,
        reader: Reader,
        code: CodeType,
        module: dict[str, Any],
        arguments: dict[str, Any],
        cells: dict[str, Cell],
    ) -> None:
        self.reader, self.code, self.module = reader, code, module
        self.program: Program = decode(code)
        self.cells = dict(cells)
        self.locals: dict[str, Any] = {}
        for name, value in arguments.items():
            self.locals[name] = value
        for name in code.co_cellvars:
            self.cells[name] = Cell(arguments.get(name))
        self.stack: list[Any] = []
        self.results: list[Any] = []
        self.yields: list[Any] = []
        self.keywords: tuple[str, ...] = ()
        self._states: dict[int, State] = {}
        self._visits: dict[int, int] = {}
        self._pending: list[int] = []

    def run(self) -> Any:
        """What the code returns."""
        self._merge(0, [], self.locals)
        instructions = self.program.instructions
        while self._pending:
            position = self._pending.pop()
            stack, variables = self._states[position]
            self.stack, self.locals = list(stack), dict(variables)
            first = True
            while position >= 0:
                if not first and position in self.program.targets:
                    self._merge(position, self.stack, self.locals)
                    break
                first = False
                instruction = instructions[position]
                self.reader.step()
                self._enter_handlers(position, instruction)
                position = self._execute(position, instruction)
        if self.code.co_flags & _GENERATOR:
            for value in self.results:
                self.reader.escape(value)
            return Iteration(join(*self.yields) if self.yields else UNKNOWN)
        return join(*self.results) if self.results else UNKNOWN

    def site(self, instruction: Instruction) -> tuple[CodeType, int]:
        """What identifies an instruction of any function."""
        return self.code, instruction.offset

    # -- control flow ------------------------------------------------------------------------------

    def _merge(self, position: int, stack: list[Any], variables: dict[str, Any]) -> None:
        """Let control reach `position` with these values."""
        before = self._states.get(position)
        if before is None:
            self._states[position] = list(stack), dict(variables)
            self._pending.append(position)
            return
        visits = self._visits[position] = self._visits.get(position, 0) + 1
        old_stack, old_variables = before
        changed = False
        new_stack = []
        for old, new in zip(old_stack, stack, strict=False):
            merged = self._joined(old, new, visits)
            changed = changed or merged != old
            new_stack.append(merged)
        new_variables = dict(old_variables)
        for name, value in variables.items():
            merged = self._joined(old_variables[name], value, visits) if name in old_variables else value
            changed = changed or name not in old_variables or merged != old_variables[name]
            new_variables[name] = merged
        if changed:
            self._states[position] = new_stack, new_variables
            if position not in self._pending:
                self._pending.append(position)

    def _joined(self, old: Any, new: Any, visits: int) -> Any:
        if old == new or old is UNKNOWN:
            if old is UNKNOWN and new is not UNKNOWN:
                self.reader.escape(new)
            return old
        merged = join(old, new)
        if visits > _MOST_VISITS or len(options(merged)) > MOST_ALTERNATIVES:
            self.reader.escape(merged)
            return UNKNOWN
        return merged

    def _enter_handlers(self, position: int, instruction: Instruction) -> None:
        """Exceptions may arise here: their handlers see the variables as they are."""
        for handler in self.program.handlers:
            if handler.start <= position < handler.end and (
                position == handler.start or instruction.name.startswith(("STORE", "CALL"))
            ):
                self._raise_to(handler)

    def _raise_to(self, handler: Handler) -> None:
        stack = self.stack[: handler.depth]
        stack += [UNKNOWN] * (handler.depth - len(stack)) + [UNKNOWN] * (1 + handler.pushes_offset)
        self._merge(handler.target, stack, self.locals)

    def _execute(self, position: int, instruction: Instruction) -> int:
        """Follow one instruction; the next position, -1 where control ends."""
        action = _ACTIONS.get(instruction.name)
        if action is None:
            self._unlisted(instruction)
            following: int | None = None
        else:
            following = action(self, instruction)
        if following is not None:
            return following
        if instruction.target >= 0 and not instruction.name.startswith("JUMP"):
            self._merge(instruction.target, self.stack, self.locals)
        return position + 1

    def _unlisted(self, instruction: Instruction) -> None:
        number = instruction.number if _opcode(instruction.name) >= dis.HAVE_ARGUMENT else None
        effect = dis.stack_effect(_opcode(instruction.name), number, jump=False)
        for _ in range(max(0, -effect)):
            self.reader.escape(self.pop())
        if effect <= 0 and self.stack:  # what it leaves in place of its last operand
            self.reader.escape(self.stack[-1])
            self.stack[-1] = UNKNOWN
        self.stack += [UNKNOWN] * max(0, effect)

    # -- the stack ---------------------------------------------------------------------------------

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def pop(self) -> Any:
        return self.stack.pop() if self.stack else UNKNOWN

    def pop_many(self, count: int) -> list[Any]:
        values = [self.pop() for _ in range(count)]
        values.reverse()
        return values


def _opcode(name: str) -> int:
    return dis.opmap[name]


# -- what instructions do --------------------------------------------------------------------------

_ACTIONS: dict[str, Callable[[Execution, Instruction], int | None]] = {}
Action = Callable[[Execution, Instruction], "int | None"]


def _on(*names: str) -> Callable[[Action], Action]:
    def register(action: Action) -> Action:
        for name in names:
            _ACTIONS[name] = action
        return action

    return register


@_on("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW")
def _load_fast(run: Execution, i: Instruction) -> None:
    cell = run.cells.get(i.argument)  # 3.13 loads the variables of cells so
    value = run.locals.get(i.argument, UNKNOWN)
    run.push(value if cell is None or i.argument in run.locals else cell)


@_on("LOAD_FAST_AND_CLEAR")
def _load_fast_and_clear(run: Execution, i: Instruction) -> None:
    run.push(run.locals.pop(i.argument, UNKNOWN))


@_on("LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW")
def _load_two(run: Execution, i: Instruction) -> None:
    for name in i.argument:
        run.push(run.locals.get(name, UNKNOWN))


@_on("STORE_FAST", "STORE_FAST_MAYBE_NULL")
def _store_fast(run: Execution, i: Instruction) -> None:
    run.locals[i.argument] = run.pop()


@_on("STORE_FAST_STORE_FAST")
def _store_two(run: Execution, i: Instruction) -> None:
    for name in i.argument:
        run.locals[name] = run.pop()


@_on("STORE_FAST_LOAD_FAST")
def _store_load(run: Execution, i: Instruction) -> None:
    stored, loaded = i.argument
    run.locals[stored] = run.pop()
    run.push(run.locals.get(loaded, UNKNOWN))


@_on("DELETE_FAST")
def _delete_fast(run: Execution, i: Instruction) -> None:
    run.locals.pop(i.argument, None)


@_on("LOAD_CLOSURE")
def _load_closure(run: Execution, i: Instruction) -> None:
    run.push(run.cells.setdefault(i.argument, Cell()))


@_on("LOAD_DEREF", "LOAD_CLASSDEREF")
def _load_deref(run: Execution, i: Instruction) -> None:
    cell = run.cells.get(i.argument)
    run.push(UNKNOWN if cell is None or cell.value is None else cell.value)


@_on("STORE_DEREF")
def _store_deref(run: Execution, i: Instruction) -> None:
    cell = run.cells.setdefault(i.argument, Cell())
    if isinstance(cell.value, Place):
        run.reader.written(cell.value)
    cell.store(run.pop())


@_on("LOAD_CONST", "LOAD_SMALL_INT", "LOAD_CONST_IMMORTAL")
def _load_const(run: Execution, i: Instruction) -> None:
    run.push(Constant(i.argument))


@_on("RETURN_CONST")
def _return_const(run: Execution, i: Instruction) -> int:
    run.results.append(Constant(i.argument))
    return -1


@_on("RETURN_VALUE")
def _return_value(run: Execution, i: Instruction) -> int:
    run.results.append(run.pop())
    return -1


@_on("RAISE_VARARGS", "RERAISE")
def _raise(run: Execution, i: Instruction) -> int:
    for value in run.pop_many(min(i.number, 2)) if i.name == "RAISE_VARARGS" else ():
        run.reader.escape(value)
    return -1


@_on("YIELD_VALUE")
def _yield(run: Execution, i: Instruction) -> None:
    run.yields.append(run.pop())
    run.push(UNKNOWN)


@_on("RETURN_GENERATOR")
def _return_generator(run: Execution, i: Instruction) -> None:
    run.push(UNKNOWN)


@_on("LOAD_GLOBAL", "LOAD_NAME")
def _load_global(run: Execution, i: Instruction) -> None:
    if i.name == "LOAD_GLOBAL" and i.number & 1:
        run.push(UNKNOWN)  # the NULL below what is called
    run.push(run.reader.global_name(run.module, i.argument))


@_on("STORE_GLOBAL", "DELETE_GLOBAL")
def _store_global(run: Execution, i: Instruction) -> None:
    if i.name == "STORE_GLOBAL":
        run.reader.escape(run.pop())
    run.reader.written(Place(Source("global", run.module, i.argument), None))


@_on("PUSH_NULL")
def _push_null(run: Execution, i: Instruction) -> None:
    run.push(UNKNOWN)


@_on("POP_TOP", "END_FOR", "POP_ITER")
def _pop_top(run: Execution, i: Instruction) -> None:
    run.pop()


@_on("COPY")
def _copy(run: Execution, i: Instruction) -> None:
    run.push(run.stack[-i.number] if i.number <= len(run.stack) else UNKNOWN)


@_on("SWAP")
def _swap(run: Execution, i: Instruction) -> None:
    if i.number <= len(run.stack):
        run.stack[-1], run.stack[-i.number] = run.stack[-i.number], run.stack[-1]


@_on("LOAD_ATTR")
def _load_attr(run: Execution, i: Instruction) -> None:
    is_method = sys.version_info >= (3, 12) and i.number & 1
    value = run.reader.attribute(run.pop(), i.argument)
    if is_method:
        run.push(value)
        run.push(UNKNOWN)
    else:
        run.push(value)


@_on("LOAD_METHOD")
def _load_method(run: Execution, i: Instruction) -> None:
    value = run.reader.attribute(run.pop(), i.argument)
    run.push(UNKNOWN)
    run.push(value)


@_on("LOAD_SUPER_ATTR")
def _load_super_attr(run: Execution, i: Instruction) -> None:
    _, cls, owner = run.pop_many(3)
    value = run.reader.attribute(run.reader.parent(cls, owner), i.argument)
    run.push(value)
    if i.number & 1:
        run.push(UNKNOWN)


@_on("STORE_ATTR")
def _store_attr(run: Execution, i: Instruction) -> None:
    owner, value = run.pop(), run.pop()
    run.reader.store_attribute(owner, i.argument, value)


@_on("DELETE_ATTR")
def _delete_attr(run: Execution, i: Instruction) -> None:
    run.reader.store_attribute(run.pop(), i.argument, UNKNOWN)


@_on("BINARY_SUBSCR")
def _binary_subscr(run: Execution, i: Instruction) -> None:
    owner, key = run.pop_many(2)
    run.push(run.reader.item(owner, key))


@_on("BINARY_SLICE")
def _binary_slice(run: Execution, i: Instruction) -> None:
    owner, start, stop = run.pop_many(3)
    run.push(run.reader.item(owner, run.reader.slice([start, stop])))


@_on("BUILD_SLICE")
def _build_slice(run: Execution, i: Instruction) -> None:
    run.push(run.reader.slice(run.pop_many(i.number)))


@_on("STORE_SUBSCR")
def _store_subscr(run: Execution, i: Instruction) -> None:
    value, owner, key = run.pop_many(3)
    run.reader.store_item(owner, key, value)


@_on("STORE_SLICE")
def _store_slice(run: Execution, i: Instruction) -> None:
    value, owner, start, stop = run.pop_many(4)
    run.reader.store_item(owner, run.reader.slice([start, stop]), value)


@_on("DELETE_SUBSCR")
def _delete_subscr(run: Execution, i: Instruction) -> None:
    owner, key = run.pop_many(2)
    run.reader.store_item(owner, key, UNKNOWN)


@_on("BINARY_OP")
def _binary_op(run: Execution, i: Instruction) -> None:
    left, right = run.pop_many(2)
    symbol = dis._nb_ops[i.number][1]  # type: ignore[attr-defined]
    if symbol == "[]":
        run.push(run.reader.item(left, right))
    else:
        run.push(run.reader.binary(left, right, symbol, run.site(i)))


@_on("COMPARE_OP")
def _compare_op(run: Execution, i: Instruction) -> None:
    left, right = run.pop_many(2)
    result = run.reader.binary(left, right, "compare", run.site(i))
    compare = _COMPARISONS.get(str(i.argument).removeprefix("bool(").removesuffix(")"))
    if compare is not None and truth_of(left) is not None and truth_of(right) is not None:
        with contextlib.suppress(TypeError, ValueError):  # the function fails there, too
            result = Constant(bool(compare(left.value, right.value)))
    run.push(result)


@_on("IS_OP")
def _is_op(run: Execution, i: Instruction) -> None:
    left, right = run.pop_many(2)
    run.reader.identify(left)
    run.reader.identify(right)
    known = isinstance(left, (Place, Constant)) and isinstance(right, Constant) and right.value is None
    run.push(Constant((left.value is None) != bool(i.number)) if known else UNKNOWN)


@_on("CONTAINS_OP")
def _contains_op(run: Execution, i: Instruction) -> None:
    value, container = run.pop_many(2)
    run.reader.escape(value)
    run.reader.search(container)
    run.push(UNKNOWN)


@_on("UNARY_NOT", "TO_BOOL")
def _test(run: Execution, i: Instruction) -> None:
    value = run.pop()
    run.reader.test(value)
    truth = truth_of(value)
    run.push(UNKNOWN if truth is None else Constant(truth == (i.name == "TO_BOOL")))


@_on("UNARY_NEGATIVE", "UNARY_POSITIVE", "UNARY_INVERT")
def _unary(run: Execution, i: Instruction) -> None:
    run.push(run.reader.unary(run.pop()))


@_on(
    "POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE", "POP_JUMP_FORWARD_IF_TRUE", "POP_JUMP_FORWARD_IF_FALSE",
    "POP_JUMP_BACKWARD_IF_TRUE", "POP_JUMP_BACKWARD_IF_FALSE",
)  # fmt: skip
def _jump_if(run: Execution, i: Instruction) -> int | None:
    value = run.pop()
    run.reader.test(value)
    truth = truth_of(value)
    return None if truth is None else _branch(run, i, jumps=truth == ("TRUE" in i.name))


@_on(
    "POP_JUMP_IF_NONE", "POP_JUMP_IF_NOT_NONE", "POP_JUMP_FORWARD_IF_NONE", "POP_JUMP_FORWARD_IF_NOT_NONE",
    "POP_JUMP_BACKWARD_IF_NONE", "POP_JUMP_BACKWARD_IF_NOT_NONE",
)  # fmt: skip
def _jump_if_none(run: Execution, i: Instruction) -> int | None:
    value = run.pop()
    run.reader.identify(value)
    if isinstance(value, (Place, Constant)):
        return _branch(run, i, jumps=(value.value is None) == ("NOT_NONE" not in i.name))
    return None


def _branch(run: Execution, i: Instruction, *, jumps: bool) -> int:
    """Follow only the way that a jump takes whose condition is known."""
    if not jumps:
        return i.position + 1
    run._merge(i.target, run.stack, run.locals)
    return -1


def truth_of(value: Any) -> bool | None:
    """Whether a constant, or a place with one, is true; None where that is not known."""
    if isinstance(value, (Place, Constant)) and is_constant(value.value):
        return bool(value.value) if not isinstance(value.value, np.dtype) else True
    return None


@_on("JUMP_IF_TRUE_OR_POP", "JUMP_IF_FALSE_OR_POP")
def _jump_or_pop(run: Execution, i: Instruction) -> int | None:
    run.reader.test(run.stack[-1] if run.stack else UNKNOWN)
    run._merge(i.target, run.stack, run.locals)
    run.pop()
    return i.position + 1


@_on("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP", "JUMP_NO_INTERRUPT")
def _jump(run: Execution, i: Instruction) -> int:
    run._merge(i.target, run.stack, run.locals)
    return -1


@_on("GET_ITER", "GET_YIELD_FROM_ITER")
def _get_iter(run: Execution, i: Instruction) -> None:
    run.push(Iteration(run.reader.iterate(run.pop())))


@_on("FOR_ITER")
def _for_iter(run: Execution, i: Instruction) -> int:
    iterator = run.stack[-1] if run.stack else UNKNOWN
    after = list(run.stack)
    if sys.version_info < (3, 12):
        after = after[:-1]
    else:
        after.append(UNKNOWN)
    run._merge(i.target, after, run.locals)
    run.push(run.reader.iterate(iterator))
    return i.position + 1


@_on("UNPACK_SEQUENCE")
def _unpack(run: Execution, i: Instruction) -> None:
    run.stack += reversed(run.reader.unpack(run.pop(), i.number))


@_on("UNPACK_EX")
def _unpack_ex(run: Execution, i: Instruction) -> None:
    before, after = i.number & 0xFF, i.number >> 8
    element = run.reader.iterate(run.pop())
    run.stack += [element] * after + [Group("list", (element,))] + [element] * before


@_on("BUILD_TUPLE")
def _build_tuple(run: Execution, i: Instruction) -> None:
    run.push(Group("tuple", tuple(run.pop_many(i.number))))


@_on("BUILD_LIST", "BUILD_SET")
def _build_list(run: Execution, i: Instruction) -> None:
    run.push(Group("list", tuple(run.pop_many(i.number))))


@_on("BUILD_MAP")
def _build_map(run: Execution, i: Instruction) -> None:
    pairs = run.pop_many(2 * i.number)
    run.push(run.reader.mapping(pairs[::2], pairs[1::2]))


@_on("BUILD_CONST_KEY_MAP")
def _build_const_key_map(run: Execution, i: Instruction) -> None:
    keys = run.pop()
    values = run.pop_many(i.number)
    names = keys.value if isinstance(keys, Constant) else (None,) * i.number
    run.push(run.reader.mapping([Constant(name) for name in names], values))


@_on("LIST_EXTEND", "SET_UPDATE")
def _extend(run: Execution, i: Instruction) -> None:
    added = run.pop()
    target = run.stack[-i.number] if i.number <= len(run.stack) else UNKNOWN
    if i.number <= len(run.stack):
        run.stack[-i.number] = run.reader.extended(target, added)


@_on("LIST_APPEND", "SET_ADD")
def _append(run: Execution, i: Instruction) -> None:
    added = run.pop()
    if i.number <= len(run.stack):
        run.stack[-i.number] = run.reader.extended(run.stack[-i.number], Iteration(added))


@_on("LIST_TO_TUPLE")
def _list_to_tuple(run: Execution, i: Instruction) -> None:
    pass


@_on("MAP_ADD")
def _map_add(run: Execution, i: Instruction) -> None:
    key, value = run.pop_many(2)
    run.reader.escape(key)
    if i.number <= len(run.stack):
        run.stack[-i.number] = run.reader.extended(run.stack[-i.number], Iteration(value))


@_on("DICT_UPDATE", "DICT_MERGE")
def _dict_update(run: Execution, i: Instruction) -> None:
    added = run.pop()
    if i.number <= len(run.stack):
        run.stack[-i.number] = run.reader.updated(run.stack[-i.number], added)


@_on("MAKE_FUNCTION")
def _make_function(run: Execution, i: Instruction) -> None:
    code = run.pop()
    parts: dict[int, Any] = {}
    if sys.version_info < (3, 13):
        for flag in (8, 4, 2, 1):
            if i.number & flag:
                parts[flag] = run.pop()
    run.push(_function(run, code, parts))


@_on("SET_FUNCTION_ATTRIBUTE")
def _set_function_attribute(run: Execution, i: Instruction) -> None:
    function = run.pop()
    part = run.pop()
    if isinstance(function, Closure):
        function = _function(run, Constant(function.code), {i.number: part}, function)
    run.push(function)


def _function(run: Execution, code: Any, parts: dict[int, Any], made: Closure | None = None) -> Any:
    """The function that code makes of `code`: `parts` are its defaults (1), keyword-only defaults (2), annotations
    (4) and cells (8)."""
    if not (isinstance(code, Constant) and isinstance(code.value, CodeType)):
        return UNKNOWN
    cells = {} if made is None else made.cells
    closure = parts.get(8)
    if isinstance(closure, Group):
        cells = {
            name: cell if isinstance(cell, Cell) else Cell(cell)
            for name, cell in zip(code.value.co_freevars, closure.items, strict=False)
        }
    defaults = () if made is None else made.defaults
    given = parts.get(1)
    if isinstance(given, Group):
        defaults = given.items
    elif isinstance(given, Constant):
        defaults = tuple(map(Constant, given.value))
    keyword_defaults = {} if made is None else made.keyword_defaults
    named = parts.get(2)
    if isinstance(named, Group) and named.keys is not None:
        keyword_defaults = dict(zip(named.keys, named.items, strict=True))
    return Closure(code.value, run.module, cells, defaults, keyword_defaults)


@_on("KW_NAMES")
def _kw_names(run: Execution, i: Instruction) -> None:
    names = i.argument
    run.keywords = names if isinstance(names, tuple) else run.code.co_consts[i.number]


@_on("CALL", "CALL_KW")
def _call(run: Execution, i: Instruction) -> None:
    names = run.keywords
    run.keywords = ()
    if i.name == "CALL_KW":
        listed = run.pop()
        names = listed.value if isinstance(listed, Constant) else ()
    values = run.pop_many(i.number)
    positional, named = values[: len(values) - len(names)], values[len(values) - len(names) :]
    below, above = run.pop_many(2)
    callee = above if below is UNKNOWN else below
    if below is UNKNOWN and above is UNKNOWN:
        callee = UNKNOWN
    elif sys.version_info < (3, 13) and below is not UNKNOWN and above is not UNKNOWN:
        callee, positional = below, [above, *positional]  # a comprehension: the iterator beside its function
    run.push(run.reader.call(callee, positional, dict(zip(names, named, strict=True)), run, i))


@_on("CALL_FUNCTION_EX")
def _call_function_ex(run: Execution, i: Instruction) -> None:
    if sys.version_info >= (3, 14):
        named = run.pop()
    else:
        named = run.pop() if i.number & 1 else None
    positional = run.pop()
    if sys.version_info >= (3, 13):
        run.pop()
        callee = run.pop()
    else:
        callee = run.pop()
        run.pop()
    run.push(run.reader.call_unpacked(callee, positional, named, run, i))


@_on("IMPORT_NAME")
def _import_name(run: Execution, i: Instruction) -> None:
    level, names = run.pop_many(2)
    run.push(run.reader.imported(i.argument, level, names, run.module))


@_on("IMPORT_FROM")
def _import_from(run: Execution, i: Instruction) -> None:
    run.push(run.reader.attribute(run.stack[-1] if run.stack else UNKNOWN, i.argument))


@_on("BEFORE_WITH")
def _before_with(run: Execution, i: Instruction) -> None:
    manager = run.pop()
    run.push(UNKNOWN)
    run.push(run.reader.enter(manager, run, i))


@_on("PUSH_EXC_INFO")
def _push_exc_info(run: Execution, i: Instruction) -> None:
    value = run.pop()
    run.push(UNKNOWN)
    run.push(value)


@_on("FORMAT_VALUE")
def _format_value(run: Execution, i: Instruction) -> None:
    for value in run.pop_many(2 if i.number & 4 else 1):
        run.reader.escape(value)
    run.push(UNKNOWN)


@_on("BUILD_STRING")
def _build_string(run: Execution, i: Instruction) -> None:
    run.pop_many(i.number)
    run.push(UNKNOWN)


@_on("LOAD_BUILD_CLASS", "LOAD_ASSERTION_ERROR")
def _load_unknown(run: Execution, i: Instruction) -> None:
    run.push(UNKNOWN)


@_on("GET_LEN")
def _get_len(run: Execution, i: Instruction) -> None:
    run.reader.search(run.stack[-1] if run.stack else UNKNOWN)
    run.push(UNKNOWN)
