"""Eager autograd against PyTorch's semantics, expected values written out."""

from __future__ import annotations

import gc
import math
import sys
import threading
import weakref

import numpy as np
import pytest

import tracejit as tj

from ...memory import is_given_back


def values(tensor):
    return np.asarray(tensor.detach()).tolist()


def leaf(*numbers):
    return tj.tensor(list(numbers), requires_grad=True)


def test_requires_grad_spreads():
    x = leaf(1.0, 2.0)
    assert x.requires_grad
    assert x.is_leaf
    y = x * 2
    assert y.requires_grad
    assert not y.is_leaf
    assert not (tj.ones(2) * 2).requires_grad
    assert not (x > 1).requires_grad
    assert not x.argmax().requires_grad
    assert not x.astype("int64").requires_grad
    with pytest.warns(UserWarning, match="not a leaf"):
        assert y.grad is None


def test_backward_and_accumulation():
    x = leaf(1.0, 2.0)
    (x * x).sum().backward()
    assert values(x.grad) == [2, 4]
    (3 * x).sum().backward()
    assert values(x.grad) == [5, 7]
    x.grad = None
    (x * x * x).sum().backward()
    assert values(x.grad) == [3, 12]
    assert not x.grad.requires_grad


def test_gradients_of_two_leaves_do_not_share_memory():
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    (x + y).sum().backward()
    x.grad[0] = 9.0
    assert values(y.grad) == [1, 1]


def test_a_tensor_used_twice_and_a_diamond():
    x = leaf(2.0)
    y = x * 3
    (y * y + y).sum().backward()
    assert values(x.grad) == [39]  # d (9x^2 + 3x) = 18x + 3


def test_backward_with_a_gradient():
    x = leaf(1.0, 2.0)
    (x * x).backward(tj.tensor([1.0, 10.0]))
    assert values(x.grad) == [2, 40]
    (x * x).backward(np.array([1.0, 1.0]))
    assert values(x.grad) == [4, 44]
    with pytest.raises(tj.ShapeError, match=r"gradient has shape \(3,\), the tensor \(2,\)"):
        (x * x).backward(tj.ones(3))


def test_broadcast_operands_get_gradients_of_their_shape():
    x, y, z = tj.ones((2, 3), requires_grad=True), leaf(1.0, 2.0, 3.0), tj.tensor(2.0, requires_grad=True)
    (x * y * z).sum().backward()
    assert values(x.grad) == [[2, 4, 6], [2, 4, 6]]
    assert values(y.grad) == [4, 4, 4]
    assert values(z.grad) == 12


def test_mixed_dtypes_get_gradients_of_their_dtype():
    x = tj.tensor([1.0, 2.0], dtype=tj.float32, requires_grad=True)
    (x * np.array([3.0, 4.0])).sum().backward()
    assert x.grad.dtype == np.float32
    assert values(x.grad) == [3, 4]


def test_grad_fn_names():
    x = leaf(1.0, 2.0)
    expected = {
        "Add": x + 1,
        "Sub": x - x,
        "Mul": x * 2,
        "Div": x / 2,
        "Neg": -x,
        "Exp": tj.exp(x),
        "Sum": x.sum(),
        "Mean": x.mean(),
        "Max": x.max(),
        "Reshape": x.reshape(2, 1),
        "Where": tj.where(x > 1, x, 0.0),
    }
    for name, tensor in expected.items():
        assert repr(tensor.grad_fn) == f"<{name}Backward>"
        assert tensor.grad_fn.name() == f"{name}Backward"
    assert x.grad_fn is None
    assert repr(tj.jit(lambda a: a * 2)(x).grad_fn) == "<JitBackward>"


def test_next_functions():
    x = leaf(1.0, 2.0)
    y = tj.exp(x * 2)
    (mul, zero), *_ = y.grad_fn.next_functions
    assert (repr(mul), zero) == ("<MulBackward>", 0)
    assert repr(mul.next_functions[0][0]) == "<AccumulateGrad>"
    assert mul.next_functions[0][0].variable is x


def test_what_cannot_go_backward():
    x = leaf(1.0, 2.0)
    with pytest.raises(tj.GradientError, match="only for scalar outputs"):
        (x * x).backward()
    with pytest.raises(tj.GradientError, match="does not require grad"):
        tj.ones(()).backward()
    with pytest.raises(tj.GradientError, match="does not require grad"):
        (x > 1).sum().backward()


def test_a_second_backward_needs_retain_graph():
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert values(x.grad) == [4, 8]
    with pytest.raises(tj.GradientError, match="retain_graph=True"):
        y.backward()
    z = tj.jit(lambda a: (a * a).sum())(x)
    z.backward()
    with pytest.raises(tj.GradientError, match="retain_graph=True"):
        z.backward()


def test_create_graph():
    x = leaf(2.0)
    (x * x * x).sum().backward(create_graph=True)
    assert values(x.grad) == [12]
    first, x.grad = x.grad, None
    first.sum().backward()
    assert values(x.grad) == [12]  # 6x


def test_autograd_grad():
    x, y = leaf(3.0), leaf(5.0)
    assert [values(gradient) for gradient in tj.autograd.grad(x * y * y, (x, y))] == [[25], [30]]
    assert x.grad is None
    with pytest.raises(tj.GradientError, match="input 1 was not used"):
        tj.autograd.grad(x * 2, (x, y))
    first, second = tj.autograd.grad(x * 2, (x, y), allow_unused=True)
    assert values(first) == [2]
    assert second is None
    z = x * 2
    (through,) = tj.autograd.grad((z * z).sum(), z)
    assert values(through) == [12]


def test_third_derivative():
    x = tj.tensor(1.0, requires_grad=True)
    y = tj.sin(x)
    for _ in range(3):
        (y,) = tj.autograd.grad(y, x, create_graph=True)
    assert y.item() == pytest.approx(-math.cos(1.0), rel=1e-14)


def test_backward_inputs():
    x, y = leaf(3.0), leaf(5.0)
    tj.autograd.backward((x * y).sum(), inputs=[x])
    assert values(x.grad) == [5]
    assert y.grad is None


def test_detach_shares_memory_and_stops_gradients():
    x = leaf(1.0, 2.0)
    d = x.detach()
    assert not d.requires_grad
    assert d.is_leaf
    assert np.shares_memory(d.numpy(), x.detach().numpy())
    (x * d).sum().backward()
    assert values(x.grad) == [1, 2]


def test_detached_writes_are_seen():
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    x.detach()[0] = 5.0
    assert values(x) == [5, 2]
    with pytest.raises(tj.GradientError, match="modified in place"):
        y.backward()


def test_integers_refuse_gradients():
    for dtype in ("int64", "bool", "uint8"):
        with pytest.raises(tj.DTypeError, match="only floating tensors can require gradients"):
            tj.ones(2, dtype=dtype).requires_grad_()
    with pytest.raises(tj.DTypeError, match="only floating tensors"):
        tj.tensor([1, 2], requires_grad=True)
    x = tj.tensor([1, 2])
    with pytest.raises(tj.DTypeError, match="only floating tensors"):
        x.requires_grad = True


def test_data_of_a_tensor_that_requires_grad_stays_floating():
    x = leaf(1.0, 2.0)
    x.data = np.array([3.0, 4.0])
    assert values(x) == [3, 4]
    with pytest.raises((tj.DTypeError, tj.GradientError)):
        x.data = np.array([1, 2])


def test_leaves_refuse_in_place_changes():
    x = leaf(1.0, 2.0)
    with pytest.raises(tj.GradientError, match="leaf tensor that requires grad is being modified in place"):
        x += 1
    with pytest.raises(tj.GradientError, match="leaf tensor that requires grad is being modified in place"):
        x[0] = 1.0
    assert values(x) == [1, 2]
    with tj.no_grad():
        x -= 0.5
        x[1] = 7.0
    assert values(x) == [0.5, 7]
    assert x.is_leaf
    assert x.requires_grad


def test_requires_grad_of_results_cannot_be_switched_off():
    y = leaf(1.0) * 2
    with pytest.raises(tj.GradientError, match="leaf"):
        y.requires_grad_(False)
    assert y.requires_grad_() is y


def test_in_place_changes_are_differentiated():
    x = leaf(1.0, 2.0)
    y = x * 1
    y[0] = x[1] * 3
    y += x
    y.sum().backward()
    assert values(x.grad) == [1, 5]


def test_in_place_changes_of_saved_values_are_noticed():
    x = leaf(1.0, 2.0)
    y = x * 2
    z = y * y
    y[0] = 5.0
    with pytest.raises(tj.GradientError, match="modified in place"):
        z.sum().backward()


def test_the_users_own_arrays_may_change_before_backward():
    x = leaf(1.0, 2.0, 3.0)
    factors, places = np.array([1.0, 2.0, 3.0]), np.array([0, 1])
    y = (x * factors).sum() + x[places].sum()
    factors += 5.0
    places[:] = 2
    y.backward()
    assert values(x.grad) == [2, 3, 3]


def test_writes_and_detached_tensors_under_jit():
    def written(x):
        y = x * 2
        d = y.detach()
        y.mul_(10.0)
        return d.sum()

    def through(x):
        y = x * 2
        y.detach().mul_(10.0)
        return y.sum()

    x = tj.tensor([1.0])
    for f in (written, through):
        assert f(x).item() == tj.jit(f)(x).item() == 20
    assert values(tj.grad(through)(x)) == values(tj.jit(tj.grad(through))(x)) == [2]


def test_setting_grad():
    x = leaf(1.0, 2.0)
    x.grad = tj.ones(2)
    x.sum().backward()
    assert values(x.grad) == [2, 2]
    with pytest.raises(tj.ShapeError, match="grad: expected"):
        x.grad = tj.ones(3)
    with pytest.raises(tj.ShapeError, match="grad: expected"):
        x.grad = 3


def test_numpy_of_a_tensor_that_requires_grad():
    x = leaf(1.0)
    for use in (lambda: x.numpy(), lambda: np.asarray(x), lambda: np.array(x)):
        with pytest.raises(tj.GradientError, match=r"x\.detach\(\)"):
            use()
    assert x.item() == 1.0
    assert x.tolist() == [1.0]
    assert float(x) == 1.0


@pytest.mark.parametrize("op", [lambda y: y * 1.00001, lambda y: y + 1.0, tj.cos], ids=["mul", "add", "cos"])
def test_a_chain_of_100_000_operations(op):
    def chain():
        x = leaf(1.0, 2.0)
        y = x
        for _ in range(100_000):
            y = op(y)
        node = weakref.ref(y.grad_fn)
        assert sys.getrecursionlimit() < 100_000
        y.sum().backward()
        assert np.isfinite(x.grad.numpy()).all()
        gc.disable()
        try:
            del y
            assert node() is None
        finally:
            gc.enable()

    assert is_given_back(chain, 40 << 20)


def test_a_long_chain_is_dropped_without_backward_and_without_gc():
    gc.disable()
    try:
        x = leaf(0.5, 0.25)
        y = x
        for _ in range(100_000):
            y = y * x + 1.0
        first = weakref.ref(y.grad_fn)
        del y
        assert first() is None
    finally:
        gc.enable()


def test_a_graph_leaves_no_cycles():
    x = leaf(1.0, 2.0)
    gc.collect()
    gc.disable()
    try:
        y = tj.exp(x) * tj.tanh(x)
        y[0] = 2.0
        nodes = [weakref.ref(y.grad_fn)]
        y.sum().backward()
        del y
        z = tj.jit(lambda a: tj.exp(a))(x)
        nodes.append(weakref.ref(z.grad_fn))
        z.sum().backward()
        del z
        assert [node() for node in nodes] == [None, None]
    finally:
        gc.enable()


def test_threads_have_graphs_of_their_own():
    results = {}

    def work(n):
        x = tj.tensor([float(n)], requires_grad=True)
        for _ in range(200):
            x.grad = None
            (x * x).sum().backward()
        results[n] = x.grad.item()

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for runner in threads:
        runner.join()
    assert results == {0: 0.0, 1: 2.0, 2: 4.0, 3: 6.0}


# -- eager and jitted nodes together ---------------------------------------------------------------


def test_jitted_calls_in_an_eager_graph():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    f = tj.jit(lambda a, b: (a * b, a + b))
    for _ in range(2):
        x.grad = w.grad = None
        product, total = f(x * 2, w)
        (product * total).sum().backward()
        # p = 2xw, t = 2x + w; d/dx = 2w t + 2 p = 8xw + 2w^2, d/dw = 2x t + p = 4x^2 + 4xw
        assert values(x.grad) == [24 + 18, 64 + 32]
        assert values(w.grad) == [4 + 12, 16 + 32]


def test_one_of_several_results():
    x = leaf(1.0, 2.0)
    first, second = tj.jit(lambda a: (a * 3, a * a))(x)
    second.sum().backward(retain_graph=True)
    assert values(x.grad) == [2, 4]
    first.sum().backward()
    assert values(x.grad) == [5, 7]


def test_integer_results_beside_floating_ones():
    x = leaf(1.0, 5.0, 2.0)
    where, value = tj.jit(lambda a: (a.argmax(), a.max()))(x)
    assert not where.requires_grad
    assert where.item() == 1
    value.backward()
    assert values(x.grad) == [0, 1, 0]


def test_second_derivatives_through_jit():
    x = leaf(2.0)
    f = tj.jit(lambda a: (a * a * a).sum())
    (first,) = tj.autograd.grad(f(x), x, create_graph=True)
    assert values(first) == [12]
    (second,) = tj.autograd.grad(first.sum(), x, create_graph=True)
    assert values(second) == [12]
    (third,) = tj.autograd.grad(second.sum(), x)
    assert values(third) == [6]


def stops(x):
    return (x.detach() * x).sum()


def unrecorded(x):
    with tj.no_grad():
        y = x * 1
    return (y * x).sum()


@pytest.mark.parametrize("function", [stops, unrecorded])
def test_what_is_not_recorded_is_not_differentiated_under_jit_either(function):
    for f in (function, tj.jit(function)):
        x = leaf(3.0)
        f(x).backward()
        assert values(x.grad) == [3]
    for gradient in (tj.grad(function), tj.jit(tj.grad(function)), tj.grad(tj.jit(function))):
        assert values(gradient(tj.tensor([3.0]))) == [3]


def test_backward_inside_a_jitted_function():
    @tj.jit
    def f(x):
        x = x.detach().requires_grad_()
        (x * x).sum().backward()
        return x.grad

    for _ in range(2):
        assert values(f(tj.tensor([1.0, 2.0]))) == [2, 4]


def test_no_grad_calls_of_jitted_functions():
    x = leaf(1.0, 2.0)
    f = tj.jit(lambda a: a * 2)
    with tj.no_grad():
        assert not f(x).requires_grad
    assert f(x).requires_grad
    assert not f(tj.ones(2)).requires_grad
    assert f(x).requires_grad
    with tj.no_grad():
        assert not f(x).requires_grad
