"""The tables of ``ir/special/data/``, computed in mpmath: polynomials through Chebyshev's points.

Run ``python -m tests.ir.special.special_coefficients FAMILY`` to print the data file of a family
(gamma, bessel, integral or hypergeometric) again, or name tables, too, to print those alone. Each `Table`
says what is approximated by a polynomial in t, from low to high.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import mpmath as mp

from ...number_tables import block

DIGITS = 60
Function = Callable[[Any], Any]


@dataclass(frozen=True)
class Table:
    """One table: `target(t)` for low <= t <= high, by a polynomial of `degree`."""

    name: str
    doc: str
    target: Function
    low: Any
    high: Any
    degree: int


def near(function: Function) -> Function:
    """The function with a removable singularity stepped over."""

    def target(t: Any) -> Any:
        with mp.workdps(100):
            return function(t if abs(t) > mp.mpf(10) ** -25 else mp.mpf(10) ** -25)

    return target


def fitted(table: Table) -> tuple[list[Any], float]:
    """Coefficients in t, lowest first, and the largest error relative to the largest value."""
    with mp.workdps(DIGITS):
        low, high, count = mp.mpf(table.low), mp.mpf(table.high), table.degree + 1
        middle, half = (low + high) / 2, (high - low) / 2
        nodes = [mp.cos(mp.pi * (i + mp.mpf(0.5)) / count) for i in range(count)]
        values = [table.target(middle + half * node) for node in nodes]
        # Chebyshev coefficients, then powers of u = (t - middle) / half, then of t
        chebyshev = [
            mp.fsum(v * mp.cos(k * mp.pi * (i + mp.mpf(0.5)) / count) for i, v in enumerate(values))
            * (2 if k else 1) / count
            for k in range(count)
        ]  # fmt: skip
        powers = [mp.mpf(0)] * count
        before, now = [mp.mpf(1)], [mp.mpf(0), mp.mpf(1)]
        for coefficient in chebyshev:
            for place, factor in enumerate(before):
                powers[place] += coefficient * factor
            following = [mp.mpf(0), *(2 * factor for factor in now)]
            for place, factor in enumerate(before):
                following[place] -= factor
            before, now = now, following
        shifted = [mp.mpf(0)] * count
        for factor in reversed(powers):  # Horner's rule in u
            moved = [mp.mpf(0), *(c / half for c in shifted[:-1])]
            shifted = [a - b * middle / half for a, b in zip(moved, shifted, strict=True)]
            shifted[0] += factor
        points = [middle + half * mp.cos(mp.pi * i / (3 * count)) for i in range(3 * count + 1)]
        truth = [table.target(t) for t in points]
        size = max(map(abs, truth))
        error = max(
            abs(mp.fsum(c * t**k for k, c in enumerate(shifted)) - v)
            for t, v in zip(points, truth, strict=True)
        )
        return shifted, float(mp.log(error / size, 2))


def tables(family: str) -> Iterator[Table]:
    """The tables of a family: gamma, bessel, integral or hypergeometric."""
    targets = import_module(f".{family}_targets", __package__)
    yield from targets.tables()


HEADER = """# Coefficients of the special functions, lowest power first.
#
# Every table is a polynomial through Chebyshev's points, computed by
# ``python -m tests.ir.special.special_coefficients`` in mpmath at 60 digits; the comment above each says what
# it is, and how far off, relative to its largest value.
"""


def text(table: Table) -> str:
    coefficients, error = fitted(table)
    ends = [repr(float(mp.nstr(mp.mpf(end), 6))) for end in (table.low, table.high)]
    words = ["from", ends[0], "to", ends[1]]
    return block(table.name, words, [coefficients], f"{table.doc}: 2^{error:.1f}.")


def main() -> None:
    family, *chosen = sys.argv[1:]
    if not chosen:
        print(HEADER)
    for table in tables(family):
        if not chosen or table.name in chosen:
            print(text(table))


if __name__ == "__main__":
    main()
