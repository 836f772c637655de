"""Jacobians, Hessians and products with vectors. The numbers are those of ``torch.autograd.functional``."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.autograd import functional as F

X, Y = tj.tensor([1.0, 2.0]), tj.tensor([3.0, 4.0])
ONES = tj.tensor([1.0, 1.0])
MATRIX = tj.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
WAYS = [
    {},
    {"create_graph": True},
    {"vectorize": True},
    {"strategy": "forward-mode"},
    {"strategy": "forward-mode", "vectorize": True, "create_graph": True},
]


def values(result):
    """Nested tuples of nested lists."""
    return tuple(values(part) for part in result) if isinstance(result, tuple) else result.detach().tolist()


def scaled(x):
    return x * x.sum()


def pair(x, y):
    return x * y, (x * x).sum() * y[0]


def cubes(x):
    return (x**3).sum()


def mixed(x, y):
    return (x**2 * y).sum()


def outer_way(way):
    return {"outer_jacobian_strategy" if key == "strategy" else key: value for key, value in way.items()}


# -- jacobian -------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_jacobian_of_a_tensor(way):
    assert values(F.jacobian(scaled, X, **way)) == [[4, 1], [2, 5]]


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_jacobian_of_tuples(way):
    result = F.jacobian(pair, (X, Y), **way)
    assert values(result) == (([[3, 0], [0, 4]], [[1, 0], [0, 2]]), ([6, 12], [5, 0]))
    assert result[1][0].shape == (2,)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_jacobian_has_the_shape_of_output_and_input(way):
    result = F.jacobian(lambda m: m.sum(axis=0), MATRIX, **way)
    assert result.shape == (3, 2, 3)
    assert values(result) == [[[float(i == k) for k in range(3)]] * 2 for i in range(3)]
    assert values(F.jacobian(lambda x: x * x, tj.tensor(3.0), **way)) == 6
    assert F.jacobian(lambda x: x[:0] * 2, X, **way).shape == (0, 2)
    assert F.jacobian(lambda x: x.sum(), tj.zeros((0, 2)), **way).shape == (0, 2)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_jacobian_keeps_the_structure_of_one_tuples(way):
    assert values(F.jacobian(lambda x: (x * x,), (X,), **way)) == (([[2, 0], [0, 4]],),)
    assert values(F.jacobian(lambda x: x * x, (X,), **way)) == ([[2, 0], [0, 4]],)
    assert values(F.jacobian(lambda x: (x * x,), X, **way)) == ([[2, 0], [0, 4]],)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_jacobian_of_what_does_not_depend_on_the_inputs_is_zero(way):
    assert values(F.jacobian(lambda x: Y, X, **way)) == [[0, 0], [0, 0]]
    assert values(F.jacobian(lambda x, y: x * x, (X, Y), **way)) == ([[2, 0], [0, 4]], [[0, 0], [0, 0]])
    assert values(F.jacobian(lambda x: (x * 2, x.argmax()), X, **way)) == ([[2, 0], [0, 2]], [0, 0])


def test_without_create_graph_results_are_constants():
    x = tj.tensor([1.0, 2.0], requires_grad=True)
    for way in ({}, {"vectorize": True}, {"strategy": "forward-mode"}):
        assert not F.jacobian(scaled, x, **way).requires_grad
    assert not F.hessian(cubes, x).requires_grad
    for function in (F.hvp, F.vhp):
        assert not any(result.requires_grad for result in function(cubes, x, ONES))
    for function in (F.jvp, F.vjp):
        assert not any(result.requires_grad for result in function(scaled, x, ONES))
    assert x.grad is None


@pytest.mark.parametrize("way", [way for way in WAYS if "create_graph" not in way], ids=str)
def test_create_graph_lets_gradients_through(way):
    x = tj.tensor([1.0, 2.0], requires_grad=True)
    F.jacobian(lambda x: x**3, x, create_graph=True, **way).sum().backward()
    assert values(x.grad) == [6, 12]
    x.grad = None
    F.hessian(lambda x: (x**4).sum(), x, create_graph=True, **outer_way(way)).sum().backward()
    assert values(x.grad) == [24, 48]


def test_create_graph_of_products():
    x = tj.tensor([1.0, 2.0], requires_grad=True)
    v = tj.tensor([3.0, 4.0], requires_grad=True)
    for function, func, by_x, by_v in [
        (F.vjp, lambda x: x**3, [18, 48], [3, 12]),
        (F.jvp, lambda x: x**3, [18, 48], [3, 12]),
        (F.vhp, cubes, [18, 24], [6, 12]),
        (F.hvp, cubes, [18, 24], [6, 12]),
    ]:
        x.grad = v.grad = None
        function(func, x, v, create_graph=True)[1].sum().backward()
        assert (values(x.grad), values(v.grad)) == (by_x, by_v), function.__name__


def test_inside_no_grad():
    with tj.no_grad():
        assert values(F.jacobian(scaled, X)) == [[4, 1], [2, 5]]
        assert values(F.hvp(cubes, X, ONES)[1]) == [6, 12]
        assert not tj.is_grad_enabled()


def test_inputs_stay_as_they_are():
    x = tj.tensor([1.0, 2.0])
    F.hessian(cubes, x)
    assert not x.requires_grad
    assert x.is_leaf


def test_float32_stays_float32():
    x = tj.tensor([1.0, 2.0], dtype=tj.float32)
    for way in WAYS:
        assert F.jacobian(scaled, x, **way).dtype == np.float32
        assert F.hessian(cubes, x, **outer_way(way)).dtype == np.float32


# -- hessian --------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", [outer_way(way) for way in WAYS], ids=str)
def test_hessian(way):
    assert values(F.hessian(cubes, X, **way)) == [[6, 0], [0, 12]]
    expected = (([[6, 0], [0, 8]], [[2, 0], [0, 4]]), ([[2, 0], [0, 4]], [[0, 0], [0, 0]]))
    assert values(F.hessian(mixed, (X, Y), **way)) == expected
    assert values(F.hessian(lambda x: x.sum(), X, **way)) == [[0, 0], [0, 0]]
    assert values(F.hessian(lambda x: x[:1] ** 2, X, **way)) == [[2, 0], [0, 0]]
    assert F.hessian(lambda m: (m * m).sum(), MATRIX, **way).shape == (2, 3, 2, 3)


def test_hessian_needs_a_scalar():
    with pytest.raises(tj.GradientError, match=r"hessian: .* single element, got shape \(2,\)"):
        F.hessian(scaled, X)
    with pytest.raises(
        tj.GradientError, match="hessian: the function must return a single Tensor, got a tuple"
    ):
        F.hessian(pair, (X, Y))
    for function in (F.hvp, F.vhp):
        with pytest.raises(tj.GradientError, match=rf"{function.__name__}: .* got shape \(2,\)"):
            function(scaled, X, ONES)


# -- products -------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"create_graph": True}, {"strict": True}], ids=str)
def test_products(options):
    assert values(F.vjp(scaled, X, Y, **options)) == ([3, 6], [20, 23])
    assert values(F.vjp(pair, (X, Y), (ONES, tj.tensor(2.0)), **options)) == (
        ([3, 8], 15),
        ([15, 28], [11, 2]),
    )
    assert values(F.jvp(scaled, X, Y, **options)) == ([3, 6], [16, 26])
    assert values(F.jvp(pair, (X, Y), (ONES, Y), **options)) == (([3, 8], 15), ([6, 12], 33))
    for function in (F.hvp, F.vhp):
        assert values(function(mixed, (X, Y), (ONES, Y), **options)) == (19, ([12, 24], [2, 4]))


def test_products_of_linear_functions_are_zero():
    for function in (F.hvp, F.vhp):
        assert values(function(lambda x: (x * 3).sum(), X, Y)) == (9, [0, 0])
    assert values(F.jvp(lambda x, y: (x * x, tj.tensor(3.0)), (X, Y), (ONES, Y))) == (
        ([1, 4], 3),
        ([2, 4], 0),
    )
    assert values(F.vjp(lambda x, y: x * x, (X, Y), ONES)) == ([1, 4], ([2, 4], [0, 0]))


def test_v_of_a_single_element_may_be_left_out():
    assert values(F.vjp(cubes, X)) == (9, [3, 12])
    assert values(F.jvp(lambda x: x * Y, tj.tensor(2.0))) == ([6, 8], [3, 4])
    assert values(F.hvp(lambda x: x**3, tj.tensor(2.0))) == (8, 12)
    for function, what in [
        (F.vjp, "the result"),
        (F.jvp, "the input"),
        (F.vhp, "the input"),
        (F.hvp, "the input"),
    ]:
        with pytest.raises(tj.GradientError, match=rf"{function.__name__}: v can be None only where {what}"):
            function(scaled, X)


def test_v_must_fit():
    with pytest.raises(tj.ShapeError, match=r"vjp: entry 0 of v must have shape \(2,\), got \(2, 3\)"):
        F.vjp(scaled, X, MATRIX)
    with pytest.raises(tj.ShapeError, match=r"hvp: entry 1 of v must have shape \(2,\), got \(\)"):
        F.hvp(mixed, (X, Y), (X, tj.tensor(1.0)))
    with pytest.raises(tj.ShapeError, match="vjp: expected v to be a single tensor, got 2"):
        F.vjp(scaled, X, (X, X))
    with pytest.raises(tj.ShapeError, match="jvp: expected v to be a tuple of 2 tensors, got 1"):
        F.jvp(pair, (X, Y), X)
    with pytest.raises(tj.DTypeError, match=r"jvp: the vector v must be a Tensor .* got list"):
        F.jvp(scaled, X, [1.0, 2.0])


# -- what is refused ------------------------------------------------------------------------------


def test_only_tensors_and_tuples_of_them():
    with pytest.raises(tj.DTypeError, match=r"jacobian: the inputs must be a Tensor or a tuple .* got list"):
        F.jacobian(scaled, [X])
    with pytest.raises(tj.DTypeError, match=r"the inputs must be .* value at index 1 is float"):
        F.jacobian(pair, (X, 1.0))
    with pytest.raises(tj.DTypeError, match=r"vjp: the result of the function must be .* got float"):
        F.vjp(lambda x: 3.0, X)
    with pytest.raises(
        tj.DTypeError, match=r"only floating inputs can be differentiated, got i64\[2\] as input 0"
    ):
        F.jacobian(scaled, tj.tensor([1, 2]))


def test_options_that_exclude_each_other():
    for function, argument in [(F.jacobian, "strategy"), (F.hessian, "outer_jacobian_strategy")]:
        with pytest.raises(tj.DomainError, match=f"{argument} to be \"forward-mode\" or .* got 'no'"):
            function(cubes, X, **{argument: "no"})
        with pytest.raises(tj.GradientError, match=f'strict=True and {argument}="forward-mode"'):
            function(cubes, X, strict=True, **{argument: "forward-mode"})
        with pytest.raises(tj.GradientError, match="strict=True and vectorize=True"):
            function(cubes, X, strict=True, vectorize=True)


def test_strict_names_outputs_and_inputs():
    with pytest.raises(tj.GradientError, match="jacobian: output 1 of the function does not require grad"):
        F.jacobian(lambda x: (x, Y), X, strict=True)
    with pytest.raises(
        tj.GradientError, match="jacobian: output 0 of the function is independent of input 1"
    ):
        F.jacobian(lambda x, y: (x * x, y * y), (X, Y), strict=True)
    with pytest.raises(tj.GradientError, match=r"jacobian of output 0 .* input 0, .*create_graph=True"):
        F.jacobian(lambda x: 3 * x, X, strict=True, create_graph=True)
    assert values(F.jacobian(lambda x: 3 * x, X, strict=True)) == [[3, 0], [0, 3]]
    with pytest.raises(tj.GradientError, match="vjp: the output of the function is independent of input 1"):
        F.vjp(lambda x, y: x * x, (X, Y), ONES, strict=True)
    with pytest.raises(
        tj.GradientError, match=r"vjp: the derivative of the output .* input 0, .*create_graph"
    ):
        F.vjp(lambda x: 3 * x, X, ONES, strict=True, create_graph=True)
    with pytest.raises(tj.GradientError, match="jvp: the output of the function is independent of input 1"):
        F.jvp(lambda x, y: x * x, (X, Y), (X, Y), strict=True)


@pytest.mark.parametrize("function", [F.vhp, F.hvp])
def test_strict_second_order(function):
    name = function.__name__
    with pytest.raises(
        tj.GradientError, match=f"{name}: the jacobian of the function is independent of input 0"
    ):
        function(lambda x: (3 * x).sum(), X, ONES, strict=True)
    with pytest.raises(
        tj.GradientError, match=f"{name}: the output of the function is independent of input 1"
    ):
        function(lambda x, y: cubes(x), (X, Y), (X, Y), strict=True)


def test_strict_hessian():
    with pytest.raises(
        tj.GradientError, match="hessian: the jacobian of the function is independent of input 0"
    ):
        F.hessian(lambda x: (3 * x).sum(), X, strict=True)
    assert values(F.hessian(cubes, X, strict=True)) == [[6, 0], [0, 12]]


# -- properties -----------------------------------------------------------------------------------


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def waves(x):
    return tj.sin(x[:, None] * x) @ tj.exp(x)


POINT = tj.tensor([-0.3, 0.7, 1.1, 0.4])


def test_jacobian_agrees_with_differences():
    step = 1e-6
    base = POINT.numpy()
    columns = [
        (waves(tj.tensor(base + step * unit)) - waves(tj.tensor(base - step * unit))).numpy() / (2 * step)
        for unit in np.eye(4)
    ]
    for way in WAYS:
        np.testing.assert_allclose(F.jacobian(waves, POINT, **way).detach(), np.transpose(columns), rtol=1e-8)


def test_products_agree_with_jacobian_and_hessian():
    v = tj.tensor([0.5, -1.0, 2.0, 0.25])
    j, h = F.jacobian(waves, POINT).numpy(), F.hessian(rosenbrock, POINT).numpy()
    np.testing.assert_allclose(F.jvp(waves, POINT, v)[1], j @ v.numpy(), rtol=1e-12)
    np.testing.assert_allclose(F.vjp(waves, POINT, v)[1], v.numpy() @ j, rtol=1e-12)
    np.testing.assert_allclose(F.hvp(rosenbrock, POINT, v)[1], h @ v.numpy(), rtol=1e-12)
    np.testing.assert_allclose(F.vhp(rosenbrock, POINT, v)[1], v.numpy() @ h, rtol=1e-12)
    np.testing.assert_allclose(h, h.T)
    assert h[0, 0] == pytest.approx(1200 * 0.3**2 - 400 * 0.7 + 2)


# -- inside jitted functions ----------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_jitted(way):
    jac = lambda x: F.jacobian(waves, x, **way)  # noqa: E731
    hess = lambda x: F.hessian(rosenbrock, x, **outer_way(way))  # noqa: E731
    for function in (jac, hess):
        np.testing.assert_allclose(tj.jit(function)(POINT), function(POINT).detach(), rtol=1e-12, atol=1e-12)


def test_jitted_products():
    v = tj.tensor([0.5, -1.0, 2.0, 0.25])
    for product, func in [(F.jvp, waves), (F.vjp, waves), (F.hvp, rosenbrock), (F.vhp, rosenbrock)]:
        run = lambda x, v, product=product, func=func: product(func, x, v)  # noqa: E731
        for got, want in zip(tj.jit(run)(POINT, v), run(POINT, v), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12)


def test_gradients_through_a_jitted_jacobian():
    for create_graph, expected in [(True, [6, 12]), (False, [0, 0])]:
        x = tj.tensor([1.0, 2.0], requires_grad=True)
        tj.jit(lambda x, c=create_graph: F.jacobian(lambda x: x**3, x, create_graph=c))(x).sum().backward()
        assert values(x.grad) == expected


def test_derivatives_of_a_jitted_function():
    for way in WAYS:
        np.testing.assert_allclose(
            F.jacobian(tj.jit(waves), POINT, **way).detach(), F.jacobian(waves, POINT), rtol=1e-12
        )
    np.testing.assert_allclose(F.hessian(tj.jit(rosenbrock), POINT), F.hessian(rosenbrock, POINT), rtol=1e-12)


def test_inside_grad():
    slope = tj.grad(lambda x: F.jacobian(lambda x: x**3, x, create_graph=True).sum())
    assert values(slope(X)) == [6, 12]
    assert values(tj.jit(slope)(X)) == [6, 12]
