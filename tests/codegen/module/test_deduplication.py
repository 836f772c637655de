"""Kernels of equal code are compiled once."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tracejit as tj
from tests.support import function_of
from tracejit.codegen.module.body import MANY_CALLS
from tracejit.codegen.module.deduplication import backward
from tracejit.ir.graph import Function
from tracejit.runtime.executable import Executable


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


def _functions(executable: Executable) -> list[str]:
    return re.findall(r"define internal \w+ @(\w+)\(", executable.module.text)


def test_layers_share_their_code() -> None:
    def network(x, *weights):
        for w, b in zip(weights[::2], weights[1::2], strict=True):
            x = tj.tanh(x @ w + b)
        return x

    rng = np.random.default_rng(0)
    x = rng.standard_normal((8, 16))
    weights = [rng.standard_normal(shape) for _ in range(6) for shape in ((16, 16), (16,))]
    executable = Executable(tj.trace(network, x, *weights))
    assert len(executable.module.kernels) >= 6
    assert len(_functions(executable)) <= 3
    want = x
    for w, b in zip(weights[::2], weights[1::2], strict=True):
        want = np.tanh(want @ w + b)
    np.testing.assert_allclose(executable([x, *weights])[0], want, rtol=1e-12)


def test_equal_code_that_fails_says_which_op() -> None:
    """Both gathers have one function; the messages stay apart."""
    f = tj.jit(lambda x, i, j: (x[i] * 2, x[j] + 1))
    x, good, bad = np.arange(5.0), np.array([1, 2]), np.array([1, 7])
    f(x, good, good)
    for args in ((bad, good), (good, bad)):
        with pytest.raises(IndexError, match="axis 0 with size 5"):
            f(x, *args)
    assert np.array_equal(f(x, good, good)[1], x[good] + 1)


def test_parallel_kernels_that_are_equal() -> None:
    x = np.linspace(0.0, 1.0, 600_000)
    f = tj.jit(lambda x, y: (tj.cumsum(tj.sin(x)), tj.cumsum(tj.sin(y))))
    results, two = f(x, x[::-1].copy())
    np.testing.assert_allclose(results, np.cumsum(np.sin(x)), rtol=1e-9)
    np.testing.assert_allclose(two, np.cumsum(np.sin(x[::-1])), rtol=1e-9)


def test_other_constants_are_other_code() -> None:
    executable = Executable(tj.trace(lambda x: (tj.flip(x, 0) * 2.0, x.sum() * 3.0), np.ones(40)))
    assert len(set(_functions(executable))) == len(executable.module.kernels)


def test_long_rows_of_calls_are_compiled_in_silence(capfd: pytest.CaptureFixture[str]) -> None:
    """LLVM says on standard error when a pass skips a function."""

    order = np.random.default_rng(0).integers(1, 5, size=MANY_CALLS)  # what repeats would become a loop

    def network(x, w):
        for number in order:
            for _ in range(number):
                x = -x
            x = tj.tanh(x @ w) * 0.5
        return x

    x, w = np.ones((2, 3)), np.ones((3, 3)) / 7
    executable = Executable(tj.jit(network, loops="unrolled").trace(x, w))
    assert "optnone" in executable.module.text
    want = x
    for number in order:
        want = np.tanh((-1.0) ** number * want @ w) * 0.5
    np.testing.assert_allclose(executable([x, w])[0], want, rtol=1e-9)
    assert capfd.readouterr() == ("", "")


def test_the_same_ops_with_other_constants_are_other_code() -> None:
    """Fusions of the same ops are told apart by all that is in them, and equal ones share a kernel."""

    def layers(x, w):
        for factor in (2.0, 3.0, 2.0, -0.0, 0.0, 3.0):  # numbers of the code: others would be inputs
            x = tj.tanh(x @ w) * factor + 1.0
        return x

    x, w = np.linspace(0.0, 1.0, 12).reshape(3, 4), np.eye(4) / 3
    executable = Executable(tj.jit(layers, loops="unrolled").trace(x, w))
    maps = [kernel.name for kernel in executable.module.kernels if kernel.nest is not None]
    assert len(maps) == 6
    assert len(set(maps)) == 4
    want = x
    for factor in (2.0, 3.0, 2.0, -0.0, 0.0, 3.0):
        want = np.tanh(want @ w) * factor + 1.0
    np.testing.assert_allclose(executable([x, w])[0], want, rtol=1e-12)
