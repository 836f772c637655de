"""Functions with rewritten code: found by their source, compiled once, given to the functions for a trace."""

from __future__ import annotations
import __future__

import ast
import inspect
import linecache
import re
from collections.abc import Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final, Literal, TypeAlias

from ...base.loading import load_module
from ...base.process.finalization import WeakTable, forgotten_with
from ...base.process.locks import ForkLock
from ...frontend.bytecode import decode
from ...frontend.rewritten import original, stands_for
from ..unrolled import Comprehensions
from .definitions import complete, extent, function_at, lambda_at
from .descriptions import Statement, mark_comprehensions
from .expressions import RUNTIME, follow_calls
from .refusals import refusal
from .syntax import locate_missing, placed

#: The extent to which a function is rewritten: its comprehensions alone, its loops and calls, or all of it,
#: as a part of a loop's step.
Extent: TypeAlias = Literal["comprehensions", "function", "step"]

_LOCK: Final = ForkLock()
#: Rewritten code by the identity of the original code and the extent: a weak reference to the original, with
#: which the entry goes, and the new code or the reason why there is none.
_REWRITTEN: Final[dict[tuple[int, Extent], tuple[Any, CodeType | str]]] = {}
#: Functions that loops call: the code, and a copy of the function for the inside of loops.
_COPIES: Final[WeakTable[FunctionType, tuple[Any, FunctionType]]] = WeakTable()
#: Code that checks its calls and writes, by identity.
_CHECKED: Final[dict[int, Any]] = {}
#: Functions that have rewritten code now: how many traces want that, their own code, and how far the other
#: is rewritten.
_CONVERTED: Final[dict[int, tuple[FunctionType, int, CodeType, Extent]]] = {}
#: Runtimes that replace the placeholder in code: for code of which only comprehensions are rewritten, and for
#: other code.
_RUNTIME: Final[list[Any]] = [Comprehensions()]
_FUTURE: Final = sum(
    getattr(__future__, name).compiler_flag for name in __future__.all_feature_names
)  # the flags of a code object that change how its source compiles


def set_runtime(runtime: Any) -> None:
    """Let rewritten code call the methods of `runtime`."""
    _RUNTIME[1:] = [runtime]


class Converted:
    """Context manager: `functions` have code in which loops can be traced as loops, rewritten so far.
    `problems` has, by the function's code, why one keeps its own."""

    def __init__(self, functions: Mapping[FunctionType, Extent]) -> None:
        self._functions = dict(functions)
        self.problems: dict[CodeType, str] = {}
        self._entered: list[FunctionType] = []

    def __enter__(self) -> Converted:
        try:
            self._convert()
        except BaseException:  # of a signal's handler, too
            self.__exit__()
            raise
        return self

    def _convert(self) -> None:
        for function, asked in self._functions.items():
            with _LOCK:
                held = _CONVERTED.get(id(function))
                if held is not None and held[3] in (asked, "function"):
                    _CONVERTED[id(function)] = (function, held[1] + 1, *held[2:])
                    self._entered.append(function)
                    continue
                traces, code = (0, function.__code__) if held is None else held[1:3]
                other = rewritten_code(function, code, asked)
                if isinstance(other, str):
                    self.problems[code] = other
                    continue
                _CONVERTED[id(function)] = (function, traces + 1, code, asked)
                self._entered.append(function)
                function.__code__ = other

    def __exit__(self, *exc: object) -> None:
        for function in self._entered:
            with _LOCK:
                held = _CONVERTED[id(function)]
                if held[1] > 1:
                    _CONVERTED[id(function)] = (function, held[1] - 1, *held[2:])
                    continue
                del _CONVERTED[id(function)]
                function.__code__ = held[2]


def inner_copy(function: FunctionType) -> FunctionType | str:
    """`function` as a part of loops that call it, or why there is none."""
    source = original(function.__code__)
    cached = _COPIES.get(function)
    if cached is not None and cached[0] is source:
        copy = cached[1]
    else:
        code = rewritten_code(function, function.__code__, "step")
        if isinstance(code, str):
            return code
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        closure = tuple([cells[name] for name in code.co_freevars])
        copy = FunctionType(code, function.__globals__, function.__name__, None, closure)
        copy.__qualname__ = function.__qualname__
        _COPIES[function] = source, copy
    copy.__defaults__, copy.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    return copy


def rewritten_code(function: FunctionType, code: CodeType, extent: Extent) -> CodeType | str:
    """The `code` of `function`, rewritten so far, or why there is none."""
    key = id(code), extent
    cached = _REWRITTEN.get(key)
    if cached is None:
        cached = forgotten_with(code, _REWRITTEN, key), _rewrite(function, code, extent)
        _REWRITTEN[key] = cached
    return cached[1]


def _rewrite(function: FunctionType, code: CodeType, extent: Extent) -> CodeType | str:
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        return f"{function.__qualname__} is a generator or a coroutine"
    parsed = _parsed(function, code)
    if isinstance(parsed, str):
        return parsed
    module, definition = parsed
    inside = extent == "step"
    reason = refusal(definition, set(code.co_freevars)) if inside else ""
    if reason:
        return f"{function.__qualname__}: {reason}"
    statements: list[Statement] = []
    if extent == "comprehensions":
        mark_comprehensions(definition, code.co_filename, statements)
    else:
        rewriter = load_module(".rewriting", __package__).FunctionRewriter
        rewriter(code.co_filename, statements).rewrite(definition, inside=inside)
        follow_calls(definition.body)
        locate_missing(module)
    try:
        compiled = _compiled(module, function, code)
    except (SyntaxError, RecursionError) as error:
        return f"{function.__qualname__} cannot be rewritten: {error}"
    if compiled is None or set(compiled.co_freevars) != set(code.co_freevars):
        return f"{function.__qualname__} cannot be rewritten: its closure would change"
    if not inside and compiled.co_freevars != code.co_freevars:
        return f"{function.__qualname__} cannot be rewritten: its closure would change"
    runtime = _RUNTIME[extent != "comprehensions"]
    return _finished(compiled, original(code), statements, runtime, checked=inside)


def is_checked(code: CodeType) -> bool:
    """Whether `code` checks its calls and writes."""
    return id(code) in _CHECKED


def _finished(
    code: CodeType, source: CodeType, statements: list[Statement], runtime: Any, *, checked: bool
) -> CodeType:
    """`code` with what its placeholders stand for; it and the functions that rewriting made stand for
    `source`. It is `checked` if it is a part of loops."""
    constants: list[Any] = []
    inner = {_place(constant): constant for constant in source.co_consts if isinstance(constant, CodeType)}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            owner = source
            if not constant.co_name.startswith("_tj_"):
                owner = inner.get(_place(constant), source)
            part_of_loop = checked or constant.co_name.startswith("_tj_")
            constants.append(_finished(constant, owner, statements, runtime, checked=part_of_loop))
        elif constant == RUNTIME and isinstance(constant, str):
            constants.append(runtime)
        elif isinstance(constant, str) and constant.startswith(RUNTIME):
            constants.append(statements[int(constant[len(RUNTIME) :])])
        else:
            constants.append(constant)
    generated = code.co_name.startswith("_tj_")
    names = _qualified(source) if generated else {}
    if not generated and hasattr(code, "co_qualname"):
        names = {"co_qualname": re.sub(r"_tj_\w+\.<locals>\.(_\.)?", "", code.co_qualname)}
    name = source.co_name if generated else code.co_name
    result = code.replace(co_consts=tuple(constants), co_name=name, **names)
    stands_for(result, source)
    if checked:
        _CHECKED[id(result)] = forgotten_with(result, _CHECKED, id(result))
    return result


def _place(code: CodeType) -> tuple[Any, ...]:
    """The key of `code` among the code objects of its function; rewriting keeps it."""
    if code.co_name != "<lambda>":
        return code.co_name, code.co_firstlineno
    return code.co_varnames[: code.co_argcount], extent(code)


def _parsed(function: FunctionType, code: CodeType) -> tuple[ast.Module, ast.FunctionDef] | str:
    """The syntax tree of `function` in a module of its own, with the lines of its file."""
    name = function.__qualname__
    linecache.checkcache(code.co_filename)
    lines, first = linecache.getlines(code.co_filename, function.__globals__), code.co_firstlineno
    if not 0 < first <= len(lines):
        return f"the source of {name} cannot be found"
    find = lambda_at if code.co_name == "<lambda>" else function_at
    definition = find(original(code), lines)
    if isinstance(definition, str):
        return f"the source of {name} {definition}"
    wrapped = _wrapped(definition, function, code)
    if original(code) is code:
        same = _compiled(wrapped, function, code)
        if same != code and (same is None or _outline(same) != _outline(code)):
            return f"the source of {name} has changed since it was loaded"
    return wrapped, definition


#: Instructions for calls of methods, between which Python chooses by what else the module has.
_CALLS: Final = frozenset(("LOAD_METHOD", "LOAD_ATTR", "PUSH_NULL"))


def _outline(code: CodeType) -> list[tuple[str, int, Any]]:
    """The outline of the code of a function, by which code of another source text differs."""
    return [
        (i.name, i.line, i.argument if isinstance(i.argument, (str, int, float)) and i.target < 0 else None)
        for i in decode(code).instructions
        if i.name not in _CALLS
    ]


def _wrapped(definition: ast.FunctionDef, function: FunctionType, code: CodeType) -> ast.Module:
    """A module that makes `definition` where its free variables are variables of a function around it, and
    its class, which private names belong to, has its name."""
    outer = function.__qualname__.split(".")[-2:-1]
    # names of a class are no variables of the functions in it; and a class "_" mangles no names
    name = outer[0] if outer and outer[0].isidentifier() else "_"
    inner = placed(ast.ClassDef(name, [], [], [definition], []), definition)
    complete(inner)
    arguments = ast.arguments(
        posonlyargs=[],
        args=[placed(ast.arg(name), definition) for name in code.co_freevars],
        kwonlyargs=[],
        kw_defaults=[],
        defaults=[],
    )
    body: list[ast.stmt] = [inner]
    if name not in code.co_freevars:  # what the function itself finds under the name of its class
        body.insert(0, placed(ast.Global([name]), definition))
    factory = ast.FunctionDef("_tj_factory", arguments, body, [])
    complete(factory)
    placed(factory, definition)
    # how a method is called depends on whether its owner was imported
    modules = [name for name in code.co_names if isinstance(function.__globals__.get(name), ModuleType)]
    aliases = [placed(ast.alias(name), definition) for name in modules]
    imports: list[ast.stmt] = [placed(ast.Import(aliases), definition)] if aliases else []
    return ast.Module([*imports, factory], [])


def _compiled(module: ast.Module, function: FunctionType, code: CodeType) -> CodeType | None:
    """The code of the function in `module`."""
    flags = code.co_flags & _FUTURE
    pending = [compile(module, code.co_filename, "exec", flags=flags, dont_inherit=True)]
    while pending:
        outer = pending.pop(0)
        for constant in outer.co_consts:
            if isinstance(constant, CodeType):
                if constant.co_name == code.co_name and constant.co_firstlineno == code.co_firstlineno:
                    flags = constant.co_flags & ~inspect.CO_NESTED | code.co_flags & inspect.CO_NESTED
                    return constant.replace(co_flags=flags, **_qualified(code))
                pending.append(constant)
    return None


def _qualified(code: CodeType) -> dict[str, Any]:
    return {"co_qualname": code.co_qualname} if hasattr(code, "co_qualname") else {}
