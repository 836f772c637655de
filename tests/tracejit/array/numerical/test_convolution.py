"""``tracejit/array/numerical/convolution.py``: NumPy's results in every mode, gradients, errors."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

from ..agreement import Cases, batched, check, gradients
from ..operands import ASCENDING, LINE, SHORT, SINGLE

cases = Cases()
cases("convolve", LINE, SHORT)
cases("convolve", SHORT, LINE, "same")
cases("convolve", LINE, SHORT, "valid")
cases("convolve", [1, 2, 3], [4, 5])
cases("convolve", LINE, ASCENDING, "same")
cases("correlate", LINE, SHORT)
cases("correlate", SHORT, LINE, "full")
cases("correlate", LINE, SHORT, "same")
cases("correlate", SHORT, LINE, "same")
cases("correlate", SHORT, LINE)
cases("convolve", [True, False, True], [True, True])
cases("convolve", 3.0, LINE)
cases("convolve", SINGLE, SINGLE)


@cases.parameters()
def test_agrees_with_numpy(case):
    check(case)


GRADIENTS = [
    (tj.convolve, LINE, SHORT),
    (tj.correlate, SHORT, LINE),
]


@pytest.mark.parametrize("arguments", GRADIENTS, ids=range(len(GRADIENTS)))
def test_gradients(arguments):
    gradients(*arguments)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tj.convolve([], [1]), tj.ShapeError, "convolve: a line is empty"),
        (lambda: tj.convolve([1], [1], "most"), tj.DomainError, "mode must be"),
        (lambda: tj.correlate([[1]], [1]), tj.ShapeError, "rank 1"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_batches():
    batched(tj.convolve, np.stack([LINE, -LINE]), np.stack([SHORT, SHORT**2]))
