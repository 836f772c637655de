"""``tracejit/array/indexing/raveled_indices.py``: NumPy's results in every mode, errors."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

from ..agreement import Cases, check

cases = Cases()
cases("ravel_multi_index", (np.array([1, 2]), np.array([3, 0])), (3, 4))
cases("ravel_multi_index", (np.array([4, 2]), np.array([3, -1])), (3, 4), mode=("wrap", "clip"))
cases("ravel_multi_index", (np.array([1, 2]), np.array([3, 0])), (3, 4), order="F")
cases("unravel_index", np.array([5, 11]), (3, 4))
cases("unravel_index", 7, (3, 4))
cases("unravel_index", np.array([[5, 11]]), (3, 4), "F")


@cases.parameters()
def test_agrees_with_numpy(case):
    check(case)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tj.ravel_multi_index(([3],), (3,)), tj.OutOfBoundsError, "outside"),
        (lambda: tj.unravel_index([9], (3, 3)), tj.OutOfBoundsError, "outside"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
