"""``jacrev``, ``jacfwd`` and ``hessian``: shapes, arguments, aux, errors. Values: test_transforms_jax."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.state import STATE

X = np.array([1.0, 2.0, 3.0])
BOTH = pytest.mark.parametrize("jacobian", [tj.jacrev, tj.jacfwd])


@BOTH
def test_shapes(jacobian):
    for inner_shape in ((), (1,), (2, 3), (0,), (2, 0)):
        for outer_shape in ((), (4,), (2, 2), (0,)):
            out = jacobian(lambda x, outer_shape=outer_shape: tj.ones(outer_shape) * tj.sum(x))(
                tj.ones(inner_shape)
            )
            assert out.shape == (*outer_shape, *inner_shape)
            assert (out.numpy() == 1).all()


@BOTH
def test_keywords_and_argnums(jacobian):
    def f(x, y, *, scale):
        return x * y * scale

    assert np.array_equal(jacobian(f)(X, X, scale=2.0).numpy(), np.diag(2 * X))
    assert np.array_equal(jacobian(f, -1)(X, 2.0, scale=1.0).numpy(), X)
    single = jacobian(f, (1,))(X, 2.0, scale=1.0)
    assert type(single) is tuple
    assert len(single) == 1


@BOTH
def test_aux(jacobian):
    def f(x):
        return x * x, (x.sum(), "text")

    out, aux = jacobian(f, has_aux=True)(X)
    assert np.array_equal(out.numpy(), np.diag(2 * X))
    assert aux[0].item() == 6
    assert aux[1] == "text"
    second, aux = tj.hessian(lambda x: (tj.sum(x**3), x.sum()), has_aux=True)(X)
    assert np.allclose(second.numpy(), np.diag(6 * X))
    assert aux.item() == 6


@BOTH
def test_mixed_dtypes(jacobian):
    def f(x, y):
        return {"a": x.astype(tj.float64) * 2, "b": y.astype(tj.float32)}

    out = jacobian(f, (0, 1))(tj.ones(2, dtype=tj.float32), tj.ones(2))
    assert np.array_equal(out["a"][0].numpy(), 2 * np.eye(2))
    assert np.array_equal(out["b"][1].numpy(), np.eye(2))
    assert (out["a"][1].numpy() == 0).all()
    assert out["a"][0].dtype == (
        tj.float32 if jacobian is tj.jacrev else tj.float64
    )  # of argument, of result


@BOTH
def test_the_function_runs_once(jacobian):
    calls = []

    def f(x):
        calls.append(1)
        return x * x

    jacobian(f)(tj.ones(50))
    assert len(calls) == 1


@BOTH
def test_outer_gradients_pass(jacobian):
    w = tj.tensor(2.0, requires_grad=True)
    out = jacobian(lambda x: x**3 * w)(tj.asarray(X))
    assert out.requires_grad
    out.sum().backward()
    assert np.allclose(w.grad.item(), 3 * (X**2).sum())
    x = tj.tensor(X, requires_grad=True)
    jacobian(lambda x: x**3)(x).sum().backward()
    assert np.allclose(x.grad.numpy(), 6 * X)
    assert not jacobian(lambda x: x**3)(tj.asarray(X)).requires_grad


@BOTH
def test_under_jit_gradients_pass_from_outside(jacobian):
    def f(x):
        return jacobian(lambda x: x**3)(x).sum()

    for run in (tj.grad(f), tj.jit(tj.grad(f)), tj.grad(tj.jit(f))):
        assert np.allclose(run(tj.asarray(X)).numpy(), 6 * X)


@BOTH
def test_errors(jacobian):
    name = jacobian.__name__

    def f(x):
        return x * 2

    for run, error, message in (
        (lambda: jacobian(f, "x"), tj.TracejitError, f"{name}: argnums must be an integer"),
        (lambda: jacobian(f, 1)(X), tj.TracejitError, f"{name} of f: argnums 1, but it was called with 1"),
        (
            lambda: jacobian(f, (0, 0))(X),
            tj.TracejitError,
            f"{name} of f: argnums .* names an argument twice",
        ),
        (lambda: jacobian(f, holomorphic=True)(X), tj.DTypeError, "holomorphic=True needs complex inputs"),
        (lambda: jacobian(f)(3), tj.DTypeError, r"only floating inputs .* i64\[\]"),
        (lambda: jacobian(lambda x: {"i": x.argmax()})(X), tj.DTypeError, r"i64\[\] at \['i'\]; .* has_aux"),
    ):
        with pytest.raises(error, match=message):
            run()
    assert STATE.tracer is None


def test_holomorphic_needs_complex_inputs():
    for transform in (tj.grad, tj.value_and_grad, tj.hessian):
        with pytest.raises(tj.DTypeError, match="holomorphic=True needs complex inputs"):
            transform(lambda x: x, holomorphic=True)(1.0)
