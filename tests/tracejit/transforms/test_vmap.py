"""``vmap``: axes, trees, what is captured, nesting with the tape and with ``jit``, and errors."""

from __future__ import annotations

import collections

import numpy as np
import pytest

import tracejit as tj
from tracejit.state import STATE

Pair = collections.namedtuple("Pair", "x y")
ROWS = np.arange(12.0).reshape(4, 3) - 5


def values(tensor):
    return np.asarray(tensor.detach()).tolist()


def test_axes_in_and_out():
    x = tj.asarray(np.arange(24.0).reshape(2, 3, 4))
    for axis in range(-3, 3):
        rest = [np.take(x.numpy(), i, axis) * 2 + 1 for i in range(x.shape[axis])]
        for place in range(-3, 3):
            got = tj.vmap(lambda row: row * 2 + 1, axis, place)(x)
            assert np.array_equal(got.numpy(), np.stack(rest, place))


def test_in_axes_are_prefixes():
    tree = {"a": [tj.ones((2, 3)), tj.ones((2, 3))], "b": Pair(tj.ones((3, 2)), 7.0)}

    def f(t, s):
        return t["a"][0].sum() + t["a"][1].sum() * 10 + t["b"].x.sum() * 100 + t["b"].y * s

    axes = ({"a": 0, "b": Pair(1, None)}, None)
    assert values(tj.vmap(f, axes)(tree, 1)) == [340, 340]
    axes = ({"a": [0, None], "b": None}, None)
    assert values(tj.vmap(lambda t, s: t["a"][0].sum() + t["a"][1].sum(), axes)(tree, 1)) == [9, 9]
    assert values(tj.vmap(f, in_axes=[{"a": 0, "b": Pair(1, None)}, None])(tree, 1)) == [340, 340]


def test_out_axes_are_prefixes():
    def f(x):
        return {"a": (x, x.sum()), "b": 3.0, "c": x * 2}

    out = tj.vmap(f, out_axes={"a": -1, "b": None, "c": 1})(ROWS)
    assert out["a"][0].shape == (3, 4)
    assert values(out["a"][1]) == ROWS.sum(1).tolist()
    assert out["b"].shape == ()
    assert np.array_equal(out["c"].numpy(), ROWS.T * 2)


def test_results_that_are_not_mapped_are_repeated():
    out = tj.vmap(lambda x: (tj.arange(2), 3.0), out_axes=(1, 0))(ROWS)
    assert values(out[0]) == [[0] * 4, [1] * 4]
    assert values(out[1]) == [3.0] * 4
    out[0][0, 0] = 9  # memory of its own
    assert values(out[0][0]) == [9, 0, 0, 0]


def test_keywords_are_mapped():
    assert values(tj.vmap(lambda x, *, y: x - y)(tj.arange(3), y=tj.ones(3, dtype=int))) == [-1, 0, 1]
    assert values(tj.vmap(lambda x, *, y: x - y, in_axes=None)(1, y=tj.arange(3))) == [1, 0, -1]


def test_python_numbers_that_are_not_mapped_stay_weak():
    x = tj.arange(3, dtype=tj.float32)
    assert tj.vmap(lambda x, s: x * s, (0, None))(x, 2.5).dtype == tj.float32
    assert tj.vmap(lambda x, n: x[:n], (0, None))(ROWS, 2).shape == (4, 2)  # and are known inside
    assert isinstance(tj.vmap(lambda x, a: (x, a), (0, None), (0, None))(ROWS, ROWS)[1], tj.Tensor)
    assert tj.vmap(lambda x, name: x if name == "x" else -x, (0, None))(x, "x").tolist() == [0, 1, 2]


def test_ranges_of_python_integers_are_checked():
    x = tj.arange(3, dtype=tj.int8)
    f = tj.jit(lambda x, n: tj.vmap(lambda row: row + n)(x))
    assert f(x, 100).tolist() == [100, 101, 102]
    assert f(x, 100).dtype == tj.int8
    with pytest.raises(tj.DTypeError, match="300"):
        f(x, 300)


def test_axis_size():
    assert tj.vmap(lambda: tj.ones(2), axis_size=3)().shape == (3, 2)
    assert tj.vmap(lambda x: x, in_axes=None, axis_size=3)(tj.ones(2)).shape == (3, 2)
    assert tj.vmap(lambda x: x, axis_size=4)(ROWS).shape == (4, 3)
    assert tj.vmap(lambda x: x.sum(), axis_size=0)(tj.ones((0, 3))).shape == (0,)


def test_one_trace_whatever_the_size():
    calls = []
    tj.vmap(lambda x: calls.append(1) or x)(tj.ones((1000, 2)))
    assert len(calls) == 1


def test_captures_get_gradients():
    w = tj.tensor([1.0, 2.0, 3.0], requires_grad=True)
    tj.vmap(lambda x: (x * w).sum() ** 2)(ROWS).sum().backward()
    assert np.allclose(w.grad.numpy(), (2 * (ROWS @ [1.0, 2.0, 3.0])[:, None] * ROWS).sum(0))
    x = tj.tensor(ROWS, requires_grad=True)
    y = tj.vmap(lambda x: (x * x).sum(), in_axes=1)(x)
    assert y.requires_grad
    y.sum().backward()
    assert np.array_equal(x.grad.numpy(), 2 * ROWS)


def test_nothing_is_recorded_without_need():
    w = tj.ones(3, requires_grad=True)
    with tj.no_grad():
        assert not tj.vmap(lambda x: x * w)(ROWS).requires_grad
    assert not tj.vmap(lambda x: x * w.detach())(ROWS).requires_grad
    assert not tj.vmap(tj.grad(lambda x: (x * x).sum()))(ROWS).requires_grad
    assert not tj.vmap(lambda x: x * tj.grad(lambda w: w * w)(tj.tensor(3.0)))(ROWS).requires_grad
    assert tj.vmap(lambda x: tj.grad(lambda x: (x * w).sum())(x))(ROWS).requires_grad


def test_no_grad_inside():
    w = tj.ones(3, requires_grad=True)

    def f(x):
        with tj.no_grad():
            scale = (x * w).sum()
        return (x * w * scale).sum()

    tj.vmap(f)(ROWS).sum().backward()
    assert np.array_equal(w.grad.numpy(), (ROWS * ROWS.sum(1)[:, None]).sum(0))


def test_with_jit_inside_and_outside():
    w = tj.tensor([1.0, -1.0, 2.0])

    def f(x):
        return tj.sin(x * w).sum()

    want = [f(row).item() for row in tj.asarray(ROWS)]
    for run in (tj.vmap(f), tj.jit(tj.vmap(f)), tj.vmap(tj.jit(f)), tj.jit(tj.vmap(tj.jit(f)))):
        assert np.allclose(run(ROWS).numpy(), want)
    jitted = tj.jit(tj.vmap(f))
    jitted(ROWS)
    w[0] = 5.0  # captures are read at each call
    assert np.allclose(jitted(ROWS).numpy(), [f(row).item() for row in tj.asarray(ROWS)])


def test_the_lines_in_a_trace_are_those_of_the_function():
    def f(x):
        return tj.exp(x)

    (line,) = {
        instruction.location.line
        for instruction in tj.trace(tj.vmap(f), ROWS).body
        if instruction.op.name == "exp"
    }
    assert line == f.__code__.co_firstlineno + 1


def test_writes_inside():
    def f(x):
        y = tj.zeros(4)
        y[1:] += x
        y[0] = x[2]
        return y

    want = np.concatenate([ROWS[:, 2:], ROWS], axis=1)
    assert np.array_equal(tj.vmap(f)(ROWS).numpy(), want)
    assert np.array_equal(tj.jit(tj.vmap(f))(ROWS).numpy(), want)


def test_copies_and_hidden_writes():
    x = tj.asarray(ROWS.copy())
    copied = tj.vmap(lambda x: x.copy())(x)
    copied[0, 0] = 99
    assert x[0, 0].item() == ROWS[0, 0]

    def f(x):
        y = x * 2
        with tj.no_grad():
            y += x
        return (y * y).sum()  # 9 x^2, whose gradient takes y for 2 x: 2 y 2

    want = np.stack([tj.grad(f)(row).numpy() for row in tj.asarray(ROWS)])
    assert np.array_equal(want, 12 * ROWS)
    for run in (tj.vmap(tj.grad(f)), tj.grad(lambda x: tj.vmap(f)(x).sum()), tj.jit(tj.vmap(tj.grad(f)))):
        assert np.array_equal(run(tj.asarray(ROWS)).numpy(), want)


def test_indices_that_differ():
    table = tj.asarray(np.arange(20.0).reshape(5, 4))
    index = np.array([[0, 4], [1, -1], [2, 2]])
    assert np.array_equal(tj.vmap(lambda i: table[i])(index).numpy(), table.numpy()[index])

    def add(i, v):
        return tj.index_add(tj.zeros(5), i, v)

    got = tj.vmap(add)(index, np.ones((3, 2)))
    assert values(got) == [[1, 0, 0, 0, 1], [0, 1, 0, 0, 1], [0, 0, 2, 0, 0]]
    with pytest.raises(IndexError):
        tj.vmap(lambda x, i: x[i])(ROWS, tj.asarray([0, 1, 3, 0]))


def test_keys_are_mapped_and_draws_refused():
    keys = tj.random.split(tj.random.key(0), 3)
    want = [tj.random.normal(key, (2,)).tolist() for key in keys]
    assert tj.vmap(lambda key: tj.random.normal(key, (2,)))(keys).tolist() == want
    orders = [tj.random.permutation(key, 5).tolist() for key in keys]
    for run in (tj.vmap, lambda f: tj.jit(tj.vmap(f))):
        assert run(lambda key: tj.random.permutation(key, 5))(keys).tolist() == orders
    state = tj.random.get_state()
    for run in (tj.vmap, lambda f: tj.jit(tj.vmap(f)), lambda f: tj.vmap(tj.vmap(f))):
        with pytest.raises(
            tj.TraceError, match=r"inside vmap all examples would draw the same.*random.split"
        ):
            run(lambda x: x + tj.random.rand())(ROWS)
    assert tj.random.get_state() == state


class Cube(tj.autograd.Function):
    """x**3, with ten times its gradient."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 30 * g * x * x


def test_functions_with_their_own_gradient():
    want = 30 * ROWS**2
    assert np.array_equal(tj.vmap(Cube.apply)(ROWS).numpy(), ROWS**3)
    inside = tj.vmap(tj.grad(lambda x: Cube.apply(x).sum()))
    outside = tj.grad(lambda x: tj.vmap(Cube.apply)(x).sum())
    for run in (
        inside,
        outside,
        tj.jit(inside),
        tj.jit(outside),
        tj.grad(lambda x: tj.vmap(Cube.apply)(x).sum()),
    ):
        assert np.array_equal(run(tj.asarray(ROWS)).numpy(), want)
    twice = tj.grad(lambda x: outside(x).sum())
    assert np.array_equal(twice(tj.asarray(ROWS)).numpy(), 60 * ROWS)
    x = tj.tensor(ROWS, requires_grad=True)
    y = tj.vmap(Cube.apply)(x)
    with tj.no_grad():
        x += 1
    with pytest.raises(tj.GradientError, match=r"operand 0 of custom_vjp.* was modified in place by"):
        y.sum().backward()


def test_checkpoint_inside():
    def f(x):
        return tj.checkpoint(lambda x: tj.sin(tj.exp(x)).sum(), x)

    def plain(x):
        return tj.sin(tj.exp(x)).sum()

    want = tj.vmap(tj.grad(plain))(ROWS / 5).numpy()
    for run in (tj.vmap(tj.grad(f)), tj.grad(lambda x: tj.vmap(f)(x).sum()), tj.jit(tj.vmap(tj.grad(f)))):
        assert np.allclose(run(tj.asarray(ROWS / 5)).numpy(), want)


def same(x):
    return x


@pytest.mark.parametrize(
    ("run", "error", "message"),
    [
        (lambda: tj.vmap(3), tj.TracejitError, "vmap: expected a function, got int"),
        (lambda: tj.vmap(same, 1.0), tj.TracejitError, "in_axes must be an int, None, or a tuple"),
        (lambda: tj.vmap(same, ("x",)), tj.TracejitError, "in_axes must be an int, None, .* got 'x'"),
        (lambda: tj.vmap(same, 0, True), tj.TracejitError, "out_axes must be an int, None, .* got True"),
        (lambda: tj.vmap(same)(1.0), tj.AxisError, r"vmap of same: axis 0 of argument args\[0\] needs a rank "
         r"of at least 1, but it is f64\[\] of rank 0"),
        (lambda: tj.vmap(same, -3)(ROWS), tj.AxisError, r"axis -3 of .* at least 3, but it is f64\[4,3\]"),
        (lambda: tj.vmap(same, 0, 2)(ROWS), tj.AxisError, "axis 2 of the result needs a rank of at least 3"),
        (lambda: tj.vmap(same, (0, 0))(ROWS), tj.ShapeError, "in_axes has 2 entries, .* with 1 positional"),
        (lambda: tj.vmap(same, ({"a": 0},))({"b": ROWS}), tj.ShapeError,
         r"in_axes must be a tree prefix of the positional arguments: got in_axes=\(\{'a': 0\},\) for"),
        (lambda: tj.vmap(same, 0, (0, 0))(ROWS), tj.ShapeError, "out_axes must be a tree prefix of"),
        (lambda: tj.vmap(same, None)(ROWS), tj.ShapeError, "nothing is mapped"),
        (lambda: tj.vmap(lambda: 1.0)(), tj.ShapeError, "nothing is mapped"),
        (lambda: tj.vmap(lambda p, x: x)({"w": ROWS}, ROWS.T), tj.ShapeError,
         r"one size, got\n  args\[0\]\['w'\] is f64\[4,3\], of size 4 along axis 0\n  args\[1\] is"),
        (lambda: tj.vmap(same, axis_size=5)(ROWS), tj.ShapeError, r"axis_size is 5\n  args\[0\] is f64"),
        (lambda: tj.vmap(same, 0, None)(ROWS), tj.ShapeError,
         r"out_axes is None for the result, of type f64\[3\], but it depends on mapped"),
        (lambda: tj.vmap(same)("text"), tj.DTypeError, r"args\[0\] has type str; .* the in_axes None"),
        (lambda: tj.vmap(same, axis_size=2.0), tj.TracejitError, "axis_size must be .*, got 2.0"),
        (lambda: tj.vmap(lambda x: {"a": "text"})(ROWS), tj.DTypeError, r"result \['a'\] has type str"),
        (lambda: tj.vmap(lambda x: x if x.sum() > 0 else -x)(ROWS), tj.ConcretizationError, "tj.where"),
    ],
)  # fmt: skip
def test_errors(run, error, message):
    with pytest.raises(error, match=message):
        run()
    assert STATE.tracer is None
    assert STATE.recording is True
