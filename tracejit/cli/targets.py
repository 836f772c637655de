"""What a command looks at: the options that name it, and the function with the arguments they stand for."""

from __future__ import annotations

import argparse
import ast
import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from ..ir.dtypes import is_float
from ..ir.graph import Function
from ..ir.records import record
from ..ir.text.parser import parse_functions
from ..ir.types import TensorType
from ..ir.verifier import verify
from ..jit import JitFunction
from ..mapping import vmap
from ..paths import MAX_PATHS
from ..products import jvp
from ..pytree import flatten, tree_map
from ..regions import replay
from ..tensor import Tensor
from ..transforms import grad
from .errors import TargetError, UsageError
from .loading import explained, load_function
from .specs import parse_spec

#: Examples of ``--vmap`` without a number.
BATCH: Final = 8

TARGET_HELP = """\
TARGET is FILE.py:FUNCTION, package.module:FUNCTION, FILE.tir, FILE.tir:FUNCTION, or - for the text of
a .tir file on standard input. Each --arg is the type of an argument, in order or as NAME=TYPE:
  f32[128,64]   i64[]   float, int, bool (Python numbers)
  {w: f64[3], b: f64[]}   [f64[2], float]   (f64[2], f64[])
"""


def add_target_options(parser: argparse.ArgumentParser) -> None:
    """TARGET, and the options that say with which arguments and transformed how."""
    parser.add_argument(
        "target", metavar="TARGET", help="FILE.py:FUNCTION, package.module:FUNCTION or FILE.tir"
    )
    parser.add_argument(
        "--arg",
        action="append",
        default=[],
        metavar="TYPE",
        help="an argument's type: f32[128,64], float, ...",
    )
    parser.add_argument(
        "--args-from", metavar="FILE.py:FUNCTION", help="a function that returns the arguments, in a tuple"
    )
    parser.add_argument(
        "--static", action="append", default=[], metavar="NAME=VALUE", help="an argument that is a constant"
    )
    parser.add_argument(
        "--grad",
        nargs="?",
        const="0",
        metavar="ARGNUMS",
        help="the gradient instead, by the first argument or by those numbered: 0,2",
    )
    parser.add_argument(
        "--vmap",
        nargs="?",
        type=int,
        const=BATCH,
        metavar="SIZE",
        help=f"map over a new first axis of every argument, {BATCH} examples unless told; after --grad",
    )


@record(eq=False)
class Subject:
    """A function with arguments: TensorTypes and Python numbers, or real ones."""

    #: The target as the user wrote it.
    label: str
    #: A function of `args` alone: what is static is bound.
    fn: Callable[..., Any]
    args: tuple[Any, ...]
    #: Whether the arguments have values, by which Python code may branch.
    valued: bool = False
    #: The Function of a ``.tir`` target, as long as nothing has transformed it.
    function: Function | None = None

    def trace(self) -> Function:
        """The Function of these arguments. Raises TargetError where tracing fails."""
        if self.function is not None:
            return self.function
        try:
            return JitFunction(self.fn, max_paths=MAX_PATHS if self.valued else 0).trace(*self.args)
        except Exception as error:
            raise TargetError(f"{self.label} could not be traced{explained(error)}") from error

    def gradient(self, argnums: Sequence[int]) -> Subject:
        """The gradient by the arguments `argnums`: a tuple, unless there is one."""
        which = argnums[0] if len(argnums) == 1 else tuple(argnums)
        return self._with(grad(self.fn, which), self.args)

    def mapped(self, size: int) -> Subject:
        """The same for `size` examples, stacked along a new first axis of every array."""
        axes = tuple(tree_map(lambda leaf: None if _is_number(leaf) else 0, one) for one in self.args)
        args = tuple(tree_map(lambda leaf: _stacked(leaf, size), one) for one in self.args)
        return self._with(vmap(self.fn, axes), args)

    def pushed_forward(self) -> Subject:
        """The function and its derivative along tangents, which are further arguments: forward mode."""
        floating = [i for i, one in enumerate(self.args) if _is_floating(one)]
        if not floating:
            raise TargetError(f"{self.label}: forward mode needs an argument of floats")
        count, fn = len(self.args), self.fn

        def both(*args: Any) -> Any:
            primals, tangents = list(args[:count]), args[count:]

            def of_floating(*moving: Any) -> Any:
                for position, one in zip(floating, moving, strict=True):
                    primals[position] = one
                return fn(*primals)

            return jvp(of_floating, tuple(primals[i] for i in floating), tangents)

        names = list(inspect.signature(fn).parameters)
        tangents = tuple(tree_map(_tangent, self.args[i]) for i in floating)
        named = with_names(
            both, getattr(fn, "__name__", "f"), [*names, *(f"{names[i]}_tangent" for i in floating)]
        )
        return self._with(named, self.args + tangents)

    def _with(self, fn: Callable[..., Any], args: tuple[Any, ...]) -> Subject:
        return Subject(self.label, fn, args, self.valued)


def subject_of(options: argparse.Namespace) -> Subject:
    """What the options name, transformed as they say. Raises UsageError, TargetError or ParseError."""
    subject = plain_subject(options)
    if options.grad is not None:
        subject = subject.gradient(parse_argnums(options.grad))
    if options.vmap is not None:
        if options.vmap < 1:
            raise UsageError(f"--vmap: expected a positive number of examples, got {options.vmap}")
        subject = subject.mapped(options.vmap)
    return subject


def plain_subject(options: argparse.Namespace) -> Subject:
    """What the options name, before --grad and --vmap."""
    place, _, name = options.target.rpartition(":")
    if options.target == "-" or options.target.endswith(".tir") or place.endswith(".tir"):
        if options.arg or options.args_from or options.static:
            raise UsageError(
                f"{options.target} has its arguments' types: leave --arg, --args-from and --static out"
            )
        return _subject_of_text(
            options.target, *((place, name) if place.endswith(".tir") else (options.target, ""))
        )
    return _subject_of_python(options)


def parse_argnums(text: str) -> tuple[int, ...]:
    """``0,2`` as numbers of arguments."""
    try:
        return tuple(int(one) for one in text.split(","))
    except ValueError:
        raise UsageError(f"--grad: expected numbers of arguments such as 0 or 0,2, got {text!r}") from None


def with_names(fn: Callable[..., Any], name: str, names: Sequence[str]) -> Callable[..., Any]:
    """`fn`, which takes positional arguments, with a name and named parameters, which the IR will have."""
    fn.__name__ = name
    kind = inspect.Parameter.POSITIONAL_ONLY
    fn.__signature__ = inspect.Signature([inspect.Parameter(one, kind) for one in names])  # type: ignore[attr-defined]
    return fn


# -- .tir files ------------------------------------------------------------------------------------


def read_text(path: str) -> str:
    """The text of a file, or of standard input for ``-``. Raises UsageError where there is none."""
    if path == "-":
        return sys.stdin.read()
    try:
        return Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UsageError(f"there is no file {path}") from None
    except UnicodeDecodeError as error:
        raise TargetError(f"{path} is not a text file: {error}") from None


def _subject_of_text(label: str, path: str, name: str) -> Subject:
    functions = {one.name: one for one in parse_functions(read_text(path))}
    if name and name not in functions:
        raise UsageError(f"{path} has no function {name!r}; it has {', '.join(functions) or 'none'}")
    if not name and len(functions) != 1:
        which = f"name one as {path}:NAME: {', '.join(functions)}" if functions else "there is none"
        raise UsageError(f"{path}: expected one function; {which}")
    function = functions[name] if name else next(iter(functions.values()))
    verify(function)

    def run(*args: Any) -> Any:
        results = replay(function, args)
        return results[0] if len(results) == 1 else tuple(results)

    names = [one.hint or f"arg{i}" for i, one in enumerate(function.params)]
    named = with_names(
        run, function.name, [one if one.isidentifier() else f"arg{i}" for i, one in enumerate(names)]
    )
    return Subject(label, named, tuple(one.type for one in function.params), function=function)


# -- Python ----------------------------------------------------------------------------------------


def _subject_of_python(options: argparse.Namespace) -> Subject:
    fn = load_function(options.target)
    known: tuple[str, ...] = ()
    if isinstance(fn, JitFunction):
        known = tuple(fn._static_argnames)
        fn = fn._fn
    static = dict(_static(one) for one in options.static)
    named: dict[str, Any] = {}
    if options.args_from is not None:
        if options.arg:
            raise UsageError("--arg and --args-from both give the arguments: use one of them")
        positional = list(_made(options.args_from))
    else:
        positional, named = _specs(options.arg)
    for name in static:
        if name in named:
            raise UsageError(f"{name} is given by --arg and by --static")
    call = _Call(options.target, fn, static, known)
    names, args = call.bind(positional, named)
    bound = with_names(call, getattr(fn, "__name__", "f"), names)
    return Subject(options.target, bound, tuple(args), valued=options.args_from is not None)


class _Call:
    """A call of the user's function by a flat list of the arguments that are not static."""

    def __init__(
        self, label: str, fn: Callable[..., Any], static: dict[str, Any], known: tuple[str, ...]
    ) -> None:
        self.label, self.fn, self.static, self.known = label, fn, static, known
        self.names: list[str] = []
        #: How many of the arguments follow the named parameters, for ``*args``.
        self.extra = 0

    def __call__(self, *args: Any) -> Any:
        count = len(args) - self.extra
        given = {**self.static, **dict(zip(self.names, args[:count], strict=True))}
        positional: list[Any] = []
        for parameter in self.parameters:
            if parameter.kind is parameter.VAR_POSITIONAL:
                positional += args[count:]
            elif parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
                break
            elif parameter.name not in given:
                break  # it has a default, and what follows goes by name
            else:
                positional.append(given.pop(parameter.name))
        return self.fn(*positional, **given)

    def bind(self, positional: Sequence[Any], named: dict[str, Any]) -> tuple[list[str], list[Any]]:
        """The names and values of the arguments in the order of the parameters. Raises UsageError."""
        self.parameters = self._parameters(len(positional))
        waiting = list(positional)
        values: list[Any] = []
        takes_names = any(one.kind is one.VAR_KEYWORD for one in self.parameters)
        order = [one.name for one in self.parameters if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
        for name in [*named, *self.static]:
            if name not in order and not takes_names:
                raise UsageError(
                    f"{self.label} has no parameter {name!r}; it has {', '.join(order) or 'none'}"
                )
        for one in self.parameters:
            if one.name in self.static or one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
                continue
            if one.name in named:
                self.names.append(one.name)
                values.append(named[one.name])
            elif waiting and one.name not in self.known and one.kind is not one.KEYWORD_ONLY:
                self.names.append(one.name)
                values.append(waiting.pop(0))
            elif one.default is one.empty:
                what = "is static" if one.name in self.known else "has no type"
                how = f"--static {one.name}=VALUE" if one.name in self.known else f"--arg {one.name}=TYPE"
                raise UsageError(f"{self.label}: argument {one.name!r} {what}: give it with {how}")
        for name in named:
            if name not in order:
                self.names.append(name)
                values.append(named[name])
        if waiting and not any(one.kind is one.VAR_POSITIONAL for one in self.parameters):
            count = len(order)
            raise UsageError(
                f"{self.label} takes {count} argument{'s' * (count != 1)} ({', '.join(order)}), "
                f"not {len(values) + len(waiting)}"
            )
        self.extra = len(waiting)
        extra = [f"arg{len(values) + i}" for i in range(self.extra)]
        return [*self.names, *extra], [*values, *waiting]

    def _parameters(self, count: int) -> list[inspect.Parameter]:
        try:
            return list(inspect.signature(self.fn).parameters.values())
        except (TypeError, ValueError):  # a builtin that does not tell
            kind = inspect.Parameter.POSITIONAL_ONLY
            return [inspect.Parameter(f"arg{i}", kind) for i in range(count)]


def _specs(texts: Sequence[str]) -> tuple[list[Any], dict[str, Any]]:
    """Types in order, and those by name."""
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for text in texts:
        name, equals, spec = text.partition("=")
        if equals and name.strip().isidentifier():
            if name.strip() in named:
                raise UsageError(f"--arg {name.strip()}=... is there twice")
            named[name.strip()] = parse_spec(spec)
        else:
            positional.append(parse_spec(text))
    return positional, named


def _static(text: str) -> tuple[str, Any]:
    """``name=value``: a Python literal, or else the text itself."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip().isidentifier():
        raise UsageError(f"--static: expected NAME=VALUE, got {text!r}")
    try:
        return name.strip(), ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name.strip(), value


def _made(target: str) -> tuple[Any, ...]:
    """What the function of ``--args-from`` returns."""
    try:
        made = load_function(target)()
    except (UsageError, TargetError):
        raise
    except Exception as error:
        raise TargetError(f"--args-from {target} failed{explained(error)}") from error
    return made if type(made) is tuple else (made,)


# -- leaves ----------------------------------------------------------------------------------------


def _is_number(leaf: Any) -> bool:
    return isinstance(leaf, (bool, int, float))


def _is_floating(tree: Any) -> bool:
    leaves = flatten(tree)[0]
    return bool(leaves) and all(
        isinstance(one, float) if _is_number(one) else is_float(one.dtype) for one in leaves
    )


def _stacked(leaf: Any, size: int) -> Any:
    """`leaf` for `size` examples; a Python number is the same for all."""
    if _is_number(leaf):
        return leaf
    if isinstance(leaf, TensorType):
        return leaf.with_shape((size, *leaf.shape))
    array = leaf.numpy() if isinstance(leaf, Tensor) else np.asarray(leaf)
    return np.ascontiguousarray(np.broadcast_to(array, (size, *array.shape)))


def _tangent(leaf: Any) -> Any:
    """What stands for the tangent of `leaf`."""
    if isinstance(leaf, (TensorType, float)):
        return leaf
    return np.ones_like(leaf.numpy() if isinstance(leaf, Tensor) else leaf)


def add_common_options(parser: argparse.ArgumentParser) -> None:
    """What every command takes."""
    parser.add_argument(
        "--traceback",
        action="store_true",
        default=argparse.SUPPRESS,
        help="show Python's traceback of an error",
    )
