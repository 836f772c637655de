"""Coefficients of the maths functions: data files, which `base.number_tables` reads at first use."""

from __future__ import annotations

from pathlib import Path
from typing import Final, TypeAlias

from ...base.number_tables import Tables

#: Rows of numbers by dtype.
Table: TypeAlias = dict[str, tuple[float, ...]]

_DATA: Final = Path(__file__).parent / "data"

elementary: Final = Tables(_DATA / "elementary.txt")
logarithms: Final = Tables(_DATA / "logarithms.txt")
piecewise: Final = Tables(_DATA / "piecewise.txt")
powers: Final = Tables(_DATA / "powers.txt")
scaled_erfc: Final = Tables(_DATA / "scaled_erfc.txt")
