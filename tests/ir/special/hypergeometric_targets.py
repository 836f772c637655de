"""Functions that the table of Lambert's function approximates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mpmath as mp

from .special_coefficients import Table, near


def lambert(t: Any) -> Any:
    """(W + 1) / t at t = sqrt(2 (e z + 1)), of the branch 0 for t > 0, of -1 below."""
    z = (t * t / 2 - 1) / mp.e
    # Newton's rule from the series; in mpmath W itself loses digits here
    w = -1 + t - t * t / 3 + 11 * t**3 / 72
    for _ in range(12):
        w -= (w * mp.exp(w) - z) / (mp.exp(w) * (w + 1))
    return (w + 1) / t


def tables() -> Iterator[Table]:
    yield Table(
        "LAMBERT", "(W + 1) / t, t = sqrt(2 (e z + 1))", near(lambert), -mp.mpf("0.62"), mp.mpf("0.62"), 30
    )
