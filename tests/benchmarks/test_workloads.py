"""Every workload at tiny sizes: values agree with NumPy's, gradients with differences of NumPy's values."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from benchmarks.libraries import leaves, load
from benchmarks.workload import Workload
from benchmarks.workloads import WORKLOADS, linalg

OURS, NUMPY = load("tracejit"), load("numpy")
assert OURS is not None
assert NUMPY is not None


def tiny(workload: Workload) -> Workload:
    return dataclasses.replace(workload, sizes=workload.tiny)


PLAIN = [
    tiny(workload)
    for workload in (*WORKLOADS, *linalg.WORKLOADS)
    if workload.given != "variable" and not workload.name.startswith("mlp")
]
#: (workload, its gradients' arguments)
GRADIENTS = [workload for workload in PLAIN if workload.gradient is not None]


def name_of(workload: Workload) -> str:
    return workload.name


def wide(tree: Any) -> Any:
    """Floats as float64: differences need the digits."""
    if isinstance(tree, (tuple, list)):
        return type(tree)(wide(leaf) for leaf in tree)
    return tree.astype(np.float64) if tree.dtype.kind == "f" else tree


def combine(tree: Any, other: Any, scale: float) -> Any:
    if isinstance(tree, (tuple, list)):
        return type(tree)(combine(a, b, scale) for a, b in zip(tree, other, strict=True))
    return tree + scale * other


def like(tree: Any, rng: np.random.Generator) -> Any:
    if isinstance(tree, (tuple, list)):
        return type(tree)(like(leaf, rng) for leaf in tree)
    return rng.standard_normal(tree.shape)


@pytest.mark.parametrize("workload", PLAIN, ids=name_of)
def test_values_are_numpys(workload: Workload) -> None:
    program = dataclasses.replace(workload, gradient=None)
    expected = leaves(program.function(NUMPY)(*program.arguments(NUMPY)))
    results = leaves(program.function(OURS)(*program.arguments(OURS)))
    assert len(expected) == len(results) > 0
    for mine, theirs in zip(results, expected, strict=True):
        assert mine.dtype == theirs.dtype
        tolerance = 1e-4 if theirs.dtype == np.float32 else 1e-10
        np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("workload", GRADIENTS, ids=name_of)
def test_gradients_are_differences(workload: Workload) -> None:
    assert workload.gradient is not None
    args, rng = wide(workload.inputs(*workload.sizes)), np.random.default_rng(1)
    _, gradients = workload.function(OURS)(*args)
    f, step = workload.program(NUMPY, *workload.sizes), 1e-5
    directions = [like(args[i], rng) for i in workload.gradient]

    def moved(by: float) -> float:
        places = dict(zip(workload.gradient or (), directions, strict=True))
        return float(
            f(
                *(
                    combine(argument, places[i], by) if i in places else argument
                    for i, argument in enumerate(args)
                )
            )
        )

    expected = (moved(step) - moved(-step)) / (2 * step)
    parts = zip(leaves(gradients), leaves(directions), strict=True)
    slope = sum(float(np.sum(gradient * direction)) for gradient, direction in parts)
    scale = max(1.0, abs(expected), sum(float(np.abs(leaf).sum()) for leaf in leaves(gradients)))
    assert abs(slope - expected) < 1e-6 * scale


@pytest.mark.parametrize(
    "workload", [tiny(workload) for workload in WORKLOADS if workload.name.startswith("mlp")], ids=name_of
)
def test_a_step_of_sgd_moves_against_the_gradient(workload: Workload) -> None:
    """Ten steps of the update make its loss smaller."""
    update, (layers, images, labels) = workload.function(OURS), workload.arguments(OURS)
    values = []
    for _ in range(10):
        value, layers = update(layers, images, labels)
        values.append(float(value))
    assert values[-1] < 0.9 * values[0]


@pytest.mark.parametrize(
    "workload", [tiny(workload) for workload in WORKLOADS if workload.given == "variable"], ids=name_of
)
def test_eager_workloads_run(workload: Workload) -> None:
    results = leaves(workload.function(OURS)(*workload.arguments(OURS)))
    assert all(np.isfinite(leaf).all() for leaf in results)


def test_names_are_different() -> None:
    names = [workload.name for workload in WORKLOADS]
    assert len(names) == len(set(names))
