"""Schedules: PyTorch's numbers, every way to call them, and jitted."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import optim

#: (schedule, its values at steps 0 to 6). Those named after PyTorch's schedulers were read from them.
EXPECTED: dict[str, tuple[Any, list[float]]] = {
    "constant": (optim.constant(0.5), [0.5] * 7),
    "StepLR": (optim.step_decay(0.5, 3, 0.5), [0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.125]),
    "MultiStepLR": (optim.multistep(0.5, [2, 5]), [0.5, 0.5, 0.05, 0.05, 0.05, 0.005, 0.005]),
    "ExponentialLR": (
        optim.exponential_decay(0.5, 0.9),
        [0.5, 0.45, 0.405, 0.3645, 0.32805, 0.295245, 0.2657205],
    ),
    "every other step": (
        optim.exponential_decay(1.0, 0.25, every=2),
        [1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625],
    ),
    "LinearLR": (optim.linear(0.5, 0.05, 4), [0.5, 0.3875, 0.275, 0.1625, 0.05, 0.05, 0.05]),
    "upward": (optim.linear(0.0, 1.0, 2), [0.0, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0]),
    "CosineAnnealingLR": (
        optim.cosine_decay(0.5, 6, alpha=0.1),
        [0.5, 0.4698557158514987, 0.3875, 0.275, 0.1625, 0.0801442841485013, 0.05],
    ),
    "cosine to zero": (optim.cosine_decay(2.0, 2), [2.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    # warm-up 0.2, 0.6; then 0.1 + 0.9 * (1 + cos(pi * k / 4)) / 2
    "warmup_cosine": (
        optim.warmup_cosine(1.0, 2, 6, init=0.2, end=0.1),
        [0.2, 0.6, 1.0, 0.8681980515339464, 0.55, 0.2318019484660536, 0.1],
    ),
    "SequentialLR": (
        optim.join([optim.constant(0.5), optim.exponential_decay(0.5, 0.5)], [3]),
        [0.5, 0.5, 0.5, 0.5, 0.25, 0.125, 0.0625],
    ),
    "three parts": (
        optim.join([optim.linear(0.0, 1.0, 2), optim.constant(2.0), lambda step: 3.0 + step], [2, 4]),
        [0.0, 0.5, 2.0, 2.0, 3.0, 4.0, 5.0],
    ),
}


@pytest.mark.parametrize(("schedule", "expected"), EXPECTED.values(), ids=EXPECTED)
def test_values(schedule: Any, expected: list[float]) -> None:
    np.testing.assert_allclose([schedule(step).item() for step in range(7)], expected, rtol=1e-14, atol=1e-16)
    np.testing.assert_allclose(schedule(tj.arange(7)), expected, rtol=1e-14, atol=1e-16)
    assert schedule(tj.tensor(0)).dtype == tj.float64
    assert schedule(3).shape == ()


@pytest.mark.parametrize(("schedule", "expected"), EXPECTED.values(), ids=EXPECTED)
def test_jitted(schedule: Any, expected: list[float]) -> None:
    jitted = tj.jit(lambda step: schedule(step))
    rates = [jitted(tj.tensor(step)).item() for step in range(7)]
    np.testing.assert_allclose(rates, expected, rtol=1e-13, atol=1e-16)
    assert "1 signature compiled" in jitted.explain()


def test_values_do_not_depend_on_the_default_dtype() -> None:
    tj.set_default_dtype(tj.float32)
    try:
        rate = optim.exponential_decay(0.1, 0.9)(tj.tensor(3))
    finally:
        tj.set_default_dtype(tj.float64)
    assert rate.dtype == tj.float64
    assert rate.item() == pytest.approx(0.0729, rel=1e-14)


def test_schedules_are_data() -> None:
    schedule = optim.join([optim.linear(0.0, 1.0, 2), optim.cosine_decay(1.0, 8)], [2])
    assert repr(schedule) == "join((linear(0.0, 1.0, 2), cosine_decay(1.0, 8, 0.0)), (2,))"
    assert pickle.loads(pickle.dumps(schedule)) == schedule


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: optim.linear(1.0, 0.0, 0),
            tj.DomainError,
            "linear: steps must be a number of steps above 0",
        ),
        (lambda: optim.cosine_decay(1.0, -1), tj.DomainError, "cosine_decay: steps"),
        (lambda: optim.step_decay(1.0, 0), tj.DomainError, "step_decay: every"),
        (
            lambda: optim.exponential_decay(1.0, -0.5),
            tj.DomainError,
            "exponential_decay: factor must be at least",
        ),
        (
            lambda: optim.multistep(1.0, [5, 2]),
            tj.DomainError,
            r"multistep: milestones must ascend, got \[5, 2\]",
        ),
        (lambda: optim.warmup_cosine(1.0, 5, 5), tj.DomainError, "warmup_cosine: steps counts the warm-up"),
        (lambda: optim.join([], []), tj.DomainError, "join: expected schedules"),
        (lambda: optim.join([0.1, 0.2], [3]), tj.DomainError, "join: expected schedules"),
        (
            lambda: optim.join([optim.constant(1.0)], [3]),
            tj.ShapeError,
            "1 schedules need 0 boundaries .* got 1",
        ),
        (lambda: optim.constant("1"), tj.DTypeError, "constant: value must be a Python number, got str"),
    ],
)
def test_errors(make: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        make()
