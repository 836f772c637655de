"""Coefficients of the special functions: data files, which `base.number_tables` reads."""

from __future__ import annotations

import os
from typing import Final

from ...base.number_tables import Tables
from .polynomials import Polynomial

_DATA: Final = os.path.join(os.path.dirname(__file__), "data")

bessel: Final = Tables(os.path.join(_DATA, "bessel.txt"), Polynomial)
error_function: Final = Tables(os.path.join(_DATA, "error_function.txt"))
gamma: Final = Tables(os.path.join(_DATA, "gamma.txt"), Polynomial)
hypergeometric: Final = Tables(os.path.join(_DATA, "hypergeometric.txt"), Polynomial)
integral: Final = Tables(os.path.join(_DATA, "integral.txt"), Polynomial)
