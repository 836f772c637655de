"""``tracejit/array/selection/sets.py``: NumPy's results in every mode, errors."""

from __future__ import annotations

import numpy as np

import tracejit as tj

from ..agreement import Cases, batched, check
from ..operands import INTEGERS, LINE

cases = Cases()
cases("isin", INTEGERS, [1, 2])
cases("isin", INTEGERS, [1, 2], invert=True)
cases("isin", LINE, LINE[:2])
cases("isin", INTEGERS, [])
cases("isin", np.array([np.nan, 1.0]), [np.nan, 1.0])
for name in ["union1d", "intersect1d", "setdiff1d", "setxor1d"]:
    cases.eager(name, INTEGERS, [1, 2, 9])
    cases.eager(name, LINE, LINE[:3])
cases.eager("intersect1d", INTEGERS, [1, 2], return_indices=True)
for name in ["unique_all", "unique_counts", "unique_inverse", "unique_values"]:
    cases.eager(name, np.array([np.nan, np.nan, 1]))


@cases.parameters()
def test_agrees_with_numpy(case):
    check(case)


def test_batches():
    batched(lambda x: tj.isin(x, [0, 1, 2]), INTEGERS)
