"""``tracejit/array/rearranging.py``: what `test_manipulation.py` has not."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

from .agreement import Cases, check, gradients
from .operands import LINE, MATRIX

cases = Cases()
cases("resize", LINE, (3, 4))
cases("resize", MATRIX, 3)
cases("resize", np.zeros(0), (2,))


@cases.parameters()
def test_agrees_with_numpy(case):
    check(case)


def test_gradients():
    gradients(lambda x: tj.resize(x, 9), LINE)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tj.resize([1], (-1,)), tj.ShapeError, "must not be negative"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
