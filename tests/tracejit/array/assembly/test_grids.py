"""``tracejit/array/assembly/grids.py``: NumPy's results in every mode."""

from __future__ import annotations

from ..agreement import Cases, check

cases = Cases()
cases("indices", (2, 3))
cases("indices", (2, 3), sparse=True)
cases("indices", (2,), dtype="f4")


@cases.parameters()
def test_agrees_with_numpy(case):
    check(case)
