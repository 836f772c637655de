"""Transforms and the maps around them as one kernel, line by line: the same values, whatever is around."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.codegen.lowering.lowering import Lowering
from tracejit.codegen.module import body
from tracejit.codegen.module.costs import cost_of_function
from tracejit.codegen.module.families import LOWERINGS
from tracejit.ir.kinds import Kind
from tracejit.ir.passes.fusion import tiling

RNG = np.random.default_rng(7)
#: Bounds of differences, relative to the largest value.
TOLERANCES = {"float32": 2e-6, "float64": 1e-14}


@pytest.fixture(autouse=True)
def _any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups of whatever size, so that tests are small."""
    monkeypatch.setattr(tiling, "least_bytes", lambda: 0)


def power(np: Any, x: Any, w: Any) -> Any:
    return np.abs(np.fft.rfft(x * w)) ** 2


def filtered(np: Any, x: Any, w: Any) -> Any:
    return np.fft.irfft(np.fft.rfft(x) * w[: x.shape[-1] // 2 + 1])


def derivative(np: Any, x: Any, w: Any) -> Any:
    """A window, and frequencies that are counted."""
    return np.fft.ifft(np.fft.fft(x * w) * 2j * np.fft.fftfreq(x.shape[-1])).real


def with_results_between(np: Any, x: Any, w: Any) -> Any:
    windowed = x * w
    spectrum = np.fft.rfft(windowed)
    density = (spectrum * np.conj(spectrum)).real
    return windowed, density, np.fft.irfft(density), density[..., ::-1] + 1


def cross_correlation(np: Any, x: Any, w: Any) -> Any:
    product = np.fft.rfft(x) * np.conj(np.fft.rfft(x[..., ::-1] * w))
    return np.fft.irfft(product / (np.abs(product) + 0.1))


def analytic_signal(np: Any, x: Any, w: Any) -> Any:
    size = x.shape[-1]
    step = np.where(np.arange(size) < size // 2, 2.0, 0.0)
    return np.abs(np.fft.ifft(np.fft.fft(x) * step))


PROGRAMS = [power, filtered, derivative, with_results_between, cross_correlation, analytic_signal]


def inputs(shape: tuple[int, ...], dtype: str) -> tuple[Any, Any]:
    return RNG.standard_normal(shape).astype(dtype), RNG.standard_normal(shape[-1]).astype(dtype)


def tiled(f: Callable[..., Any], *args: Any) -> int:
    """Number of groups."""
    fused = tj.jit(f).lower(*args).fused
    return sum(instruction.op.kind is Kind.TILED for instruction in fused.body)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: str(program.__name__))
@pytest.mark.parametrize("shape", [(9, 64), (2, 1, 3, 200), (5, 136)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values_are_numpys(program: Callable[..., Any], shape: tuple[int, ...], dtype: str) -> None:
    x, w = inputs(shape, dtype)
    if (shape[-1] // 2) % 4 == 0:
        assert tiled(lambda x, w: program(tj, x, w), x, w) >= 1
    results = tj.jit(lambda x, w: program(tj, x, w))(x, w)
    expected = program(np, x, w)
    pairs = zip(results, expected, strict=True) if isinstance(expected, tuple) else [(results, expected)]
    for result, array in pairs:
        assert result.shape == array.shape
        bound = TOLERANCES[dtype] * np.abs(array).max() * 4
        np.testing.assert_allclose(result.numpy(), array, rtol=0, atol=bound)


def test_lines_that_are_fetched_ahead_and_scratch_beyond_the_stack() -> None:
    """Arrays that leave the caches, and the largest lines."""
    for shape in (600, 512), (70, 4096):
        x, w = inputs(shape, "float64")
        result = tj.jit(lambda x, w: filtered(tj, x, w))(x, w)
        np.testing.assert_allclose(result.numpy(), filtered(np, x, w), rtol=0, atol=1e-12)


def test_results_do_not_depend_on_threads() -> None:
    x, w = inputs((300, 512), "float64")
    run = tj.jit(lambda x, w: filtered(tj, x, w))
    threads = tj.num_threads()
    try:
        results = []
        for count in (1, 2):
            tj.set_num_threads(count)
            results.append(run(x, w).numpy().copy())
    finally:
        tj.set_num_threads(threads)
    assert np.array_equal(*results)


def test_in_a_loop_and_with_gradients() -> None:
    """Steps of a spectral method: groups in the body of a scan, and in that of its gradient."""
    x, w = inputs((6, 64), "float64")

    def steps(np_: Any, x: Any) -> Any:
        for _ in range(3):
            x = np_.fft.irfft(np_.fft.rfft(x * w) * 0.5) + x
        return (x**2).sum()

    value, gradient = tj.jit(tj.value_and_grad(lambda x: steps(tj, x)))(x)
    assert abs(float(value) - steps(np, x)) < 1e-12 * abs(float(value))
    direction, h = RNG.standard_normal(x.shape), 1e-6
    slope = (steps(np, x + h * direction) - steps(np, x - h * direction)) / (2 * h)
    assert abs(float((gradient * direction).sum()) - slope) < 1e-7 * max(1.0, abs(slope))


def test_a_kernel_that_fails_is_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise ValueError("on purpose")

    monkeypatch.setattr(body, "LOWERINGS", {**LOWERINGS, Kind.TILED: Lowering((Kind.TILED,), fails)})
    x, w = inputs((11, 72), "float64")
    with pytest.warns(tj.CompilerWarning, match="its ops|Its ops"):
        result = tj.jit(lambda x, w: filtered(tj, x, w))(x, w)
    np.testing.assert_allclose(result.numpy(), filtered(np, x, w), rtol=0, atol=1e-12)


def test_costs_are_those_of_the_members(monkeypatch: pytest.MonkeyPatch) -> None:
    x, w = inputs((40, 256), "float64")
    lowered = tj.jit(lambda x, w: power(tj, x, w)).lower(x, w)
    cost = cost_of_function(lowered.fused)
    transforms = 2.5 * 40 * 258 * 8
    assert transforms < cost.flops < 1.5 * transforms + 40 * 256
    assert cost.read == x.nbytes + w.nbytes
    assert cost.written == 40 * 129 * 8


def test_what_stays_in_the_second_cache_is_not_grouped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    run = lambda x, w: filtered(tj, x, w)  # noqa: E731
    assert tiled(run, *inputs((60, 512), "float64")) == 0
    assert tiled(run, *inputs((600, 512), "float64")) == 1
