"""Gradient clipping: PyTorch's numbers in place, optax's meaning as a function."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import optim

A, B = [[0.5, -1.25], [2.0, 0.125]], [1.5, -0.75, 0.25]
#: Values from PyTorch 2.15: norm_type, the norm, and the clipped gradients for a max_norm of 1.
# fmt: off
PYTORCH: list[tuple[float, float, list[float]]] = [
    (
        2.0,
        2.9501059303014867,
        [0.16948538199220542, -0.42371345498051355, 0.6779415279688217, 0.042371345498051355,
         0.5084561459766163, -0.25422807298830813, 0.08474269099610271],
    ),
    (
        1.0,
        6.375,
        [0.07843136024606114, -0.19607840061515283, 0.31372544098424454, 0.019607840061515284,
         0.23529408073818342, -0.11764704036909171, 0.03921568012303057],
    ),
    (
        3.0,
        2.403962096971804,
        [0.2079898816374653, -0.5199747040936632, 0.8319595265498612, 0.05199747040936632,
         0.6239696449123959, -0.31198482245619796, 0.10399494081873265],
    ),
    (
        math.inf,
        2.0,
        [0.2499998750000625, -0.6249996875001562, 0.99999950000025, 0.06249996875001562,
         0.7499996250001875, -0.37499981250009373, 0.12499993750003124],
    ),
]
# fmt: on


def parameters() -> list[tj.Tensor]:
    tensors = [
        tj.zeros((2, 2), requires_grad=True),
        tj.zeros(3, requires_grad=True),
        tj.zeros(2, requires_grad=True),
    ]
    tensors[0].grad, tensors[1].grad = tj.tensor(A), tj.tensor(B)
    return tensors  # the last has no gradient


def gradients(params: list[tj.Tensor]) -> list[float]:
    return [value for p in params if p.grad is not None for value in p.grad.numpy().ravel().tolist()]


@pytest.mark.parametrize(("norm_type", "norm", "clipped"), PYTORCH)
def test_in_place_by_norm(norm_type: float, norm: float, clipped: list[float]) -> None:
    params = parameters()
    before = [p.grad for p in params]
    assert optim.clip_grad_norm_(params, 1.0, norm_type).item() == pytest.approx(norm, rel=1e-14)
    np.testing.assert_allclose(gradients(params), clipped, rtol=1e-14)
    assert all(p.grad is gradient for p, gradient in zip(params, before, strict=True))


def test_small_gradients_stay() -> None:
    params = parameters()
    optim.clip_grad_norm_(params, 100.0)
    optim.clip_grad_norm_(params, math.inf)
    assert gradients(params) == [0.5, -1.25, 2.0, 0.125, 1.5, -0.75, 0.25]


def test_in_place_takes_iterables_and_single_tensors() -> None:
    params = parameters()
    assert optim.clip_grad_norm_((p for p in params), 1.0).item() == pytest.approx(2.9501059303014867)
    gradient = parameters()[1]
    assert optim.clip_grad_norm_(gradient, 1.0, math.inf).item() == 1.5
    assert optim.clip_grad_norm_({"a": parameters()[2]}, 1.0).item() == 0.0
    assert optim.clip_grad_norm_([], 1.0).item() == 0.0


def test_gradients_that_are_not_finite() -> None:
    p = tj.zeros(2, requires_grad=True)
    p.grad = tj.tensor([1.0, math.inf])
    with pytest.raises(tj.GradientError, match=r"clip_grad_norm_: the norm of order 2.0 .* is inf"):
        optim.clip_grad_norm_([p], 1.0, error_if_nonfinite=True)
    assert p.grad.tolist() == [1.0, math.inf]
    with np.errstate(invalid="ignore"):  # eager operations warn as NumPy's do
        assert math.isinf(optim.clip_grad_norm_([p], 1.0).item())
    assert p.grad.tolist()[0] == 0.0
    assert math.isnan(p.grad.tolist()[1])


def test_by_value() -> None:
    params = parameters()
    assert optim.clip_grad_value_(params, 0.5) is None
    assert gradients(params) == [0.5, -0.5, 0.5, 0.125, 0.5, -0.5, 0.25]


def test_functional() -> None:
    grads = {"a": tj.tensor(A), "b": (tj.tensor(B),)}
    clipped, norm = optim.clip_by_global_norm(grads, 1.0)
    assert norm.item() == pytest.approx(2.9501059303014867, rel=1e-15)
    assert optim.global_norm(grads).item() == norm.item()
    assert optim.global_norm(clipped).item() == pytest.approx(1.0, rel=1e-15)
    assert clipped["b"][0].tolist() == pytest.approx([number / norm.item() for number in B], rel=1e-15)
    same, _ = optim.clip_by_global_norm(grads, 3.0)
    assert same["a"].tolist() == A


@pytest.mark.parametrize("max_norm", [0.0, 1.0, 3.0])
def test_functional_jitted(max_norm: float) -> None:
    grads = {"a": tj.tensor(A), "b": tj.tensor(B)}
    jitted = tj.jit(optim.clip_by_global_norm)
    eager, norm = optim.clip_by_global_norm(grads, max_norm)
    compiled, again = jitted(grads, max_norm)
    assert again.item() == pytest.approx(norm.item(), rel=1e-14)
    np.testing.assert_allclose(compiled["a"], eager["a"], rtol=1e-14)
    np.testing.assert_allclose(compiled["b"], eager["b"], rtol=1e-14)
    jitted(grads, max_norm + 1)
    assert "1 signature compiled" in jitted.explain()


def test_functional_corners() -> None:
    zero, norm = optim.clip_by_global_norm(tj.zeros(3), 0.0)
    assert (zero.tolist(), norm.item()) == ([0.0, 0.0, 0.0], 0.0)
    unknown, norm = optim.clip_by_global_norm(tj.tensor([1.0, math.nan]), 1.0)
    assert math.isnan(norm.item())
    assert np.isnan(unknown.numpy()).all()
    assert optim.clip_by_global_norm([], 1.0)[0] == []
    mixed, norm = optim.clip_by_global_norm([tj.ones(2, dtype=tj.float32), tj.ones(2)], 1.0)
    assert [leaf.dtype for leaf in mixed] == [tj.float32, tj.float64]
    assert (norm.item(), norm.dtype) == (2.0, tj.float64)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: optim.clip_by_global_norm([tj.arange(2)], 1.0),
            tj.DTypeError,
            r"must be floating, got i64\[2\] at \[0\]",
        ),
        (
            lambda: optim.clip_by_global_norm([], -1.0),
            tj.DomainError,
            "max_norm must be at least 0, got -1.0",
        ),
        (lambda: optim.clip_grad_norm_([], -1.0), tj.DomainError, "max_norm"),
        (lambda: optim.clip_grad_norm_([], 1.0, 0.0), tj.DomainError, "norm_type must be above 0, got 0.0"),
        (
            lambda: optim.clip_grad_norm_([1.0], 1.0),
            tj.DTypeError,
            r"params must hold tensors, got float at \[0\]",
        ),
        (lambda: optim.clip_grad_value_([], "1"), tj.DTypeError, "value must be a Python number, got str"),
    ],
)
def test_errors(call: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        call()
