"""``docs/special.md`` says what the tests check, and the tables are what their generator prints."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tracejit.base.number_tables import blocks_of
from tracejit.ir.special import coefficients

from .page import page
from .special_coefficients import tables, text

ROOT = Path(__file__).parents[3]


def test_page_is_generated_from_the_cases() -> None:
    assert (ROOT / "docs" / "special.md").read_text() == page()


@pytest.mark.parametrize("family", ["gamma", "bessel", "integral", "hypergeometric"])
def test_files_have_the_tables_of_the_generator(family: str) -> None:
    file = ROOT / "ir" / "special" / "data" / f"{family}.txt"
    assert sorted(name for name, _, _ in blocks_of(file.read_text())) == sorted(
        t.name for t in tables(family)
    )


@pytest.mark.parametrize(
    ("family", "name"),
    [
        ("gamma", "GAMMA"),
        ("gamma", "LOG_NDTR_SLOPE"),
        ("bessel", "K0_LOW"),
        ("bessel", "Y0_MIDDLE"),
        ("bessel", "I1_UPPER_DERIVATIVES"),
        ("integral", "SI_LOW"),
    ],
)
def test_tables_are_what_the_generator_prints(family: str, name: str) -> None:
    (table,) = [table for table in tables(family) if table.name == name]
    (printed,) = blocks_of(text(table))
    file = ROOT / "ir" / "special" / "data" / f"{family}.txt"
    (block,) = [block for block in blocks_of(file.read_text()) if block[0] == name]
    assert block == printed  # to the last bit
    assert getattr(getattr(coefficients, family), name) == block[2][0]


def test_the_table_of_a_root_is_what_the_generator_prints() -> None:
    """Lambert's function at its branch point takes digits of mpmath's, more in some versions."""
    (table,) = tables("hypergeometric")
    ((_, _, (row,)),) = blocks_of(text(table))
    np.testing.assert_allclose(coefficients.hypergeometric.LAMBERT, row, rtol=1e-9, atol=1e-15)
