"""Results of the suite's workloads do not depend on the number of threads, at the sizes that are measured."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import tracejit as tj
from benchmarks.libraries import OURS, leaves, load
from benchmarks.workloads import WORKLOADS

from ..rotation import share_of

COMPILED = [workload for workload in WORKLOADS if workload.compiled and workload.entered(OURS)]


@pytest.fixture(autouse=True)
def _restore_threads() -> Iterator[None]:
    before = tj.num_threads()
    yield
    tj.set_num_threads(before)


def _bits(f: Any, arguments: tuple[Any, ...]) -> list[bytes]:
    return [leaf.tobytes() for leaf in leaves(f(*arguments))]


@pytest.mark.slow
@pytest.mark.parametrize("workload", share_of(COMPILED, 2), ids=lambda workload: workload.name)
def test_every_number_of_threads_gives_the_same(workload: Any) -> None:
    lib = load(OURS)
    assert lib is not None
    f, arguments = workload.function(lib), workload.arguments(lib)
    tj.set_num_threads(1)
    first = _bits(f, arguments)
    for count in (2, 3, 7, 1):
        tj.set_num_threads(count)
        assert all(_bits(f, arguments) == first for _ in range(2)), count


def test_some_of_them_split() -> None:
    """The test above covers parallel code: it does not compare one thread with itself."""
    workload = next(workload for workload in COMPILED if workload.name == "softmax")
    lib = load(OURS)
    assert lib is not None
    lowered = workload.function(lib).lower(*workload.arguments(lib))
    assert lowered.module.parallel
