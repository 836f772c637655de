"""Logistic regression by every optimiser, in both styles, eager and jitted: one loss curve."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj

STEPS = 40
#: Rounding differs between op by op and fused code; 40 steps of a smooth problem amplify it little.
TOLERANCE = 1e-9
PAIRS: dict[str, tuple[Any, Any]] = {
    "sgd": (tj.optim.sgd(0.5), lambda p: tj.optim.SGD(p, lr=0.5)),
    "nesterov": (
        tj.optim.sgd(0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
        lambda p: tj.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    ),
    "adam on a schedule": (
        tj.optim.adam(tj.optim.warmup_cosine(0.2, 5, STEPS)),
        lambda p: tj.optim.Adam(p, lr=tj.optim.warmup_cosine(0.2, 5, STEPS)),
    ),
    "adamw": (tj.optim.adamw(0.1, amsgrad=True), lambda p: tj.optim.AdamW(p, lr=0.1, amsgrad=True)),
}


def data() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """60 points of two overlapping classes."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=(60, 3))
    y = (x @ np.array([1.5, -2.0, 0.5]) + 0.3 + rng.normal(size=60) > 0).astype(float)
    return x, y


def loss(params: Any, x: Any, y: Any) -> tj.Tensor:
    z = x @ params["w"] + params["b"]
    return (tj.logaddexp(0.0, z) - y * z).mean()


def functional_curve(optimizer: Any, *, jitted: bool) -> list[float]:
    x, y = data()

    def step(params: Any, state: Any) -> Any:
        value, grads = tj.value_and_grad(loss)(params, x, y)
        grads, _ = tj.optim.clip_by_global_norm(grads, 0.25)
        return value, *optimizer.update(params, grads, state)

    run = tj.jit(step) if jitted else step
    params: Any = {"w": tj.zeros(3), "b": tj.zeros(())}
    state = optimizer.init(params)
    curve = []
    for _ in range(STEPS):
        value, params, state = run(params, state)
        curve.append(value.item())
    if jitted:
        assert run.explain().startswith("step: 1 signature compiled")
    return curve


def stateful_curve(make: Any, *, jitted: bool) -> list[float]:
    x, y = data()
    objective = tj.jit(loss) if jitted else loss
    params = {"w": tj.zeros(3, requires_grad=True), "b": tj.zeros((), requires_grad=True)}
    optimizer = make(params)
    curve = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        value = objective(params, x, y)
        value.backward()
        # the exact quotient of clip_by_global_norm, where clip_grad_norm_ adds 1e-6 to the norm
        clipped, _ = tj.optim.clip_by_global_norm([p.grad for p in params.values()], 0.25)
        for p, g in zip(params.values(), clipped, strict=True):
            p.grad = g
        optimizer.step()
        curve.append(value.item())
    return curve


@pytest.mark.parametrize("name", PAIRS)
def test_one_loss_curve(name: str) -> None:
    functional, stateful = PAIRS[name]
    expected = functional_curve(functional, jitted=False)
    assert expected[0] == pytest.approx(np.log(2))
    assert expected[-1] < 0.45
    np.testing.assert_allclose(functional_curve(functional, jitted=True), expected, rtol=TOLERANCE)
    np.testing.assert_allclose(stateful_curve(stateful, jitted=False), expected, rtol=TOLERANCE)
    np.testing.assert_allclose(stateful_curve(stateful, jitted=True), expected, rtol=TOLERANCE)


def test_the_last_losses() -> None:
    """Written out, so that all four going wrong together is seen: an independent computation with NumPy."""
    x, y = data()
    w, b = np.zeros(3), 0.0
    for _ in range(STEPS):
        z = x @ w + b
        value = np.mean(np.logaddexp(0.0, z) - y * z)
        error = (1 / (1 + np.exp(-z)) - y) / len(y)
        gw, gb = x.T @ error, error.sum()
        scale = min(1.0, 0.25 / np.sqrt(gw @ gw + gb * gb))
        w, b = w - 0.5 * scale * gw, b - 0.5 * scale * gb
    assert functional_curve(PAIRS["sgd"][0], jitted=False)[-1] == pytest.approx(value, rel=1e-12)
