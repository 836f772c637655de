"""Calls of primitives with arrays: by nodes of their own, or as those of ``custom_vjp``."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
import tracejit.compat.autograd.numpy as anp
from tracejit.compat.autograd import elementwise_grad, grad, jacobian, make_vjp, primitives, value_and_grad
from tracejit.compat.autograd.extend import defvjp, primitive
from tracejit.compat.autograd.primitive_nodes import PrimitiveNode

X = np.array([1.0, 2.0, 0.5])
Y = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, 3.0]])


@primitive
def product(x, y, power=1):
    return x**power * y


defvjp(
    product,
    lambda ans, x, y, power=1: lambda g: unbroadcast(g * y * power * x ** (power - 1), x),
    lambda ans, x, y, power=1: lambda g: unbroadcast(g * x**power, y),
)


def unbroadcast(g, like):
    return anp.sum(g, 0) if anp.ndim(g) > anp.ndim(like) else g


@primitive
def total(x):
    return np.float64(anp.sum(x * x)) if isinstance(x, np.ndarray) else anp.sum(x * x)


defvjp(total, lambda ans, x: lambda g: 2.0 * g * x)

PROGRAMS = {
    "vector": lambda: grad(lambda x: anp.sum(product(x, x)))(X),
    "both": lambda: grad(lambda x, y: anp.sum(product(x, y, power=2)), (0, 1))(X, Y),
    "constant": lambda: grad(lambda y: anp.sum(product(X, y)))(Y),
    "number": lambda: grad(lambda x: product(x, 3.0, power=3))(2.0),
    "result of rank 0": lambda: value_and_grad(lambda x: total(anp.sin(x)))(X),
    "float32": lambda: grad(lambda x: anp.sum(product(x, 2.0)))(X.astype(np.float32)),
    "twice": lambda: elementwise_grad(elementwise_grad(lambda x: product(x, x, power=2)))(X),
    "thrice": lambda: grad(grad(grad(lambda x: product(x, x, power=3))))(2.0),
    "jacobian": lambda: jacobian(lambda x: product(x, x))(X),
    "jacobian of gradient": lambda: jacobian(grad(lambda x: total(anp.exp(x))))(X),
    "product of a vector": lambda: make_vjp(lambda x: product(x, x))(X)[0](np.ones(3)),
    "outer leaf": lambda: outer(X),
}


def outer(values):
    x = tj.tensor(values, requires_grad=True)
    (total(x) * product(x, 2.0).sum()).backward()
    return x.grad.numpy()


@pytest.mark.parametrize("name", PROGRAMS)
def test_both_ways_agree(name, monkeypatch):
    own = PROGRAMS[name]()
    monkeypatch.setattr(primitives, "takes", lambda args, followed: False)
    general = PROGRAMS[name]()
    for a, b in zip(tj.tree_leaves(own), tj.tree_leaves(general), strict=True):
        assert type(a) is type(b)
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def test_which_calls_have_nodes_of_their_own():
    x = tj.tensor(X, requires_grad=True)
    assert isinstance(total(x).grad_fn, PrimitiveNode)
    assert total(x).grad_fn.name() == "totalBackward"

    @primitive
    def of_list(xs):
        return xs[0] + xs[1]

    defvjp(of_list, lambda ans, xs: lambda g: [g, g])
    assert not isinstance(of_list([x, x]).grad_fn, PrimitiveNode)
    with tj.no_grad():
        assert total(x) == pytest.approx(5.25)


def test_arguments_that_were_written_since():
    x = tj.tensor(X, requires_grad=True)
    y = 1.0 * x
    result = total(y)
    y[0] = 7.0
    with pytest.raises(
        RuntimeError, match=r"a tensor of shape \(3,\) that total was called with was modified"
    ):
        result.backward()
    result = product(x, 2.0)
    loss = total(result)
    result += 1.0
    with pytest.raises(RuntimeError, match="modified in place"):
        loss.backward()


def test_a_graph_is_passed_once():
    x = tj.tensor(X, requires_grad=True)
    result = total(x)
    result.backward()
    with pytest.raises(RuntimeError, match="second time"):
        result.backward()


@pytest.mark.parametrize(
    ("rule", "error", "message"),
    [
        (lambda g: np.ones(2), ValueError, r"the rules of the primitive double returned .* shape \(2,\)"),
        (lambda g: "x", (TypeError, ValueError), "x"),
        (lambda g: [g], ValueError, "structures differ"),
    ],
)
def test_products_that_do_not_fit(rule, error, message):
    @primitive
    def double(x):
        return 2 * x

    defvjp(double, lambda ans, x: rule)
    with pytest.raises(error, match=message):
        grad(lambda x: anp.sum(double(x)))(X)


def test_a_primitive_without_a_rule():
    @primitive
    def double(x):
        return 2 * x

    with pytest.raises(RuntimeError, match="the primitive double has no rule"):
        grad(lambda x: anp.sum(double(x)))(X)
    defvjp(double, None)
    np.testing.assert_array_equal(grad(lambda x: anp.sum(double(x) + x))(X), np.ones(3))


def test_results_that_are_no_floating_arrays():
    @primitive
    def order(x):
        return np.argsort(x)

    defvjp(order, None)
    np.testing.assert_array_equal(grad(lambda x: anp.sum(x[order(x)] * np.arange(3)))(X), [1.0, 2.0, 0.0])
