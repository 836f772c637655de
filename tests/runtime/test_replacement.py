"""The optimized tier in the place of the baseline one, while calls may be in that: errors and kept memory."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.codegen.interface import EARLY_RELEASE, FAILED, REPORT
from tracejit.runtime import executable as executables
from tracejit.runtime.executable import Executable

SHARED, OWN = f"{FAILED}: kernel k0", f"{FAILED}: kernel k1"


class Report:
    """A library with the report of checks that a test fills."""

    def __init__(self, main: int) -> None:
        self.numbers = (ctypes.c_int64 * 3)()
        self.addresses = {"main": main, REPORT: ctypes.addressof(self.numbers)}
        self.polls = False

    def fails(self, byte: int) -> None:
        self.numbers[1], self.numbers[2] = 4096 + byte, 4096


@pytest.fixture
def replaced() -> Callable[[list[str], list[str]], tuple[Executable, Report, Report]]:
    def make(before: list[str], after: list[str]) -> tuple[Executable, Report, Report]:
        executable = Executable(tj.trace(lambda x: x + 1.0, np.ones(3)))
        first, second = Report(executable.address), Report(executable.address)
        executable.errors, executable.library = before, first  # type: ignore[assignment]
        executable._replace(second, after)  # type: ignore[arg-type]
        return executable, first, second

    return make


@pytest.mark.parametrize("after", [[SHARED], [SHARED, OWN], []])
def test_a_failed_check_is_told_by_the_code_that_ran(replaced: Any, after: list[str]) -> None:
    executable, first, second = replaced([SHARED], after)
    for library, byte in ((first, 24), (second, 40), (first, 8), (second, 16)):
        if library is second and after != [SHARED]:
            continue  # its errors have other numbers
        library.fails(byte)
        with pytest.raises(tj.CompileError, match=rf"kernel k0: it begins at byte {byte}\."):
            executable.fail(1)
    if OWN in after:
        second.fails(56)
        with pytest.raises(tj.CompileError, match=r"kernel k1: it begins at byte 56\."):
            executable.fail(2)


@pytest.mark.parametrize("columns", [8, 4000])
def test_scratch_blocks_stay_while_calls_may_wait_for_them(columns: int, monkeypatch: Any) -> None:
    """A call that has made sure of a block finds it, though the code that it runs is replaced meanwhile."""
    x = np.arange(300.0 * columns).reshape(-1, columns)[:, ::-1].copy()
    executable = Executable(tj.trace(lambda x: tj.sort(tj.sort(x, axis=1) * 2.0, axis=1)[::-1] + 1.0, x))
    released: list[str] = []
    function_of = executables._function

    def noted(library: Any, name: str) -> Any:
        function = function_of(library, name)
        return lambda: (released.append(name), function())

    monkeypatch.setattr(executables, "_function", noted)
    (expected,) = executable.run([x])
    with_blocks = any(kernel.scratch_blocks for kernel in executable.module.kernels)
    assert with_blocks == (columns == 4000)
    executable._replace(executable.library, executable.errors)
    assert released == [EARLY_RELEASE if with_blocks else "release"]
    np.testing.assert_array_equal(executable.run([x])[0], expected)
    freeing = [part for part in executable.module.functions if getattr(part, "name", "") == EARLY_RELEASE]
    assert len(freeing) == with_blocks
    assert not any("scratch_kept" in str(part) for part in freeing)
