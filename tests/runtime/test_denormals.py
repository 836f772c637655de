"""Flushing of denormal numbers: in a thread, in the calls of a function, and in the tasks of the pool."""

from __future__ import annotations

import platform
import threading

import numpy as np
import pytest

import tracejit as tj
from tracejit.runtime.denormals import is_flushing

pytestmark = pytest.mark.skipif(
    platform.machine().lower() not in ("x86_64", "amd64", "aarch64", "arm64"), reason="no known mode"
)

#: Denormal in float32, and what is not, but half of which is.
SMALL, SMALLEST = 1e-40, 1.2e-38


def halved(x: tj.Tensor) -> tj.Tensor:
    return x * 0.5


def small(count: int = 8, value: float = SMALLEST) -> tj.Tensor:
    return tj.tensor(np.full(count, value, np.float32))


def zeros_in(tensor: tj.Tensor) -> int:
    # by the bits: comparing with zero is what flushing changes
    return int((tensor.numpy().view(np.uint32) == 0).sum())


def test_calls_flush_where_asked_and_only_there() -> None:
    plain, flushing = tj.jit(halved), tj.jit(halved, flush_denormals=True)
    for _ in range(3):  # the slow path, then the native entry
        assert zeros_in(plain(small())) == 0
        assert zeros_in(flushing(small())) == 8
        assert not is_flushing()


def test_denormal_operands_count_as_zero() -> None:
    scaled = tj.jit(lambda x: x * 1e10, flush_denormals=True)
    assert zeros_in(scaled(small(value=SMALL))) == 8
    assert zeros_in(tj.jit(lambda x: x * 1e10)(small(value=SMALL))) == 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_normal_numbers_are_as_ever(dtype: str) -> None:
    x = tj.tensor(np.linspace(-3, 3, 1000).astype(dtype))
    f = lambda x: tj.sin(x) * tj.exp(-x) + tj.sum(x)  # noqa: E731
    np.testing.assert_array_equal(tj.jit(f, flush_denormals=True)(x).numpy(), tj.jit(f)(x).numpy())


def test_tasks_of_the_pool_are_in_their_callers_mode() -> None:
    count = 4_000_000
    with tj.threads(4):
        flushing = tj.jit(lambda x: tj.sin(x * 0.5) + x * 0.25, flush_denormals=True)
        plain = tj.jit(lambda x: tj.sin(x * 0.5) + x * 0.25)
        for _ in range(3):
            assert zeros_in(flushing(small(count))) == count
            assert zeros_in(plain(small(count))) == 0
        with tj.flush_denormals(True):
            assert zeros_in(plain(small(count))) == count
        assert zeros_in(plain(small(count))) == 0


def test_gradients_of_a_function_flush_too() -> None:
    x = small(value=1.0).requires_grad_()
    f = tj.jit(lambda x: (x * SMALLEST * 0.5).sum(), flush_denormals=True)
    f(x).backward()
    assert zeros_in(x.grad) == 8
    assert not is_flushing()
    assert str(f.explain()).count("denormal numbers count as zero") == 2


def test_a_jitted_gradient_flushes() -> None:
    gradient = tj.jit(tj.grad(lambda x: (x * SMALLEST * 0.5).sum()), flush_denormals=True)
    assert zeros_in(gradient(small(value=1.0))) == 8


def test_both_paths_of_a_branch_flush() -> None:
    @tj.jit(flush_denormals=True)
    def f(x: tj.Tensor, up: tj.Tensor) -> tj.Tensor:
        return x * 0.5 if up > 0 else x * 0.25

    for _ in range(3):
        for sign in (1.0, -1.0):
            assert zeros_in(f(small(), tj.tensor(sign))) == 8


def test_a_call_that_fails_gives_the_mode_back() -> None:
    f = tj.jit(lambda x, i: x[i] * 0.5, flush_denormals=True)
    f(small(), tj.tensor(0))
    with pytest.raises(IndexError):
        f(small(), tj.tensor(100))
    assert not is_flushing()


def test_in_a_thread_from_now_on() -> None:
    seen: list[object] = []

    def work() -> None:
        tj.flush_denormals(True)
        seen.append(zeros_in(halved(small())))
        seen.append(zeros_in(tj.jit(halved)(small())))
        tj.flush_denormals(False)
        seen.append(zeros_in(halved(small())))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [8, 8, 0]
    assert not is_flushing()


def test_a_block_gives_back_what_was() -> None:
    with tj.flush_denormals(True):
        with tj.flush_denormals(False):
            assert not is_flushing()
        assert is_flushing()
    assert not is_flushing()


def test_a_block_that_raises() -> None:
    with pytest.raises(KeyError), tj.flush_denormals(True):
        raise KeyError
    assert not is_flushing()


def test_what_is_no_bool_is_refused() -> None:
    with pytest.raises(tj.TracejitError, match="flush_denormals: expected True or False, got 1"):
        tj.flush_denormals(1)  # type: ignore[arg-type]
    with pytest.raises(tj.TracejitError, match="jit: flush_denormals must be True or False, got 'yes'"):
        tj.jit(halved, flush_denormals="yes")  # type: ignore[call-overload]


@pytest.mark.skipif(platform.machine().lower() not in ("x86_64", "amd64"), reason="x86 alone notes them")
def test_profiles_say_which_kernels_met_denormals() -> None:
    f = tj.jit(lambda x, y: (tj.exp(x), tj.cumsum(y * 0.5)))
    normal, both = tj.ones(1000, dtype="float32"), small(1000)
    assert "denormal" not in tj.profile(f, normal, normal).summary()
    profile = tj.profile(f, normal, both)
    assert "met denormal numbers" in profile.summary()
    assert [nest.denormal_runs for nest in profile.functions[0].nests].count(1) == 1
