"""``tracejit/array/aggregates/histograms.py``: NumPy's results in every mode, gradients, errors."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

from ..agreement import Cases, batched, check, gradients
from ..operands import ASCENDING, INTEGERS, LINE, MATRIX, RNG, SINGLE

cases = Cases()
cases("histogram", LINE)
cases("histogram", LINE, 5, (-1, 1))
cases("histogram", LINE, [-2, 0, 0.5, 3])
cases("histogram", LINE, 4, weights=LINE**2, density=True)
cases("histogram", INTEGERS, 4)
cases.eager("histogram", LINE, "auto")
cases("histogram", LINE, [-2, 0, 0.5, 3], density=True)
cases("histogram_bin_edges", LINE, 3)
cases("histogram", np.ones(3))
cases("histogram", np.array([]))
cases("histogram", SINGLE, 3)
cases("histogram2d", LINE, LINE[::-1])
cases("histogram2d", LINE, LINE, 3, weights=LINE)
cases("histogram2d", LINE, LINE**2, [2, 3], density=True)
cases("histogramdd", RNG.normal(size=(9, 3)), 3)
cases("histogram2d", LINE, LINE, [-1.0, 0, 1])
cases("histogram2d", LINE, LINE, [[-1.0, 0, 1], 3], [[0, 1], [0, 1]])
cases("digitize", LINE, ASCENDING)
cases("digitize", LINE, ASCENDING, True)
cases("digitize", LINE, ASCENDING[::-1])
cases("digitize", LINE, ASCENDING[::-1], right=True)
cases("digitize", INTEGERS, np.array([0, 1, 1, 3]))


@cases.parameters()
def test_agrees_with_numpy(case):
    check(case)


GRADIENTS = [
    (lambda w: tj.histogram(LINE, 4, weights=w)[0], LINE),
    (lambda w: tj.histogram(LINE, 4, weights=w, density=True)[0], LINE**2),
]


@pytest.mark.parametrize("arguments", GRADIENTS, ids=range(len(GRADIENTS)))
def test_gradients(arguments):
    gradients(*arguments)


def test_batches():
    batched(lambda x: tj.histogram(x, 4), MATRIX)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tj.histogram([1.0], 0), tj.DomainError, "bins must be positive"),
        (lambda: tj.histogram([1.0], [2.0, 1.0]), tj.DomainError, "must ascend"),
        (lambda: tj.histogram([1.0], weights=[1.0, 2.0]), tj.ShapeError, "weights must have the shape"),
        (lambda: tj.digitize([1.0], [1.0, 0.0, 2.0]), tj.DomainError, "ascend or descend"),
        (lambda: tj.histogram([np.inf]), tj.DomainError, "not finite"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("name", ["histogramdd", "histogram2d"])
def test_a_grid_of_more_bins_than_an_index_can_count(name: str) -> None:
    functions = {
        "histogramdd": lambda x: tj.histogramdd(x, bins=10**12),
        "histogram2d": lambda x: tj.histogram2d(x[:, 0], x[:, 1], bins=10**12),
    }
    with pytest.raises(tj.ShapeError, match=f"{name}: bins: an array of shape .* is too large"):
        tj.trace(functions[name], np.ones((3, 2)))
