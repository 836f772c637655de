"""Gradients of ``where`` with NaN or infinity in what is not chosen: exactly those of what is chosen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

X = np.array([-1.0, 0.0, 0.25, 2.0, 800.0])


def _scanned(x: Any) -> Any:
    step = lambda c, i: (tj.where(x > 0, c * tj.sqrt(x) + tj.log(x), c), i)  # noqa: E731
    return tj.scan(step, x * 0.0, tj.arange(3.0))[0]


def _scan_chosen(x: Any) -> Any:
    return tj.where(x > 0, tj.scan(lambda c, i: (c + tj.log(x), i), x * 0.0, tj.arange(3.0))[0], x)


#: A function of x, and the same for a number x, of what is chosen alone.
PROGRAMS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "log": (lambda x: tj.where(x > 0, tj.log(x), x), lambda x: tj.log(x) if x > 0 else x),
    "NumPy's": (lambda x: np.where(x > 0, np.log(x), x), lambda x: tj.log(x) if x > 0 else x),
    "quotient": (lambda x: tj.where(x > 0, tj.sqrt(x) / x, 0.0), lambda x: x**-0.5 if x > 0 else x * 0.0),
    "overflow": (
        lambda x: tj.where(x < 1, tj.exp(x * x), 1 + x),
        lambda x: tj.exp(x * x) if x < 1 else 1 + x,
    ),
    "chain": (
        lambda x: tj.sin(tj.where(x > 0, tj.sqrt(tj.log(x) ** 2 + 1 / x), 3 * x)),
        lambda x: tj.sin(tj.sqrt(tj.log(x) ** 2 + 1 / x)) if x > 0 else tj.sin(3 * x),
    ),
    "nested": (
        lambda x: tj.where(x > 0, tj.where(x < 5, tj.log(x), tj.sqrt(tj.log(x))), tj.exp(-x)),
        lambda x: tj.exp(-x) if x <= 0 else tj.log(x) if x < 5 else tj.sqrt(tj.log(x)),
    ),
    "views": (
        lambda x: tj.where(x > 0, tj.flip(tj.log(tj.flip(x, 0)).reshape(5, 1).sum(1), 0), 0.0),
        lambda x: tj.log(x) if x > 0 else x * 0.0,
    ),
    "scan": (_scanned, lambda x: tj.log(x) * (1 + tj.sqrt(x) + x) if x > 0 else x * 0.0),
    "choice of a scan": (_scan_chosen, lambda x: 3 * tj.log(x) if x > 0 else x),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_not_chosen_has_no_part(name: str) -> None:
    function, scalar = PROGRAMS[name]

    def slope(x: Any) -> Any:
        return tj.grad(lambda x: function(x).sum())(x)

    def bend(x: Any) -> Any:
        return tj.grad(lambda x: slope(x).sum())(x)

    def pushed(x: Any) -> Any:
        return tj.jvp(slope, (x,), (tj.ones_like(x),))[1]

    x = tj.tensor(X)
    leaf = tj.tensor(X, requires_grad=True)
    function(leaf).sum().backward()
    first = [float(tj.grad(scalar)(tj.tensor(number))) for number in X]
    second = [float(tj.grad(tj.grad(scalar))(tj.tensor(number))) for number in X]
    assert leaf.grad is not None
    for result in (leaf.grad, slope(x), tj.jit(slope)(x)):
        np.testing.assert_allclose(result.numpy(), first, rtol=1e-12)
    for result in (bend(x), tj.jit(bend)(x), pushed(x), tj.jit(pushed)(x)):
        np.testing.assert_allclose(result.numpy(), second, rtol=1e-12, atol=1e-300)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_is_chosen_keeps_its_nan() -> None:
    """A zero is strong, and nothing else."""
    x = tj.tensor([-1.0, 4.0], requires_grad=True)
    tj.where(x < 5, tj.sqrt(x), 0.0).sum().backward()
    assert x.grad is not None
    assert np.isnan(x.grad.numpy()[0])
    assert x.grad.numpy()[1] == 0.25


@pytest.mark.parametrize("argument", [0.0, np.float64(0.0), np.float32(0.0), np.zeros(()), np.zeros(3)])
@pytest.mark.parametrize("jitted", [False, True])
def test_arguments_of_every_kind_have_strong_zeros(argument: Any, jitted: bool) -> None:
    """A Python number stays one to promotion, too."""

    def f(x: Any) -> Any:
        return tj.where(x > 1, 1 / x, x * 2).sum()

    gradient = tj.jit(tj.grad(f)) if jitted else tj.grad(f)
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(np.asarray(gradient(argument)), np.full(np.shape(argument), 2.0))


def test_a_python_number_that_is_chosen_keeps_the_dtype_of_the_others() -> None:
    f = tj.jit(lambda x, y: tj.where(y > 0, x, y))
    assert f(0.5, np.ones(2, "f4")).dtype == np.float32
