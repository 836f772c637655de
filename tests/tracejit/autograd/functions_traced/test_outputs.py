"""``tj.autograd.Function``: several outputs, values that are no tensors, what need not be differentiated."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

from .common import FIRST, V, agrees, function, grad, jit, square


def double_and_square(ctx, x):
    ctx.save_for_backward(x)
    return x * 2, x * x


def test_unused_outputs_get_zeros():
    def backward(ctx, a, b):
        return 2 * a + 2 * ctx.saved_tensors[0] * b

    both = function(double_and_square, backward)
    agrees(lambda x: both(x)[0], [1.2, 2.8], [2.0, 2.0], [0.0, 0.0])
    agrees(lambda x: both(x)[1], [0.36, 1.96], [1.2, 2.8], [2.0, 2.0])
    agrees(lambda x: both(x)[0] + both(x)[1], [1.56, 4.76], [3.2, 4.8], [2.0, 2.0])


def test_unused_outputs_get_none_where_asked():
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return double_and_square(ctx, x)

    def backward(ctx, a, b):
        parts = [] if a is None else [2 * a]
        parts += [] if b is None else [2 * ctx.saved_tensors[0] * b]
        return sum(parts)

    both = function(forward, backward)
    agrees(lambda x: both(x)[1], [0.36, 1.96], [1.2, 2.8], [2.0, 2.0])
    agrees(lambda x: sum(both(x)), [1.56, 4.76], [3.2, 4.8], [2.0, 2.0])


def test_mark_non_differentiable():
    def forward(ctx, x):
        a, b = x * 2, x * 3
        ctx.mark_non_differentiable(b)
        return a, b

    def backward(ctx, a, b):
        assert b.shape == a.shape
        return 2 * a + 100 * b

    f = function(forward, backward)
    agrees(lambda x: f(x)[0] * x + f(x)[1] * x, [1.8, 9.8], [4.2, 9.8], [4.0, 4.0])
    a, b = f(tj.tensor(V, requires_grad=True))
    assert (a.requires_grad, b.requires_grad) == (True, False)


def test_integer_inputs_and_outputs():
    """Backward gets zeros for the integer output, of its dtype."""
    seen = []

    def forward(ctx, x, i):
        ctx.save_for_backward(i)
        return x[i], i + 1

    def backward(ctx, ct, of_integers):
        seen.append((of_integers.dtype, of_integers.shape))
        (i,) = ctx.saved_tensors
        return (tj.arange(2)[:, None] == i[None, :]).astype(tj.float64) @ ct, None

    take, which = function(forward, backward), tj.tensor([1, 1, 0])
    x = tj.tensor(V)
    assert jit(take)(x, which)[1].tolist() == take(x, which)[1].tolist() == [2, 2, 1]
    agrees(lambda x: take(x, which)[0] ** 2, [1.96, 1.96, 0.36], [1.2, 5.6], [2.0, 4.0])
    assert set(seen) == {(np.dtype(np.int64), (3,))}


def test_arguments_and_results_of_other_kinds():
    def forward(ctx, x, name, flag, n=2):
        assert name == "sum"
        assert flag is True
        ctx.n = n
        return x * n, name, None, 3

    f = function(forward, lambda ctx, ct, *others: (ct * ctx.n, None, None, None))

    def used(x):
        y, name, nothing, three = f(x, "sum", True, 5)
        assert (name, nothing, three) == ("sum", None, 3)
        return y

    agrees(used, [3.0, 7.0], [5.0, 5.0], [0.0, 0.0])


def test_python_numbers_of_a_jitted_function():
    def forward(ctx, x, k):
        ctx.k = k
        return x * k

    scale = function(forward, lambda ctx, ct: (ct * ctx.k, None))
    f = jit(grad(lambda x, k: scale(x, k).sum()))
    assert f(tj.ones(2), 3).tolist() == [3.0, 3.0]
    assert f(tj.ones(2), 3.5).tolist() == [3.5, 3.5]


@pytest.mark.parametrize("wrap", [lambda f: f, lambda f: lambda *args: tj.checkpoint(f, *args)])
def test_python_numbers_adopt_the_dtype_of_what_they_meet(wrap):
    scale = wrap(function(lambda ctx, x, k: x * k, lambda ctx, ct: (ct, None)))
    x = tj.ones(2, dtype=tj.float32)
    for run in (scale, jit(scale)):
        assert run(x, 2.5).dtype == np.float32
        assert run(tj.ones(2, dtype=tj.int8), 3).dtype == np.int8
        with pytest.raises(tj.TracejitError, match=r"300.*int8|int8.*300|-128"):
            run(tj.ones(2, dtype=tj.int8), 300)


def test_value_and_grad_of_pytrees_with_aux():
    def loss(p):
        y = square(p["a"]) * p["b"][0]
        return y.sum(), {"y": y, "at": tj.argmax(y)}

    p = {"a": tj.tensor([1.0, 2.0]), "b": [tj.tensor(3.0)]}
    for way in (tj.value_and_grad(loss, has_aux=True), jit(tj.value_and_grad(loss, has_aux=True))):
        (value, aux), g = way(p)
        assert (value.item(), aux["y"].tolist(), aux["at"].item()) == (15.0, [3.0, 12.0], 1)
        assert (g["a"].tolist(), g["b"][0].item()) == ([6.0, 12.0], 5.0)


def test_gradients_are_summed_and_cast_to_their_argument():
    def backward(ctx, ct):
        return ct.astype(tj.float64), ct.astype(tj.float64)

    add = function(lambda ctx, x, y: x + y, backward)
    x, y = tj.ones(3, dtype=tj.float32), tj.ones((2, 3), dtype=tj.float32)
    for way in (grad, FIRST["jit(grad)"]):
        f = way(lambda x: add(x, y).sum())
        assert (f(x).tolist(), f(x).dtype) == ([2.0, 2.0, 2.0], np.float32)


def test_needs_input_grad():
    """The flags say eagerly what backward needs; under a trace each floating argument may be differentiated
    later."""
    seen = []

    def backward(ctx, ct):
        seen.append(ctx.needs_input_grad)
        return ct, ct, None

    f = function(lambda ctx, x, y, k: x + y * k, backward)
    x, y = tj.tensor(1.0, requires_grad=True), tj.tensor(2.0)
    f(x, y, 3).backward()
    jit(lambda x, y: f(x, y, 3))(x, y).backward()
    assert seen == [(True, False, False), (True, True, False)]
    assert x.grad.item() == 2.0
    assert y.grad is None


def test_random_numbers_in_forward_and_backward():
    def forward(ctx, x):
        ctx.mask = (tj.random.rand(6) > 0.5) * 1.0
        return x * ctx.mask

    f = function(forward, lambda ctx, ct: ctx.mask * ct * (1 + tj.random.rand(6)))
    results = []
    for way in FIRST.values():
        tj.random.seed(3)
        results.append(way(lambda x: f(x).sum())(tj.ones(6)).tolist())
    assert all(value == results[0] for value in results)
    assert 0 < np.count_nonzero(results[0]) < 6
    assert max(results[0]) < 2
