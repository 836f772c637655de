"""NaN, infinities, signed zeros and denormals: NumPy's results."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

from .common import MODES

SPECIAL = np.array(
    [
        [np.nan, 1.0, 2.0],
        [1.0, np.nan, -np.inf],
        [np.inf, -np.inf, 0.0],
        [np.inf, 1.0, np.inf],
        [-0.0, 0.0, -1.0],
    ]
)
REDUCTIONS = ["sum", "prod", "mean", "var", "std", "max", "min", "argmax", "argmin", "all", "any"]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("name", "axis"),
    [
        (name, axis)
        for name in REDUCTIONS
        for axis in (None, 0, 1, (0, 1))
        if not (name.startswith("arg") and axis == (0, 1))  # which neither NumPy nor tracejit has
    ],
)
def test_reductions_of_nan_and_infinity(name, axis, dtype):
    x = SPECIAL.astype(dtype)
    want = getattr(np, name)(x, axis=axis)
    for mode in MODES:
        got = mode(lambda t: getattr(tj, name)(t, axis=axis), x)
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-6 if dtype == "float32" else 1e-14)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("mode", MODES)
def test_long_rows_with_one_nan(mode):
    for place in (0, 1, 7, 500, 999):
        x = np.arange(1000.0)
        x[place] = np.nan
        for name in ("sum", "max", "min", "mean", "var", "prod"):
            assert np.isnan(mode(lambda t, name=name: getattr(tj, name)(t), x).item()), (name, place)
        assert mode(tj.argmax, x).item() == place
        assert mode(tj.argmin, x).item() == place


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("mode", MODES)
def test_logsumexp_of_infinities(mode):
    rows = [[-np.inf, -np.inf], [np.inf, 0.0], [np.inf, -np.inf], [np.nan, 0.0], [-np.inf, 3.0]]
    want = [-np.inf, np.inf, np.inf, np.nan, 3.0]
    np.testing.assert_array_equal(mode(lambda t: tj.logsumexp(t, axis=1), rows).numpy(), want)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "name",
    [
        "equal",
        "not_equal",
        "less",
        "less_equal",
        "greater",
        "greater_equal",
        "maximum",
        "minimum",
        "fmax",
        "fmin",
        "add",
        "multiply",
        "divide",
        "floor_divide",
        "remainder",
        "power",
        "hypot",
        "copysign",
        "logaddexp",
        "arctan2",
    ],
)
def test_pairs_of_special_values(name):
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.5])
    a, b = (grid.ravel().copy() for grid in np.meshgrid(special, special))
    want = getattr(np, name)(a, b)
    for mode in MODES:
        got = mode(getattr(tj, name), a, b).numpy()
        np.testing.assert_allclose(got, want, rtol=1e-14)
        if want.dtype == float and name not in (
            "maximum",
            "minimum",
            "fmax",
            "fmin",
        ):  # NumPy leaves ±0 open there
            zeros = want == 0
            np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(want[zeros]))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "name",
    [
        "exp",
        "exp2",
        "expm1",
        "log",
        "log2",
        "log10",
        "log1p",
        "sqrt",
        "cbrt",
        "sin",
        "cos",
        "tan",
        "sinh",
        "cosh",
        "tanh",
        "arcsin",
        "arctan",
        "arccosh",
        "isnan",
        "isinf",
        "isfinite",
        "signbit",
        "sign",
        "floor",
        "ceil",
        "trunc",
        "rint",
        "abs",
        "square",
        "reciprocal",
    ],
)
def test_special_values_one_by_one(name):
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e308, -1e308, 5e-324])
    want = getattr(np, name)(x)
    for dtype in ("float64",):
        for mode in MODES:
            got = mode(getattr(tj, name), x.astype(dtype)).numpy()
            if name in ("sin", "cos", "tan"):
                np.testing.assert_allclose(got, want, rtol=1e-13)
            else:
                np.testing.assert_allclose(got, want, rtol=4e-16 * 8)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_casts_of_floats_to_bool_and_back():
    x = [np.nan, np.inf, 0.0, -0.0, 5e-324]
    for mode in MODES:
        assert mode(lambda t: t.astype("bool"), x).tolist() == [True, True, False, False, True]
