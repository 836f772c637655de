"""``tracejit/array/numerical/windows.py``: NumPy's results in every mode, gradients."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

from ..agreement import Cases, check, gradients
from ..operands import INTEGERS, LINE, SINGLE

cases = Cases()
for name in ["bartlett", "blackman", "hamming", "hanning"]:
    cases(name, 7)
    cases(name, 1)
    cases(name, 0)
cases("kaiser", 7, 3.0)
cases("kaiser", 1, 3.0)
cases("i0", LINE * 5)
cases("i0", np.array([0, 7.9, 8, 8.1, 50, 700.0]))
cases("i0", INTEGERS)
cases("i0", SINGLE)


@cases.parameters()
def test_agrees_with_numpy(case):
    check(case)


GRADIENTS = [
    (lambda beta: tj.kaiser(5, beta), 2.0),
    (tj.i0, np.array([0.5, 3.0, 9.0])),
]


@pytest.mark.parametrize("arguments", GRADIENTS, ids=range(len(GRADIENTS)))
def test_gradients(arguments):
    gradients(*arguments)


def test_i0_is_that_of_special():
    x = np.array([0.0, -0.0, 1e-8, 3.0, -7.0, 8.0, 500.0, np.inf])
    assert tj.i0(0.0) == 1.0
    np.testing.assert_array_equal(tj.i0(x), tj.scipy.special.i0(x))
    np.testing.assert_array_equal(tj.hessian(lambda x: tj.i0(x).sum())(tj.zeros(2)), [[0.5, 0.0], [0.0, 0.5]])
