"""The bases of logarithms: e, 2 and 10, with what the kernels of each need."""

from __future__ import annotations

from typing import Final

from ...base.records import record
from .exponential import LN2_HIGH, LN2_LOW
from .tables import Table, logarithms


@record
class Base:
    """log_b(2) = two_high + two_low, the first exact in products with e; log_b(e) = e_high + e_low."""

    two_high: dict[str, float]
    two_low: dict[str, float]
    e_high: dict[str, float]
    e_low: dict[str, float]
    #: Beginning of its tables' names.
    name: str

    def table(self, of: str) -> Table:
        """Tables of `wide_logarithm`: "INVERSES", c of each cell, "LOGS", -log_b c, and "SERIES"."""
        table: Table = getattr(logarithms, f"{self.name}_{of}")
        return table


def _table(f32: str, f64: str) -> dict[str, float]:
    return {"f32": float.fromhex(f32), "f64": float.fromhex(f64)}


ONE: Final = {"f32": 1.0, "f64": 1.0}
ZERO: Final = {"f32": 0.0, "f64": 0.0}
NATURAL: Final = Base(
    LN2_HIGH,
    LN2_LOW,
    ONE,
    ZERO,
    "NATURAL",
)
BINARY: Final = Base(
    ONE,
    ZERO,
    _table("0x1.715476p+0", "0x1.71547652b82fep+0"),
    _table("0x1.4ae0cp-26", "0x1.777d0ffda0d24p-56"),
    "BINARY",
)
DECIMAL: Final = Base(
    _table("0x1.344p-2", "0x1.34413509f7000p-2"),
    _table("0x1.3509f8p-18", "0x1.3fde623e2566bp-43"),
    _table("0x1.bcb7b2p-2", "0x1.bcb7b1526e50ep-2"),
    _table("-0x1.5b235ep-27", "0x1.95355baaafad3p-57"),
    "DECIMAL",
)
