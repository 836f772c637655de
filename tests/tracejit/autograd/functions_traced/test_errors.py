"""``tj.autograd.Function``: what cannot be differentiated or traced, and what the message says."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

from .common import FIRST, SECOND, Function, function, grad, jit, save_and, times_saved


def test_a_backward_of_numpy_is_an_error_only_where_it_is_differentiated_under_jit():
    f = function(lambda ctx, x: x * 2, lambda ctx, ct: tj.tensor(np.multiply(ct.numpy(), 2.0)), "Host")
    x = tj.tensor(3.0)
    assert (grad(f)(x).item(), jit(f)(x).item()) == (2.0, 6.0)
    for way in ("jit(grad)", "grad(jit)"):
        with pytest.raises(tj.GradientError, match=r"backward of Host cannot be traced.*numpy\(\)"):
            FIRST[way](f)(x)


def test_a_backward_that_raises_is_an_error_only_where_it_is_differentiated():
    def backward(ctx, ct):
        raise NotImplementedError("some day")

    f = function(lambda ctx, x: x * 2, backward, "Unfinished")
    x = tj.tensor(3.0)
    assert (f(x).item(), jit(f)(x).item()) == (6.0, 6.0)
    with pytest.raises(NotImplementedError, match="some day"):
        grad(f)(x)
    for way in ("jit(grad)", "grad(jit)"):
        with pytest.raises(tj.GradientError, match=r"Unfinished raised NotImplementedError.*some day"):
            FIRST[way](f)(x)


def test_a_missing_backward():
    class Only(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    assert jit(Only.apply)(tj.tensor(3.0)).item() == 6.0
    for way in FIRST.values():
        with pytest.raises(tj.GradientError, match="backward"):
            way(Only.apply)(tj.tensor(3.0))


WRONG = [
    (lambda ctx, ct: (ct, ct, ct), tj.GradientError, "expected 2, one per argument of forward, got 3"),
    (lambda ctx, ct: ct, tj.GradientError, "expected 2, one per argument of forward, got 1"),
    (lambda ctx, ct: (tj.ones(4), None), tj.ShapeError, r"index 0: got shape \(4,\).*\(3,\)"),
    (lambda ctx, ct: (2.0, None), tj.GradientError, "expected a tensor or None as gradient 0, got float"),
    (lambda ctx, ct: (ct, ct), tj.GradientError, "position 1, but that argument of forward was no tensor"),
]


@pytest.mark.parametrize("way", FIRST)
@pytest.mark.parametrize(("backward", "error", "message"), WRONG)
def test_wrong_gradients(way, backward, error, message):
    f = function(lambda ctx, x, k: x * k, backward, "Wrong")
    with pytest.raises(error, match=f"function WrongBackward.*{message}"):
        FIRST[way](lambda x: f(x, 2).sum())(tj.ones(3))


@pytest.mark.parametrize("way", SECOND)
def test_once_differentiable(way):
    once = function(
        save_and(lambda x: x * x),
        tj.autograd.once_differentiable(times_saved(lambda x: 2 * x)),
        "Once",
    )
    for first in FIRST.values():
        assert first(once)(tj.tensor(3.0)).item() == 6.0
    with pytest.raises(tj.GradientError, match=r"twice.*once_differentiable"):
        SECOND[way](once)(tj.tensor(3.0))


def test_tensors_in_a_list_are_an_error():
    f = function(lambda ctx, x: [x * 2], lambda ctx, ct: ct, "Listed")
    for way in (f, jit(lambda x: f(x)[0])):
        with pytest.raises(tj.GradientError, match=r"Listed: forward must return.*got a list"):
            way(tj.tensor(1.0, requires_grad=True))


def test_numpy_in_forward_is_an_error_under_jit():
    f = function(lambda ctx, x: tj.tensor(np.sin(x.numpy())), lambda ctx, ct: ct)
    assert f(tj.tensor(0.0)).item() == 0.0
    with pytest.raises(tj.ConcretizationError, match=r"numpy\(\)"):
        jit(f)(tj.tensor(0.0))
