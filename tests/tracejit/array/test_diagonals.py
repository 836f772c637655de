"""``tracejit/array/diagonals.py``: what `test_manipulation.py` has not."""

from __future__ import annotations

import tracejit as tj

from .agreement import Cases, check, gradients
from .operands import MATRIX, SHORT

cases = Cases()
cases("diagflat", MATRIX)
cases("diagflat", SHORT, 1)


@cases.parameters()
def test_agrees_with_numpy(case):
    check(case)


def test_gradients():
    gradients(lambda x: tj.diagflat(x), SHORT)
