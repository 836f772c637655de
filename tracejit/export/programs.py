"""Programs to export: a jitted function and its derivatives, traced for the types of their arguments."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from ..base.errors import ArgumentError, TraceError
from ..base.records import record
from ..frontend.usage import Number
from ..frontend.values import Source
from ..generator import Draws
from ..ir.dtypes import as_dtype
from ..ir.graph import Function
from ..ir.types import TensorType
from ..jitted.call_traces import trace_call
from ..jitted.captures import bind
from ..jitted.function import JitFunction
from ..jitted.signatures import argument_path
from ..pytree import TreeDef, flatten, tree_map
from ..tensors.generator_states import GeneratorState
from ..tensors.tensor import Tensor
from ..tracing.traces import Traced
from ..transforms.grad import checked_argnums, grad, value_and_grad, with_arguments
from ..transforms.jacobians import jacfwd, jacrev
from ..transforms.vjp_jvp import jvp
from .identifiers import identifier, unique

#: The names of the leaves of arguments, by the arguments' numbers.
Leaves: TypeAlias = dict[int, list[str]]
#: Python's types of numbers, as examples of them.
_NUMBERS: Final[dict[Any, Any]] = {float: 0.0, int: 0, bool: False, complex: 0j}


@record(eq=False)
class ExportedProgram:
    """A function that is to be exported.

    Attributes:
        name: its name in C.
        summary: what it computes, in words.
        function: the Function as traced.
        captured: the arrays that are the last of its parameters.
        sources: where these were read, in words.
        arguments: the names in C of its other parameters, and `paths` as Python writes them.
        results: the names in C of its results.
        ranges: by parameter, the integers that it may be, where its dtype has more.
    """

    name: str
    summary: str
    function: Function
    captured: tuple[np.ndarray[Any, Any], ...]
    sources: tuple[str, ...]
    arguments: tuple[str, ...]
    paths: tuple[str, ...]
    results: tuple[str, ...]
    ranges: dict[int, tuple[int, int]]


@record
class Derivatives:
    """The derivatives to export with a function. Each is False, True for the derivative by the first
    argument, or the numbers of the arguments."""

    grad: bool | int | Sequence[int] = False
    jacobian: bool | int | Sequence[int] = False
    hvp: bool | int | Sequence[int] = False


@record(eq=False)
class _Subject:
    """A jitted function to export as `name`, with the arguments that it is traced for."""

    name: str
    function: JitFunction
    args: tuple[Any, ...]

    @property
    def label(self) -> str:
        """The text of a call in messages and summaries."""
        return f"{self.function._name}(...)"


def programs_of(
    name: str, function: JitFunction, specs: Sequence[Any], derivatives: Derivatives
) -> list[ExportedProgram]:
    """The program `name` of `function` for arguments as `specs` describe them, and its `derivatives`.

    Raises what tracing raises, and TraceError for what has no meaning outside of Python.
    """
    if function._flush_denormals:
        raise TraceError(
            f"export: {function._name} flushes denormals, which is a mode of the thread that calls; jit it "
            "without flush_denormals, and set the mode where it is called"
        )
    subject = _Subject(name, function, arguments_of(function, specs))
    programs = [_traced(subject, "", subject.label, function._fn, subject.args, _value_names)]
    if derivatives.grad is not False:
        programs.append(_gradient(subject, _argnums("grad", derivatives.grad, subject.args)))
    if derivatives.jacobian is not False:
        argnums = _argnums("jacobian", derivatives.jacobian, subject.args)
        programs.append(_jacobian(subject, argnums, programs[0]))
    if derivatives.hvp is not False:
        programs.append(_product(subject, _argnums("hvp", derivatives.hvp, subject.args)))
    return programs


# -- derivatives ----------------------------------------------------------------------------------


def _gradient(subject: _Subject, argnums: tuple[int, ...]) -> ExportedProgram:
    def names(structure: TreeDef, leaves: Leaves) -> list[str]:
        return ["value", *[f"grad_{leaf}" for i in argnums for leaf in leaves[i]]]

    function, summary = value_and_grad(subject.function, argnums), f"{subject.label} and its gradient"
    return _traced(subject, "_value_and_grad", summary, function, subject.args, names)


def _jacobian(subject: _Subject, argnums: tuple[int, ...], value: ExportedProgram) -> ExportedProgram:
    """The program of the Jacobian. It uses forward mode, unless the arguments have more elements than the
    results of `value`."""
    inputs = flatten([subject.args[i] for i in argnums])[0]
    forward = _elements(inputs) <= _elements(value.function.results)
    prefixes = ["jacobian"] if len(value.results) == 1 else [f"jacobian_{name}" for name in value.results]

    def names(structure: TreeDef, leaves: Leaves) -> list[str]:
        return [f"{prefix}_{leaf}" for prefix in prefixes for i in argnums for leaf in leaves[i]]

    transform = jacfwd if forward else jacrev
    summary = f"the Jacobian of {subject.label}, in {'forward' if forward else 'reverse'} mode"
    return _traced(subject, "_jacobian", summary, transform(subject.function, argnums), subject.args, names)


def _product(subject: _Subject, argnums: tuple[int, ...]) -> ExportedProgram:
    def names(structure: TreeDef, leaves: Leaves) -> list[str]:
        return [f"hvp_{leaf}" for i in argnums for leaf in leaves[i]]

    args = (*subject.args, *[subject.args[i] for i in argnums])
    function = _hessian_vector_product(subject.function, argnums, len(subject.args))
    summary = f"the product of the Hessian of {subject.label} with tangents"
    return _traced(subject, "_hvp", summary, function, args, names)


def _hessian_vector_product(
    function: JitFunction, argnums: tuple[int, ...], count: int
) -> Callable[..., Any]:
    """``(*args, *tangents) -> H tangents``, for the Hessian of `function` by the arguments at `argnums`."""
    gradient = grad(function, argnums)

    @functools.wraps(function)
    def product(*args: Any) -> Any:
        primals, tangents = args[:count], args[count:]

        def gradient_at(*values: Any) -> Any:
            return gradient(*with_arguments(primals, argnums, values))

        return jvp(gradient_at, tuple([primals[i] for i in argnums]), tangents)[1]

    try:
        names = list(inspect.signature(function._fn).parameters)[:count]
    except (TypeError, ValueError):
        names = []
    names += [f"arg{i}" for i in range(len(names), count)]
    names += [f"{names[i]}_tangent" for i in argnums]
    parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in names]
    wrapper: Any = product
    wrapper.__signature__ = inspect.Signature(parameters)
    return product


# -- arguments ------------------------------------------------------------------------------------


def arguments_of(function: JitFunction, specs: Sequence[Any]) -> tuple[Any, ...]:
    """`specs` as tracing takes them: types in place of arrays."""
    return tuple(
        [
            spec if position in function._static_argnums else tree_map(_spec, spec)
            for position, spec in enumerate(specs)
        ]
    )


def _spec(leaf: Any) -> Any:
    if isinstance(leaf, type) and leaf in _NUMBERS:
        return _NUMBERS[leaf]
    if isinstance(leaf, (Tensor, np.ndarray, np.generic)):
        return TensorType(as_dtype(leaf.dtype), tuple(leaf.shape))
    return leaf


def _argnums(option: str, argnums: Any, args: Sequence[Any]) -> tuple[int, ...]:
    """The numbers of the arguments that are differentiated by."""
    positions = (0,) if argnums is True else checked_argnums(f"export: {option}", argnums)
    for position in positions:
        if not -len(args) <= position < len(args):
            raise ArgumentError(
                f"export: {option} is {argnums!r}, but the function has {len(args)} arguments"
            )
    return tuple([position % len(args) for position in positions])


def _elements(values: Sequence[Any]) -> int:
    """Number of elements of `values`, types and numbers, together."""
    return sum(math.prod(getattr(value, "shape", ())) for value in values)


# -- tracing --------------------------------------------------------------------------------------


def _traced(
    subject: _Subject,
    suffix: str,
    summary: str,
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    result_names: Callable[[TreeDef, Leaves], list[str]],
) -> ExportedProgram:
    """The program of `fn` for `args`, traced with the options of the exported function."""
    options = subject.function
    jitted = JitFunction(
        fn, tuple(options._static_argnums), max_paths=0, loops=options._loops,
        checkpoint_every=options._checkpoint_every,
    )  # fmt: skip
    trace = trace_call(jitted, jitted._typed_call(args, {}))
    traced = trace.traced
    structure, writes = traced.rest
    if writes is not None and writes.containers:
        names = ", ".join(write.name for write in writes.containers)
        raise TraceError(f"export: {summary} changes the containers {names}; return the new values instead")
    arrays, sources = _captures(summary, traced, bind(trace.uses, trace.numbers, traced).sources)
    dynamic = jitted._split(args, {})[1]
    count = len(traced.function.params) - len(arrays)
    arguments = unique([identifier(param.hint) for param in traced.function.params[:count]], "workspace")
    written = [f"{arguments[write.position]}_written" for write in writes.writes] if writes else []
    results = [*written, *result_names(structure, _names_by_position(dynamic, arguments, jitted))]
    return ExportedProgram(
        subject.name + suffix, summary, traced.function, arrays, sources, tuple(arguments),
        tuple([argument_path(i, dynamic) for i in range(count)]),
        tuple(unique(list(map(identifier, results)), *arguments, "workspace")), traced.ranges,
    )  # fmt: skip


def _value_names(structure: TreeDef, leaves: Leaves) -> list[str]:
    return [f"result{path}" for path in structure.paths()]


def _names_by_position(dynamic: Any, names: Sequence[str], jitted: JitFunction) -> Leaves:
    """The names of the leaves of each positional argument."""
    by_position: Leaves = {}
    following = iter(names)
    positions = [
        i for i in range(len(dynamic[0]) + len(jitted._static_argnums)) if i not in jitted._static_argnums
    ]
    for position, argument in zip(positions, dynamic[0], strict=True):
        by_position[position] = [next(following) for _ in flatten(argument)[0]]
    return by_position


def _captures(
    summary: str, traced: Traced, places: Sequence[Source]
) -> tuple[tuple[np.ndarray[Any, Any], ...], tuple[str, ...]]:
    """The arrays that a program captures, and the places where they were read."""
    arrays = []
    params = traced.function.params[len(traced.function.params) - len(traced.captured) :]
    for holder, param in zip(traced.captured, params, strict=True):
        if isinstance(holder, (Draws, GeneratorState)):
            raise TraceError(
                f"export: {summary} draws from {holder}, which is in Python; pass a key as an argument, as "
                "tj.random.key makes them, or a generator of NumPy's"
            )
        if isinstance(holder, Number):
            value = holder.peek()
        else:
            value = traced.contents.get(id(holder), holder)
            value = value._data if isinstance(value, Tensor) else value
        arrays.append(np.array(value, param.dtype, order="C"))
    return tuple(arrays), tuple(map(str, places))
