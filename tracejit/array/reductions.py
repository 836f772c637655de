"""Reductions along axes that run one op: one for each row of `surface.reductions`.

`axis` is an int, a tuple of ints, or None for all; `keepdims` leaves the reduced axes with size 1. Sums and
products of bools and small integers are computed in int64 or uint64, as NumPy does on 64-bit systems.
``reductions.pyi`` declares the functions for type checkers.
"""

from __future__ import annotations

from ..surface.reductions import REDUCTIONS
from .reducing import made

for _row in REDUCTIONS:
    globals().update(dict.fromkeys(_row.names.split(), made(_row, __name__)))
