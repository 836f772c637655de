"""The data files of the maths functions hold what their generators print."""

from __future__ import annotations

import pytest

from tracejit.codegen.maths.tables import elementary, logarithms

from . import maths_tables
from .maths_minimax import specs, table_of


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("LOG", "f32"), ("TAN", "f32"), ("SIN_QUARTER", "f64"), ("COSH", "f64"), ("ATAN", "f32")],
)
def test_minimax_polynomials(name: str, dtype: str) -> None:
    (spec,) = [spec for spec in specs() if (spec.name, spec.dtype) == (name, dtype)]
    row, _ = table_of(spec)
    assert getattr(elementary, name)[dtype] == tuple(row)  # to the last bit


def test_cells_of_logarithms(capsys: pytest.CaptureFixture[str]) -> None:
    maths_tables.log_odds({"f32": 2})
    maths_tables.wide_log2({"f32": 3})
    printed = {name: rows[0] for name, _, rows in maths_tables.blocks_of(capsys.readouterr().out)}
    assert len(printed) == 5
    for name, row in printed.items():
        assert getattr(logarithms, name)["f32"] == row, name
