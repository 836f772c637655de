"""Functions with their own derivative, run in every nesting of grad and jit."""

from __future__ import annotations

import numpy as np

import tracejit as tj

Function = tj.autograd.Function
grad, jit = tj.grad, tj.jit
V = (0.6, 1.4)


def function(forward, backward, name="Custom", **more):
    """``apply`` of a Function of these static methods."""
    members = {"forward": forward, "backward": backward, **more}
    return type(name, (Function,), {key: staticmethod(member) for key, member in members.items()}).apply


def save_and(compute):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return compute(x)

    return forward


def times_saved(derivative):
    def backward(ctx, ct):
        (x,) = ctx.saved_tensors
        return derivative(x) * ct

    return backward


square = function(save_and(lambda x: x * x), times_saved(lambda x: 2 * x), "Square")


def undisturbed(f):
    """`f` without compilation."""

    def wrapped(x):
        with tj.disable_jit():
            return f(x)

    return wrapped


def second(f):
    return grad(lambda x: grad(f)(x).sum())


#: The ways to a first gradient, and to a second one, of a scalar function.
FIRST = {
    "grad": grad,
    "jit(grad)": lambda f: jit(grad(f)),
    "grad(jit)": lambda f: grad(jit(f)),
    "jit(grad(jit))": lambda f: jit(grad(jit(f))),
    "disabled": lambda f: undisturbed(jit(grad(f))),
}
SECOND = {
    "grad(grad)": second,
    "jit(grad(grad))": lambda f: jit(second(f)),
    "grad(jit(grad))": lambda f: grad(jit(lambda x: grad(f)(x).sum())),
    "grad(grad(jit))": lambda f: second(jit(f)),
    "jit all over": lambda f: jit(grad(jit(lambda x: jit(grad(jit(f)))(x).sum()))),
}


def agrees(f, value, first, second_order, x=V):
    """`f` of a vector has these values, gradients of its sum and of the gradient's sum, however it is run."""

    def total(x):
        return f(x).sum()

    arguments = tj.tensor(x)
    for run in (f, jit(f)):
        np.testing.assert_allclose(run(arguments).numpy(), value, rtol=1e-14)
        leaf = tj.tensor(x, requires_grad=True)
        run(leaf).sum().backward()
        np.testing.assert_allclose(leaf.grad.numpy(), first, rtol=1e-14)
        again = tj.tensor(x, requires_grad=True)
        (g,) = tj.autograd.grad(run(again).sum(), [again], create_graph=True)
        np.testing.assert_allclose(g.detach().numpy(), first, rtol=1e-14)
        if g.requires_grad:
            (gg,) = tj.autograd.grad(g.sum(), [again], allow_unused=True)
            np.testing.assert_allclose(np.zeros(2) if gg is None else gg.numpy(), second_order, atol=1e-14)
    for name, way in FIRST.items():
        np.testing.assert_allclose(way(total)(arguments).numpy(), first, rtol=1e-14, err_msg=name)
    for name, way in SECOND.items():
        np.testing.assert_allclose(way(total)(arguments).numpy(), second_order, rtol=1e-14, err_msg=name)
