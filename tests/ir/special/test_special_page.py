"""``docs/special.md`` says what the tests check, and the tables are what their generator prints."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tracejit.ir.special.coefficients import bessel, gamma, hypergeometric, integral

from .page import page
from .special_coefficients import fitted, tables

ROOT = Path(__file__).parents[3]


def test_page_is_generated_from_the_cases() -> None:
    assert (ROOT / "docs" / "special.md").read_text() == page()


@pytest.mark.parametrize(
    ("family", "module", "name"),
    [
        ("gamma", gamma, "GAMMA"),
        ("bessel", bessel, "K0_LOW"),
        ("bessel", bessel, "Y0_MIDDLE"),
        ("integral", integral, "SI_LOW"),
        ("hypergeometric", hypergeometric, "LAMBERT"),
    ],
)
def test_tables_are_what_the_generator_prints(family: str, module: object, name: str) -> None:
    (table,) = [table for table in tables(family) if table.name == name]
    coefficients, _ = fitted(table)
    assert np.allclose(getattr(module, name), [float(c) for c in coefficients], rtol=1e-9, atol=1e-15)
