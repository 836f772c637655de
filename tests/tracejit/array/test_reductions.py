"""Reductions and statistics against NumPy over dtypes, axes and shapes; gradients to second order."""

# Tables of cases read best one group to a line.
# ruff: noqa: E501

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.array.creation import tensor
from tracejit.base.errors import AxisError, ShapeError
from tracejit.ir.dtypes import BY_NAME

SHAPES_AND_AXES = [
    ((), None), ((), ()), ((3,), None), ((3,), 0), ((3,), -1), ((2, 3), None), ((2, 3), 0), ((2, 3), -1),
    ((2, 3), (0, 1)), ((2, 3), ()), ((2, 3, 4), (0, -1)), ((2, 1, 4), 1), ((0, 3), 1), ((0, 3), 0), ((3, 0), None),
]  # fmt: skip
FULL = ["sum", "prod", "mean", "all", "any", "count_nonzero", "var", "std"]
NEEDS_ELEMENTS = ["max", "min", "ptp", "amax", "amin"]


@pytest.mark.parametrize(("shape", "axis"), SHAPES_AND_AXES, ids=str)
@pytest.mark.parametrize("name", [*FULL, *NEEDS_ELEMENTS, "nansum"])
@pytest.mark.filterwarnings("ignore:Degrees of freedom", "ignore:Mean of empty")
def test_axes_and_keepdims(name, shape, axis, agrees, rng):
    x = rng.normal(size=shape)
    ours, numpys = getattr(tj, name), getattr(np, name)
    for keepdims in (False, True):
        if name in NEEDS_ELEMENTS and 0 in shape and axis in (0, None):
            with pytest.raises(ShapeError, match="empty"):
                ours(tensor(x), axis)
            continue
        agrees(
            lambda a, k=keepdims: ours(a, axis, keepdims=k),
            lambda a, k=keepdims: numpys(a, axis=axis, keepdims=k),
            x,
            rtol=1e-14,
        )


@pytest.mark.parametrize("dtype", BY_NAME.values(), ids=str)
@pytest.mark.parametrize("name", ["sum", "prod", "mean", "max", "min", "all", "any", "var", "std", "cumsum"])
def test_dtypes(name, dtype, agrees):
    x = np.array([[0, 1, 1], [3, 2, 1]], dtype)
    agrees(getattr(tj, name), getattr(np, name), x, rtol={"f2": 1e-3, "f4": 1e-6}.get(dtype.str[1:], 1e-15))


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "cumsum", "var", "std"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_dtype_argument(name, dtype, agrees):
    x = np.array([[0, 1, 1], [3, 2, 1]], np.int8)
    agrees(
        lambda a: getattr(tj, name)(a, dtype=dtype), lambda a: getattr(np, name)(a, dtype=dtype), x, rtol=1e-6
    )


def test_sums_wrap_in_the_dtype_asked_for(agrees):
    x = np.array([100, 100, 100], np.int8)
    agrees(lambda a: tj.sum(a, dtype="i1"), lambda a: np.sum(a, dtype="i1"), x)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_arg_reductions(name, axis, agrees):
    x = np.array([[1.0, 5.0, 5.0], [0.0, np.nan, -1.0], [0.0, -1.0, -1.0]])
    for keepdims in (False, True):
        agrees(
            lambda a, k=keepdims: getattr(tj, name)(a, axis, keepdims=k),
            lambda a, k=keepdims: getattr(np, name)(a, axis, keepdims=k),
            x,
        )
    with pytest.raises(ShapeError, match="empty"):
        getattr(tj, name)(tensor(np.ones((0, 2))), 0)


@pytest.mark.parametrize("axis", [None, 0, -1])
def test_cumsum(axis, agrees, rng):
    agrees(lambda a: tj.cumsum(a, axis), lambda a: np.cumsum(a, axis), rng.normal(size=(3, 4)))


@pytest.mark.parametrize("ddof", [0, 1, 3, 5])
@pytest.mark.filterwarnings("ignore:Degrees of freedom")
def test_ddof(ddof, agrees, rng):
    x = rng.normal(size=(3, 4))
    for name in ("var", "std"):
        agrees(
            lambda a, n=name: getattr(tj, n)(a, 0, ddof=ddof),
            lambda a, n=name: getattr(np, n)(a, 0, ddof=ddof),
            x,
            rtol=1e-14,
        )
    assert tj.var(x, correction=1).item() == tj.var(x, ddof=1).item()


def test_nan_reductions(agrees):
    x = np.array([[1.0, np.nan, 3.0], [np.nan, 5.0, 7.0]])
    agrees(lambda a: tj.nansum(a, 0), lambda a: np.nansum(a, 0), x)
    agrees(lambda a: tj.nanmean(a, 1), lambda a: np.nanmean(a, 1), x)
    with pytest.warns(RuntimeWarning, match="Mean of empty slice"):
        assert np.isnan(tj.nanmean([np.nan, np.nan]).item())
    for name in ("max", "min", "sum"):
        agrees(getattr(tj, name), getattr(np, name), x)


def test_average(agrees, rng):
    x, w = rng.normal(size=(3, 4)), rng.uniform(0.1, 1, size=(3, 4))
    agrees(tj.average, np.average, x, rtol=1e-14)
    agrees(lambda a, b: tj.average(a, 1, b), lambda a, b: np.average(a, 1, b), x, w, rtol=1e-14)
    agrees(lambda a, b: tj.average(a, 0, b), lambda a, b: np.average(a, 0, b), x, w[:, 0], rtol=1e-14)
    agrees(
        lambda a, b: tj.average(a, 1, b, returned=True, keepdims=True),
        lambda a, b: np.average(a, 1, b, returned=True, keepdims=True),
        x, w, rtol=1e-14,
    )  # fmt: skip
    with pytest.raises(ShapeError, match="weights"):
        tj.average(x, 0, w[0])


def logsumexp(x, axis=None, keepdims=False):
    """`logsumexp` by NumPy's pairwise logaddexp, which handles infinities."""
    return np.logaddexp.reduce(x, axis=axis, keepdims=keepdims)


def test_logsumexp(agrees, rng):
    x = rng.normal(size=(3, 4)) * 400
    for axis in (None, 0, 1):
        shaped = x.ravel() if axis is None else x
        agrees(
            lambda a, reduced_axis=axis: tj.logsumexp(a, reduced_axis),
            lambda a, reduced_axis=axis: logsumexp(a, reduced_axis or 0),
            shaped,
            rtol=1e-14,
        )
    infinite = np.array(
        [[-np.inf, -np.inf], [np.inf, 1.0], [np.inf, -np.inf], [-np.inf, 2.0], [np.nan, 1.0], [1e38, 1]]
    )
    agrees(lambda a: tj.logsumexp(a, 1), lambda a: logsumexp(a, 1), infinite, rtol=1e-14)
    agrees(
        lambda a: tj.logsumexp(a, 1, keepdims=True),
        lambda a: logsumexp(a, 1, True),
        infinite.astype("f4"),
        rtol=1e-6,
    )
    np.testing.assert_array_equal(tj.logsumexp(np.ones((2, 0)), 1).numpy(), [-np.inf, -np.inf])
    assert tj.logsumexp([1000, 1000]).item() == 1000 + np.log(2)


def test_logsumexp_gradient_of_empty_rows_is_zero():
    x = tensor([[-np.inf, -np.inf], [1.0, -np.inf]], requires_grad=True)
    from tracejit.backward.backward import run_backward

    root = tj.sum(tj.where(tj.isinf(tj.logsumexp(x, 1)), 0.0, tj.logsumexp(x, 1)))
    (results,) = run_backward([root], [tensor(1.0)], retain_graph=False, create_graph=False, targets=[x])
    np.testing.assert_array_equal(results.numpy(), [[0, 0], [1, 0]])


@pytest.mark.parametrize("axis", [None, 0, (0, 1)])
@pytest.mark.parametrize(
    "name",
    ["sum", "prod", "mean", "var", "std", "logsumexp", "max", "min", "ptp", "nansum", "nanmean", "average"],
)
def test_gradients(name, axis, check_gradients, rng):
    if name == "average" and axis == (0, 1):
        axis = 1
    check_gradients(lambda x: getattr(tj, name)(x, axis) ** 2, rng.uniform(0.5, 2.0, size=(3, 2)))


def test_more_gradients(check_gradients, rng):
    x = rng.uniform(0.5, 2.0, size=(3, 2))
    check_gradients(lambda a: tj.cumsum(a, 0) ** 2, x)
    check_gradients(lambda a, b: tj.average(a, 0, b) ** 2, x, rng.uniform(0.5, 2.0, size=3))
    check_gradients(lambda a: tj.var(a, 0, ddof=1) ** 2, x)
    check_gradients(lambda a: tj.prod(a, 0), [[0.0, 1.0], [0.0, 2.0], [3.0, 0.0]])
    check_gradients(lambda a: tj.logsumexp(a, 1, keepdims=True), x * 100, rtol=1e-4)


def test_std_of_equal_elements_has_slope_zero():
    from tracejit.backward.backward import run_backward

    x = tensor([2.0, 2.0, 2.0], requires_grad=True)
    (results,) = run_backward([tj.std(x)], [tensor(1.0)], retain_graph=False, create_graph=False, targets=[x])
    np.testing.assert_array_equal(results.numpy(), 0.0)


def test_errors():
    x = tensor(np.ones((2, 3)))
    for bad in (2, -3, (0, 2), (0, 0), "a"):
        with pytest.raises(AxisError, match="sum"):
            tj.sum(x, bad)
    with pytest.raises(AxisError, match="argmax"):
        tj.argmax(x, 2)


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "max", "min", "all", "any", "argmax", "argmin"])
def test_arguments_by_place_and_by_other_libraries_names(name):
    """All spellings of a call that is not plain, of the function and of the method."""
    x = tensor([[1.0, 5.0, 2.0], [3.0, 0.0, 4.0]])
    function, method = getattr(tj, name), getattr(x, name)
    expected = function(x, axis=1, keepdims=True).numpy()
    assert expected.shape == (2, 1)
    for result in (
        function(x, 1, keepdims=True),
        function(input=x, dim=1, keepdim=True),
        function(x, dim=1, keepdims=True),
        function(a=x, axis=1, keepdims=True),
        function(x=x, axis=1, keepdims=True),
        method(1, keepdims=True),
        method(dim=1, keepdim=True),
        method(axis=1, out=None, keepdims=True),
    ):
        np.testing.assert_array_equal(result.numpy(), expected)
    np.testing.assert_array_equal(function(x, None).numpy(), method().numpy())
    for call in (lambda: function(), lambda: function(x, spam=1), lambda: function(x, *[None] * 9)):
        with pytest.raises(TypeError, match=rf"{name}\(\)"):
            call()


def test_plain_calls_have_no_wrapper_around_them():
    """``checked`` catches what is wrong with other calls; around plain ones it would cost 0.1 us."""
    called = []
    eager = tj.sum.__closure__[tj.sum.__code__.co_freevars.index("eager")].cell_contents
    run = eager.run
    eager.run = lambda *arguments: called.append(arguments)
    try:
        tj.sum("x", 0), tj.sum("x", axis=(0, 1), keepdims=True)
    finally:
        eager.run = run
    assert called == [("x", 0, None, None, False), ("x", (0, 1), None, None, True)]
