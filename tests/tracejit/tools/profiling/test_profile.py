"""``tj.profile`` and ``tj.memory``: issue item 9, and the leaks of 11."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj


@pytest.fixture(autouse=True)
def _isolated() -> Iterator[None]:
    with tj.extend.isolated():
        yield


def test_one_record_per_kernel_with_shapes_bytes_and_time() -> None:
    profile = tj.profile(lambda x, y: tj.exp(x + y).sum(axis=0), tj.ones((2, 3)), 1.0)
    assert [
        (kernel.name, kernel.inputs, kernel.outputs, kernel.bytes, kernel.backend)
        for kernel in profile.kernels
    ] == [
        ("add", ("f64[2,3]", "float"), ("f64[2,3]",), 48, "numpy"),
        ("exp", ("f64[2,3]",), ("f64[2,3]",), 48, "numpy"),
        ("sum", ("f64[2,3]",), ("f64[3]",), 24, "numpy"),
    ]
    assert all(kernel.milliseconds > 0 for kernel in profile.kernels)
    assert profile.kernel_names == ["add", "exp", "sum"]
    np.testing.assert_allclose(profile.result, [2 * np.exp(2.0)] * 3)
    assert "sum" in str(profile)
    assert "new bytes 24, peak bytes 96" in str(profile)


def test_new_and_peak_bytes() -> None:
    def chain(x: Any) -> Any:
        for _ in range(5):
            x = x + 1.0
        return x

    profile = tj.profile(chain, tj.ones(1000))
    assert profile.new_bytes == 8000
    assert profile.peak_bytes == 16000, "never more than two at once"
    kept: list[Any] = []
    profile = tj.profile(lambda x: kept.append(x + 1.0), tj.ones(1000))
    assert profile.new_bytes == profile.peak_bytes == 8000
    profile = tj.profile(lambda x: (x + 1.0)[2:5], tj.ones(1000))
    assert profile.new_bytes == 8000, "a view keeps its memory alive"


def test_the_backward_pass_is_profiled() -> None:
    x = tj.tensor([1.0, 2.0], requires_grad=True)
    profile = tj.profile(lambda: (x * x).sum().backward())
    assert profile.kernel_names[:2] == ["mul", "sum"]
    assert profile.kernels[3:], "kernels of the backward pass"


def test_a_compiled_call_is_one_record() -> None:
    def double(x: Any) -> Any:
        return tj.exp(x) * 2

    f = tj.jit(double)
    x = tj.ones(10)
    for _ in range(2):
        profile = tj.profile(f, x)
        assert [(kernel.name, kernel.backend, kernel.inputs, kernel.bytes) for kernel in profile.kernels] == [
            ("@double", "llvm", ("f64[10]",), 80)
        ]
    calls = [f(x) for _ in range(3)]
    assert [call.tolist() for call in calls] == [profile.result.tolist()] * 3


def test_user_ops_and_their_parts() -> None:
    tj.register_op("pair", lambda x: (x, x))
    tj.register_kernel("pair", "numpy", lambda x: (x + 1, x + 2))
    profile = tj.profile(lambda: tj.ops.pair(tj.ones(3)))
    (pair_kernel,) = [kernel for kernel in profile.kernels if kernel.name == "pair"]
    assert pair_kernel.outputs == ("f64[3]", "f64[3]")
    assert pair_kernel.bytes == 48
    tj.register_op("soft", decompose=lambda x: tj.log1p(tj.exp(x)))
    assert tj.profile(lambda: tj.ops.soft(1.0)).kernel_names == ["exp", "log1p"]


def test_nested_and_failing_profiles() -> None:
    inner: list[Any] = []

    def run(x: Any) -> Any:
        y = x + 1
        inner.append(tj.profile(tj.exp, y))
        return inner[0].result * 2

    profile = tj.profile(run, tj.ones(2))
    assert profile.kernel_names == ["add", "exp", "mul"]
    assert inner[0].kernel_names == ["exp"]
    with pytest.raises(tj.ShapeError, match="add"):
        tj.profile(lambda: tj.ones(2) + tj.ones(3))
    from tracejit.ir.registry import OPS

    assert all(op.kernel is op.eval for op in OPS if not op.name.startswith("special")), (
        "nothing is left behind"
    )


def test_other_threads_are_not_recorded() -> None:
    started, done = threading.Event(), threading.Event()

    def other() -> None:
        started.wait(10)
        tj.log(tj.ones(5))
        done.set()

    thread = threading.Thread(target=other)
    thread.start()

    def run() -> Any:
        started.set()
        done.wait(10)
        return tj.exp(0.0)

    profile = tj.profile(run)
    thread.join()
    assert "log" not in profile.kernel_names
    assert "exp" in profile.kernel_names


# -- memory -----------------------------------------------------------------------------------------


def test_live_tensors_and_bytes() -> None:
    before = tj.memory()
    x = tj.ones(1000)
    view = x[10:20]
    middle = tj.memory()
    assert (middle.tensors - before.tensors, middle.bytes - before.bytes) == (2, 8000)
    del x, view
    after = tj.memory()
    assert (after.tensors, after.bytes) == (before.tensors, before.bytes)


def test_what_only_the_tape_holds() -> None:
    x = tj.ones(1000).requires_grad_()
    before = tj.memory()
    y = tj.exp(x * 2.0).sum()
    middle = tj.memory()
    assert middle.saved_bytes - before.saved_bytes == 8000, "the exponential's result"
    assert middle.nodes - before.nodes == 3
    y.backward()
    x.grad = None
    del y
    after = tj.memory()
    assert after == before


def test_user_ops_do_not_leak() -> None:
    tj.register_op("probe", inputs="x y", elementwise=True)
    tj.register_kernel("probe", "numpy", np.multiply)
    tj.register_gradient("probe", lambda ct, x, y: (ct * y, ct * x), save_all_inputs=True)
    tj.register_op("pair", lambda x: (x, x))
    tj.register_kernel("pair", "numpy", lambda x: (x + 1, x * 2))
    tj.register_gradient("pair", lambda cts, x: cts[0] + 2 * cts[1], save_all_inputs=True)
    tj.register_op("fails", lambda x: x)
    tj.register_kernel("fails", "numpy", lambda x: x[7, 7])
    f = tj.jit(lambda x: tj.ops.probe(*tj.ops.pair(x)).sum())

    def step() -> None:
        x = tj.ones(1000).requires_grad_()
        tj.ops.probe(*tj.ops.pair(x)).sum().backward()
        f(x).backward()
        tj.grad(tj.grad(lambda x: tj.ops.probe(*tj.ops.pair(x))))(2.0)
        with pytest.raises(tj.KernelError, match="its numpy kernel raised"):
            tj.ops.fails(x)

    step()
    before = tj.memory()
    for _ in range(3):
        step()
    after = tj.memory()
    assert after == before
