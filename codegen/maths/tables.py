"""Coefficients of the maths functions: data files, which `base.number_tables` reads at first use."""

from __future__ import annotations

import os
from typing import Final, TypeAlias

from ...base.number_tables import Tables

#: Rows of numbers by dtype.
Table: TypeAlias = dict[str, tuple[float, ...]]

_DATA: Final = os.path.join(os.path.dirname(__file__), "data")

elementary: Final = Tables(os.path.join(_DATA, "elementary.txt"))
logarithms: Final = Tables(os.path.join(_DATA, "logarithms.txt"))
piecewise: Final = Tables(os.path.join(_DATA, "piecewise.txt"))
powers: Final = Tables(os.path.join(_DATA, "powers.txt"))
scaled_erfc: Final = Tables(os.path.join(_DATA, "scaled_erfc.txt"))
