"""Kernels beside C written by hand: both compute the same, and the goal is told from what was measured."""

from __future__ import annotations

import dataclasses
import shutil
from typing import Any

import numpy as np
import pytest

from benchmarks.contest import Outcome, difference
from benchmarks.libraries import HANDWRITTEN, OURS, Library, leaves, load
from benchmarks.limits import c_library
from benchmarks.limits.__main__ import row, summary
from benchmarks.timing import Spread
from benchmarks.workload import Workload
from benchmarks.workloads import GROUPS

KERNELS = GROUPS["c"]


@pytest.fixture(scope="module")
def c() -> Library:
    if shutil.which(c_library.COMPILER) is None:
        pytest.skip(f"no {c_library.COMPILER} here")
    library = load(HANDWRITTEN)
    assert library is not None
    return library


def values(workload: Workload, library: Library | None) -> list[Any]:
    assert library is not None
    return leaves(workload.function(library)(*workload.arguments(library)))


@pytest.mark.parametrize("workload", KERNELS, ids=lambda workload: workload.name)
def test_c_computes_what_we_do(workload: Workload, c: Library) -> None:
    """Values agree at sizes that are no multiples of a vector's or a tile's."""
    workload = dataclasses.replace(workload, sizes=workload.tiny)
    results = {OURS: values(workload, load(OURS)), HANDWRITTEN: values(workload, c)}
    assert not difference(workload, HANDWRITTEN, results)


def test_squares_of_floyds_and_warshalls_algorithm(c: Library) -> None:
    """C goes by squares where they fit, and by single steps elsewhere."""
    workload = next(kernel for kernel in KERNELS if kernel.name == "c-floyd-warshall")
    assert workload.tiny[0] % 32
    workload = dataclasses.replace(workload, sizes=(96,))
    results = {OURS: values(workload, load(OURS)), HANDWRITTEN: values(workload, c)}
    assert not difference(workload, HANDWRITTEN, results)


def test_tolerances_tell_results_apart() -> None:
    """Another element, or none, is no rounding."""
    for workload in KERNELS:
        workload = dataclasses.replace(workload, sizes=workload.tiny)
        ours = values(workload, load(OURS))
        wrong = [np.asarray(np.roll(result, 1) if result.ndim else result + 1) for result in ours]
        assert difference(workload, HANDWRITTEN, {OURS: ours, HANDWRITTEN: wrong}), workload.name


def test_no_compiler_is_a_library_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(c_library, "COMPILER", "no-such-compiler")
    with pytest.raises(c_library.MissingCompilerError, match="no-such-compiler"):
        c_library.CLibrary()


def outcome(ratio: float, kernel: int = 0) -> Outcome:
    """An outcome of a kernel in which C takes `ratio` times as long as ours."""
    spread = Spread(ratio, ratio, ratio)
    seconds = {OURS: Spread(1.0, 1.0, 1.0), HANDWRITTEN: spread}
    return Outcome(KERNELS[kernel], seconds, {OURS: 1, HANDWRITTEN: 2}, {HANDWRITTEN: spread}, {})


def test_summary_says_which_goals_are_reached() -> None:
    assert "| 0.50 (0.50-0.50)" in row(outcome(2.0))
    assert summary([outcome(2.0), outcome(1 / 1.2, 1)])[1]
    lines, reached = summary([outcome(4.0), outcome(0.5, 1)])
    assert not reached
    assert lines[-1].endswith(f"{KERNELS[1].name}: 2.00")
    assert "MISSED" in row(outcome(0.5))
    assert not summary([outcome(1 / 1.2)])[1]  # none is over the limit, their mean is
    assert not summary([])[1]
