"""Primitives with derivatives of one's own, vector spaces, fixed points."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
import tracejit.compat.autograd.numpy as anp
from tracejit.compat.autograd import grad, hessian, jacobian, make_jvp
from tracejit.compat.autograd.extend import (
    def_linear,
    defjvp,
    defjvp_argnum,
    defvjp,
    defvjp_argnum,
    defvjp_argnums,
    notrace_primitive,
    primitive,
    vspace,
)
from tracejit.compat.autograd.misc.fixed_points import fixed_point
from tracejit.compat.autograd.test_util import check_equivalent, check_grads, combo_check
from tracejit.compat.autograd.tracer import getval, isbox

X = np.array([1.0, 2.0, 0.5])


@primitive
def logsumexp(x):
    assert type(x) is np.ndarray or isinstance(x, tj.Tensor)
    greatest = anp.max(x)
    return greatest + anp.log(anp.sum(anp.exp(x - greatest)))


defvjp(logsumexp, lambda ans, x: lambda g: anp.full(x.shape, g) * anp.exp(x - anp.full(x.shape, ans)))
SOFTMAX = np.exp(X) / np.exp(X).sum()


def test_a_primitive_and_its_rule_get_arrays():
    kinds = []

    @primitive
    def cube(x):
        kinds.append(type(x))
        return x**3

    def rule(ans, x):
        kinds.append(type(x))
        return lambda g: kinds.append(type(g)) or g * 3 * x**2

    defvjp(cube, rule)
    np.testing.assert_allclose(grad(lambda x: anp.sum(cube(x)))(X), 3 * X**2)
    assert kinds == [np.ndarray] * 3
    assert cube(2) == 8


def test_derivatives_of_a_primitive_of_any_order():
    np.testing.assert_allclose(grad(logsumexp)(X), SOFTMAX)
    np.testing.assert_allclose(hessian(logsumexp)(X), np.diag(SOFTMAX) - np.outer(SOFTMAX, SOFTMAX))
    np.testing.assert_allclose(jacobian(lambda x: logsumexp(x) * x)(np.zeros(2)), np.log(2) * np.eye(2))
    _, tangent = make_jvp(logsumexp)(X)(np.ones(3))
    assert float(tangent) == pytest.approx(1.0)
    check_grads(logsumexp)(X)
    np.testing.assert_allclose(tj.jit(grad(logsumexp))(X), SOFTMAX)
    np.testing.assert_allclose(tj.grad(tj.jit(logsumexp))(X), SOFTMAX)


def test_forms_of_rules():
    @primitive
    def product(x, y, power=1):
        return (x * y) ** power

    defvjp_argnum(product, lambda i, ans, args, kwargs: lambda g: g * args[1 - i])
    assert grad(product, (0, 1))(2.0, 3.0) == (3.0, 2.0)
    defvjp_argnums(product, lambda argnums, ans, args, kwargs: lambda g: [10.0 * g for _ in argnums])
    assert grad(product, (0, 1))(2.0, 3.0) == (10.0, 10.0)
    defvjp(product, lambda ans, x, y, power=1: lambda g: g * power, argnums=(1,))
    assert grad(product, 1)(2.0, 3.0, power=7) == 7.0
    with pytest.raises(RuntimeError, match="no rule is defined for argument 0"):
        grad(product)(2.0, 3.0)
    defvjp(product, None, None)
    assert grad(product)(2.0, 3.0) == 0.0


def test_forward_mode_rules_are_transposed():
    @primitive
    def cube(x):
        return x**3

    with pytest.raises(RuntimeError, match="the primitive cube has no rule"):
        grad(cube)(2.0)
    defjvp(cube, lambda t, ans, x: t * 3 * x**2)
    assert grad(cube)(2.0) == 12.0
    assert make_jvp(cube)(2.0)(1.0) == (8.0, 12.0)
    defjvp_argnum(cube, lambda i, t, ans, args, kwargs: t * 5.0)
    assert grad(cube)(2.0) == 5.0

    @primitive
    def double(x):
        return 2 * x

    def_linear(double)
    np.testing.assert_allclose(grad(lambda x: anp.sum(double(x)))(X), 2 * np.ones(3))
    defjvp(double, "same")
    np.testing.assert_allclose(grad(lambda x: anp.sum(double(x)))(X), 2 * np.ones(3))


def test_containers_and_functions_as_arguments_of_primitives():
    @primitive
    def weighted(f, params):
        return f(params["w"][0]) + params["b"]

    defvjp(weighted, None, lambda ans, f, p: lambda g: {"w": [g * np.cos(p["w"][0])], "b": g})
    gradient = grad(lambda p: weighted(np.sin, p))({"w": [0.0], "b": 1.0})
    assert gradient == {"w": [1.0], "b": 1.0}


def test_a_gradient_that_would_be_lost_is_an_error():
    @primitive
    def add(x, y=0.0):
        return x + y

    defvjp(add, lambda ans, x, y=0.0: lambda g: g)
    with pytest.raises(RuntimeError, match="none of its arguments"):
        grad(lambda x: add(1.0 * x, y=x))(2.0)


def test_what_is_no_primitive():
    with pytest.raises(TypeError, match="no primitive"):
        defvjp(np.sin, None)
    with pytest.raises(TypeError, match="expected functions"):
        defvjp(logsumexp, 3)
    with pytest.raises(TypeError, match="expected a function"):
        primitive(3)


def test_values_that_no_derivative_follows():
    seen = []

    def f(x):
        seen.append((isbox(x), type(getval(x))))
        return x * notrace_primitive(round)(x)

    assert grad(f)(2.2) == 2.0
    assert seen == [(True, np.float64)]
    assert getval([1.0, X]) == [1.0, X]


def test_vector_spaces():
    space = vspace({"w": np.ones((2, 2)), "b": 1.0})
    assert space.size == 5
    assert space == vspace({"w": np.zeros((2, 2)), "b": np.float64(3.0)})
    assert space != vspace({"w": np.zeros((2, 2)), "b": X})
    assert space.inner_prod(space.ones(), space.scalar_mul(space.ones(), 2.0)) == 10.0
    assert len(list(space.standard_basis())) == 5
    assert space.add(space.ones(), space.ones())["b"] == 2.0
    assert vspace(X).shape == (3,)
    assert vspace(np.zeros(2, complex)).iscomplex
    assert len(list(vspace(np.zeros(2, complex)).standard_basis())) == 4
    assert vspace(1j).covector(1j) == -1j
    with pytest.raises(TypeError, match="expected floating numbers"):
        vspace([1.0, 2])


def test_checks_of_gradients():
    check_grads(lambda x, y: x * y**2, (0, 1))(X, 2.0)
    combo_check(anp.sum, modes=["rev"])([X, np.ones((2, 2))], axis=[None, 0])
    check_equivalent([X], [X + 0.0])

    @primitive
    def wrong(x):
        return x**2

    defvjp(wrong, lambda ans, x: lambda g: g * x)
    for modes in (["rev"], ["fwd"]):
        with pytest.raises(AssertionError):
            check_grads(wrong, modes=modes, order=1)(X)
    with pytest.raises(TypeError, match="modes"):
        check_grads(wrong, modes=["backward"])


def test_fixed_points():
    def newton(a):
        return lambda x: 0.5 * (x + a / x)

    def root(a):
        return fixed_point(newton, a, 1.0, lambda x, y: abs(x - y), 1e-12)

    assert root(2.0) == pytest.approx(2**0.5)
    assert grad(root)(2.0) == pytest.approx(0.5 / 2**0.5)
    assert grad(grad(root))(2.0) == pytest.approx(-0.25 / 2**1.5)
