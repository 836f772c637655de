"""The warning where a Python number is made of a tensor whose gradient is being computed."""

from __future__ import annotations

import math
import re
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj


def loses(x: Any) -> Any:
    return x * math.exp(float(x))


TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "grad of loses": lambda f: tj.grad(f)(2.0),
    "value_and_grad": lambda f: tj.value_and_grad(f)(2.0),
    "vjp of loses": lambda f: tj.vjp(f, 2.0)[1](1.0),
    "jvp of loses": lambda f: tj.jvp(f, (2.0,), (1.0,)),
    "linearize of loses": lambda f: tj.linearize(f, 2.0),
    "hvp": lambda f: tj.hvp(f, (2.0,), (1.0,)),
    "jacrev": lambda f: tj.jacrev(f)(2.0),
    "jacobian of loses": lambda f: tj.autograd.functional.jacobian(f, tj.tensor(2.0)),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_transforms_warn(transform: str) -> None:
    with pytest.warns(tj.LostGradientWarning, match=r"float\(x\) makes a Python number.*tj\.exp") as seen:
        TRANSFORMS[transform](loses)
    assert {event.filename for event in seen} == {__file__}
    assert {event.lineno for event in seen} == {loses.__code__.co_firstlineno + 1}
    if transform.endswith("of loses"):
        assert str(seen[0].message).startswith(f"{transform}: ")


@pytest.mark.parametrize("convert", [float, int, complex])
def test_each_conversion_is_named(convert: Callable[[Any], Any]) -> None:
    with pytest.warns(tj.LostGradientWarning, match=rf"{convert.__name__}\(x\)"):
        tj.grad(lambda x: x * abs(convert(x)))(2.0)


def test_captured_weights_warn() -> None:
    w = tj.tensor(3.0, requires_grad=True)
    with pytest.warns(tj.LostGradientWarning):
        tj.grad(lambda x: x * float(w * 2.0))(2.0)


SILENT: dict[str, Callable[[Any], Any]] = {
    "item": lambda x: x * x.item(),
    "detach": lambda x: x * float(x.detach()),
    "stop_gradient": lambda x: x * float(tj.stop_gradient(x) * 2.0),
    "another tensor": lambda x: x * float(tj.tensor(3.0)),
    "a shape": lambda x: x * float(x.ndim),
    "an integer tensor": lambda x: x * int(tj.sum(x > 0)),
    "a branch": lambda x: x * 2.0 if x > 0 else x,
}


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("name", SILENT)
def test_what_is_meant_is_silent(name: str, jitted: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f = SILENT[name]
        assert tj.grad(tj.jit(f) if jitted else f)(2.0).shape == ()
        tj.jit(tj.grad(f))(2.0)


def test_outside_of_transforms_it_is_silent() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = tj.tensor(2.0, requires_grad=True)
        loss = x * x
        loss.backward()
        assert float(loss) == 4.0
        assert float(tj.jit(loses)(x)) == pytest.approx(2 * math.exp(2.0))
        value, gradient = tj.value_and_grad(lambda x: x * x)(x)
        assert (float(value), float(gradient)) == (4.0, 4.0)
        other: list[float] = []

        def ask(y: Any) -> Any:  # another thread runs no transform
            thread = threading.Thread(target=lambda: other.append(float(x)))
            thread.start()
            thread.join()
            return y * other[0]

        tj.grad(ask)(1.0)
        with pytest.raises(ValueError, match="no"):
            tj.grad(lambda x: (_ for _ in ()).throw(ValueError("no")))(2.0)
        assert float(x) == 2.0


def test_functions_of_math_keep_gradients_where_they_are_compiled() -> None:
    def f(x: Any) -> Any:
        return x * math.exp(x)

    with pytest.warns(tj.LostGradientWarning):
        assert tj.grad(f)(2.0).item() == pytest.approx(math.exp(2.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for compiled in (tj.jit(tj.grad(f)), tj.grad(tj.jit(f))):
            assert compiled(2.0).item() == pytest.approx(3 * math.exp(2.0))


def test_it_is_an_error_for_those_who_want_that() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", tj.LostGradientWarning)
        with pytest.raises(tj.LostGradientWarning):
            tj.grad(loses)(2.0)


def test_the_gradient_is_that_of_a_constant() -> None:
    with pytest.warns(tj.LostGradientWarning):
        np.testing.assert_allclose(tj.grad(loses)(2.0).item(), math.exp(2.0), rtol=1e-15)


@pytest.mark.parametrize("convert", [float, complex])
def test_compiled_numbers_keep_their_gradient(convert: Callable[[Any], Any]) -> None:
    def f(x: Any) -> Any:
        return x * abs(convert(x * x))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for compiled in (tj.jit(tj.grad(f)), tj.grad(tj.jit(f))):
            assert compiled(2.0).item() == pytest.approx(12.0)


def filled(x: Any) -> Any:
    y = np.zeros(2)
    y[0] = x * x
    y[1:] = x
    return np.sum(y * x)


def test_writes_to_arrays_of_numpy_raise_or_are_followed() -> None:
    for transform in (tj.grad(filled), lambda x: tj.jvp(filled, (x,), (1.0,))):
        with pytest.raises(ValueError, match="array element") as raised:  # NumPy's, caused by ours
            transform(2.0)
        assert isinstance(raised.value.__cause__, tj.GradientError)
        assert re.search(r"array of NumPy's.*tj\.zeros.*tj\.jit\(tj\.grad", str(raised.value.__cause__))
    for compiled in (tj.jit(tj.grad(filled)), tj.grad(tj.jit(filled))):
        assert compiled(2.0).item() == pytest.approx(3 * 2.0**2 + 2 * 2.0)

    def logged(x: Any) -> Any:
        log = np.zeros(1)
        log[0] = x.detach()
        return x * x

    assert tj.grad(logged)(2.0).item() == 4.0
