"""Gradients of ``where``, and of every other function that chooses by a mask, with NaN or infinity in what is
not chosen: exactly those of what is chosen.
"""

from __future__ import annotations

import inspect
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
    "checkpoint": (
        lambda x: tj.where(x > 0, tj.checkpoint(tj.log)(x), x),
        lambda x: tj.log(x) if x > 0 else x,
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


# -- every function that chooses elements by a mask of the user's --------------------------------------------

#: Numbers whose roots and reciprocals of these are finite where the mask ``X > 0`` holds, elsewhere NaN and
#: infinite.
ROOTS = np.array([-1.0, 0.0, 0.25, 0.64])


def _written(write: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A function that returns a copy of its operand, to which `write` has written where the mask is false."""

    def function(roots: Any, mask: Any) -> Any:
        copy = roots * 1.0
        write(copy, ~mask)
        return copy

    return function


def _reduced(name: str) -> Callable[[Any, Any], Any]:
    return lambda roots, mask: getattr(np, name).reduce(roots, where=mask, initial=0.5)


#: Functions of an array whose elements are NaN, or have infinite slopes, where the mask does not hold.
BY_MASK: dict[str, Callable[[Any, Any], Any]] = {
    "where": lambda roots, mask: tj.where(mask, roots, 0.0),
    "where of complex numbers": lambda roots, mask: tj.real(tj.where(mask, (roots + 0j) ** 2 / roots, 0.0)),
    "where of a complex product": lambda roots, mask: tj.imag(tj.where(mask, roots * tj.exp(1j / roots), 0)),
    "select": lambda roots, mask: tj.select([mask], [roots], 0.0),
    "select of several": lambda roots, mask: tj.select([~mask, mask], [0.0, roots], roots * 2),
    "select, NumPy's": lambda roots, mask: np.select([mask], [roots], 0.0),
    "piecewise": lambda roots, mask: tj.piecewise(roots, [mask], [tj.reciprocal, 0.0]),
    "choose": lambda roots, mask: tj.choose(mask.astype(int), [roots * 0.0, roots]),
    "choose among many": lambda roots, mask: tj.choose(mask.astype(int), [tj.ones(4), *[roots] * 20]),
    "Tensor.choose": lambda roots, mask: mask.astype(int).choose([tj.ones(4), roots]),
    "compress": lambda roots, mask: tj.compress(mask, roots),
    "compress of a size": lambda roots, mask: tj.compress(mask, roots, size=3),
    "Tensor.compress": lambda roots, mask: roots.compress(mask),
    "extract": lambda roots, mask: tj.extract(mask, roots),
    "getitem": lambda roots, mask: roots[mask],
    "getitem of rows": lambda roots, mask: roots.reshape(4, 1)[mask, 0],
    "at": lambda roots, mask: roots.at[~mask].set(0.5),
    "copyto": _written(lambda copy, rest: tj.copyto(copy, 0.5, where=rest)),
    "putmask": _written(lambda copy, rest: tj.putmask(copy, rest, [0.5])),
    "place": _written(lambda copy, rest: tj.place(copy, rest, [0.5])),
    "setitem": _written(lambda copy, rest: copy.__setitem__(rest, 0.5)),
    "Tensor.masked_fill": lambda roots, mask: roots.masked_fill(~mask, 0.5),
    "Tensor.masked_fill_": _written(lambda copy, rest: copy.masked_fill_(rest, 0.5)),
    "mean of what is selected": lambda roots, mask: roots[mask].mean(),
    "add.reduce": _reduced("add"),
    "hypot.reduce": _reduced("hypot"),
    "special.logsumexp": lambda roots, mask: tj.scipy.special.logsumexp(roots, where=mask),
    "nansum": lambda roots, mask: tj.nansum(tj.where(mask, roots, np.nan) * tj.sqrt(roots)),
    "nan_to_num": lambda roots, mask: tj.nan_to_num(tj.where(mask, roots, np.nan) * tj.sqrt(roots)),
}
#: Functions with such a parameter and no gradient, or that call what they are given.
NO_CHOICE = {"mask_indices", "while_loop"}


def by_where() -> dict[str, Callable[[Any, Any], Any]]:
    """Every function and method with the parameter ``where``, by that."""

    def called(function: Any) -> Callable[[Any, Any], Any]:
        extra = {"initial": 0.0} if "initial" in inspect.signature(function).parameters else {}

        def call(roots: Any, mask: Any) -> Any:
            try:
                return function(roots, where=mask, **extra)
            except TypeError:
                return function(roots, roots * 0.5 + 0.1, where=mask, **extra)

        return call

    return {name: called(function) for name, function in with_parameters({"where"}).items()}


def with_parameters(names: set[str]) -> dict[str, Any]:
    """Public functions with a parameter that is one of `names`."""
    found = {}
    for prefix, space in (("", tj), ("nn.", tj.nn), ("special.", tj.scipy.special), ("Tensor.", tj.Tensor)):
        for name in dir(space):
            function = None if name.startswith("_") else getattr(space, name)
            if inspect.isroutine(function) and names & _parameters(function):
                found[prefix + name] = function
    return found


def _parameters(function: Any) -> set[str]:
    try:
        return set(inspect.signature(function).parameters)
    except ValueError:
        return set()  # a method of C


def test_every_function_of_a_mask_is_walked() -> None:
    named = with_parameters({"condition", "condlist", "choices", "mask", "mask_func", "cond_fun", "where"})
    missing = set(named) - set(BY_MASK) - set(by_where()) - NO_CHOICE
    assert not missing, f"in no program of this file: {sorted(missing)}"


def slopes(function: Callable[[Any, Any], Any], *, safe: bool) -> tuple[Any, Any]:
    """The first and second derivatives of `function` of roots, of ones elsewhere if `safe`."""

    def total(x: Any) -> Any:
        roots = tj.sqrt(tj.where(x > 0, x, 1.0) if safe else x)
        return tj.sum(function(roots, x > 0))

    first = tj.grad(total)
    return first, tj.grad(lambda x: first(x).sum())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", BY_MASK)
def test_functions_of_a_mask(name: str) -> None:
    function = BY_MASK[name]
    x = tj.tensor(ROOTS)
    for expected, slope in zip(slopes(function, safe=True), slopes(function, safe=False), strict=True):
        truth = expected(x).numpy()
        assert np.isfinite(truth).all()
        assert truth[2:].all()
        for result in (slope(x), tj.jit(slope)(x)):
            np.testing.assert_allclose(result.numpy(), truth, rtol=1e-12)


@pytest.mark.filterwarnings("ignore")
def test_functions_with_where() -> None:
    x, walked = tj.tensor(ROOTS), set()
    for name, function in by_where().items():
        expected, slope = slopes(function, safe=True)[0], slopes(function, safe=False)[0]
        try:
            truth = expected(x).numpy()
        except (tj.TracejitError, TypeError):
            continue  # no floats, or no gradient
        walked.add(name)
        np.testing.assert_allclose(slope(x).numpy(), truth, rtol=1e-12, err_msg=name)
        assert np.isfinite(truth[:2]).all(), name
    assert len(walked) > 60, walked
    assert {"sum", "mean", "prod", "max", "min", "var", "std", "nansum", "nanvar", "exp", "divide"} <= walked
