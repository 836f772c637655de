"""Helpers that several test files share: comparing arrays, and running Functions every way there is.

Tolerances. Integers, bools and moved data are equal bit for bit. Floating results are compared in ULPs
(lattice distance, so that subnormals and the step from the largest float to infinity count as one) where
a single rounding or a maths function made them, and relative to the sum of absolute terms where an order
of summation did.
"""

from __future__ import annotations

import doctest
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tracejit.ir.ops  # fills the registry
from tracejit.codegen.llvm.target import Target
from tracejit.ir.builder import Builder
from tracejit.ir.graph import Function
from tracejit.ir.interpreter import interpret
from tracejit.ir.text.parser import parse_function
from tracejit.ir.text.printer import print_function
from tracejit.ir.types import TensorType
from tracejit.ir.verifier import verify
from tracejit.runtime.executable import Executable

Array = NDArray[Any]
assert tracejit.ir.ops


def type_of(array: Array) -> TensorType:
    """The IR type of an array."""
    return TensorType(array.dtype, array.shape)


def function_of(name: str, operands: list[Array], build: Any) -> Function:
    """A Function whose parameters have the types of `operands` and whose results `build(b, *params)`
    gives."""
    b = Builder()
    params = [b.parameter(type_of(operand), f"x{i}") for i, operand in enumerate(operands)]
    results = build(b, *params)
    return b.finish(name, list(results) if isinstance(results, (tuple, list)) else [results])


def library_functions(target: Target) -> set[str]:
    """The C library's functions that exported code for `target` may call."""
    arm64 = target.triple.startswith(("aarch64", "arm64"))
    rounds_once = arm64 or "+fma" in target.features.split(",")
    return {"memcpy", "memset", *(() if rounds_once else ("fma", "fmaf"))}


def ulps(got: Array, want: Array) -> Array:
    """Distance in representable floats; 0 where both are NaN, infinite where one is."""
    kind = {2: np.int16, 4: np.int32, 8: np.int64}[got.dtype.itemsize]
    keys = []
    for array in (got, want):
        bits = np.ascontiguousarray(array).view(kind).astype(np.int64)
        magnitude = (bits & np.iinfo(kind).max).astype(np.uint64)
        middle = np.uint64(1 << 63)
        keys.append(np.where(bits < 0, middle - magnitude, middle + magnitude))
    distance = (np.maximum(*keys) - np.minimum(*keys)).astype(np.float64)
    nan_got, nan_want = np.isnan(got), np.isnan(want)
    distance[nan_got & nan_want] = 0.0
    distance[nan_got ^ nan_want] = np.inf
    return distance


def mismatch(
    got: Array, want: Array, *, bound: float = 0.0, atol: Array | float = 0.0, zero_sign: bool = True
) -> str:
    """The difference, or "" where every element is within `bound` ULPs or `atol` of what is wanted. An ULP
    of a complex number is that of its absolute value."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{got.dtype}{got.shape} instead of {want.dtype}{want.shape}"
    if got.dtype.kind == "c":
        with np.errstate(all="ignore"):
            allowed = bound * np.finfo(want.dtype).eps * np.abs(want) + atol
            near = (np.abs(got.astype(np.complex128) - want) <= allowed) | (got == want)
        bad = np.atleast_1d(~near & ~(np.isnan(got) & np.isnan(want)))
    elif got.dtype.kind != "f":
        bad = np.atleast_1d(got != want)
    else:
        distance = np.atleast_1d(ulps(np.atleast_1d(got), np.atleast_1d(want)))
        with np.errstate(all="ignore"):
            near = np.abs(got.astype(np.float64) - want) <= atol
        bad = (distance > bound) & ~np.atleast_1d(near)
        if zero_sign:
            both = np.atleast_1d((got == 0) & (want == 0))
            bad |= both & np.atleast_1d(np.signbit(got) != np.signbit(want))
    if not bad.any():
        return ""
    first = tuple(int(i) for i in np.argwhere(bad)[0])
    return (
        f"{int(bad.sum())} of {bad.size} elements differ, first at {first}: "
        f"{np.atleast_1d(got)[first]!r} instead of {np.atleast_1d(want)[first]!r}"
    )


def interpret_stage(function: Function, original: Function, arrays: Sequence[Array]) -> list[Array]:
    """The results of `original` by `function`, which passes made of it: its complex parameters and results
    may be pairs of real numbers in a last axis."""
    operands = [
        _pairs(array) if array.dtype.kind == "c" and param.dtype.kind == "f" else array
        for array, param in zip(arrays, function.params, strict=True)
    ]
    results = interpret(function, operands)
    return [
        np.ascontiguousarray(result).view(before.dtype)[..., 0]
        if before.dtype.kind == "c" and result.dtype.kind == "f"
        else result
        for result, before in zip(results, original.results, strict=True)
    ]


def _pairs(array: Array) -> Array:
    return np.stack([array.real, array.imag], -1)


def native(function: Function, arrays: list[Array]) -> list[Array]:
    """The results of the compiled Function, and a check that it left its arguments alone."""
    return run_native(Executable(function), arrays)


def run_native(executable: Executable, arrays: list[Array]) -> list[Array]:
    """The results of `executable`, and a check that it left its arguments alone."""
    before = [array.copy() for array in arrays]
    results = executable(arrays)
    for array, kept in zip(arrays, before, strict=True):
        assert array.tobytes() == kept.tobytes(), "a compiled Function changed an argument"
    return results


def sometimes(holds: Callable[[], bool], tries: int = 12) -> bool:
    """Whether a bound on time holds at one of some tries: other processes break it, and never keep it."""
    return any(holds() for _ in range(tries))


def processor_seconds(run: Callable[[], Any]) -> float:
    """Processor time that this thread takes to `run`; waiting for other processes does not count."""
    start = time.thread_time()
    run()
    return time.thread_time() - start


def ratio(
    measured: Callable[[], float], reference: Callable[[], float], below: float, turns: int = 12
) -> float:
    """The least time that `measured` returns over the least of `reference`, measured by turns until it is
    `below` a bound or all `turns` are taken. Other processes disturb single turns, and both alike."""
    least = reference_least = math.inf
    for _ in range(turns):
        reference_least = min(reference_least, reference())
        least = min(least, measured())
        if least < below * reference_least:
            break
    return least / reference_least


def check_round_trip(function: Function) -> Function:
    """Print, parse, print: the same text, valid, with the same types; returns what was parsed."""
    text = print_function(function)
    parsed = parse_function(text)
    assert print_function(parsed) == text
    verify(parsed)
    return parsed


__all__ = [
    "Array",
    "check_round_trip",
    "function_of",
    "interpret",
    "mismatch",
    "native",
    "processor_seconds",
    "ratio",
    "run_native",
    "sometimes",
    "type_of",
    "ulps",
]


def check_document(name: str, *, least: int) -> None:
    """Run the examples of ``docs/<name>``, at least `least` of them, and compare what they print."""
    path = Path(__file__).parents[1] / "docs" / name
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(
        doctest.DocTestParser().get_doctest(path.read_text(), {}, name, str(path), 0), out=report.append
    )
    assert runner.tries >= least
    assert runner.failures == 0, "".join(report)
