"""``tj.autograd.Function``: tensors it closes over, and writes in place."""

from __future__ import annotations

import sys

import pytest

import tracejit as tj

from .common import FIRST, Function, agrees, function, grad, jit

RATE = tj.tensor(2.0)


class Rated(Function):
    """x times a global, which it also saves."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(RATE)
        return x * RATE

    @staticmethod
    def backward(ctx, ct):
        (rate,) = ctx.saved_tensors
        return rate * ct


@pytest.mark.parametrize("f", [Rated.apply, lambda x: Rated.apply(x)], ids=["apply", "lambda"])
@pytest.mark.parametrize("way", FIRST)
def test_closed_over_tensors_are_read_afresh(f, way, monkeypatch):
    f, compiled = FIRST[way](f), jit(f)
    x = tj.tensor(3.0)
    assert (f(x).item(), compiled(x).item()) == (2.0, 6.0)
    monkeypatch.setattr(sys.modules[__name__], "RATE", tj.tensor(5.0))
    assert (f(x).item(), compiled(x).item()) == (5.0, 15.0)


def test_what_is_captured_while_it_is_traced_is_not_packed(monkeypatch):
    f = jit(grad(lambda x: Rated.apply(x)))
    with tj.autograd.graph.save_on_cpu():
        assert f(tj.tensor(3.0)).item() == 2.0
    monkeypatch.setattr(sys.modules[__name__], "RATE", tj.tensor(5.0))
    assert f(tj.tensor(3.0)).item() == 5.0


class Model:
    """No Function: a class method of the user's own."""

    @classmethod
    def run(cls, x):
        return x * RATE


def test_class_methods_read_globals_afresh(monkeypatch):
    f = jit(Model.run)
    assert f(tj.tensor(3.0)).item() == 6.0
    monkeypatch.setattr(sys.modules[__name__], "RATE", tj.tensor(5.0))
    assert f(tj.tensor(3.0)).item() == 15.0


def test_closed_over_tensors_that_require_grad():
    """Operations of forward are not recorded, so only backward's use of them can be differentiated."""
    w = tj.tensor(2.0, requires_grad=True)
    scaled = function(lambda ctx, x: x * w, lambda ctx, ct: w * w * ct)
    for f in (scaled, jit(scaled)):
        x = tj.tensor(3.0, requires_grad=True)
        y = f(x)
        assert y.item() == 6.0
        (g,) = tj.autograd.grad(y, [x], create_graph=True)
        assert g.item() == 4.0
        assert tj.autograd.grad(g, [w])[0].item() == 4.0


# -- in place -------------------------------------------------------------------------------------


def test_mark_dirty():
    def forward(ctx, x):
        x *= 3
        ctx.mark_dirty(x)
        return x

    triple = function(forward, lambda ctx, ct: 3 * ct)

    def f(x):
        y = x * 1.0
        z = triple(y)
        assert z is y
        return y * z

    agrees(f, [3.24, 17.64], [10.8, 25.2], [18.0, 18.0])


def test_a_write_that_is_not_declared_is_an_error_under_jit():
    def forward(ctx, x, y):
        y *= 3
        return x * y

    f = function(forward, lambda ctx, ct: (ct, ct), "Sly")
    with pytest.raises(tj.GradientError, match=r"Sly: forward writes argument 1 in place.*mark_dirty"):
        jit(lambda x: f(x, x * 1.0))(tj.ones(2))
