"""Loops that write their function's arguments: in the caller's memory, without a copy of it, or an error."""

import numpy as np
import pytest

import tracejit as tj

from .common import Cases, agree

X = np.linspace(0.1, 1.0, 40)
M = np.arange(12.0).reshape(4, 3)
case = Cases()


@case(X, X * 0)
def out_argument(x, out):
    for i in range(len(x)):
        out[i] = x[i] * 2


@case(X, 3.0)
def under_a_condition(a, s):
    for i in range(20):
        if a[i] * 10 > s:
            a[i] = 0.0
    a[5] = 1.0


@case(X, 9)
def nested(a, n):
    for i in range(n):
        a[i], a[i + 1] = a[i + 1], a[i]
        for j in range(i):
            a[j] += a[i]


@case(X)
def read_before(a):
    s = a.sum()
    for i in range(10):
        a[i] = a[i] + s
    return s


@case(X, X * 0)
def two_arguments(a, out):
    for i in range(10):
        out[i] = a[i + 1]
        a[i] = out[i] * 2


@case(M)
def through_a_view(m):
    flat = m.reshape(-1)
    for i in range(5):
        flat[i] += flat[i + 1] * 2


@case(M)
def through_a_transpose(m):
    t = m.T
    for i in range(3):
        t[i, 0] = 7.0
        t[i] *= 2


@case(M)
def through_a_slice(m):
    inner = m[1:3]
    for i in range(2):
        inner[i, 1:] = i


@case(X)
def as_long_as(a):
    i = 0
    while a[i] < 0.5:
        a[i] = 0.5 * a[i] + 1
        i += 1
    return i


@case(X)
def old_values_are_needed(a):
    old = a * 1.0
    for i in range(10):
        a[i] = a[i] + old[i + 1]
    return old


@case(np.array([3, 1, 2]), np.zeros(4))
def by_traced_indices(where, out):
    for i in range(3):
        out[where[i]] += 1


@case({"a": X * 1, "b": [X * 2]})
def in_containers(tree):
    for i in range(30):
        tree["a"][i] = tree["b"][0][i]
        tree["b"][0][i] = 0.0


@pytest.mark.parametrize(("function", "arguments", "mode"), case)
def test_form(function, arguments, mode, monkeypatch):
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    agree(function, *arguments, mode=mode)
    tensors = tj.tree_map(tj.tensor, arguments)
    results = function(*arguments), tj.jit(function, loops=mode)(*tensors)
    pairs = tj.tree_leaves((arguments, results[0])), tj.tree_leaves((tensors, results[1]))
    for expected, written in zip(*pairs, strict=True):
        np.testing.assert_allclose(np.asarray(written), expected)


IN_PLACE = {
    out_argument: 1, under_a_condition: 1, nested: 1, read_before: 1, two_arguments: 2, as_long_as: 1,
    by_traced_indices: 1,
}  # fmt: skip


@pytest.mark.parametrize("function", IN_PLACE)
def test_nothing_is_copied(function):
    """The loop works in the argument's memory: an array of 160 MB costs no more than one of 160 kB."""
    (arguments,) = [arguments for f, arguments, _ in case if f is function]
    jitted = tj.jit(function, loops="compiled")
    large = [
        np.resize(x, 20_000).astype(x.dtype) if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x
        for x in arguments
    ]
    jitted(*large)
    (signature,) = jitted.explain().signatures
    assert signature.reused == IN_PLACE[function]


def test_a_loop_that_fails_has_written_what_python_has_written():
    def f(a, n):
        for i in range(n):
            a[i] = 1.0

    a = np.zeros(50)
    with pytest.raises(tj.OutOfBoundsError, match=r"test_arguments\.py"):
        tj.jit(f)(a, 60)
    assert set(a) <= {0.0, 1.0}
    with pytest.raises(tj.OutOfBoundsError):
        tj.jit(f, loops="unrolled")(np.zeros(50), 60)


REFUSED = {
    "read-only": (np.broadcast_to(X, X.shape), r"argument out .* read-only; pass x.copy"),
    "broadcast": (np.lib.stride_tricks.as_strided(np.zeros(1), X.shape, (0,)), "several of its elements"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("loops", ["compiled", "unrolled"])
def test_what_cannot_be_written_is_an_error(name, loops):
    out, message = REFUSED[name]
    x = X.copy()
    with pytest.raises((tj.TracejitError, TypeError), match=message):
        tj.jit(out_argument, loops=loops)(x, out)
    np.testing.assert_array_equal(x, X)


@pytest.mark.parametrize("loops", ["compiled", "unrolled"])
def test_tensors_in_graphs(loops):
    write = tj.jit(out_argument, loops=loops)
    leaf = tj.tensor(X * 0, requires_grad=True)
    with pytest.raises(tj.GradientError, match=r"argument out: a leaf tensor that requires grad"):
        write(X, leaf)
    source = tj.tensor(X, requires_grad=True)
    inner = leaf * 1.0
    square = inner * inner
    write(source, inner)  # the graph goes on from what was written
    inner.sum().backward()
    np.testing.assert_allclose(source.grad.numpy(), np.full(40, 2.0))
    np.testing.assert_allclose(leaf.grad.numpy(), np.zeros(40))
    with pytest.raises(tj.GradientError, match=r"modified in place by out_argument \(argument out\)"):
        square.sum().backward()
    with pytest.raises(
        tj.GradientError, match=r"argument out is an array, and what is written to it requires"
    ):
        write(source, X * 0)


def doubled_sum(x, out):
    for i in range(len(x)):
        out[i] = x[i] * 2
    return out.sum()


def test_transforms_write_no_argument_that_they_differentiate():
    out = np.zeros(40)
    np.testing.assert_allclose(
        tj.jit(tj.grad(doubled_sum, argnums=(0, 1)))(X, out)[0].numpy(), np.full(40, 2.0)
    )
    assert not out.any()
    value, tangent = tj.jvp(lambda x: doubled_sum(x, x * 0), (X,), (X,))
    assert float(value) == pytest.approx(float(tangent))


@pytest.mark.parametrize("name", ["cond", "fori_loop", "scan", "map"])
def test_regions_may_not_write_what_is_outside(name):
    def write(x, out):
        if name == "cond":
            tj.cond(x[0] > 0, lambda: doubled_sum(x, out), lambda: 0.0)
        elif name == "fori_loop":
            tj.fori_loop(0, 3, lambda i, s: s + doubled_sum(x, out), 0.0)
        elif name == "scan":
            tj.scan(lambda s, v: (s + doubled_sum(x, out), None), 0.0, x)
        else:
            tj.map(lambda v: doubled_sum(x, out), x)

    with pytest.raises(
        tj.TraceError, match=r"out, a tensor of type f64\[40\], from outside .* Carry it through"
    ):
        tj.jit(write)(X, X * 0)
