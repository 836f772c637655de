"""``tracejit/array/numerical/reals.py``: NumPy's results in every mode."""

from __future__ import annotations

from ..agreement import Cases, check
from ..operands import INTEGERS, LINE, MATRIX, SHORT

cases = Cases()
for name in ["real", "imag", "conj", "conjugate", "isreal", "iscomplex", "angle", "real_if_close"]:
    cases(name, LINE)
    cases(name, INTEGERS)
cases("angle", LINE, True)
cases("array_equiv", LINE, LINE)
cases("array_equiv", LINE, SHORT)
cases("array_equiv", SHORT, MATRIX[:, :1])


@cases.parameters()
def test_agrees_with_numpy(case):
    check(case)
