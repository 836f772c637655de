"""Targets of commands: a function with its arguments."""

from __future__ import annotations

import argparse
import ast
import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ...base.errors import ConcretizationError
from ...base.process.locks import computed_once
from ...dispatch.regions import replay
from ...ir.dtypes import is_differentiable
from ...ir.graph import Function
from ...ir.types import TensorType
from ...jitted.function import JitFunction
from ...pytree import flatten, tree_map
from ...tensors.tensor import Tensor
from ...tracing.branches import array_of
from ...tracing.traces import Traced
from ...transforms.grad import grad
from ...transforms.vjp_jvp import jvp
from ...transforms.vmap import vmap
from ..viewer import input_values
from .documents import FUNCTIONS, is_document
from .errors import TargetError, UsageError
from .inputs import random_array
from .loading import explained, load_function, users_code
from .specs import Call, parse_argnums, parse_spec

Array = np.ndarray[Any, Any]

#: Prefixes of the options of ``jit`` that select parameters.
_OF_PARAMETERS: Final = ("static_", "donate_")


class CommandSubject:
    """A call of a function: its arguments are TensorTypes and Python numbers, or real ones.

    Attributes:
        label: the target as the user wrote it.
        fn: the function, `args` and `kwargs` its arguments, and `options` those of its ``jit``.
        call: the call as a function of positional arguments; None where `fn` has no others.
        valued: whether the arguments have values, by which Python code may branch.
        seed: the seed of random arguments.
        notes: lines for the user that standard error has already; transforms of this target share them.
        function: the Function of a ``.tir`` target, as long as nothing has transformed it.
    """

    def __init__(
        self,
        label: str,
        fn: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any] | None = None,
        options: dict[str, Any] | None = None,
        call: Call | None = None,
        *,
        valued: bool = False,
        function: Function | None = None,
        notes: set[str] | None = None,
    ) -> None:
        self.label, self.fn, self.args, self.kwargs = label, fn, args, kwargs or {}
        self.options, self.call, self.valued, self.function = options or {}, call, valued, function
        self.seed, self.notes = 0, set() if notes is None else notes

    @computed_once
    def jitted(self) -> JitFunction:
        """The jitted function that a call of these arguments calls."""
        paths = {} if self.valued else {"max_paths": 0}
        return JitFunction(self.fn, **{**self.options, **paths})

    def traced(self) -> Traced:
        """The Function of these arguments, and what it captures. Raises TargetError where tracing fails.

        Where Python code asks for values that types do not have, the arguments become random arrays: the
        Function is then that of the path which their values take."""
        if self.function is not None:
            return Traced(self.function, [], {}, None, [])
        try:
            with users_code():
                return self._traced_as_called()
        except (Exception, SystemExit) as error:
            raise TargetError(f"{self.label} could not be traced{explained(error)}") from error

    def _traced_as_called(self) -> Traced:
        try:
            return self.jitted._trace(self.args, self.kwargs)
        except ConcretizationError as asked:
            subject = self.with_random_values()
            try:
                traced = subject.jitted._trace(subject.args, subject.kwargs)
            except ConcretizationError:  # values do not help
                raise asked from None
        self.args, self.kwargs, self.valued, self.jitted = subject.args, subject.kwargs, True, subject.jitted
        self._note(
            f"{self.label} asks for values: this is the path of random arguments; --args-from gives others"
        )
        return traced

    def _note(self, text: str) -> None:
        """Print `text` on standard error, once."""
        if text not in self.notes:
            self.notes.add(text)
            print(f"tracejit: {text}", file=sys.stderr)

    def trace(self) -> Function:
        """The Function of these arguments. Raises TargetError where tracing fails."""
        return self.traced().function

    def leaves(self) -> list[Any]:
        """The leaves of the arguments that are not static, in the order of the parameters."""
        leaves: list[Any] = flatten(self.jitted._split(self.args, self.kwargs)[1])[0]
        return leaves

    def values(self, traced: Traced) -> list[Array | None]:
        """The arrays that the parameters stand for: the arguments, None for types, and the captures."""
        return [*input_values(self.leaves()), *map(array_of, traced.captured)]

    def with_random_values(self) -> CommandSubject:
        """This target with random arrays instead of types."""
        rng = np.random.default_rng(self.seed)

        def valued(leaf: Any) -> Any:
            return random_array(rng, leaf) if isinstance(leaf, TensorType) else leaf

        args, kwargs = tree_map(valued, (self.args, self.kwargs))
        return CommandSubject(self.label, self.fn, args, kwargs, self.options, valued=True, notes=self.notes)

    def run(self) -> None:
        """Call the jitted function. Raises TargetError where that fails."""
        try:
            with users_code():
                self.jitted(*self.args, **self.kwargs)
        except (Exception, SystemExit) as error:
            raise TargetError(f"{self.label} failed{explained(error)}") from error

    def gradient(self, argnums: Sequence[int]) -> CommandSubject:
        """The gradient by the arguments `argnums`: a tuple, unless there is one."""
        which = argnums[0] if len(argnums) == 1 else tuple(argnums)
        fn, args = self._positional()
        return self._with(grad(fn, which), args)

    def mapped(self, size: int) -> CommandSubject:
        """This target for `size` examples, stacked along a new first axis of every array."""
        fn, args = self._positional()
        axes = tree_map(lambda leaf: None if _is_number(leaf) else 0, args)
        return self._with(vmap(fn, axes), tree_map(lambda leaf: _stacked(leaf, size), args))

    def pushed_forward(self) -> CommandSubject:
        """The function and its derivative along tangents, which are further arguments: forward mode."""
        fn, values = self._positional()
        floating = [i for i, argument in enumerate(values) if _is_floating(argument)]
        if not floating:
            raise TargetError(f"{self.label}: forward mode needs an argument of floats")
        count = len(values)

        def both(*args: Any) -> Any:
            primals, tangents = list(args[:count]), args[count:]

            def of_floating(*moving: Any) -> Any:
                for position, primal in zip(floating, moving, strict=True):
                    primals[position] = primal
                return fn(*primals)

            return jvp(of_floating, tuple(primals[i] for i in floating), tangents)

        names = list(inspect.signature(fn).parameters)
        tangents = tuple(tree_map(_tangent, values[i]) for i in floating)
        named = with_names(
            both, getattr(fn, "__name__", "f"), [*names, *(f"{names[i]}_tangent" for i in floating)]
        )
        return self._with(named, values + tangents)

    def _positional(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """The function of positional arguments alone, and these."""
        if self.call is None:
            return self.fn, self.args
        return self.call.flat(), tuple(self.call.values)

    def _with(self, fn: Callable[..., Any], args: tuple[Any, ...]) -> CommandSubject:
        """A transform of the function, which takes `args`."""
        options = {key: value for key, value in self.options.items() if not key.startswith(_OF_PARAMETERS)}
        return CommandSubject(self.label, fn, args, options=options, valued=self.valued, notes=self.notes)


def subject_of(options: argparse.Namespace) -> CommandSubject:
    """The target that the options name, with their transforms. Raises UsageError, TargetError or
    ParseError."""
    return transformed(plain_subject(options), options)


def transformed(subject: CommandSubject, options: argparse.Namespace) -> CommandSubject:
    """`subject` after --grad, and then --vmap. Raises UsageError or TargetError."""
    if options.grad is not None:
        subject = subject.gradient(parse_argnums(options.grad))
    if options.vmap is not None:
        subject = subject.mapped(options.vmap)
    return subject


def plain_subject(options: argparse.Namespace) -> CommandSubject:
    """The target that the options name, before --grad and --vmap."""
    if is_document(options.target):
        if options.arg or options.args_from or options.static:
            raise UsageError(
                f"{options.target} has its arguments' types: leave --arg, --args-from and --static out"
            )
        return _subject_of_text(options.target)
    return _subject_of_python(options)


def with_names(fn: Callable[..., Any], name: str, names: Sequence[str]) -> Callable[..., Any]:
    """`fn`, which takes positional arguments, with a name and named parameters, which the IR will have."""
    fn.__name__ = name
    kind = inspect.Parameter.POSITIONAL_ONLY
    fn.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])  # type: ignore[attr-defined]
    return fn


def _subject_of_text(label: str) -> CommandSubject:
    function = FUNCTIONS.part_of(label)

    def run(*args: Any) -> Any:
        results = replay(function, args, located=True)
        return results[0] if len(results) == 1 else tuple(results)

    names = [
        param.hint if param.hint.isidentifier() else f"arg{i}" for i, param in enumerate(function.params)
    ]
    named = with_names(run, function.name, names)
    types = tuple([param.type for param in function.params])
    return CommandSubject(label, named, types, function=function)


# -- Python ----------------------------------------------------------------------------------------


def _subject_of_python(options: argparse.Namespace) -> CommandSubject:
    fn = load_function(options.target)
    static = dict(_static(text) for text in options.static)
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
    jitted: dict[str, Any] = {}
    passed: frozenset[str] = frozenset()
    if isinstance(fn, JitFunction):
        passed = fn._static_argnames
        fn, jitted = fn._fn, fn._making()[1]
    call = Call(options.target, fn, static, passed)
    call.bind(positional, named)
    args, kwargs = call.arguments()
    valued = options.args_from is not None
    subject = CommandSubject(options.target, fn, args, kwargs, jitted, call, valued=valued)
    return subject._with(*subject._positional()) if static else subject


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
    """The result of the function of ``--args-from``, as a tuple of arguments."""
    make = load_function(target)
    try:
        with users_code():
            arguments = make()
    except (Exception, SystemExit) as error:
        raise TargetError(f"--args-from {target} failed{explained(error)}") from error
    return arguments if type(arguments) is tuple else (arguments,)


# -- leaves ----------------------------------------------------------------------------------------


def _is_number(leaf: Any) -> bool:
    return isinstance(leaf, (bool, int, float, complex))


def _is_floating(tree: Any) -> bool:
    leaves = flatten(tree)[0]
    return bool(leaves) and all(
        isinstance(leaf, (float, complex)) if _is_number(leaf) else is_differentiable(leaf.dtype)
        for leaf in leaves
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
    """The stand-in for the tangent of `leaf`."""
    if isinstance(leaf, (TensorType, float)):
        return leaf
    return np.ones_like(leaf.numpy() if isinstance(leaf, Tensor) else leaf)
