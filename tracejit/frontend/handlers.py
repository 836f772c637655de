"""Handlers of exceptions around the running instruction of a frame: whether code of the function would see an
error there, by ``except``, ``finally`` or a context manager."""

from __future__ import annotations

import builtins
import contextlib
import inspect
from collections.abc import Iterator, Sequence
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, Final

from ..base.user_code import is_user_file
from .bytecode import Instruction, Program, decode

#: Stands for a value that is not known before the code runs.
_UNKNOWN: Final = object()
_GLOBALS: Final = frozenset(("LOAD_GLOBAL", "LOAD_NAME"))
_LOCALS: Final = frozenset(
    ("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW", "LOAD_DEREF", "LOAD_CLASSDEREF")
)
_ATTRIBUTES: Final = frozenset(("LOAD_ATTR", "LOAD_METHOD"))
#: Remaining instructions of expressions without branches.
_EXPRESSION: Final = frozenset(
    ("LOAD_CONST", "LOAD_SMALL_INT", "PUSH_NULL", "CALL", "CALL_KW", "KW_NAMES", "BUILD_TUPLE", "BUILD_LIST",
     "BINARY_SUBSCR", "BINARY_OP", "CALL_FUNCTION_EX", "BUILD_MAP", "BUILD_CONST_KEY_MAP", "DICT_MERGE",
     "FORMAT_VALUE", "FORMAT_SIMPLE", "BUILD_STRING")
)  # fmt: skip
#: Instructions by which a ``with`` statement enters its context manager; Python 3.14 copies it first.
_ENTERS: Final = frozenset(("BEFORE_WITH", "BEFORE_ASYNC_WITH", "COPY"))


def handles(frame: FrameType, errors: Sequence[type[BaseException]]) -> bool:
    """Whether code of `frame` would see one of `errors` if the instruction that runs raised it. In doubt it
    would."""
    code = frame.f_code
    return bool(code.co_exceptiontable) and _Handlers(code, _Names(frame)).see(frame.f_lasti, errors)


def handles_at(
    code: CodeType, module: dict[str, Any], offset: int, errors: Sequence[type[BaseException]]
) -> bool:
    """Whether `code`, a function's in `module`, would see one of `errors` that the instruction at `offset`
    raises. In doubt it would."""
    return bool(code.co_exceptiontable) and _Handlers(code, _Names(module)).see(offset, errors)


class _Names:
    """The values of names in a frame, or in a function of a module that does not run."""

    def __init__(self, frame: FrameType | dict[str, Any]) -> None:
        self._frame = frame

    def value(self, instruction: Instruction) -> Any:
        """The value that an instruction loads by its name."""
        name = instruction.argument
        if isinstance(self._frame, dict):
            spaces: list[Any] = [self._frame, vars(builtins)]
        elif instruction.name == "LOAD_GLOBAL":
            spaces = [self._frame.f_globals, self._frame.f_builtins]
        else:
            spaces = [self._frame.f_locals, self._frame.f_globals, self._frame.f_builtins]
        return next((space[name] for space in spaces if name in space), _UNKNOWN)


def _attribute(value: Any, name: str) -> Any:
    """An attribute, without running code of the object's; a function for a method."""
    if isinstance(value, ModuleType):
        return vars(value).get(name, _UNKNOWN)
    return inspect.getattr_static(value, name, _UNKNOWN)


class _Handlers:
    """The handlers of `code`, where names have the values that `names` says."""

    def __init__(self, code: CodeType, names: _Names) -> None:
        self._program: Program = decode(code)
        self._instructions = self._program.instructions
        self._names = names

    def see(self, offset: int, errors: Sequence[type[BaseException]]) -> bool:
        """Whether one of `errors` at the instruction at `offset` comes to a handler."""
        # a call is noted by the end of its instruction, whose cache is skipped
        position = next((i.position for i in reversed(self._instructions) if i.offset <= offset), -1)
        seen = set()
        while position >= 0 and position not in seen:
            seen.add(position)
            handler = next((h for h in self._program.handlers if h.start <= position < h.end), None)
            if handler is None:
                return False
            position = self._passed_on(handler.target, errors)
            if position < 0:
                return True
        return False

    def _passed_on(self, target: int, errors: Sequence[type[BaseException]]) -> int:
        """The position of the instruction that raises `errors` again in the handler at `target`, whose other
        code none of them comes to; -1 where one does."""
        position = target
        if self._instructions[position].name != "PUSH_EXC_INFO":  # the end of a handler
            return self._reraising(position)
        position += 1
        while True:
            name = self._instructions[position].name
            if name == "RERAISE":
                return position
            if name == "WITH_EXCEPT_START":
                return -1 if self._is_swallowed(target, errors) else self._reraising(position)
            values = []
            while (name := self._instructions[position].name) in _GLOBALS | _LOCALS | _ATTRIBUTES or (
                name in ("BUILD_TUPLE", "PUSH_NULL")
            ):
                values.append(self._instructions[position])
                position += 1
            if name != "CHECK_EXC_MATCH":
                return -1  # `except:`, `finally`, or a class that is computed
            classes = [value for _, value in self._chains(values)]
            if not classes or any(not _is_known(each) or _is_caught(each, errors) for each in classes):
                return -1
            position = self._instructions[position + 1].target

    def _reraising(self, position: int) -> int:
        while self._instructions[position].name != "RERAISE":
            position += 1
        return position

    def _chains(self, instructions: Sequence[Instruction]) -> Iterator[tuple[Instruction, Any]]:
        """The values of names, with the attributes that are read of them."""
        root, value = None, _UNKNOWN
        for instruction in instructions:
            if instruction.name in _ATTRIBUTES and root is not None:
                value = _attribute(value, instruction.argument)
                continue
            if root is not None:
                yield root, value
            root = None
            if instruction.name in _GLOBALS | _LOCALS:
                root, value = instruction, self._names.value(instruction)
        if root is not None:
            yield root, value

    def _is_swallowed(self, target: int, errors: Sequence[type[BaseException]]) -> bool:
        """Whether the context manager, whose handler is at `target`, may end one of `errors`."""
        position = min(h.start for h in self._program.handlers if h.target == target) - 1
        while position >= 0 and self._instructions[position].name not in _ENTERS:
            position -= 1
        end = position
        while position > 0 and self._instructions[position - 1].name in (
            _GLOBALS | _LOCALS | _ATTRIBUTES | _EXPRESSION
        ):
            position -= 1
        expression = self._instructions[position:end]
        chains = [value for _, value in self._chains(expression)]
        if not chains:
            return True
        is_called = any(instruction.name.startswith("CALL") for instruction in expression)
        return _may_end(chains[0], chains[1:], errors, is_called=is_called)


def _is_known(value: Any) -> bool:
    classes = value if isinstance(value, tuple) else (value,)
    return all(isinstance(each, type) and issubclass(each, BaseException) for each in classes)


def _is_caught(value: Any, errors: Sequence[type[BaseException]]) -> bool:
    classes = value if isinstance(value, tuple) else (value,)
    return any(issubclass(error, each) or issubclass(each, error) for error in errors for each in classes)


def _may_end(
    value: Any, arguments: Sequence[Any], errors: Sequence[type[BaseException]], *, is_called: bool
) -> bool:
    """Whether a context manager may end one of `errors`: what `value` makes of `arguments`, or `value`."""
    if value is contextlib.suppress:
        return not all(map(_is_known, arguments)) or any(_is_caught(each, errors) for each in arguments)
    if isinstance(value, (staticmethod, classmethod)):
        value = value.__func__
    generator = getattr(value, "__wrapped__", None)
    if isinstance(value, FunctionType) and isinstance(generator, FunctionType):
        return _sees_at_yields(generator, errors)
    manager = value if isinstance(value, type) else type(value)
    if is_called and not isinstance(value, type):
        code = getattr(value, "__code__", None)
        return not isinstance(code, CodeType) or is_user_file(code.co_filename)
    leave = inspect.getattr_static(manager, "__exit__", None)
    if not isinstance(leave, FunctionType):  # a lock, a file, an array iterator: C code
        return value is _UNKNOWN
    if not is_user_file(leave.__code__.co_filename):
        return False
    instructions = decode(leave.__code__).instructions
    return not all(
        instruction.argument in (None, False)
        if instruction.name == "RETURN_CONST"
        else instructions[instruction.position - 1].name == "LOAD_CONST"
        and instructions[instruction.position - 1].argument in (None, False)
        for instruction in instructions
        if instruction.name in ("RETURN_VALUE", "RETURN_CONST")
    )


def _sees_at_yields(generator: FunctionType, errors: Sequence[type[BaseException]]) -> bool:
    """Whether `generator`, which is a context manager, comes to a handler of its own for `errors`."""
    return is_user_file(generator.__code__.co_filename) and _sees(generator, errors, ("YIELD_VALUE",))


def handles_anywhere(function: FunctionType, errors: Sequence[type[BaseException]]) -> bool:
    """Whether `function` would see one of `errors` that an operator or a call of it raises."""
    return bool(function.__code__.co_exceptiontable) and _sees(
        function, errors, ("BINARY_OP", "CALL", "UNARY")
    )


def _sees(function: FunctionType, errors: Sequence[type[BaseException]], names: tuple[str, ...]) -> bool:
    """Whether `function` comes to a handler for `errors` of an instruction whose name begins with one of
    `names`."""
    handlers = _Handlers(function.__code__, _Names(function.__globals__))
    return any(
        handlers.see(instruction.offset, errors)
        for instruction in decode(function.__code__).instructions
        if instruction.name.startswith(names)
    )
