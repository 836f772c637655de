"""``docs/special.md`` says what the tests check, and the tables are what their generator prints."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tracejit.ir.special import (
    coefficients_bessel,
    coefficients_gamma,
    coefficients_hypergeometric,
    coefficients_integral,
)

from .page import page
from .special_coefficients import fitted, tables

ROOT = Path(__file__).parents[3]


def test_page_is_generated_from_the_cases() -> None:
    assert (ROOT / "docs" / "special.md").read_text() == page()


@pytest.mark.parametrize(
    ("family", "module", "name"),
    [("gamma", coefficients_gamma, "GAMMA"), ("bessel", coefficients_bessel, "K0_LOW"),
     ("integral", coefficients_integral, "SI_LOW"),
     ("hypergeometric", coefficients_hypergeometric, "LAMBERT")],
)  # fmt: skip
def test_tables_are_what_the_generator_prints(family: str, module: object, name: str) -> None:
    (table,) = [table for table in tables(family) if table.name == name]
    coefficients, _ = fitted(table)
    assert np.allclose(getattr(module, name), [float(c) for c in coefficients], rtol=1e-9, atol=1e-15)
