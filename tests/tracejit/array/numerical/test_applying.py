"""``tracejit/array/numerical/applying.py``: NumPy's results in every mode, gradients."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

from ..agreement import Cases, check, gradients
from ..operands import MATRIX, RNG

cases = Cases()
cases.eager("apply_over_axes", np.sum, MATRIX, [0, 1])
cases("apply_along_axis", lambda a: a.max() - a.min(), 0, MATRIX)
cases("apply_along_axis", lambda a: a.cumsum(), 1, MATRIX)
cases("apply_along_axis", lambda a: a[:2] * 1, 0, RNG.normal(size=(3, 4, 2)))


@cases.parameters()
def test_agrees_with_numpy(case):
    check(case)


GRADIENTS = [
    (lambda x: tj.apply_along_axis(lambda line: line * line.sum(), 0, x), MATRIX),
]


@pytest.mark.parametrize("arguments", GRADIENTS, ids=range(len(GRADIENTS)))
def test_gradients(arguments):
    gradients(*arguments)
