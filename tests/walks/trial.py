"""Runs one case: eagerly and in both tiers, with some numbers of threads, beside protected pages, and against
NumPy or exact results."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

import tracejit as tj
from tracejit.base.machine import Machine, use_machine
from tracejit.codegen.instrument.access_checks import AccessChecks
from tracejit.runtime import tiers
from tracejit.runtime.executable import Executable

from ..fuzz.comparing import Mismatch
from ..fuzz.modes import environment
from .drawing import TRIAL_BYTES, Case, Tolerance
from .memory import Array, GuardedArray, guarded

#: Bytes of stack that calls have: a kernel takes 64 KiB of it at most.
STACK = 256 << 10
#: Calls with several threads, since what they do to one another is seldom seen at once.
REPEATS = 3


def try_case(case: Case, machine: Machine, threads: int, checked: bool) -> None:
    """Run `case` on `machine`. Raises Mismatch, and ends the process where an access leaves an array."""
    with environment(TRACEJIT_TIERS="always"):
        _try_case(case, machine, threads, checked)


def _try_case(case: Case, machine: Machine, threads: int, checked: bool) -> None:
    with use_machine(machine):
        function = tj.jit(lambda *arrays: tuple(case.run(tj, arrays))).lower(*case.arrays).function
        executable = Executable(function)
    _check_memory(case, executable)
    expected = case.expected()
    for at_end in (True, False):
        _try_eagerly(case, expected, at_end)
    with use_machine(machine):
        seen = []
        for tier in ("baseline", "optimized"):
            if tier == "optimized":
                if not tiers.BACKGROUND.wait(60):
                    raise Mismatch("hang: the background did not end in a minute")
                if executable.problem or executable.fallbacks:
                    raise Mismatch(f"compiler: {executable.problem or executable.fallbacks}")
            for count, at_end in ((1, True), *[(threads, False)] * REPEATS):
                label = f"{executable.tier} tier, {count} threads, {'end' if at_end else 'begin'} at a page"
                results = _run(executable, case.arrays, count, at_end, label)
                _compare(results, expected, case.tolerance, label)
                seen.append([hashlib.blake2b(result.tobytes()).digest() for result in results])
        for number, (want, *texts) in enumerate(zip(expected, *seen, strict=False)):
            if len(set(texts)) > 1 and not _signs_of_nan(want):
                which = [texts.index(text) for text in texts]
                raise Mismatch(f"bits: result {number} depends on the tier or on threads: {which}")
        if checked:
            results = Executable(function, AccessChecks())(case.arrays)
            _compare(results, expected, case.tolerance, "with access checks")


def _try_eagerly(case: Case, expected: list[Array], at_end: bool) -> None:
    label = f"eager, {'end' if at_end else 'begin'} at a page"
    operands = [guarded(array, at_end) for array in case.arrays]
    results = case.run(tj, [tj.asarray(operand.array) for operand in operands])
    tolerance = case.tolerance if case.eager_tolerance is None else case.eager_tolerance
    _compare([np.asarray(result) for result in results], expected, tolerance, label)
    _check_operands(case.arrays, operands, label)


def _check_memory(case: Case, executable: Executable) -> None:
    """Raise Mismatch where a trial takes more than `TRIAL_BYTES`: operands and their guarded copies, as much
    again while each are compared, results six times with references and copies, and both tiers' arenas."""
    operands = sum(array.nbytes for array in case.arrays)
    results = sum(result.type.nbytes for result in executable.source.results)
    arena = executable.arena_bytes
    if 4 * operands + 6 * results + 2 * arena > TRIAL_BYTES:
        raise Mismatch(
            f"memory: operands of {operands} bytes, results of {results} and an arena of {arena} are more "
            f"than a trial may take; draw smaller ones"
        )


def _run(executable: Executable, arrays: list[Array], threads: int, at_end: bool, label: str) -> list[Array]:
    """The results of a call in a thread with a small stack, with all arrays beside protected pages."""
    operands = [guarded(array, at_end) for array in arrays]
    memory = [GuardedArray(x.shape, x.dtype, at_end) for x in executable.source.results]
    for each in memory:
        each.poison()
    into = {number: each.array for number, each in enumerate(memory)}
    with tj.threads(threads):
        _in_thread(lambda: executable.run([operand.array for operand in operands], into))
    _check_operands(arrays, operands, label)
    if not all(each.check() for each in memory):
        raise Mismatch(f"outside: something was written beside a result ({label})")
    return [each.array.copy() for each in memory]


def _check_operands(arrays: list[Array], operands: list[GuardedArray], label: str) -> None:
    for number, operand in enumerate(operands):
        if not operand.holds(arrays[number]):
            raise Mismatch(f"argument: number {number} was changed ({label})")
        if not operand.check():
            raise Mismatch(f"outside: something was written beside argument {number} ({label})")


def _in_thread(work: Callable[[], Any]) -> None:
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    before = threading.stack_size(STACK)
    try:
        thread = threading.Thread(target=run)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    if raised:
        raise raised[0]


def _compare(results: list[Array], expected: list[Array], tolerance: Tolerance, label: str) -> None:
    # behind the results are the values that Python code asked for while it was traced
    for number, (got, want) in enumerate(zip(results[: len(expected)], expected, strict=True)):
        if got.shape != want.shape or got.dtype != want.dtype:
            raise Mismatch(f"type: {got.dtype}{got.shape} instead of {want.dtype}{want.shape} ({label})")
        if isinstance(tolerance, list):
            most = tolerance[number]
        else:
            most = tolerance(want) if callable(tolerance) else tolerance
        with np.errstate(all="ignore"):
            same = (got == want) | (np.isnan(got) & np.isnan(want) if got.dtype.kind in "fc" else False)
            if got.dtype.kind in "fc":
                wide = np.result_type(got, "f8")
                same |= np.abs(got.astype(wide) - want.astype(wide)) <= most
        if not same.all():
            at = tuple(int(i) for i in np.argwhere(~np.atleast_1d(same))[0])
            raise Mismatch(
                f"value: {int((~same).sum())} of {got.size} elements of result {number}, at {at} "
                f"{np.atleast_1d(got)[at]!r} instead of {np.atleast_1d(want)[at]!r} ({label})"
            )


def _signs_of_nan(expected: Array) -> bool:
    """Whether bits say nothing: which NaN an operation gives is the instruction's choice."""
    return expected.dtype.kind in "fc" and bool(np.isnan(expected).any())
