"""Kernels that run their tasks from the last one on: which ones do, and that each task runs once."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.codegen.module.task_functions import backward
from tracejit.ir.graph import Function
from tracejit.runtime.executable import Executable

from ...support import function_of


def two_passes(size: int) -> Function:
    """An array less its mean, which is two kernels that read it."""

    def build(b: object, x: object) -> object:
        less = b.exp(x)  # type: ignore[attr-defined]
        total = b.reshape(b.sum(less, axes=(0,)), shape=(1,))  # type: ignore[attr-defined]
        return b.div(less, b.broadcast(total, shape=(size,)))  # type: ignore[attr-defined]

    return function_of("f", [np.empty(size)], build)


@pytest.mark.parametrize(("size", "count"), [(20_000, 0), (100_000, 1), (500_000, 1), (700_000, 0)])
def test_arrays_about_as_large_as_the_second_cache(size: int, count: int) -> None:
    fused = Executable(two_passes(size)).fused
    assert len(backward(fused)) == count


@pytest.mark.parametrize("threads", [1, 2])
def test_every_task_runs_once(threads: int) -> None:
    # 100,003 is no multiple of anything that tasks have
    x = np.random.default_rng(0).uniform(-5, 5, 100_003)
    before = tj.num_threads()
    try:
        tj.set_num_threads(threads)
        executable = Executable(two_passes(len(x)))
        assert "_back_task" in executable.module.text
        (result,) = executable([x])
    finally:
        tj.set_num_threads(before)
    np.testing.assert_allclose(result, np.exp(x) / np.exp(x).sum(), rtol=1e-14)
