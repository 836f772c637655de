"""``custom_vjp``: its rule is used in every order of transforms, pytrees, constants, errors, second order.

Values of derivatives were worked out by hand from the rules; that higher orders differentiate the rules was
read off JAX 0.6 (``jax.grad(jax.grad(f))`` of the same functions).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.state import STATE

from .custom_support import NAMES, ORDERS


def scaled_sine() -> Any:
    """sin, whose rule says twice the derivative, and uses the function itself in its forward."""

    @tj.custom_vjp
    def f(x: Any) -> Any:
        return tj.sin(x)

    f.defvjp(lambda x: (f(x), tj.cos(x)), lambda cos_x, ct: (2 * cos_x * ct,))
    return f


@pytest.mark.parametrize(("name", "order", "transform"), ORDERS, ids=NAMES)
def test_every_order_of_transforms(name: str, order: int, transform: Any) -> None:
    want = [math.sin(0.7), 2 * math.cos(0.7), -2 * math.sin(0.7), -2 * math.cos(0.7)][order]
    f = transform(scaled_sine())
    for argument in (0.7, tj.tensor(0.7), tj.tensor(0.7)):
        assert f(argument).item() == pytest.approx(want, rel=1e-14)


@pytest.mark.parametrize(("name", "order", "transform"), ORDERS, ids=NAMES)
def test_residuals_are_differentiated_through_forward(name: str, order: int, transform: Any) -> None:
    """y = x^2, kept as a residual by a rule for which the gradient is y: then y' = 2x, not the rule's x^2."""

    @tj.custom_vjp
    def f(x: Any) -> Any:
        return x * x

    def fwd(x: Any) -> Any:
        y = x * x
        return y, y

    f.defvjp(fwd, lambda y, ct: (y * ct,))
    assert transform(f)(3.0 * tj.ones(())).item() == [9.0, 9.0, 6.0, 2.0][order]


@pytest.mark.parametrize(("name", "order", "transform"), ORDERS, ids=NAMES)
def test_a_function_in_its_own_rule(name: str, order: int, transform: Any) -> None:
    """The residual is f(x) itself, so that higher orders use the rule again: f' = f^2, f'' = 2 f f'."""

    @tj.custom_vjp
    def f(x: Any) -> Any:
        return 1 / x

    def fwd(x: Any) -> Any:
        y = f(x)
        return y, y

    f.defvjp(fwd, lambda y, ct: (y * y * ct,))
    assert transform(f)(tj.tensor(2.0)).item() == pytest.approx([0.5, 0.25, 0.25, 0.375][order], rel=1e-14)


def test_too_many_orders_through_a_trace() -> None:
    @tj.custom_vjp
    def f(x: Any) -> Any:
        return 1 / x

    def fwd(x: Any) -> Any:
        y = f(x)
        return y, y

    f.defvjp(fwd, lambda y, ct: (y * y * ct,))
    g = tj.jit(f)
    for _ in range(4):
        g = tj.grad(g)
    with pytest.raises(tj.GradientError, match=r"f: its rule uses the function itself.*more than 3 times"):
        g(2.0)
    h: Any = f
    for _ in range(4):
        h = tj.grad(h)
    assert tj.jit(h)(2.0).item() == h(2.0).item() == pytest.approx(24 / 2**5, rel=1e-14)


def test_what_runs_when() -> None:
    runs: list[str] = []

    @tj.custom_vjp
    def f(x: Any) -> Any:
        runs.append("fun")
        return x * 1

    def fwd(x: Any) -> Any:
        runs.append("fwd")
        return x * 10, None

    def bwd(residuals: Any, ct: Any) -> Any:
        assert residuals is None
        runs.append("bwd")
        return (ct * 5,)

    f.defvjp(fwd, bwd)
    assert f(tj.tensor(2.0)).item() == 2.0
    assert runs == ["fun"]
    value, gradient = tj.value_and_grad(f)(2.0)
    assert (value.item(), gradient.item()) == (20.0, 5.0)
    assert runs == ["fun", "fwd", "bwd"]
    x = tj.tensor(2.0, requires_grad=True)
    with tj.no_grad():
        assert f(x).item() == 2.0
    assert f(x).item() == 20.0
    jitted = tj.jit(f)
    assert jitted(tj.tensor(2.0)).item() == 2.0  # the function, where nobody differentiates
    assert tj.jit(tj.value_and_grad(f))(2.0)[0].item() == 20.0
    value, gradient = tj.value_and_grad(jitted)(2.0)
    assert (value.item(), gradient.item()) == (20.0, 5.0)
    assert jitted(tj.tensor(2.0)).item() == 2.0


def test_a_jitted_forward_that_keeps_something_is_used_when_differentiated() -> None:
    @tj.custom_vjp
    def f(x: Any) -> Any:
        return x * 1

    f.defvjp(lambda x: (f(x), tj.exp(x)), lambda e, ct: (e * ct,))
    jitted = tj.jit(f)
    text = str(tj.jit(f).lower(tj.tensor(1.0)).as_text("optimized"))
    assert "exp" not in text  # nor is it computed
    assert tj.value_and_grad(jitted)(0.0)[1].item() == 1.0


def test_pytrees_and_none() -> None:
    @tj.custom_vjp
    def f(params: Any, x: Any, n: Any) -> Any:
        return {"y": params["w"] * x + params["b"][0], "n": n + 1}

    def fwd(params: Any, x: Any, n: Any) -> Any:
        return f(params, x, n), (params, [x, "tag", 3])

    def bwd(residuals: Any, ct: Any) -> Any:
        params, (x, tag, three) = residuals
        assert (tag, three) == ("tag", 3)
        assert sorted(ct) == ["n", "y"]
        assert ct["n"].shape == ()
        return {"w": ct["y"] * x * three, "b": None}, ct["y"] * params["w"], None

    f.defvjp(fwd, bwd)

    def loss(params: Any, x: Any, n: Any) -> Any:
        return (f(params, x, n)["y"] * tj.tensor([1.0, 2.0])).sum()

    params = {"w": tj.tensor([2.0, 3.0]), "b": (tj.tensor([1.0, 1.0]), None)}
    for g in (tj.grad(loss, (0, 1)), tj.jit(tj.grad(loss, (0, 1))), tj.grad(tj.jit(loss), (0, 1))):
        by_params, by_x = g(params, tj.tensor([5.0, 7.0]), 4)
        assert by_params["w"].tolist() == [15.0, 42.0]
        assert by_params["b"][0].tolist() == [0.0, 0.0]
        assert by_x.tolist() == [2.0, 6.0]
        assert f(params, tj.ones(2), 4)["n"] == 5


def test_nondiff_argnums_and_keywords() -> None:
    seen: list[Any] = []

    def apply_twice(fn: Any, x: Any, scale: str = "one", *, unused: int = 0) -> Any:
        return fn(fn(x))

    def apply_k(fn: Any, x: Any, k: Any = 2) -> Any:
        return fn(x) * k

    f = tj.custom_vjp(apply_k, nondiff_argnums=(0, 2))

    def bwd(fn: Any, k: Any, x: Any, ct: Any) -> Any:
        seen.append((fn.__name__, k))
        return (ct * 100 * x,)

    f.defvjp(lambda fn, x, k: (apply_k(fn, x, k), x), bwd)

    def square(x: Any) -> Any:
        return x * x

    for g in (lambda x: f(square, x), lambda x: f(square, k=2, x=x), lambda x: f(square, x, 2)):
        assert tj.grad(g)(3.0).item() == 300.0
        assert tj.jit(tj.grad(g))(3.0).item() == 300.0
        assert tj.grad(tj.jit(g))(3.0).item() == 300.0
        assert g(tj.tensor(3.0)).item() == 18.0
    assert set(seen) == {("square", 2)}
    negative = tj.custom_vjp(apply_k, nondiff_argnums=-1)
    negative.defvjp(lambda fn, x, k: (x, None), lambda k, r, ct: (None, ct))
    with pytest.raises(
        tj.DTypeError, match=r"got function at argument \[0\]; name others in nondiff_argnums"
    ):
        negative(square, 1.0, 2)
    with pytest.raises(tj.TracejitError, match="nondiff_argnums names argument 5"):
        tj.custom_vjp(lambda x: x, nondiff_argnums=5).split((1.0,), {})
    keyword = tj.custom_vjp(apply_twice, nondiff_argnums=(0, 2))
    keyword.defvjp(lambda *a: (0.0, None), lambda *a: (None,))
    with pytest.raises(tj.TracejitError, match=r"keyword-only arguments.*\['unused'\]"):
        keyword(square, 1.0)
    with pytest.raises(tj.GradientError, match="argument 2 is in nondiff_argnums, but requires grad"):
        tj.grad(lambda k: f(square, 1.0, k))(2.0)


def test_methods() -> None:
    class Layer:
        scale = 3.0

        @tj.custom_vjp
        def apply(self, x: Any) -> Any:
            return x * self.scale

        apply.nondiff_argnums = (0,)
        apply.defvjp(lambda self, x: (x * self.scale, None), lambda self, _, ct: (ct * 7 * self.scale,))

    assert tj.grad(Layer().apply)(1.0).item() == 21.0


def identity_with(bwd: Any, fwd: Any = lambda x: (x * 1, x)) -> Any:
    f = tj.custom_vjp(lambda x: x * 1)
    f.fun.__name__ = "f"
    f.defvjp(fwd, bwd)
    return f


PAIR = {"a": tj.ones(2), "b": tj.ones(())}


@pytest.mark.parametrize(
    ("f", "argument", "error", "message"),
    [
        (identity_with(lambda r, ct: ct), PAIR["a"], tj.GradientError, r"tuple of 1 .*got Tensor; write \(g"),
        (identity_with(lambda r, ct: (ct, ct)), PAIR["a"], tj.GradientError, "tuple of 1 gradients.*got 2"),
        (identity_with(lambda r, ct: ()), PAIR["a"], tj.GradientError, "tuple of 1 gradients.*got 0"),
        (identity_with(lambda r, ct: ([ct],)), PAIR["a"], tj.GradientError, "a gradient of another"),
        (identity_with(lambda r, ct: (ct[:1],)), PAIR["a"], tj.ShapeError, r"shape \(1,\), expected \(2,\)"),
        (identity_with(lambda r, ct: (1.0,)), PAIR["a"], tj.ShapeError, r"shape \(\), expected \(2,\)"),
        (identity_with(lambda r, ct: (tj.astype(ct, "f4"),)), PAIR["a"], tj.DTypeError, "float32, expected"),
        (identity_with(lambda r, ct: ("x",)), PAIR["a"], tj.GradientError, "str, expected a tensor or None"),
        (identity_with(lambda r, ct: (ct,), lambda x: x * 1), PAIR["a"], tj.GradientError, r"a pair \("),
        (identity_with(lambda r, ct: (ct,), lambda x: (x, x, x)), PAIR["a"], tj.GradientError, "3 values"),
    ],
)  # fmt: skip
def test_rules_are_checked(f: Any, argument: Any, error: Any, message: str) -> None:
    def loss(x: Any) -> Any:
        return f(x).sum()

    for g in (tj.grad(loss), tj.jit(tj.grad(loss))):
        for _ in range(2):
            with pytest.raises(error, match=message):
                g(argument)
    with pytest.raises(tj.GradientError, match=message):  # found while tracing, told to who differentiates
        tj.grad(tj.jit(loss))(argument)
    assert tj.jit(loss)(argument).item() == 2.0
    assert f(argument).tolist() == [1.0, 1.0]
    assert STATE.tracer is None
    assert STATE.recording is True


def test_no_rule_and_bad_rules() -> None:
    f = tj.custom_vjp(lambda x: x)
    for g in (f, tj.jit(f), tj.grad(f)):
        with pytest.raises(tj.GradientError, match=r"no rule yet; call <lambda>\.defvjp\(fwd, bwd\)"):
            g(1.0)
    with pytest.raises(tj.TracejitError, match="expected functions, got int"):
        f.defvjp(1, 2)  # type: ignore[arg-type]
    with pytest.raises(tj.TracejitError, match="custom_vjp: expected a function, got int"):
        tj.custom_vjp(3)  # type: ignore[arg-type]
    assert repr(f).startswith("<custom_vjp of test_no_rule_and_bad_rules")


def test_another_output_than_the_functions() -> None:
    f = identity_with(lambda r, ct: (ct[0],), lambda x: (tj.stack([x, x]), None))
    g = tj.jit(lambda x: f(x).sum())
    assert g(tj.ones(2)).item() == 2.0
    with pytest.raises(tj.GradientError, match=r"another output than the function: expected .*f64\[2\]"):
        tj.grad(g)(tj.ones(2))


def test_closing_over_what_requires_grad_is_an_error() -> None:
    def loss(w: Any, x: Any) -> Any:
        f = tj.custom_vjp(lambda x: w * x)
        f.defvjp(lambda x: (w * x, None), lambda r, ct: (ct,))
        return f(x)

    for g in (tj.grad(loss), tj.jit(tj.grad(loss)), tj.grad(tj.jit(loss)), tj.grad(loss, (0, 1))):
        with pytest.raises(tj.GradientError, match=r"is none of its arguments.*pass it as an argument"):
            g(2.0, 3.0)
    for h in (tj.grad(loss, 1), tj.jit(tj.grad(loss, 1)), tj.grad(tj.jit(loss), 1)):
        assert h(2.0, 3.0).item() == 1.0  # a constant may be closed over


def test_python_control_flow_in_rules() -> None:
    @tj.custom_vjp
    def f(x: Any) -> Any:
        return x * 2

    f.defvjp(lambda x: (f(x), x), lambda x, ct: (ct * 3,) if x > 0 else (ct * 4,))
    assert (tj.grad(f)(1.0).item(), tj.grad(f)(-1.0).item()) == (3.0, 4.0)
    assert tj.jit(f)(1.0).item() == 2.0
    for x, slope in ((1.0, 3.0), (-1.0, 4.0), (2.0, 3.0)):  # a path for each
        assert tj.jit(tj.grad(f))(x).item() == slope
    with pytest.raises(tj.GradientError, match="its rule cannot be traced: ConcretizationError"):
        tj.grad(tj.jit(f))(1.0)


def test_exceptions_leave_things_clean() -> None:
    fail = [True]

    def bwd(x: Any, ct: Any) -> Any:
        if fail[0]:
            raise KeyError("mine")
        return (ct * 2,)

    f = tj.custom_vjp(lambda x: x * 1)
    f.defvjp(lambda x: (x * 1, x), bwd)
    for g in (tj.grad(f), tj.jit(tj.grad(f))):
        fail[0] = True
        with pytest.raises(KeyError, match="mine"):
            g(1.0)
        assert STATE.tracer is None
        assert STATE.recording is True
        fail[0] = False
        assert g(1.0).item() == 2.0


def test_the_same_argument_twice_and_several_uses() -> None:
    f = tj.custom_vjp(lambda x, y: x * y)
    f.defvjp(lambda x, y: (x * y, (tj.sin(x), y)), lambda r, ct: (ct * r[1] * r[0], ct * 10))

    def square(x: Any) -> Any:
        return f(x, x) + f(2 * x, x)

    def slope(x: float) -> float:
        return x * math.sin(x) + 10 + 2 * x * math.sin(2 * x) + 10

    step = 1e-6
    curvature = (slope(0.5 + step) - slope(0.5 - step)) / (2 * step)
    for _name, order, transform in ORDERS:
        if order in (1, 2):
            want = slope(0.5) if order == 1 else curvature
            assert transform(square)(0.5).item() == pytest.approx(want, rel=1e-8)


def test_backward_twice_hooks_and_writes() -> None:
    f = tj.custom_vjp(lambda x: x * x)
    f.defvjp(lambda x: (x * x, x), lambda x, ct: (3 * x * ct,))
    x = tj.tensor([1.0, 2.0], requires_grad=True)
    y = f(x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [6.0, 12.0]
    with pytest.raises(tj.GradientError, match="second time"):
        y.backward()
    a = tj.tensor([1.0, 2.0], requires_grad=True) * 1
    out = f(a)
    a += 1
    with pytest.raises(tj.GradientError, match=r"fBackward|<lambda>Backward|modified in place"):
        out.sum().backward()


def test_an_output_that_is_the_argument() -> None:
    reverse = tj.custom_vjp(lambda x: x)
    reverse.defvjp(lambda x: (x, None), lambda _, ct: (-ct,))
    x = tj.tensor([1.0, 2.0], requires_grad=True)
    y = reverse(x)
    assert y is not x
    y.sum().backward()
    assert x.grad.tolist() == [-1.0, -1.0]
    for _name, order, transform in ORDERS[2:5]:
        assert order == 1
        assert transform(lambda x: reverse(x) * 3)(2.0).item() == -3.0


def test_python_numbers_stay_weak_under_jit() -> None:
    f = tj.custom_vjp(lambda x, s: x * s)
    f.defvjp(lambda x, s: (x * s, s), lambda s, ct: (ct * s, None))
    x = tj.ones(2, dtype="f4")
    for g in (f, tj.jit(f)):
        assert g(x, 2.5).dtype == np.float32
    for h in (tj.grad(lambda x, s: f(x, s).sum()), tj.jit(tj.grad(lambda x, s: f(x, s).sum()))):
        assert h(x, 2.5).tolist() == [2.5, 2.5]


def test_around_a_python_callback() -> None:
    """A gradient for a Python callback, as the documentation of ``pure_callback`` recommends."""

    @tj.custom_vjp
    def sine(x: Any) -> Any:
        return tj.pure_callback(np.sin, x, x)

    sine.defvjp(
        lambda x: (sine(x), x), lambda x, ct: (tj.pure_callback(lambda c, v: c * np.cos(v), x, ct, x),)
    )
    for _name, order, transform in ORDERS[:9]:
        want = (math.sin(0.3), math.cos(0.3))[order]
        assert transform(sine)(0.3).item() == pytest.approx(want, rel=1e-14)
    with pytest.raises(tj.GradientError, match=r"pure_callback: .*has no gradient"):
        tj.grad(tj.grad(sine))(0.3)


def test_default_random_numbers_are_the_same_again() -> None:
    f = tj.custom_vjp(lambda x: x)

    def fwd(x: Any) -> Any:
        noise = tj.random.uniform(tj.random.next_key(), ()) if hasattr(tj.random, "next_key") else 1.0
        return x * noise, x * noise

    f.defvjp(fwd, lambda r, ct: (ct * r * r,))
    value, gradient = tj.value_and_grad(f)(2.0)
    noise = value.item() / 2
    assert gradient.item() == pytest.approx(4 * noise**2)
    x = tj.tensor(2.0, requires_grad=True)
    y = f(x)
    noise = y.item() / 2
    (first,) = tj.autograd.grad(y, x, create_graph=True)
    (second,) = tj.autograd.grad(first, x)
    assert second.item() == pytest.approx(4 * noise**2)  # d/dx (x noise)^2


@pytest.mark.parametrize(("name", "order", "transform"), ORDERS, ids=NAMES)
def test_what_rules_print(name: str, order: int, transform: Any) -> None:
    """Rules print once each, at every order: a forward that runs again for a gradient's gradient does so in
    silence."""
    seen: list[str] = []

    def note(what: str, x: Any) -> None:
        tj.debug.callback(lambda v: seen.append(what), x)

    f = tj.custom_vjp(lambda x: (note("fun", x), x * x)[1])
    f.defvjp(lambda x: (note("fwd", x), (x * x, x))[1], lambda x, ct: (note("bwd", ct), (x * x * ct,))[1])
    g = transform(f)
    for _ in range(2):
        seen.clear()
        g(tj.tensor(0.5))
        forward = [event for event in seen if event != "bwd"]
        if "checkpoint" not in name:
            assert forward == (["fwd"] if order else ["fun"])
        assert ("bwd" in seen) == bool(order)
        assert seen.count("bwd") <= 1


SCALE = tj.tensor(3.0)


def test_globals_of_rules_are_read_afresh() -> None:
    global SCALE
    f = tj.custom_vjp(lambda x: x * 1)
    f.defvjp(lambda x: (x * 1, SCALE * x), lambda r, ct: (ct * r * SCALE,))
    g = tj.custom_jvp(lambda x: x * 1)
    g.defjvp(lambda p, t: (p[0] * 1, t[0] * SCALE))
    first, second = tj.jit(tj.grad(f)), tj.grad(tj.jit(f))
    third, fourth = tj.jit(tj.grad(g)), tj.grad(tj.jit(g))
    h = tj.custom_jvp(lambda x: x * 1)
    h.defjvps(lambda t, y, x: t * SCALE)
    fifth = tj.jit(tj.grad(h))
    try:
        for scale in (3.0, 5.0):
            SCALE = tj.tensor(scale)
            assert first(2.0).item() == second(2.0).item() == 2 * scale**2
            assert third(2.0).item() == fourth(2.0).item() == fifth(2.0).item() == scale
    finally:
        SCALE = tj.tensor(3.0)


@pytest.mark.parametrize("second", ["grad", "jacrev", "jacfwd"])
@pytest.mark.parametrize("first", ["grad", "jacrev", "jacfwd"])
def test_a_rule_that_keeps_its_own_result_differentiates_again_under_jacobians(first, second):
    """y' = a y: the second derivative y + a^2 y goes through the kept result, inside vmap as well."""

    @tj.custom_vjp
    def follow(x, a):
        return x

    def forward(x, a):
        y = follow(x, a)
        return y, (y, a)

    follow.defvjp(forward, lambda kept, ct: (None, ct * kept[0] * kept[1]))
    a = tj.tensor(2.0)
    slope = getattr(tj, second)(getattr(tj, first)(lambda a: follow(3.0 * tj.stop_gradient(a), a)))
    assert slope(a).item() == tj.jit(slope)(a).item() == 6.0 + 4.0 * 6.0


@pytest.mark.parametrize("name", ["custom_vjp", "custom_jvp"])
def test_a_rule_made_inside_a_jitted_function(name):
    def square(x):
        rule = getattr(tj, name)(lambda p: p * p)
        if name == "custom_vjp":
            rule.defvjp(lambda p: (p * p, p), lambda p, ct: (2 * p * ct,))
        else:
            rule.defjvp(lambda p, t: (p[0] * p[0], 2 * p[0] * t[0]))
        return rule(x)

    assert tj.jit(square)(np.array(3.0)).item() == 9.0
    assert tj.jit(tj.grad(square))(np.array(3.0)).item() == 6.0


RATE = 0.05


def test_numbers_and_arrays_of_numpy_that_functions_in_compiled_loops_close_over():
    def solved(x, p):
        z = x
        for _ in range(12):
            residual = z - x + RATE * p * z
            z = z - (np.eye(3) / (1.0 + RATE)) @ residual
        return z

    @tj.custom_vjp
    def implicit(x, p):
        return solved(x, p)

    def backward(residuals, ct):
        z, p = residuals
        scaled = ct / (1 + RATE * p)
        return scaled, -RATE * z * scaled

    def forward(x, p):
        z = solved(x, p)
        return z, (z, p)

    implicit.defvjp(forward, backward)

    def run(p):
        x, path = np.ones(3), np.zeros((40, 3))
        for k in range(40):
            x = implicit(x, p)
            path[k] = x
        return path

    p = np.array([0.4, 1.0, 2.0])
    path, factor = tj.jit(run)(p), 1 / (1 + RATE * p)
    steps = np.arange(1, 41)[:, None]
    np.testing.assert_allclose(np.asarray(path), factor**steps, rtol=1e-6)
    slopes = np.asarray(tj.jit(tj.jacrev(run))(p))
    np.testing.assert_allclose(
        slopes[:, 1, 1], -RATE * steps[:, 0] * factor[1] ** (steps[:, 0] + 1), rtol=1e-6
    )
    assert np.all(slopes[:, 0, 1] == 0.0)


def test_arguments_that_functions_in_compiled_loops_close_over_are_still_refused():
    def run(x, w):
        @tj.custom_vjp
        def scaled(x):
            return x * w

        scaled.defvjp(lambda x: (x * w, None), lambda _, ct: (ct,))
        for _ in range(40):
            x = scaled(x)
        return x.sum()

    with pytest.raises(tj.GradientError, match="scaled: the function uses a tensor that requires grad"):
        tj.jit(tj.grad(run, (0, 1)))(np.ones(3), np.full(3, 0.5))
