"""``vjp``, ``jvp``, ``linearize`` and ``hvp``: trees, aux, calls again, outer gradients, and errors."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

X = np.array([1.0, 2.0, 3.0])


def values(tensor):
    assert not tensor.requires_grad
    return np.asarray(tensor).tolist()


def scaled(p, x):
    return {"y": x * p["w"], "n": x.sum()}


def test_vjp():
    value, pullback = tj.vjp(scaled, {"w": 2.0}, X)
    assert values(value["y"]) == [2, 4, 6]
    assert values(value["n"]) == 6
    first, second = pullback({"y": X, "n": 10.0})
    assert values(first["w"]) == 14
    assert values(second) == [12, 14, 16]
    again = pullback({"y": X * 0, "n": 1.0})
    assert values(again[0]["w"]) == 0
    assert values(again[1]) == [1, 1, 1]


def test_vjp_of_results_that_are_not_floating():
    value, pullback = tj.vjp(lambda x: (x * 2, x.argmax()), X)
    assert values(value[1]) == 2
    assert values(pullback((X, 0))[0]) == [2, 4, 6]
    assert values(tj.vjp(lambda x: tj.ones(2), X)[1](np.ones(2))[0]) == [0, 0, 0]


def test_has_aux():
    def f(x):
        return x * x, {"double": x * 2, "name": "text"}

    value, pullback, aux = tj.vjp(f, X, has_aux=True)
    assert values(pullback(X)[0]) == [2, 8, 18]
    assert values(aux["double"]) == [2, 4, 6]
    assert aux["name"] == "text"
    value, tangent, aux = tj.jvp(f, (X,), (X,), has_aux=True)
    assert values(value) == [1, 4, 9]
    assert values(tangent) == [2, 8, 18]
    assert values(aux["double"]) == [2, 4, 6]
    value, pushforward, aux = tj.linearize(f, X, has_aux=True)
    assert values(pushforward(X)) == [2, 8, 18]
    assert aux["name"] == "text"
    for run in (lambda f: tj.vjp(f, X, has_aux=True), lambda f: tj.jvp(f, (X,), (X,), has_aux=True)):
        with pytest.raises(tj.GradientError, match=r"with has_aux the function must return \(value, aux\)"):
            run(lambda x: x)


def test_jvp():
    value, tangent = tj.jvp(scaled, ({"w": 2.0}, X), ({"w": 1.0}, np.eye(3)[1]))
    assert values(value["y"]) == [2, 4, 6]
    assert values(tangent["y"]) == [1, 4, 3]
    assert values(tangent["n"]) == 1
    value, tangent = tj.jvp(lambda x: (x, x.argmax(), 3.0, tj.ones(2)), [X], [X])
    assert values(tangent[0]) == X.tolist()
    assert values(tangent[1]) == 0.0
    assert values(tangent[2]) == 0.0
    assert values(tangent[3]) == [0.0, 0.0]


def test_dtypes():
    x = X.astype(np.float32)
    value, tangent = tj.jvp(lambda x: x * 2, (x,), (X,))  # the tangent is converted
    assert tangent.dtype == value.dtype == tj.float32
    value, pullback = tj.vjp(lambda x: x.astype(tj.float64) * 2, x)
    (gradient,) = pullback(X)
    assert gradient.dtype == tj.float32
    assert tj.jvp(lambda x: x * 2, (3.0,), (1,))[1].item() == 2


def test_linearize_runs_the_function_once():
    calls = []

    def f(x, y):
        calls.append(1)
        return tj.sin(x) * y

    value, pushforward = tj.linearize(f, 0.0, 2.0)
    assert values(value) == 0
    assert [values(pushforward(t, 5.0)) for t in (1.0, 3.0)] == [2, 6]
    assert len(calls) == 1


def test_hvp():
    def f(x):
        return (x**3).sum() * x[0]

    v = np.array([1.0, -1.0, 0.5])
    want = tj.hessian(f)(X) @ v
    for run in (tj.hvp, tj.jit(lambda f, *rest: tj.hvp(f, *rest), static_argnums=0)):
        assert np.allclose(run(f, (X,), (v,)).numpy(), want.numpy())
    assert np.allclose(tj.jvp(tj.grad(f), (X,), (v,))[1].numpy(), want.numpy())
    first, second = tj.hvp(lambda x, y: (x * y * y).sum(), (X, X), (v, v))  # H = [[0, 2y], [2y, 2x]]
    assert np.allclose(first.numpy(), 2 * X * v)
    assert np.allclose(second.numpy(), 2 * X * v + 2 * X * v)
    with pytest.raises(tj.GradientError, match="must return a floating scalar"):
        tj.hvp(lambda x: x, (X,), (v,))


def test_outer_gradients_pass():
    w = tj.tensor([1.0, 2.0, 3.0], requires_grad=True)
    value, pullback = tj.vjp(lambda x: x * x * w, X)
    assert value.requires_grad
    (pullback(X)[0].sum() + value.sum()).backward()  # 2 x w ct and x x w
    assert (w.grad.numpy() == 2 * X * X + X * X).all()
    w.grad = None
    value, tangent = tj.jvp(lambda x: x * x * w, (X,), (w,))  # 2 x w t, with t = w
    tangent.sum().backward()
    assert (w.grad.numpy() == 4 * X * w.detach().numpy()).all()
    plain = tj.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (gradient,) = tj.vjp(lambda x: x * x, X)[1](plain)  # the cotangent alone is followed
    gradient.sum().backward()
    assert (plain.grad.numpy() == 2 * X).all()


def test_under_jit_gradients_pass_from_outside():
    def f(x):
        value, pullback = tj.vjp(lambda x: x * x * x, x)
        return (value + pullback(tj.ones(3))[0] + tj.jvp(lambda x: x * x, (x,), (x,))[1]).sum()

    want = 3 * X**2 + 6 * X + 4 * X
    for run in (tj.grad(f), tj.jit(tj.grad(f)), tj.grad(tj.jit(f))):
        assert np.allclose(run(tj.asarray(X)).numpy(), want)


def test_a_pullback_is_mapped():
    _, pullback = tj.vjp(lambda x: tj.sin(x) * x, tj.asarray(X))
    (rows,) = tj.vmap(pullback)(tj.eye(3))
    assert not rows.requires_grad
    assert np.allclose(rows.numpy(), np.diag(np.cos(X) * X + np.sin(X)))
    x = tj.tensor(X, requires_grad=True)
    _, pullback = tj.vjp(lambda x: x * x, x)
    tj.vmap(pullback)(tj.eye(3))[0].sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_forward_mode_over_compiled_functions_leaves_no_graph():
    """A compiled pullback depends on its cotangent as far as the tape knows; nobody follows that one."""
    f = tj.jit(lambda x: tj.sin(x) * x.sum())

    def inner(x):
        return tj.jvp(f, (x,), (X,))[1]

    want = tj.jit(tj.jacfwd(inner))(X)
    for run in (tj.jacfwd(inner), tj.jacrev(inner), lambda x: tj.linearize(inner, x)[1](np.eye(3)[0])):
        assert not run(tj.asarray(X)).requires_grad
    assert np.allclose(tj.jacfwd(inner)(X).numpy(), want.numpy())


def test_without_recording_outside():
    with tj.no_grad():
        value, tangent = tj.jvp(tj.sin, (0.0,), (2.0,))
    assert (value.item(), tangent.item()) == (0, 2)


def f(x):
    return x * 2


@pytest.mark.parametrize(
    ("run", "error", "message"),
    [
        (lambda: tj.vjp(f, 1), tj.DTypeError, r"vjp of f: only floating inputs .* i64\[\] at argument \[0\]"),
        (lambda: tj.vjp(f, X)[1]((X,)), tj.ShapeError, "vjp of f: the cotangent must have the structure"),
        (
            lambda: tj.vjp(f, X)[1](1.0),
            tj.ShapeError,
            r"cotangent at the root has shape \(\), expected \(3,\)",
        ),
        (lambda: tj.vjp(lambda x: "a", X), tj.GradientError, "result value has type str"),
        (lambda: tj.jvp(f, X, (X,)), tj.TracejitError, "jvp of f: primals must be a tuple or list"),
        (lambda: tj.jvp(f, (X,), X), tj.TracejitError, "jvp of f: tangents must be a tuple or list"),
        (
            lambda: tj.jvp(f, (X,), (X, X)),
            tj.ShapeError,
            "jvp of f: expected 1 tangents, one per primal, got 2",
        ),
        (lambda: tj.jvp(f, (X,), (1.0,)), tj.ShapeError, r"tangent at \[0\] has shape \(\), expected \(3,\)"),
        (lambda: tj.jvp(f, (X,), ("a",)), tj.DTypeError, r"the tangent at \[0\] has type str"),
        (lambda: tj.linearize(f, X)[1](X, X), tj.ShapeError, "linearize of f: expected 1 tangents"),
        (lambda: tj.hvp(f, (X,), (X, X)), tj.ShapeError, "hvp of f: the tangent must have the structure"),
    ],
)
def test_errors(run, error, message):
    with pytest.raises(error, match=message):
        run()


def test_a_pullback_takes_one_cotangent():
    pullback = tj.vjp(lambda x: (x, 2 * x), tj.tensor(1.0))[1]
    with pytest.raises(
        tj.ShapeError, match=r"vjp of <lambda>: expected one cotangent, .* got 2; put those of several"
    ):
        pullback(1.0, 2.0)
    assert pullback((1.0, 2.0))[0].item() == 5


def test_a_pullback_passes_the_same_graph_again():
    """Inputs include some that do not lead to the result, closed-over tensors that do, and hooks added
    meanwhile."""
    closed = tj.tensor([3.0, 4.0], requires_grad=True)
    seen = []

    def loss(x, y):
        inner = x * closed
        inner.register_hook(seen.append)
        return (inner * x).sum()

    _, pullback = tj.vjp(loss, tj.tensor([1.0, 2.0]), tj.tensor(5.0))
    for count in range(1, 4):
        by_x, by_y = pullback(tj.tensor(float(count)))
        np.testing.assert_array_equal(by_x.detach(), [6.0 * count, 16.0 * count])
        assert by_y == 0
        assert len(seen) == count
