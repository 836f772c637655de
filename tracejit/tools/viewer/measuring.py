"""Measured times of a call and of each kernel in it, on the user's inputs or on made-up ones of the same
types."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from ...base.process.progress import with_progress
from ...base.records import record
from ...codegen.instrument.probes import Probes
from ...ir.graph import Function, Value
from ...runtime.executable import Executable
from ...runtime.timing import SiteTime, TimedExecutable, prepared_call

Array = np.ndarray[Any, Any]

#: Seconds to spend on repeating a call.
BUDGET: Final = 0.5
#: Functions of more kernels are timed whole with the clocks of their kernels in.
LARGE: Final = 100


@record
class Timed:
    """A kernel's runs in one call, and their seconds together; None where they are too short for a clock."""

    name: str
    runs: int
    seconds: float | None
    #: The seconds that it takes while denormal numbers count as zero; None unless it met some (x86 only).
    flushed: float | None = None


@record(eq=False)
class Measured:
    """Seconds of a call, the least of some; by kernel too; and the compile time by phase, in milliseconds."""

    seconds: float
    kernels: list[Timed]
    compiling: dict[str, float]


def measure(function: Function, inputs: Sequence[Array], *, flush_denormals: bool = False) -> Measured:
    """Compile `function`, and time calls with `inputs`. Raises what the function raises."""
    variant = TimedExecutable(function, Probes(nested=False), flush_denormals)
    # two clocks around each of many kernels are lost among them, and compiling it again takes long
    large = len(variant.fused.body) > LARGE
    executable = variant if large else Executable(function, flush_denormals=flush_denormals)
    call = partial(variant.run_timed, inputs) if large else prepared_call(executable, inputs)
    best = _least_seconds(call)
    repeats = max(1, min(9, int(BUDGET / max(best, 1e-6))))
    kernels = _least(variant, inputs, repeats)
    best = min(best, _least_seconds(call))  # again: something else may have run before
    if any(
        kernel.site.kernel is None and kernel.site.instruction.op.kind.traits.control
        for kernel in kernels.values()
    ):
        inner = _least(TimedExecutable(function, flush_denormals=flush_denormals), inputs, 1)
        timed = _with_inner(kernels, inner)
        denormal = any(site.denormal_runs for site in inner.values())
    else:
        timed = [Timed(name, kernel.runs, kernel.nanoseconds / 1e9) for name, kernel in kernels.items()]
        denormal = any(site.denormal_runs for site in kernels.values())
    if denormal and not flush_denormals:
        quick = _least(TimedExecutable(function, Probes(nested=False), flush_denormals=True), inputs, repeats)
        timed = [
            Timed(each.name, each.runs, each.seconds, quick[each.name].nanoseconds / 1e9)
            if each.name in quick
            else each
            for each in timed
        ]
    return Measured(best, timed, executable.milliseconds)


def _least_seconds(call: Callable[[], object]) -> float:
    """The least time of calls, after one to warm up, for a part of the budget."""
    call()
    times: list[float] = []
    while sum(times) < BUDGET / 2 and len(times) < 100:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def _least(variant: TimedExecutable, inputs: Sequence[Array], repeats: int) -> dict[str, SiteTime]:
    """The least time of each kernel in some calls, after one to warm up."""
    variant.run_timed(inputs)
    calls = [variant.run_timed(inputs)[1].sites for _ in with_progress(range(repeats), "timing")]
    best = [min(each, key=lambda site: site.nanoseconds) for each in zip(*calls, strict=True)]
    return {site.site.name: site for site in best}


def _with_inner(kernels: dict[str, SiteTime], inner: dict[str, SiteTime]) -> list[Timed]:
    """The times of `kernels`, and for those in loops, which `inner` has too, their part of the loop's time.

    Clocks around kernels of a few nanoseconds show themselves alone, so what the quickest takes is taken for
    the clock's. Where less than that is left, the time is not known.
    """
    sites = list(inner.values())
    inside = [site for site in sites if site.site.parent is not None and site.runs]
    clock = min((site.nanoseconds / site.runs for site in inside), default=0.0)
    work = {name: max(0.0, site.nanoseconds - clock * site.runs) for name, site in inner.items()}
    times: dict[str, float | None] = {name: kernel.nanoseconds / 1e9 for name, kernel in kernels.items()}
    for name, timed in inner.items():
        if name in times or timed.site.parent is None:
            continue
        parent = sites[timed.site.parent].site.name
        total = sum(work[other.site.name] for other in sites if other.site.parent == timed.site.parent)
        whole = times.get(parent)
        measurable = whole is not None and 2 * work[name] > timed.nanoseconds
        times[name] = whole * work[name] / total if measurable and whole is not None else None
    return [Timed(name, inner[name].runs, seconds) for name, seconds in times.items()]


def made_up(function: Function, inputs: Sequence[Array | None]) -> list[Array]:
    """Inputs for `function`: those in `inputs`, random floats and small valid indices for None."""
    generator = np.random.default_rng(0)
    limit = _smallest_indexed(function)
    return [
        _random(param, generator, limit) if value is None else value
        for param, value in zip(function.params, [*inputs, *[None] * len(function.params)], strict=False)
    ]


def _smallest_indexed(function: Function) -> int:
    """The length of the shortest axis that an index goes along: an index below it is valid everywhere."""
    sizes = [
        size
        for instruction in function.instructions()
        if instruction.op.kind.traits.indexes_operand
        for size in instruction.operands[0].shape
        if size
    ]
    return min(sizes, default=2)


def _random(param: Value, generator: np.random.Generator, limit: int) -> Array:
    if param.dtype.kind == "c":
        re, im = generator.uniform(0.1, 1.0, (2, *param.shape))
        return np.asarray(re + 1j * im, param.dtype)
    if param.dtype.kind == "f":
        return generator.uniform(0.1, 1.0, param.shape).astype(param.dtype)
    if param.dtype.kind == "b":
        return generator.random(param.shape) < 0.5
    return generator.integers(0, min(limit, 100), param.shape).astype(param.dtype)
