"""Random loops over elements whose steps do not depend on each other: products, sums, branches, inner loops.

``f(x, y, z, c)`` takes two arrays of n + 1 numbers, one of n times 5, and a number. The square of a number is
written as a product: NumPy's scalars take ``x ** 2`` from the C library's pow, whose last place is its own.
"""

from __future__ import annotations

import random
from typing import Final

_NUMBERS: Final = (
    "x[i]", "y[i]", "z[i, 0]", "x[i + 1]", "y[n - 1 - i]", "p[i]", "c", "k", "0.1", "1.7", "float(i)",
)  # fmt: skip
_FORMS: Final = (
    *["({0} + {1})"] * 6, *["({1} - {0})"] * 3, *["({0} * {1})"] * 7, "np.square({0})", "-{0}", "({0} / 4.0)",
    "abs({0})", "({0} if {1} > 0.2 else {2})", "min({0}, {1})",
)  # fmt: skip


class Generator:
    """Writes the program of a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.size = self.rng.choice((9, 40, 300))

    def program(self) -> str:
        """The source of f, whose loop over i writes three arrays."""
        lines = [
            "import numpy as np", "", "",
            "def f(x, y, z, c):",
            f"    n, k, p = {self.size}, c * 0.7, x * y",
            "    o, q, w = np.zeros(n), np.zeros((n, 5)), np.zeros(n)",
            "    for i in range(n):",
            *[f"        {line}" for line in self._step()],
        ]  # fmt: skip
        if self._chance(0.4):
            lines.append("    w = w + 0.1")
        return "\n".join([*lines, "    return o, q, w", ""])

    def _step(self) -> list[str]:
        lines = [f"t = {self._number(3)}", f"u = {self._number(2)} + t" if self._chance(0.5) else "u = t"]
        if self._chance(0.3):
            lines += [f"if {self._number(0)} > 0.0:", f"    t = {self._number(2)} - u"]
            lines += ["else:", f"    t = t * {self._number(1)} + u"]
        if self._chance(0.25):
            lines += [
                f"h = {self._number(1)}",
                "for j in range(4):",
                f"    h = h * {self._number(0)} + z[i, j]",
            ]
            lines.append("t = t + h")
        if self._chance(0.15):
            lines += ["e = abs(t)", "while e > 1.0:", "    e = e * 0.5 + 0.1", "t = t * e + u"]
        if self._chance(0.35):
            lines += ["for j in range(5):", f"    v = z[i, j] * {self._number(1)} + {self._number(1)}"]
            lines.append("    q[i, j] = v * t + u * z[i, j]")
        lines += ["o[i] = t * u + 0.3" if self._chance(0.5) else "o[i] = t", f"w[i] = u * {self._number(0)}"]
        if self._chance(0.3):
            lines.append(f"w[i] = w[i] * {self._number(0)} + u")
        if self._chance(0.2):
            lines += ["if t > 0.0:", f"    o[i] = o[i] * 1.1 - {self._number(1)}"]
        return lines

    def _number(self, depth: int) -> str:
        depth = self.rng.randint(0, depth)
        if not depth:
            return self.rng.choice(_NUMBERS)
        return self.rng.choice(_FORMS).format(*[self._number(depth - 1) for _ in range(3)])

    def _chance(self, part: float) -> bool:
        return self.rng.random() < part
