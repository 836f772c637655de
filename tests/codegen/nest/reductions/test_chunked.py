"""Split nests in the loop form: kernels that the verifier proves, and whose interpreter and machine code
agree with NumPy, whatever fills no chunk and no block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.codegen.loops.interpreter import interpret_kernel
from tracejit.codegen.loops.nodes import TASKS, Kernel
from tracejit.codegen.loops.parser import parse_kernel
from tracejit.codegen.loops.phases import has_phases
from tracejit.codegen.loops.printer import print_kernel
from tracejit.codegen.loops.rewriting import loops_in
from tracejit.codegen.loops.verifier import verify_kernel
from tracejit.codegen.module.writer import generate
from tracejit.codegen.nest.maps import ScheduledLoops
from tracejit.codegen.tiers import BASELINE, OPTIMIZED, Tier

from .test_rows import TARGETS
from .test_split import always_split

Function = Callable[[Any], Any]


@pytest.fixture(autouse=True)
def _all_is_much_work(monkeypatch: pytest.MonkeyPatch) -> None:
    always_split(monkeypatch.setattr)


def everything(x: Any) -> Any:
    return x.sum(), x.max()


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max())
    return e / e.sum()


def columns(x: Any) -> Any:
    return x.sum(0), x.min(0)


def normed(x: Any) -> Any:
    return (x - x.mean(0)) / np.sqrt(x.var(0) + 1.0)


def spread(x: Any) -> Any:
    return x.var(0), np.exp(-x.mean(0))


CASES: list[tuple[Function, tuple[int, ...]]] = [
    (everything, (517,)),
    (everything, (9, 7, 11)),
    (softmax, (1031,)),
    (columns, (131, 3)),
    (columns, (67, 130)),
    (columns, (1700, 70)),
    (normed, (150, 5)),
    (normed, (70, 129)),
    (spread, (97, 80)),
    (spread, (96, 80)),
]


def kernels_of(f: Function, x: Any, target: Any, tier: Tier) -> list[Kernel]:
    """The kernels of `f` that have phases."""
    module = generate(tj.jit(f).lower(x).fused, target, parameters=tier.parameters)
    described = [k.described.loops for k in module.kernels if isinstance(k.described, ScheduledLoops)]
    return [kernel for kernel in described if has_phases(kernel)]


@pytest.mark.parametrize("tier", [OPTIMIZED, BASELINE])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("f", "shape"), CASES)
def test_kernels_are_proven_and_mean_what_numpy_says(
    f: Function, shape: tuple[int, ...], target: Any, tier: Tier
) -> None:
    rng = np.random.default_rng(sum(shape))
    x = rng.integers(-8, 9, shape) / 4.0
    kernels = kernels_of(f, x, target, tier)
    assert kernels
    for kernel in kernels:
        verify_kernel(kernel)
        text = print_kernel(kernel)
        assert print_kernel(parse_kernel(text)) == text
        assert any(loop.kind == TASKS for loop in loops_in(kernel.body))
    if len(kernels) == 1 and target is TARGETS[-1]:
        want = f(x)
        (kernel,), expected = kernels, list(want) if isinstance(want, tuple) else [want]
        inputs = [buffer for buffer in kernel.buffers if not buffer.out]
        if len(inputs) == 1:
            results = [np.empty(buffer.size.constant, x.dtype) for buffer in kernel.buffers if buffer.out]
            interpret_kernel(kernel, [x.reshape(-1), *results], rng=rng)
            for got, array in zip(results, expected, strict=True):
                np.testing.assert_allclose(got, np.ravel(array), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("f", "shape"), CASES)
def test_machine_code(f: Function, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(1).standard_normal(shape)
    want, got = f(x), tj.jit(f)(x)
    for a, b in zip(*[value if isinstance(value, tuple) else (value,) for value in (got, want)], strict=True):
        np.testing.assert_allclose(np.asarray(a), b, rtol=1e-11, atol=1e-12)
