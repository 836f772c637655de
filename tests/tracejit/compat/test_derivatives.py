"""`tracejit.compat.autograd`: what each wrapper gives, beside values computed by hand."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest

import tracejit as tj
import tracejit.compat.autograd.numpy as anp
from tracejit.compat import autograd as ag

X = np.array([1.0, 2.0, 0.5])


def cubes(x):
    return anp.sum(x**3)


def is_array(value, expected):
    """Whether `value` is NumPy's array of the expected values and dtype."""
    assert type(value) is np.ndarray
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    return value.dtype == np.asarray(expected).dtype


def test_gradients_by_arrays_are_arrays_and_by_numbers_scalars():
    assert is_array(ag.grad(cubes)(X), 3 * X**2)
    assert is_array(ag.grad(cubes)(np.array(2.0)), np.array(12.0))
    for number in (2.0, np.float64(2.0)):
        gradient = ag.grad(cubes)(number)
        assert type(gradient) is np.float64
        assert gradient == 12.0
    assert ag.grad(cubes)(X.astype(np.float32)).dtype == np.float32
    assert isinstance(ag.grad(cubes)(tj.asarray(X)), tj.Tensor)


def test_containers_and_several_arguments():
    gradient = ag.grad(lambda p: p["w"][0] * p["w"][1] + anp.sum(p["b"]))({"w": (2.0, 3.0), "b": [X]})
    assert gradient["w"] == (3.0, 2.0)
    assert is_array(gradient["b"][0], np.ones(3))
    assert ag.grad(lambda x, y: x * y, (0, 1))(2.0, 3.0) == (3.0, 2.0)
    assert ag.grad(lambda x, y: x * y, [1, 0])(2.0, 3.0) == (2.0, 3.0)
    assert ag.grad(lambda x, y, scale=1.0: x * y * scale, argnum=1)(2.0, 3.0, scale=5.0) == 10.0


def test_results_of_one_element_have_any_rank():
    assert ag.grad(lambda x: anp.sum(x, keepdims=True))(2.0) == 1.0
    value, gradient = ag.value_and_grad(lambda x: anp.sum(x**2, keepdims=True))(X)
    assert is_array(value, [5.25])
    assert is_array(gradient, 2 * X)
    with pytest.raises(RuntimeError, match="must return a floating scalar"):
        ag.grad(lambda x: x**2)(X)
    with pytest.raises(TypeError, match="only floating inputs"):
        ag.grad(cubes)(3)


def test_value_and_grad():
    value, gradient = ag.value_and_grad(cubes)(X)
    assert type(value) is np.float64
    assert value == pytest.approx(9.125, rel=1e-15)
    assert is_array(gradient, 3 * X**2)


def test_nested_gradients_keep_what_the_outer_one_follows():
    assert ag.grad(lambda x: ag.grad(lambda y: x * y**2)(3.0))(2.0) == 6.0
    assert ag.grad(ag.grad(ag.grad(lambda x: x**4)))(2.0) == 48.0
    assert ag.grad(lambda x: ag.value_and_grad(lambda y: x * x * y)(3.0)[0])(2.0) == 12.0


def test_elementwise_and_named_and_aux():
    second = ag.elementwise_grad(ag.elementwise_grad(anp.tanh))(X)
    assert is_array(second, -2 * np.tanh(X) / np.cosh(X) ** 2)
    assert ag.grad_named(lambda a, b: a * b**2, "b")(3.0, 2.0) == 12.0
    with pytest.raises(TypeError, match="no argument 'c'"):
        ag.grad_named(lambda a, b: a, "c")
    gradient, aux = ag.grad_and_aux(lambda x: (x**2, {"twice": 2 * x}))(3.0)
    assert (gradient, aux) == (6.0, {"twice": 6.0})
    gradients = ag.multigrad_dict(lambda x, y=3.0, *rest, z: x * y * z)(2.0, z=5.0)
    assert isinstance(gradients, OrderedDict)
    assert gradients == {"x": 15.0, "y": 10.0, "rest": (), "z": 6.0}


def test_complex_numbers():
    assert ag.holomorphic_grad(lambda z: z**2)(1 + 2j) == 2 + 4j
    assert ag.grad(lambda z: anp.real(z**2))(1 + 2j) == 2 + 4j
    with pytest.warns(UserWarning, match="not complex"):
        ag.holomorphic_grad(lambda z: z**2)(1.0)
    with pytest.raises(TypeError, match="must be real"):
        ag.grad(lambda z: z**2)(1 + 2j)


def test_jacobians_and_hessians():
    assert is_array(ag.jacobian(lambda x: x**2)(X), np.diag(2 * X))
    assert is_array(ag.jacobian(lambda x: anp.array([x, x**2]))(3.0), [1.0, 6.0])
    assert is_array(ag.hessian(lambda x: x[0] ** 2 * x[1])(X), [[4.0, 2, 0], [2, 0, 0], [0, 0, 0]])
    both = ag.jacobian(lambda x, y: anp.outer(x, y), 1)(X, X)
    assert both.shape == (3, 3, 3)
    np.testing.assert_allclose(both, np.einsum("i,jk->ijk", X, np.eye(3)))


def test_products_with_jacobians():
    vjp, value = ag.make_vjp(lambda x: x**2)(X)
    assert is_array(value, X**2)
    assert is_array(vjp(np.array([1.0, 10.0, 100.0])), [2.0, 40.0, 100.0])
    assert is_array(vjp(1.0), 2 * X)  # a number stands for all elements
    value, tangent = ag.make_jvp(lambda x: x**2)(X)(np.array([1.0, 10.0, 100.0]))
    assert is_array(value, X**2)
    assert is_array(tangent, [2.0, 40.0, 100.0])
    assert ag.deriv(lambda x: x**3)(2.0) == 12.0
    assert is_array(ag.tensor_jacobian_product(lambda x: x**2)(X, np.ones(3)), 2 * X)
    (of_x, of_y), value = ag.make_vjp(lambda x, y: x * y, (0, 1))(2.0, 3.0)[0](1.0), 6.0
    assert (of_x, of_y, value) == (3.0, 2.0, 6.0)


def test_products_with_hessians():
    v = np.array([1.0, 0.0, 2.0])
    for product in (ag.hessian_vector_product, ag.hessian_tensor_product, ag.hvp):
        assert is_array(product(cubes)(X, v), 6 * X * v)
    hvp, gradient = ag.make_hvp(cubes)(X)
    assert is_array(gradient, 3 * X**2)
    assert is_array(hvp(v), 6 * X * v)
    assert is_array(ag.make_ggnvp(lambda x: x**2)(X)(v), 4 * X**2 * v)
    skewed = ag.make_ggnvp(lambda x: x**2, lambda y: anp.sum(y**3))(X)(v)
    assert is_array(skewed, (2 * X) ** 2 * 6 * X**2 * v)


def test_checkpoint():
    runs = []

    @ag.checkpoint
    def f(x):
        runs.append(x)
        return anp.sum(anp.sin(anp.exp(x)))

    assert is_array(ag.grad(f)(X), np.cos(np.exp(X)) * np.exp(X))
    assert len(runs) == 2


def test_everything_runs_jitted():
    for wrapper in (ag.grad, ag.elementwise_grad, ag.jacobian, ag.hessian):
        plain = wrapper(cubes)(X)
        assert is_array(plain, tj.jit(wrapper(cubes))(X).numpy())
    value, gradient = tj.jit(ag.value_and_grad(cubes))(X)
    assert float(value) == pytest.approx(9.125)
    np.testing.assert_allclose(gradient, 3 * X**2)
    product = tj.jit(ag.hessian_vector_product(cubes))(X, np.ones(3))
    np.testing.assert_allclose(product, 6 * X)
    weights = {"w": X, "b": 1.0}
    loss = tj.jit(ag.grad(lambda p: anp.sum(anp.array([p["b"], p["w"][0] * p["b"]]))))
    np.testing.assert_allclose(loss(weights)["w"], [1.0, 0.0, 0.0])


def test_wrong_argnums():
    with pytest.raises(TypeError, match="argnum must be an integer"):
        ag.grad(cubes, "x")
    with pytest.raises(TypeError, match="called with 1 arguments"):
        ag.make_vjp(cubes, 1)(X)
