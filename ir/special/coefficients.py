"""Coefficients of the special functions: polynomials in data files, which `base.number_tables` reads."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ...base.number_tables import Tables
from .polynomials import Polynomial

_DATA: Final = Path(__file__).parent / "data"

bessel: Final = Tables(_DATA / "bessel.txt", Polynomial)
gamma: Final = Tables(_DATA / "gamma.txt", Polynomial)
hypergeometric: Final = Tables(_DATA / "hypergeometric.txt", Polynomial)
integral: Final = Tables(_DATA / "integral.txt", Polynomial)
