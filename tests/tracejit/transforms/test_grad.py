"""``grad`` and ``value_and_grad``: arguments, errors, and every order of composition with ``jit``."""

from __future__ import annotations

import collections
import dataclasses
import math
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.state import STATE

Pair = collections.namedtuple("Pair", "w b")


@dataclasses.dataclass
class Layer:
    w: Any
    b: Any


def values(tensor):
    return np.asarray(tensor.detach()).tolist()


def product(x, y):
    return x * y * y


def test_under_no_grad_the_results_are_constants():
    x = tj.tensor(2.0, requires_grad=True)
    with tj.no_grad():
        value, gradient = tj.value_and_grad(lambda y: y**3)(x)
    assert (value.item(), gradient.item()) == (8, 12)
    assert not value.requires_grad
    assert not gradient.requires_grad

    def outer(x):
        with tj.no_grad():
            return x * tj.grad(lambda y: y**3)(x)

    assert tj.grad(outer)(2.0).item() == tj.jit(tj.grad(outer))(2.0).item()


def test_numpy_scalars_are_constants():
    assert tj.grad(lambda x: x * np.float64(2))(1.0).item() == 2
    assert tj.jit(tj.grad(lambda x: x * np.float64(2)))(1.0).item() == 2


def test_argnums():
    assert tj.grad(product)(2.0, 3.0).item() == 9
    assert tj.grad(product, 1)(2.0, 3.0).item() == 12
    assert tj.grad(product, -1)(2.0, 3.0).item() == 12
    assert tj.grad(product, argnums=-2)(2.0, 3.0).item() == 9
    assert [slope.item() for slope in tj.grad(product, (0, 1))(2.0, 3.0)] == [9, 12]
    assert [slope.item() for slope in tj.grad(product, [1, 0])(2.0, 3.0)] == [12, 9]
    single = tj.grad(product, (1,))(2.0, 3.0)
    assert type(single) is tuple
    assert single[0].item() == 12
    assert tj.grad(product)(2.0, y=3.0).item() == 9


def test_argnums_errors():
    for argnums in (2, -3):
        with pytest.raises(tj.TracejitError, match=f"grad of product: argnums {argnums}, .* 2 arguments"):
            tj.grad(product, argnums)(2.0, 3.0)
    with pytest.raises(tj.TracejitError, match="argnums 0, but it was called with 0 arguments"):
        tj.grad(product)(x=2.0, y=3.0)


@pytest.mark.parametrize("argnums", [(0, 0), (0, -2)], ids=str)
def test_an_argument_named_twice(argnums):
    try:
        first, second = tj.grad(product, argnums)(2.0, 3.0)
    except (tj.TracejitError, ValueError) as error:
        assert "argnums" in str(error)  # noqa: PT017  # either outcome is right
    else:
        assert first.item() == second.item() == 9


def test_argnums_of_another_type():
    with pytest.raises((TypeError, tj.TracejitError), match="argnums"):
        tj.grad(product, "x")(2.0, 3.0)


def test_value_and_grad():
    value, gradient = tj.value_and_grad(product)(2.0, 3.0)
    assert (value.item(), gradient.item()) == (18, 9)
    assert not value.requires_grad
    assert not gradient.requires_grad
    value, (first, second) = tj.value_and_grad(product, (0, 1))(2.0, 3.0)
    assert (value.item(), first.item(), second.item()) == (18, 9, 12)


def test_has_aux():
    def f(x):
        return x * x, {"twice": x * 2, "name": "text"}

    (value, aux), gradient = tj.value_and_grad(f, has_aux=True)(3.0)
    assert (value.item(), gradient.item(), aux["twice"].item(), aux["name"]) == (9, 6, 6, "text")
    assert not aux["twice"].requires_grad
    gradient, aux = tj.grad(f, has_aux=True)(3.0)
    assert (gradient.item(), aux["twice"].item()) == (6, 6)
    with pytest.raises(tj.GradientError, match=r"with has_aux the function must return \(value, aux\)"):
        tj.grad(lambda x: x * x, has_aux=True)(3.0)


def test_pytrees():
    def loss(p):
        return (p["a"] * p["b"][0]).sum() + p["c"].w * p["c"].b + p["d"].w * 2 + 0 * p["d"].b

    params = {
        "a": tj.tensor([1.0, 2.0]),
        "b": [tj.tensor([3.0, 4.0]), None],
        "c": Pair(5.0, 6.0),
        "d": Layer(1.0, 2.0),
    }
    for f in (tj.grad(loss), tj.jit(tj.grad(loss)), tj.grad(tj.jit(loss))):
        out = f(params)
        assert values(out["a"]) == [3, 4]
        assert values(out["b"][0]) == [1, 2]
        assert out["b"][1] is None
        assert type(out["c"]) is Pair
        assert (out["c"].w.item(), out["c"].b.item()) == (6, 5)
        assert type(out["d"]) is Layer
        assert (out["d"].w.item(), out["d"].b.item()) == (2, 0)


def test_arrays_numbers_and_dtypes():
    assert values(tj.grad(lambda x: (x * x).sum())(np.array([1.0, 2.0]))) == [2, 4]
    out = tj.grad(lambda x: (x * x).sum())(np.array([1.0, 2.0], "f4"))
    assert out.dtype == np.float32
    assert tj.grad(lambda x: x)(3.0).item() == 1
    assert tj.grad(lambda x: 1.0)(3.0).item() == 0
    assert tj.grad(lambda x, y: y * y)(3.0, 2.0).item() == 0


def test_the_same_tensor_as_two_arguments():
    v = tj.tensor([1.0, 2.0])
    first, second = tj.grad(lambda a, b: (a * a * b).sum(), (0, 1))(v, v)
    assert values(first) == [2, 8]
    assert values(second) == [1, 4]


@pytest.mark.parametrize(
    ("function", "argument", "error", "message"),
    [
        (lambda x: x * 2, [1.0, 2.0], tj.GradientError, r"floating scalar, got f64\[2\]"),
        (lambda x: x * 2, [1.0], tj.GradientError, r"floating scalar, got f64\[1\]"),
        (lambda x: x.argmax(), [1.0], tj.GradientError, r"floating scalar, got i64\[\]"),
        (lambda x: (x.sum(), 1), [1.0], tj.GradientError, "floating scalar, got tuple"),
        (lambda x: None, [1.0], tj.GradientError, "floating scalar, got NoneType"),
        (lambda x: x.sum() * 1.0, [1, 2], tj.DTypeError, r"only floating inputs.*i64\[2\] at argument \[0\]"),
        (lambda x: x.sum() * 1.0, [True], tj.DTypeError, r"only floating inputs.*bool\[1\]"),
    ],
)
def test_errors(function, argument, error, message):
    for f in (tj.grad(function), tj.jit(tj.grad(function)), tj.grad(tj.jit(function))):
        with pytest.raises(error, match=message):
            f(tj.tensor(argument))
    assert STATE.tracer is None
    assert STATE.recording is True


def test_integers_in_a_tree_are_named():
    with pytest.raises(tj.DTypeError, match=r"i64\[\] at argument \[0\]\['n'\]"):
        tj.grad(lambda p: (p["x"] * 2).sum())({"x": tj.ones(2), "n": 3})
    with pytest.raises(tj.DTypeError):
        tj.grad(lambda x: 1.0)("text")


def test_an_exception_leaves_things_clean():
    def fails(x):
        raise KeyError("mine")

    for mode in (True, False):
        with tj.set_grad_enabled(mode):
            for f in (tj.grad(fails), tj.jit(tj.grad(fails)), tj.grad(tj.jit(fails))):
                with pytest.raises(KeyError, match="mine"):
                    f(1.0)
                assert STATE.tracer is None
                assert tj.is_grad_enabled() is mode


# -- composition ----------------------------------------------------------------------------------


def cube(x):
    return x**3


def wave(x):
    return tj.sin(x) * x


# x = 1: cos(1) + sin(1); 2 cos(1) - sin(1); -3 sin(1) - cos(1)
WAVE = [math.sin(1), math.sin(1) + math.cos(1), 2 * math.cos(1) - math.sin(1), -3 * math.sin(1) - math.cos(1)]

ORDERS = {
    "grad": (1, tj.grad(wave)),
    "jit grad": (1, tj.jit(tj.grad(wave))),
    "grad jit": (1, tj.grad(tj.jit(wave))),
    "jit grad jit": (1, tj.jit(tj.grad(tj.jit(wave)))),
    "grad grad": (2, tj.grad(tj.grad(wave))),
    "jit grad grad": (2, tj.jit(tj.grad(tj.grad(wave)))),
    "grad jit grad": (2, tj.grad(tj.jit(tj.grad(wave)))),
    "grad grad jit": (2, tj.grad(tj.grad(tj.jit(wave)))),
    "jit grad jit grad jit": (2, tj.jit(tj.grad(tj.jit(tj.grad(tj.jit(wave)))))),
    "grad of a function that jits": (2, tj.grad(lambda x: tj.jit(tj.grad(wave))(x))),
    "jit of a function that differentiates": (2, tj.jit(lambda x: tj.grad(tj.grad(wave))(x))),
    "grad grad grad": (3, tj.grad(tj.grad(tj.grad(wave)))),
    "jit grad grad grad": (3, tj.jit(tj.grad(tj.grad(tj.grad(wave))))),
    "grad grad grad jit": (3, tj.grad(tj.grad(tj.grad(tj.jit(wave))))),
    "grad jit grad jit grad": (3, tj.grad(tj.jit(tj.grad(tj.jit(tj.grad(wave)))))),
}


@pytest.mark.parametrize("name", ORDERS)
def test_every_order_of_composition(name):
    order, f = ORDERS[name]
    for _ in range(2):
        for argument in (1.0, tj.tensor(1.0), np.float64(1.0)):
            # a few roundings of terms up to 4
            assert f(argument).item() == pytest.approx(WAVE[order], rel=0, abs=2e-15)


def test_value_and_grad_of_and_under_jit():
    for f in (tj.jit(tj.value_and_grad(cube)), tj.value_and_grad(tj.jit(cube))):
        for _ in range(2):
            value, gradient = f(2.0)
            assert (value.item(), gradient.item()) == (8, 12)
    (value, aux), gradient = tj.jit(tj.value_and_grad(lambda x: (x * x, x + 1), has_aux=True))(3.0)
    assert (value.item(), aux.item(), gradient.item()) == (9, 4, 6)


def test_jit_then_backward():
    x = tj.tensor([1.0, 2.0], requires_grad=True)
    tj.jit(lambda a: a * a * a)(x).sum().backward()
    assert values(x.grad) == [3, 12]
    tj.jit(tj.grad(lambda a: (a * a * a).sum()))(x).sum().backward()
    assert values(x.grad) == [3 + 6, 12 + 12]


def test_a_jitted_gradient_recompiles_for_other_types_only():
    runs = []
    f = tj.jit(tj.grad(lambda x, s: (runs.append(0), (x * x * s).sum())[1]))
    assert values(f(tj.tensor([1.0, 2.0]), 2.0)) == [4, 8]
    assert values(f(tj.tensor([3.0, 2.0]), 1.0)) == [6, 4]
    assert len(runs) == 1
    assert values(f(tj.tensor([3.0]), 1.0)) == [6]
    assert len(runs) == 2


def test_perturbations_are_not_confused():
    assert tj.grad(lambda x: x * tj.grad(lambda y: x + y)(1.0))(2.0).item() == 1
    assert tj.grad(lambda x: x * tj.grad(lambda y: x * y)(1.0))(3.0).item() == 6
    assert tj.grad(lambda x: tj.grad(lambda y: x * x * y * y)(x))(3.0).item() == 54  # d/dx 2x^3
    # d/dx [x d/dy (x y^2) at y = x] = d/dx 2x^3 = 6x^2
    for f in (tj.grad, lambda g: tj.jit(tj.grad(g)), lambda g: tj.grad(tj.jit(g))):
        assert f(lambda x, f=f: x * f(lambda y: x * y * y)(x))(3.0).item() == 54
        assert f(lambda x, f=f: x * f(lambda y: x + y)(1.0))(2.0).item() == 1


def test_three_levels_in_three_variables():
    # d/dx d/dy d/dz (x y z)^2 at ones = 8
    def f(x):
        return tj.grad(lambda y: tj.grad(lambda z: (x * y * z) ** 2)(1.0))(1.0)

    for g in (tj.grad(f), tj.jit(tj.grad(f)), tj.grad(tj.jit(f))):
        assert g(1.0).item() == 8


def test_a_closed_over_tensor_that_requires_grad():
    w = tj.tensor([1.0, 2.0], requires_grad=True)
    x = tj.tensor([3.0, 4.0])
    loss = lambda a: (a * a * w).sum()  # noqa: E731
    for f in (tj.grad(loss), tj.jit(tj.grad(loss)), tj.grad(tj.jit(loss))):
        w.grad = None
        out = f(x)
        assert values(out) == [6, 16]
        assert w.grad is None
        out.sum().backward()
        assert values(w.grad) == [6, 8]


def test_arguments_that_require_grad():
    w = tj.tensor([1.0, 2.0], requires_grad=True)
    for f in (tj.grad(lambda a: (a * a * a).sum()), tj.grad(tj.jit(lambda a: (a * a * a).sum()))):
        out = f(w)
        assert values(out) == [3, 12]
        assert w.grad is None
        out.sum().backward()
        assert values(w.grad) == [6, 12]
        w.grad = None


def test_arguments_are_left_alone():
    x = tj.tensor([1.0, 2.0])
    tj.grad(lambda a: (a * a).sum())(x)
    assert not x.requires_grad
    assert x.grad is None
    y = np.array([1.0, 2.0])
    tj.jit(tj.grad(lambda a: (a * a).sum()))(y)
    assert y.tolist() == [1, 2]


def test_grad_inside_no_grad():
    with tj.no_grad():
        assert tj.grad(cube)(2.0).item() == 12
        assert tj.jit(tj.grad(cube))(2.0).item() == 12
        assert not tj.is_grad_enabled()


def test_hessian_by_rows():
    def f(x):
        return x[0] * x[0] * x[1] + tj.exp(x[1] * 0.0) * x[1] ** 3

    for row in range(2):
        g = tj.jit(tj.grad(lambda x, row=row: tj.grad(f)(x)[row]))
        assert values(g(tj.tensor([2.0, 3.0]))) == [[6, 4], [4, 18]][row]


def test_names_are_kept():
    def loss(x):
        """Doc."""
        return x

    assert tj.grad(loss).__doc__ == "Doc."
    assert tj.jit(tj.grad(loss)).__name__ == "loss"


@pytest.mark.parametrize("value", [lambda f, x: tj.value_and_grad(f)(x)[0], lambda f, x: tj.vjp(f, x)[0]])
def test_a_value_inside_jit_passes_gradients_from_outside(value):
    """The tape of the trace knows nothing of an outer gradient, which goes through the compiled function."""

    def f(x):
        return value(lambda y: y * y * y, x)

    for run in (tj.grad(f), tj.grad(tj.jit(f)), tj.jit(tj.grad(f))):
        assert run(2.0).item() == 12
    assert tj.grad(lambda x: tj.vmap(f)(x).sum())(tj.tensor([2.0, 1.0])).tolist() == [12, 3]


def test_a_gradient_of_a_captured_tensor_inside_jit_reads_it_afresh():
    w = tj.tensor(3.0)
    f = tj.jit(lambda x: x * tj.grad(lambda w: w * w)(w))
    assert f(1.0).item() == 6
    w += 2.0
    assert f(1.0).item() == 10


def test_argnums_of_any_sequence():
    assert [slope.item() for slope in tj.grad(product, range(2))(2.0, 3.0)] == [9, 12]
    with pytest.raises(tj.TracejitError, match=r"grad: argnums must be an integer or a sequence .* got 1.5"):
        tj.grad(product, 1.5)


@pytest.mark.parametrize("exponent", [2, 2.0, 0.5, -1])
def test_gradients_of_powers_stay_in_single_precision(exponent):
    function = tj.trace(tj.grad(lambda x: (x**exponent).sum()), tj.TensorType(tj.float32, (3,)))
    assert {result.type.dtype for each in function.body for result in each.results} == {tj.float32}
    x = tj.tensor([0.5, 2.0, 3.0], dtype=tj.float32, requires_grad=True)
    (x**exponent).sum().backward()
    np.testing.assert_allclose(x.grad, exponent * x.detach().numpy() ** (exponent - 1), rtol=1e-6)
