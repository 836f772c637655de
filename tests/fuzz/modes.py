"""Ways to compute a program's values, each compared with NumPy's."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import tracejit as tj
from tracejit.base.machine import Machine
from tracejit.codegen.nest.reductions import chunks
from tracejit.ir.graph import Function
from tracejit.ir.passes import PIPELINE
from tracejit.ir.passes.fusion import horizontal_fusion, rematerialization_after, rematerialization_before
from tracejit.ir.text.parser import parse_function
from tracejit.ir.text.printer import print_function
from tracejit.ir.types import TensorType
from tracejit.ir.verifier import verify
from tracejit.runtime import tiers
from tracejit.tracing.traces import trace_flat

from ..support import interpret, interpret_stage
from .comparing import Mismatch, Skipped, compare
from .subject import Array, Subject

#: Features with which a program has no single graph: Python decides on its values.
BRANCHING = ("branch",)


@contextlib.contextmanager
def environment(**variables: str) -> Iterator[None]:
    """Environment variables that are read at each compilation."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def check(subject: Subject, results: Any, label: str, *, rebound: bool = False) -> None:
    """Compare with NumPy's results."""
    if rebound:
        assert subject.expected_rebound is not None
        assert subject.rebound_tolerances is not None
        compare(results, subject.expected_rebound, subject.rebound_tolerances, f"{label}, after rebinding")
    else:
        compare(results, subject.expected, subject.tolerances, label)


def check_arguments(subject: Subject, arguments: list[Any], label: str) -> None:
    """Check that the call left its arguments as NumPy leaves them."""
    for i, (got, expected) in enumerate(zip(arguments, subject.expected_arguments, strict=True)):
        if not np.array_equal(np.asarray(got), expected, equal_nan=expected.dtype.kind in "fc"):
            raise Mismatch(f"argument: number {i} is not as NumPy leaves it ({label})")


def eager(subject: Subject) -> None:
    function, rebind = subject.fresh(tj)
    arguments = [tj.asarray(x) for x in subject.arguments()]
    check(subject, function(*arguments), "eager")
    check_arguments(subject, arguments, "eager")
    if subject.expected_rebound is not None:
        rebind()
        check(subject, function(*map(tj.asarray, subject.arguments())), "eager", rebound=True)


def jitted(subject: Subject, *, as_tensors: bool) -> None:
    """Call twice with the same types, then twice with captures rebound."""
    function, rebind = subject.fresh(tj)
    compiled = tj.jit(function)
    form = tj.asarray if as_tensors else lambda x: x
    for label in ("first call", "second call"):
        arguments = [form(x) for x in subject.arguments()]
        check(subject, compiled(*arguments), f"jit, {label}")
        check_arguments(subject, arguments, f"jit, {label}")
    if subject.expected_rebound is not None:
        rebind()
        for label in ("first call", "second call"):
            results = compiled(*[form(x) for x in subject.arguments()])
            check(subject, results, f"jit, {label}", rebound=True)


def full(subject: Subject) -> None:
    """The optimised code at once."""
    with environment(TRACEJIT_TIERS="0"):
        jitted(subject, as_tensors=False)


def both_tiers(subject: Subject) -> None:
    """The first tier, and the second in its place: the same bits."""
    with environment(TRACEJIT_TIERS="always"):
        function, rebind = subject.fresh(tj)
        compiled = tj.jit(function)
        first = bits(compiled(*subject.arguments()))
        check(subject, compiled(*map(tj.asarray, subject.arguments())), "first tier")
        if not tiers.BACKGROUND.wait(60):
            raise Mismatch("hang: the background did not end in a minute")
        results = compiled(*subject.arguments())
        check(subject, results, "second tier")
        if first != bits(results) and not subject.has("special"):
            raise Mismatch("bits: the second tier's results differ from the first's")
        if subject.expected_rebound is not None:
            rebind()
            check(subject, compiled(*subject.arguments()), "first tier", rebound=True)


def bits(results: Any) -> list[bytes]:
    return [np.asarray(x).tobytes() for x in results]


def threaded(subject: Subject) -> None:
    """One to three threads: the same bits."""
    function, _ = subject.fresh(tj)
    compiled = tj.jit(function)
    seen = []
    for count in (1, 2, 3):
        with tj.threads(count):
            results = compiled(*subject.arguments())
            check(subject, results, f"{count} threads")
            seen.append(bits(results))
    if len({tuple(x) for x in seen}) > 1 and not subject.has("special"):
        raise Mismatch("bits: results depend on the number of threads")


def as_if_large(subject: Subject) -> None:
    """Small arrays treated as large ones are: joined, cut into chunks, computed again."""
    settings = (
        (horizontal_fusion, "large_bytes", lambda: 0),
        (rematerialization_after, "least_bytes", lambda: 0),
        (rematerialization_before, "least_bytes", lambda: 0),
        (chunks, "machine", lambda: Machine(task_cycles=1, least_tasks=0)),
    )
    before = [getattr(module, name) for module, name, _ in settings]
    for module, name, value in settings:
        setattr(module, name, value)
    try:
        function, _ = subject.fresh(tj)
        check(subject, tj.jit(function)(*subject.arguments()), "as if large")
    finally:
        for (module, name, _), value in zip(settings, before, strict=True):
            setattr(module, name, value)


def donated(subject: Subject) -> None:
    """Arguments that may be overwritten: right results; those that were not donated stay."""
    function, _ = subject.fresh(tj)
    count = len(subject.dtypes)
    numbers = tuple(range(0, count, 2))
    compiled = tj.jit(function, donate_argnums=numbers)
    for label in ("donated", "donated, one array given twice"):
        arguments = [x.copy() for x in subject.arguments()]
        if label != "donated":
            equal = [
                next(y for y in arguments if y.tobytes() == x.tobytes() and y.shape == x.shape)
                for x in arguments
            ]
            arguments = [y if y.dtype == x.dtype else x for x, y in zip(arguments, equal, strict=True)]
        check(subject, compiled(*arguments), label)
        lost = {id(arguments[i]) for i in numbers}
        for x, expected in zip(arguments, subject.expected_arguments, strict=True):
            if id(x) not in lost and x.tobytes() != expected.tobytes():
                raise Mismatch(f"argument: one that was not donated changed ({label})")


def passes(subject: Subject) -> None:
    """Each compiler pass keeps the graph valid and its meaning; printing and parsing are inverse."""
    if subject.has(*BRANCHING, "written argument"):
        raise Skipped
    function, _ = subject.fresh(tj)
    graph, inputs = traced(function, subject.arguments())
    verify(graph)
    if print_function(parse_function(print_function(graph))) != print_function(graph):
        raise Mismatch("text: print, parse, print is not the identity")
    check(subject, interpret(graph, inputs), "interpreted")
    original, text = graph, print_function(graph)
    for step in PIPELINE:
        after = step.apply(graph)
        if after is graph and step is not PIPELINE[-1]:
            continue  # as it was
        if print_function(graph) != text:
            raise Mismatch(
                f"pass: {step.name}, or what left the graph as it was before it, changed its argument"
            )
        graph, text = after, print_function(after)
        verify(graph)
        check(subject, interpret_stage(graph, original, inputs), f"after {step.name}")


def traced(function: Any, arrays: Sequence[Array]) -> tuple[Function, list[Array]]:
    """The graph of a program, and its inputs: arguments and captures."""
    types = [(TensorType(x.dtype, x.shape), False, f"a{i}") for i, x in enumerate(arrays)]

    def flat(*symbols: Any) -> tuple[list[Any], None]:
        results = function(*symbols)
        return list(results) if isinstance(results, tuple) else [results], None

    trace = trace_flat(flat, types)
    return trace.function, [*arrays, *(np.asarray(x) for x in trace.captured)]


def vmapped(subject: Subject) -> None:
    """Three examples at once against each alone; the outer ones as they are, the middle one scaled."""
    if subject.has(*BRANCHING, "special", "written argument") or not subject.float_positions:
        raise Skipped
    function, _ = subject.fresh(tj)
    arrays = subject.arguments()
    leading = subject.float_positions[0]
    mapped = [i == leading or (dtype.kind in "fc" and i % 3 != 2) for i, dtype in enumerate(subject.dtypes)]
    scale = 2 if subject.has("exact") else 0.9
    middle = [(x * np.asarray(scale, x.dtype)) if many else x for x, many in zip(arrays, mapped, strict=True)]
    stacked = [np.stack([x, y, x]) if many else x for x, y, many in zip(arrays, middle, mapped, strict=True)]
    batched = tj.vmap(function, in_axes=tuple(0 if many else None for many in mapped))
    alone = function(*map(tj.asarray, middle))
    ways = {"vmap": batched, "jit of vmap": tj.jit(batched)}
    for label, way in ways.items():
        results = way(*map(tj.asarray, stacked))
        for example in (0, 2):
            check(subject, [np.asarray(x)[example] for x in results], f"{label}, example {example}")
        expected = [np.asarray(x) for x in alone]
        # how this example is conditioned was not measured
        near = [100 * t * (1 + largest(x)) for x, t in zip(expected, subject.tolerances, strict=True)]
        compare([np.asarray(x)[1] for x in results], expected, near, f"{label}, the scaled example")


def largest(x: Array) -> float:
    return float(np.abs(x).max(initial=0)) if x.dtype.kind in "fc" else 0.0
