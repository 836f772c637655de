"""Loops as one writes them for Numba: tracejit's results are those of Python on NumPy's arrays."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from benchmarks.libraries import leaves, load
from benchmarks.workload import Workload
from benchmarks.workloads import GROUPS

OURS, NUMPY = load("tracejit"), load("numpy")
assert OURS is not None
assert NUMPY is not None

TINY = [
    dataclasses.replace(workload, sizes=workload.tiny)
    for workload in GROUPS["numba"]
    if not workload.name.endswith("-parallel")
]


@pytest.mark.parametrize(
    "workload", [row for row in TINY if row.gradient is None], ids=lambda workload: workload.name
)
def test_values_are_those_of_python(workload: Workload) -> None:
    expected = leaves(workload.function(NUMPY)(*workload.inputs(*workload.sizes)))
    results = leaves(workload.function(OURS)(*workload.arguments(OURS)))
    assert len(expected) == len(results) == 1
    assert results[0].dtype == expected[0].dtype
    np.testing.assert_allclose(results[0], expected[0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "workload", [row for row in TINY if row.gradient is not None], ids=lambda workload: workload.name
)
def test_gradients_are_differences(workload: Workload) -> None:
    assert workload.gradient is not None
    arguments = workload.inputs(*workload.sizes)
    _, gradients = workload.function(OURS)(*workload.arguments(OURS))
    f, step, rng = workload.program(NUMPY, *workload.sizes), 1e-6, np.random.default_rng(1)
    direction = [rng.standard_normal(argument.shape) for argument in arguments]

    def moved(by: float) -> float:
        taken = workload.gradient or ()
        pairs = enumerate(zip(arguments, direction, strict=True))
        return float(f(*[x + by * v if place in taken else x for place, (x, v) in pairs]))

    expected = (moved(step) - moved(-step)) / (2 * step)
    along = [direction[place] for place in workload.gradient]
    slope = sum(float(np.sum(part * v)) for part, v in zip(leaves(gradients), along, strict=True))
    size = sum(float(np.abs(part).sum()) for part in leaves(gradients))
    assert abs(slope - expected) < 1e-6 * max(1.0, abs(expected), size)


def test_names_are_different_in_all_groups() -> None:
    names = [workload.name for group in GROUPS.values() for workload in group]
    assert len(names) == len(set(names))
