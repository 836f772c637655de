"""``custom_jvp``: reverse mode by transposing the user's rule, in every order of transforms; errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tracejit as tj

from .custom_support import NAMES, ORDERS


def tripled() -> Any:
    """sin(x) y, whose derivative by x is said to be three times what it is."""

    @tj.custom_jvp
    def f(x: Any, y: Any) -> Any:
        return tj.sin(x) * y

    @f.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (x, y), (tx, ty) = primals, tangents
        return f(x, y), 3 * tj.cos(x) * y * tx + tj.sin(x) * ty

    return f


@pytest.mark.parametrize(("name", "order", "transform"), ORDERS, ids=NAMES)
def test_every_order_of_transforms(name: str, order: int, transform: Any) -> None:
    want = [2 * math.sin(0.7), 6 * math.cos(0.7), -6 * math.sin(0.7), -6 * math.cos(0.7)][order]
    f = transform(lambda x: tripled()(x, 2.0))
    for argument in (0.7, tj.tensor(0.7)):
        assert f(argument).item() == pytest.approx(want, rel=1e-14)


@pytest.mark.parametrize(("name", "order", "transform"), ORDERS, ids=NAMES)
def test_defvjps_uses_the_output(name: str, order: int, transform: Any) -> None:
    """exp by its own output, with None for an argument that has no derivative: exp(x) k, d = 2 exp(x) k."""
    f = tj.custom_jvp(lambda x, k: tj.exp(x) * k)
    f.defjvps(lambda t, y, x, k: 2 * y * t, None)
    assert transform(lambda x: f(x, 5.0))(0.5).item() == pytest.approx(
        5 * 2**order * math.exp(0.5), rel=1e-14
    )
    by_k = tj.grad(lambda k: f(0.5, k))
    assert by_k(5.0).item() == 0.0


def test_both_arguments() -> None:
    f = tripled()
    for g in (tj.grad(f, (0, 1)), tj.jit(tj.grad(f, (0, 1))), tj.grad(tj.jit(f), (0, 1))):
        by_x, by_y = g(0.7, 2.0)
        assert by_x.item() == pytest.approx(6 * math.cos(0.7))
        assert by_y.item() == pytest.approx(math.sin(0.7))


def test_pytrees_integers_and_nondiff() -> None:
    def fun(power: Any, p: Any, n: Any) -> Any:
        return {"y": p["w"] ** power * n, "i": n + 1}

    f = tj.custom_jvp(fun, nondiff_argnums=0)

    @f.defjvp
    def rule(power: Any, primals: Any, tangents: Any) -> Any:
        (p, n), (dp, dn) = primals, tangents
        assert type(power) is int
        assert dn == 0
        out = fun(power, p, n)
        return out, {"y": 10 * power * p["w"] ** (power - 1) * dp["w"] * n + dp["b"][0], "i": n * 0}

    params = {"w": tj.tensor([1.0, 2.0]), "b": [tj.zeros(2), None]}

    def loss(p: Any) -> Any:
        return (f(2, p, 3)["y"] * tj.tensor([1.0, 10.0])).sum()

    for g in (tj.grad(loss), tj.jit(tj.grad(loss)), tj.grad(tj.jit(loss))):
        results = g(params)
        assert results["w"].tolist() == [60.0, 1200.0]
        assert results["b"][0].tolist() == [1.0, 10.0]
    assert f(2, params, 3)["i"] == 4


def test_an_infinite_slope_at_zero_tangents() -> None:
    """The rule's result at zero tangents is 0 times infinity; its derivative is infinity."""
    f = tj.custom_jvp(lambda x: x * 1)
    f.defjvps(lambda t, y, x: t * tj.inf)
    for g in (tj.grad(f), tj.jit(tj.grad(f)), tj.grad(tj.jit(f))):
        assert g(2.0).item() == math.inf


def test_rules_of_linear_algebra_reductions_and_indexing() -> None:
    """The rule's own operations are transposed, whatever they are."""

    def fun(a: Any, x: Any) -> Any:
        return tj.cumsum(a @ x)[1:] * x[0]

    def rule(primals: Any, tangents: Any) -> Any:
        (a, x), (da, dx) = primals, tangents
        y = tj.cumsum(a @ x)
        dy = tj.cumsum(da @ x + a @ dx)
        return y[1:] * x[0], dy[1:] * x[0] + y[1:] * dx[0]

    f = tj.custom_jvp(fun)
    f.defjvp(rule)
    rng = np.random.default_rng(0)
    a, x, w = rng.normal(size=(4, 3)), rng.normal(size=3), rng.normal(size=3)
    want = tj.grad(lambda a, x: (tj.sin(fun(a, x)) * w).sum(), (0, 1))(a, x)

    def loss(a: Any, x: Any) -> Any:
        return (tj.sin(f(a, x)) * w).sum()

    for g in (tj.grad(loss, (0, 1)), tj.jit(tj.grad(loss, (0, 1))), tj.grad(tj.jit(loss), (0, 1))):
        for got, expected in zip(g(a, x), want, strict=True):
            assert np.allclose(got, expected, rtol=1e-13)
    assert tj.autograd.gradgradcheck(
        loss, (tj.tensor(a, requires_grad=True), tj.tensor(x, requires_grad=True))
    )


def with_rule(jvp: Any) -> Any:
    f = tj.custom_jvp(lambda x: x * 1)
    f.defjvp(jvp)
    return f


@pytest.mark.parametrize(
    ("jvp", "error", "message"),
    [
        (
            lambda p, t: t[0],
            tj.GradientError,
            r"must return a pair \(output, tangent of the output\), got Tensor",
        ),
        (lambda p, t: (p[0], t[0], 1), tj.GradientError, "got 3 values"),
        (lambda p, t: (p[0] * 1, (t[0],)), tj.GradientError, "a tangent of the output's structure"),
        (
            lambda p, t: (p[0] * 1, t[0][:1]),
            tj.ShapeError,
            r"output 0 a tangent of shape \(1,\), expected \(2,\)",
        ),
        (lambda p, t: (p[0] * 1, 1.0), tj.ShapeError, r"shape \(\), expected \(2,\)"),
        (lambda p, t: (p[0] * 1, tj.astype(t[0], "f4")), tj.DTypeError, "float32, expected float64"),
    ],
)
def test_rules_are_checked(jvp: Any, error: Any, message: str) -> None:
    f = with_rule(jvp)

    def loss(x: Any) -> Any:
        return f(x).sum()

    x = tj.ones(2)
    for g in (tj.grad(loss), tj.jit(tj.grad(loss))):
        with pytest.raises(error, match=message):
            g(x)
    with pytest.raises(tj.GradientError, match=message):
        tj.grad(tj.jit(loss))(x)
    assert tj.jit(loss)(x).item() == 2.0


def test_no_rule_and_bad_rules() -> None:
    f = tj.custom_jvp(lambda x, y: x)
    with pytest.raises(tj.GradientError, match=r"no rule yet; call <lambda>\.defjvp\(jvp\)"):
        f(1.0, 2.0)
    with pytest.raises(tj.TracejitError, match="defjvp of <lambda>: expected a function, got int"):
        f.defjvp(3)  # type: ignore[arg-type]
    f.defjvps(lambda t, y, x: t)
    with pytest.raises(tj.GradientError, match="it has 1 rules, and was called with 2 arguments"):
        tj.grad(f)(1.0, 2.0)
    with pytest.raises(tj.TracejitError, match="it has nondiff_argnums; use defjvp"):
        tj.custom_jvp(lambda x, y: x, nondiff_argnums=0).defjvps(None)
    zero = tj.custom_jvp(lambda x: x * 1)
    zero.defjvps(None)
    assert tj.grad(zero)(1.0).item() == tj.grad(tj.jit(zero))(1.0).item() == 0.0


def test_a_custom_jvp_inside_a_custom_vjp() -> None:
    inner = tripled()
    outer = tj.custom_vjp(lambda x: inner(x, 2.0))
    outer.defvjp(lambda x: (inner(x, 2.0), tj.grad(inner)(x, 2.0)), lambda slope, ct: (ct * slope + 1,))
    for name, order, transform in ORDERS[:13]:
        if "checkpoint" in name:
            continue
        want = [2 * math.sin(0.7), 6 * math.cos(0.7) + 1, -6 * math.sin(0.7)][order]
        assert transform(outer)(0.7).item() == pytest.approx(want, rel=1e-13)


def test_first_order_keeps_working_after_free_and_retain() -> None:
    f = tripled()
    x = tj.tensor(0.7, requires_grad=True)
    y = f(x, 2.0)
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == pytest.approx(12 * math.cos(0.7))
    with pytest.raises(tj.GradientError, match="second time"):
        y.backward()
