"""``tracejit/array/aggregates/nan_aware.py``: NumPy's results in every mode, gradients, errors."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

from ..agreement import Cases, batched, check, gradients
from ..operands import HOLES, INTEGERS, LINE, MASK, MATRIX, SHORT, SINGLE

cases = Cases()
for name in ["nanmax", "nanmin", "nanprod", "nanvar", "nanstd", "nanmedian", "nansum", "nanmean"]:
    for a in (HOLES, INTEGERS, SINGLE):
        cases(name, a)
        cases(name, a, axis=0)
        cases(name, a, axis=-1, keepdims=True)
    cases(name, HOLES, axis=(0, 1))
for name in ["nancumsum", "nancumprod"]:
    cases(name, HOLES)
    cases(name, HOLES, axis=0)
    cases(name, INTEGERS, axis=1)
    cases(name, HOLES, dtype="f4")
for name in ["nanargmax", "nanargmin"]:
    cases(name, HOLES[:2])
    cases(name, HOLES[:2], axis=1)
    cases(name, INTEGERS, axis=0)
cases("nanquantile", HOLES, [0.1, 0.9], axis=1, method="nearest")
cases("nanpercentile", HOLES, 30.0, axis=0, keepdims=True)
cases("nanvar", HOLES, ddof=2, axis=1)
cases("nanvar", HOLES, where=HOLES > 0, axis=0)
cases("nansum", HOLES, initial=3.0, where=HOLES > 0, axis=1)
cases("nanmean", HOLES, where=HOLES > 0, axis=1, keepdims=True)
cases.eager("nanmean", HOLES, dtype="f4")
cases("nanmax", HOLES, initial=3.0, where=HOLES > 0)
cases("sum", HOLES, where=HOLES > 0, axis=0)
cases("prod", INTEGERS, where=MASK, initial=2)
cases("max", INTEGERS, initial=3, axis=0)
cases("min", INTEGERS, where=MASK, initial=9)
cases("mean", HOLES, where=HOLES > 0)
cases("mean", INTEGERS, where=MASK, axis=1)
cases("all", INTEGERS, where=MASK)
cases("any", INTEGERS, where=MASK, axis=0)
cases("max", np.zeros((0, 3)), axis=0, initial=2.0)
cases("sum", SINGLE, initial=1.5)
cases("sum", INTEGERS.astype("i1"), initial=300)
cases("var", HOLES, where=HOLES > 0)
cases("std", INTEGERS, where=MASK, ddof=1, axis=1)
cases("var", LINE, mean=LINE.mean(keepdims=True))


@cases.parameters()
def test_agrees_with_numpy(case):
    check(case)


GRADIENTS = [
    (tj.nanmedian, LINE),
    (lambda x: tj.nanquantile(x, [0.2, 0.7], axis=0), MATRIX),
    (lambda x: tj.nanvar(tj.where(x > 1, tj.nan, x), axis=1), MATRIX),
    (lambda x: tj.nanmax(x, axis=0), MATRIX),
    (lambda x: tj.nanprod(tj.where(x > 1, tj.nan, x)), SHORT),
    (lambda x: tj.nancumsum(tj.where(x > 1, tj.nan, x)), LINE),
    (lambda x: tj.var(x, where=x > 0), LINE),
    (lambda x: tj.sum(x * x, where=x > 0, initial=2.0), LINE),
    (lambda x: tj.mean(x * x, where=x > 0), LINE),
    (lambda x: tj.prod(x, where=x > 0), SHORT),
    (lambda x: tj.max(x, initial=-9.0, where=x < 0.5), LINE),
]


@pytest.mark.parametrize("arguments", GRADIENTS, ids=range(len(GRADIENTS)))
def test_gradients(arguments):
    gradients(*arguments)


@pytest.mark.filterwarnings("ignore:All-NaN slice:RuntimeWarning")
def test_batches():
    batched(lambda x: tj.nanmedian(x), HOLES)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tj.nanargmax([np.nan]), tj.DomainError, "nanargmax: all elements"),
        (lambda: tj.max([1.0], where=[True]), tj.ShapeError, "needs initial"),
        (lambda: tj.sum([1.0], where=[1]), tj.DTypeError, "where must be an array of bools"),
        (lambda: tj.sum([1.0], where=[True, False]), tj.ShapeError, "broadcast"),
        (
            lambda: tj.sum([[1.0], [2.0]], axis=0, out=tj.zeros(2), where=[True]),
            tj.ShapeError,
            "does not fit",
        ),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    "name", ["nanmax", "nanmin", "nanmean", "nanvar", "nanstd", "nanmedian", "nanquantile", "nanpercentile"]
)
def test_all_nan_warns_as_numpy_does(name: str) -> None:
    rows = np.array([[np.nan, np.nan], [1.0, 2.0]])
    rest = (0.5,) if name in ("nanquantile", "nanpercentile") else ()
    with pytest.warns(RuntimeWarning) as theirs:
        expected = getattr(np, name)(rows, *rest, axis=1)
    with pytest.warns(RuntimeWarning) as ours:
        result = getattr(tj, name)(tj.asarray(rows), *rest, axis=1)
    np.testing.assert_allclose(result.numpy(), expected)
    assert str(ours[0].message) == str(theirs[0].message)
    assert ours[0].filename == __file__
    jitted = tj.jit(lambda x: getattr(tj, name)(x, *rest, axis=1))(tj.asarray(rows))  # no warning: an error
    np.testing.assert_allclose(jitted.numpy(), expected)
