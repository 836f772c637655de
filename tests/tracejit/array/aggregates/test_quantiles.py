"""``tracejit/array/aggregates/quantiles.py``: every method of NumPy's, weights, gradients, errors."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.array.aggregates.quantile_methods import METHODS, SELECTING

from ..agreement import Cases, batched, check, gradients
from ..operands import INTEGERS, LINE, MATRIX

cases = Cases()
WEIGHTS = np.array([[0.0, 1.0, 2.0], [3.0, 1.0, 0.0]])
HOLES = np.array([[1.0, np.nan, 2.5], [np.nan, 0.5, -1.0]])
#: Methods that interpolate, and give integers for an integer share in NumPy 2.1 as "linear" does in all.
LIKE_LINEAR = {"averaged_inverted_cdf", "interpolated_inverted_cdf", "weibull"}
INTEGER_SHARES_ARE_FLOATS = np.quantile(INTEGERS, 1, method="weibull").dtype.kind == "f"
for method in METHODS:
    cases.eager("quantile", MATRIX, np.linspace(0, 1, 21), axis=1, method=method, keepdims=True)
    cases.eager("percentile", MATRIX.astype("f4"), [10, 55.5], method=method)
    cases.eager("nanquantile", HOLES, 0.4, axis=0, method=method)
    cases.eager("nanpercentile", INTEGERS, np.float32(30), method=method)
    cases.eager("quantile", INTEGERS, np.array([0, 1]), method=method)
    if INTEGER_SHARES_ARE_FLOATS or method not in LIKE_LINEAR:
        cases.eager("quantile", INTEGERS, 1, axis=0, method=method)
cases("quantile", WEIGHTS * 2 - 1, [0.0, 0.3, 1.0], axis=1, method="inverted_cdf", weights=WEIGHTS)
cases("percentile", WEIGHTS.T, 40, axis=0, method="inverted_cdf", weights=np.array([1, 0, 3]))
cases.eager("quantile", HOLES, 0.3, method="inverted_cdf", weights=WEIGHTS + 1)
cases.eager("nanquantile", HOLES, [0.3, 0.9], axis=1, method="inverted_cdf", weights=WEIGHTS + 1)
cases.eager("median", LINE, None, None, True, True)


@cases.parameters()
def test_agrees_with_numpy(case):
    check(case)


def test_compiled_code_chooses_the_same_elements():
    """Places are rounded as they are in eager code, whether products and sums are contracted or not."""
    shares = np.linspace(0, 1, 101)
    for count in (5, 10):
        line = np.arange(float(count))
        jitted = tj.jit(lambda x, q: [tj.quantile(x, q, method=method) for method in METHODS])(line, shares)
        for method, values in zip(METHODS, jitted, strict=True):
            expected = np.quantile(line, shares, method=method)
            np.testing.assert_allclose(values.numpy(), expected, rtol=1e-12, atol=1e-12, err_msg=method)


def test_gradients():
    interpolating = [method for method in METHODS if method not in SELECTING]
    line = np.array([0.3, -1.0, 2.0, 0.9, -0.2])
    gradients(lambda x: [tj.quantile(x * x, [0.21, 0.66], method=method) for method in METHODS], line)
    gradients(lambda q: [tj.quantile(line, q, method=method) ** 2 for method in interpolating], 0.37)
    gradients(lambda x: tj.nanquantile(tj.where(x > 1, tj.nan, x), 0.4, method="hazen") ** 2, line)
    gradients(lambda x: tj.quantile(x, 0.4, method="inverted_cdf", weights=[1, 2, 0, 1, 1]) ** 2, line)


def test_batches():
    batched(lambda x, w: tj.quantile(x, 0.4, method="inverted_cdf", weights=w), MATRIX, abs(MATRIX))
    batched(lambda x: (tj.nanmedian(x), tj.nanquantile(x, [0.2, 0.8], method="weibull")), HOLES)


def test_out():
    out = tj.zeros(2)
    assert tj.quantile([[1.0, 3.0], [5.0, 7.0]], 0.5, 1, out) is out
    assert out.tolist() == [2.0, 6.0]
    assert tj.nanmedian(HOLES, 0, out=tj.zeros(3)).tolist() == [1.0, 0.5, 0.75]


def test_lines_of_nan():
    with pytest.warns(RuntimeWarning, match="All-NaN slice encountered"):
        assert np.isnan(tj.nanquantile([np.nan, np.nan], 0.5, method="hazen").item())


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tj.nanquantile([1.0], 2.0), tj.ShapeError, "nanquantile: expected q between 0 and 1"),
        (lambda: tj.quantile([1.0], 0.5, method="most"), tj.DomainError, "quantile: method must be one of"),
        (lambda: tj.percentile([1.0], 0.5, weights=[1.0]), tj.DomainError, "percentile: weights= needs"),
        (
            lambda: tj.quantile([1.0, 2.0], 0.5, method="inverted_cdf", weights=[1.0]),
            tj.ShapeError,
            r"expected weights of shape \(2,\) or of axis, got \(1,\)",
        ),
        (
            lambda: tj.quantile([1.0], 0.5, method="inverted_cdf", weights=[-1.0]),
            tj.DomainError,
            "weights must not be negative",
        ),
        (
            lambda: tj.quantile([1.0], 0.5, method="inverted_cdf", weights=[0.0]),
            tj.DomainError,
            "weights must not be all zero",
        ),
        (
            lambda: tj.quantile([1.0], 0.5, method="inverted_cdf", weights=[np.inf]),
            tj.DomainError,
            "weights must be finite",
        ),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
