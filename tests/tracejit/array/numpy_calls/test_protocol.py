"""NumPy's functions called with tensors: the result is a tensor, gradients follow, traces contain it."""

from __future__ import annotations

import cmath
import math
import warnings

import numpy as np
import pytest

import tracejit as tj

X = np.array([0.5, 1.0, 2.0])
M = np.array([[1.0, 2.0, 0.5], [0.25, 3.0, 1.0], [2.0, 1.0, 4.0]])

PROGRAMS = {
    "ufuncs": lambda x: np.sin(x) * np.sqrt(x) + np.hypot(x, 1.0),
    "array on the left": lambda x: X * x + np.float64(2.0) / x - X**x,
    "softmax": lambda x: np.exp(x - np.max(x)) / np.sum(np.exp(x - np.max(x))),
    "linear algebra": lambda x: np.dot(M, x) @ x + np.einsum("ij,j->i", M, x).sum(),
    "joining": lambda x: np.concatenate([x, np.stack([x, x]).ravel(), np.atleast_1d(x[0])]),
    "choosing": lambda x: np.where(x > 0.7, x, np.clip(x, a_min=0.1, a_max=0.6)),
    "reductions": lambda x: np.mean(x) + np.std(x, ddof=1) * np.prod(x, keepdims=True) + np.median(x),
    "where": lambda x: np.divide(1.0, x, out=np.zeros_like(x), where=x > 0.7),
    "options": lambda x: np.sum(x, initial=2.0, where=x < 1.5) + np.add.reduce(x, axis=0),
    "running": lambda x: np.cumsum(x) * np.maximum.accumulate(x) + np.multiply.accumulate(x),
    "outer": lambda x: np.multiply.outer(x, x) + np.add.outer(x, x),
    "shapes": lambda x: np.reshape(np.tile(x, (2, 2)), (3, 4), order="F").T[: np.shape(x)[0]],
    "missing until now": lambda x: (
        np.interp(x, [0.0, 3.0], [0.0, 9.0]) + np.gradient(x) + np.convolve(x, x, "same")
    ),
    "written": lambda x: _written(x),
    "sorting": lambda x: np.sort(-x) + np.take_along_axis(x, np.argsort(x), 0),
    "named": lambda x: np.sum(a=x, axis=0) + np.take(a=x, indices=[0, 1]).sum(),
    "positional": lambda x: np.sum(x, 0, None, None, True) + np.clip(x, 0.6, 1.5) + np.std(x, 0),
}


def _written(x):
    y = np.zeros_like(x)
    np.add.at(y, [0, 0, 1], x)
    np.copyto(y, x, where=x > 1.5)
    return y * x


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    program = PROGRAMS[name]
    expected = program(X)
    eager = program(tj.asarray(X))
    assert isinstance(eager, tj.Tensor)
    np.testing.assert_allclose(eager.numpy(), expected, rtol=1e-12)
    np.testing.assert_allclose(np.asarray(tj.jit(program)(X)), expected, rtol=1e-12)
    np.testing.assert_allclose(np.asarray(tj.vmap(program)(np.stack([X, X]))[1]), expected, rtol=1e-12)
    scalar = lambda x: tj.sum(program(x) ** 2)  # noqa: E731
    slope = np.asarray(tj.grad(scalar)(X))
    differences = [
        (float(scalar(tj.asarray(X + step))) - float(scalar(tj.asarray(X - step)))) / 2e-6
        for step in np.eye(3) * 1e-6
    ]
    np.testing.assert_allclose(slope, differences, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(np.asarray(tj.jit(tj.grad(scalar))(X)), slope, rtol=1e-10)
    x = tj.tensor(X, requires_grad=True)
    scalar(x).backward()
    np.testing.assert_allclose(x.grad.numpy(), slope, rtol=1e-10)
    np.testing.assert_allclose(np.asarray(tj.jvp(scalar, (X,), (X,))[1]), slope @ X, rtol=1e-10)


def test_captured_arrays_are_inputs():
    weights = np.ones((3, 3))
    f = tj.jit(lambda x: np.sum(np.dot(weights, x)))
    assert f(X).item() == 10.5
    weights[0, 0] = 3.0
    assert f(X).item() == 11.5
    assert "is its elements" not in str(f.explain())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: np.isnat(x), r"np\.isnat: .*x\.detach\(\)\.numpy\(\)"),
        (lambda x: np.sum(x, casting="no"), "unexpected|not supported|argument"),
        (lambda x: np.busday_count(x, "2026-01-01"), "busday_count: tracejit has no busday_count"),
    ],
)
def test_what_is_missing_raises(call, message):
    with pytest.raises(TypeError, match=message):
        call(tj.asarray(M))
    with pytest.raises(TypeError, match=message):
        tj.jit(call)(M)


def test_a_function_that_numpy_has_not_is_not_taken_for_one():
    exp = np.frompyfunc(lambda v: v, 1, 1)
    with pytest.raises(tj.ArgumentError, match="tracejit has no"):
        exp(tj.ones(2))


def test_arrays_of_numpy_take_results():
    out = np.ones(3)
    out += tj.ones(3)
    assert isinstance(out, np.ndarray)
    assert out.tolist() == [2, 2, 2]
    assert np.exp(tj.zeros(3), out=out) is out
    assert out.tolist() == [1, 1, 1]
    np.testing.assert_array_equal(tj.jit(lambda x: np.add(x, 1.0, out=np.zeros(3)))(X), np.add(X, 1.0))


def test_texts_and_files_take_the_arrays():
    assert np.array_repr(tj.ones(2)) == "array([1., 1.])"
    assert np.shares_memory(x := tj.ones(2), x)


@pytest.mark.parametrize(
    ("program", "theirs", "ours"),
    [
        (lambda x: math.sin(x), r"math\.sin\(x\)", r"tj\.sin\(x\)"),
        (lambda x: math.hypot(x, 1.0), r"math\.hypot\(x\)", r"tj\.hypot\(x\)"),
        (lambda x: math.ldexp(x, 2), r"math\.ldexp\(x\)", r"tj\.ldexp\(x\)"),
        (lambda x: cmath.phase(x), r"cmath\.phase\(x\)", r"tj\.angle\(x\)"),
        (lambda x: sum([math.exp(x) * i for i in range(50)]), r"math\.exp\(x\)", r"tj\.exp\(x\)"),
    ],
)
def test_math_of_an_array_names_ours(program, theirs, ours):
    with pytest.raises(tj.ConcretizationError, match=f"{theirs} needs .* Use {ours}"):
        tj.jit(program)(X)


def test_draws_are_refused():
    with pytest.raises(tj.TraceError, match=r"np\.random\.beta"):
        tj.jit(lambda x: x * np.random.beta(2.0, 1.0))(X)


def test_creation_like_a_tensor():
    assert isinstance(np.zeros_like(tj.ones(2)), tj.Tensor)
    assert isinstance(np.full_like(tj.ones(2), 3.0, order="C", subok=True), tj.Tensor)


def test_arrays_of_other_libraries_decide_themselves():
    class Other:
        __array_priority__ = 2000

        def __array_ufunc__(self, *args, **kwargs):
            return "theirs"

    assert np.add(Other(), tj.ones(2)) == "theirs"
    assert np.add(tj.ones(2), Other()) == "theirs"


def test_results_compare():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(tj.ones(3), np.ones(3))
        assert np.allclose(tj.ones(3), np.ones(3))
        assert np.array_equal(tj.ones(3), np.ones(3))


def test_ufuncs_of_scipy_are_those_here():
    special = pytest.importorskip("scipy.special")
    x = tj.tensor(X, requires_grad=True)
    assert special.erf(x).grad_fn is not None
    for name in ("erf", "gammaln", "xlogy", "expit", "betainc"):
        function = getattr(special, name)
        args = (X,) * function.nin if name != "betainc" else (X, X, X / 3)
        expected = function(*args)
        np.testing.assert_allclose(
            np.asarray(tj.jit(lambda *a, f=function: f(*a))(*args)), expected, rtol=1e-11
        )
    with pytest.raises(tj.ArgumentError, match="tracejit has no"):
        special.mathieu_a(x, x)


def test_functions_of_scipy_that_are_no_ufuncs():
    special = pytest.importorskip("scipy.special")
    x = tj.tensor(X + 1.0)
    np.testing.assert_allclose(
        tj.jit(lambda v: special.zeta(v))(x).numpy(), special.zeta(X + 1.0), rtol=1e-12
    )
    np.testing.assert_allclose(
        tj.jit(lambda v: special.factorial(v))(x).numpy(), special.factorial(X + 1.0), rtol=1e-12
    )


@pytest.mark.parametrize(
    ("function", "asked", "ours"),
    [
        (lambda v: math.sqrt(v), "sqrt", "sqrt"),
        (lambda v: math.gamma(v), "gamma", "scipy.special.gamma"),
        (lambda v: math.lgamma(v), "lgamma", "scipy.special.gammaln"),
        (lambda v: math.ulp(v), "ulp", "spacing"),
        (lambda v: math.copysign(v, 1.0), "copysign", "copysign"),
    ],
)
def test_functions_of_math_name_ours(function, asked, ours):
    with pytest.raises(tj.ConcretizationError) as caught:
        tj.vmap(function)(X)
    assert str(caught.value).startswith(f"math.{asked}(x) needs the value")
    assert str(caught.value).endswith(f"Use tj.{ours}(x).")
