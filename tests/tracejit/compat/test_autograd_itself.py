"""`tracejit.compat.autograd` beside HIPS autograd, where that is installed: programs in both namespaces."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tracejit.pytree import flatten as leaves_of

pytest.importorskip("autograd")
pytest.importorskip("scipy")

X, Y = np.array([1.0, 2.0, 0.5]), np.array([0.3, -0.2, 0.9])
M = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 3.0]])
W = np.random.default_rng(0).normal(size=(2, 3, 6, 5))
K = np.random.default_rng(1).normal(size=(3, 4, 2, 2))
TIMES = np.linspace(0.0, 1.0, 4)

SPECIAL = [
    "gamma", "gammaln", "digamma", "erf", "erfc", "erfinv", "expit", "logit",
    "j0", "j1", "y0", "y1", "i0", "i1",
]  # fmt: skip


def library(root: str) -> SimpleNamespace:
    """The parts of a library that the programs use."""
    parts = {
        "ag": "", "np": ".numpy", "extend": ".extend", "misc": ".misc", "optimizers": ".misc.optimizers",
        "fixed": ".misc.fixed_points", "special": ".scipy.special", "stats": ".scipy.stats",
        "signal": ".scipy.signal", "integrate": ".scipy.integrate", "linalg": ".scipy.linalg",
        "builtins": ".builtins",
    }  # fmt: skip
    return SimpleNamespace(**{name: importlib.import_module(root + path) for name, path in parts.items()})


def log_sum_exp(lib: Any) -> Any:
    np_ = lib.np

    @lib.extend.primitive
    def function(x: Any) -> Any:
        return np_.log(np_.sum(np_.exp(x)))

    lib.extend.defvjp(function, lambda ans, x: lambda g: g * np_.exp(x - ans))
    return function


def network(lib: Any) -> Any:
    def loss(params: Any, x: Any) -> Any:
        for w, b in params:
            x = lib.np.tanh(lib.np.dot(x, w) + b)
        return lib.np.mean(x**2) - lib.special.logsumexp(x)

    return lib.ag.value_and_grad(loss)([(M, X), (M.T, Y)], M)


def trajectory(lib: Any, which: int) -> Any:
    def f(y: Any, t: Any, a: Any, b: Any) -> Any:
        return lib.np.dot(a, y) * (1 + t) + b

    def total(y: Any, t: Any, a: Any, b: Any) -> Any:
        arguments = lib.builtins.tuple((a, b))
        return lib.np.sum(M[0] * lib.integrate.odeint(f, y, t, arguments, rtol=1e-10, atol=1e-10)[1:])

    return lib.ag.grad(total, which)(X, TIMES, -M / 5, Y)


def convolutions(lib: Any, mode: str, which: int) -> Any:
    axes = {"axes": ([2, 3], [2, 3]), "dot_axes": ([1], [0]), "mode": mode}
    return lib.ag.grad(lambda a, b: lib.np.sum(lib.signal.convolve(a, b, **axes) ** 3), which)(W, K)


def optimized(lib: Any, name: str) -> Any:
    optimizer = getattr(lib.optimizers, name)
    loss = lambda p, i: lib.np.sum((p["w"] - X) ** 4) + p["b"] ** 2  # noqa: E731
    return optimizer(lib.ag.grad(loss), {"w": Y, "b": 1.0}, num_iters=30, step_size=0.02)


def fixed(lib: Any) -> Any:
    step = lambda a: lambda x: 0.5 * (x + a / x)  # noqa: E731
    root = lambda a: lib.fixed.fixed_point(step, a, 1.0, lambda x, y: abs(x - y), 1e-12)  # noqa: E731
    return root(2.0), lib.ag.grad(root)(2.0), lib.ag.grad(lib.ag.grad(root))(2.0)


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "network": network,
    "fixed_point": fixed,
    "primitive": lambda lib: [lib.ag.grad(log_sum_exp(lib))(X), lib.ag.hessian(log_sum_exp(lib))(X)],
    "tuple_of_argnums": lambda lib: lib.ag.grad(lambda x, y: lib.np.dot(x, y) ** 2, (0, 1))(X, Y),
    "named": lambda lib: lib.ag.grad_named(lambda x, y: lib.np.sum(x * y**2), "y")(X, Y),
    "multigrad": lambda lib: lib.ag.elementwise_grad(lambda x, y: x * y**2, (0, 1))(X, Y),
    "aux": lambda lib: lib.ag.grad_and_aux(lambda x: (lib.np.sum(x**2), 2 * x))(X),
    "jacobian": lambda lib: lib.ag.jacobian(lambda x: lib.np.outer(x, lib.np.sin(x)))(X),
    "hessian": lambda lib: lib.ag.hessian(lambda x: lib.np.linalg.slogdet(M + lib.np.outer(x, x))[1])(X),
    "make_vjp": lambda lib: lib.ag.make_vjp(lambda x: lib.np.linalg.solve(M, x) ** 2)(X)[0](Y),
    "make_jvp": lambda lib: lib.ag.make_jvp(lambda x: lib.np.exp(x) * x[0])(X)(Y),
    "make_hvp": lambda lib: lib.ag.make_hvp(lambda x: lib.np.sum(x**3) * x[0])(X)[0](Y),
    "hvp": lambda lib: lib.ag.hessian_vector_product(lambda x: lib.np.prod(x))(X, Y),
    "tensor_product": lambda lib: lib.ag.tensor_jacobian_product(lambda x: lib.np.outer(x, x**2))(X, Y),
    "ggnvp": lambda lib: lib.ag.make_ggnvp(lambda x: lib.np.tanh(lib.np.dot(M, x)))(X)(Y),
    "deriv": lambda lib: lib.ag.deriv(lambda x: x**3)(2.0),
    "complex": lambda lib: lib.ag.grad(lambda z: lib.np.real(z**3 * lib.np.exp(1j * z)))(0.5 + 0.2j),
    "holomorphic": lambda lib: lib.ag.holomorphic_grad(lambda z: z**3)(0.5 + 0.2j),
    "kinks": lambda lib: lib.ag.grad(lambda x: lib.np.abs(x[0]) + lib.np.maximum(x[1], 0.0))(np.zeros(2)),
    "ties": lambda lib: lib.ag.grad(lambda x: lib.np.max(x) + lib.np.min(x))(np.ones(3)),
    "flatten": lambda lib: lib.misc.flatten({"b": X, "a": (1.0, M)})[0],
    "lists": lambda lib: lib.ag.grad(lambda x: lib.np.sum([x[0] * 2, x[1] ** 2]))(X),
    **{f"odeint {i}": (lambda lib, i=i: trajectory(lib, i)) for i in range(4)},
    **{
        f"convolve {mode} {i}": (lambda lib, mode=mode, i=i: convolutions(lib, mode, i))
        for mode in ("full", "valid", "same")
        for i in range(2)
    },
    **{name: (lambda lib, name=name: optimized(lib, name)) for name in ("sgd", "rmsprop", "adam")},
    **{
        f"{name}.{kind} {i}": (
            lambda lib, name=name, kind=kind, i=i, args=args: lib.ag.grad(
                lambda *a: lib.np.sum(M[0] * getattr(getattr(lib.stats, name), kind)(*a)), i
            )(*args)
        )
        for name, kinds, args in [
            ("norm", "pdf cdf sf logpdf logcdf logsf", (Y, 0.3, 1.7)),
            ("t", "pdf logpdf", (Y, 2.5, 0.3, 1.7)),
            ("beta", "pdf logpdf", (np.abs(Y), 2.5, 1.7)),
            ("gamma", "pdf logpdf", (X, 2.5)),
            ("multivariate_normal", "logpdf pdf", (X, Y, M)),
        ]
        for kind in kinds.split()
        for i in range(len(args))
    },
    **{
        name: (lambda lib, name=name: lib.ag.grad(lambda x: lib.np.sum(getattr(lib.special, name)(x)))(X / 3))
        for name in [
            "gamma",
            "gammaln",
            "digamma",
            "erf",
            "erfc",
            "erfinv",
            "expit",
            "logit",
            "j0",
            "j1",
            "y0",
            "y1",
            "i0",
            "i1",
        ]
    },
    "solve_triangular": lambda lib: lib.ag.grad(
        lambda a: lib.np.sum(lib.linalg.solve_triangular(a, X, lower=True))
    )(np.tril(M)),
    "sqrtm": lambda lib: lib.ag.grad(lambda a: lib.np.sum(lib.linalg.sqrtm(a) * W[0, :, :3, 0]))(M),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore")  # autograd's own
def test_both_libraries_give_the_same(name: str) -> None:
    theirs = PROGRAMS[name](library("autograd"))
    ours = PROGRAMS[name](library("tracejit.compat.autograd"))
    expected, results = leaves_of(theirs), leaves_of(ours)
    assert expected[1] == results[1]
    for value, result in zip(expected[0], results[0], strict=True):
        assert np.shape(value) == np.shape(result)
        assert np.result_type(value) == np.result_type(result)
        assert isinstance(result, (np.ndarray, np.generic, float))
        np.testing.assert_allclose(result, value, rtol=1e-7, atol=1e-9)
