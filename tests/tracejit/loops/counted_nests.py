"""Random nests of loops whose trip counts are known only at run time, as the text of ``f(a, x, m)``: of a
matrix `a` of 6 rows and columns, a vector `x` of 20 elements, and 6 counts `m` from 0 to 5.

Steps write the arrays that they read, so that a gradient needs what was there before: the factorizations and
recurrences of linear algebra, with anything else between their statements."""

from __future__ import annotations

from .nests import Generator

SIZE = 6
LONG = 20

_HEADER = """def f(a, x, m):
    b = a * 1.0
    u = x * 1.0
    c = np.zeros((6, 6))
    s = 0.5
    p = 1.0
    n = 6
"""
_FOOTER = "    return (b * b).sum() + (u * x).sum() + (c * a).sum() + s * p\n"


class CountedNestGenerator(Generator):
    """Nests whose numbers of steps are values."""

    header, footer = _HEADER, _FOOTER

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._written = self._random.sample(["b", "u", "c"], self._random.randint(1, 3))
        self._locals = 0

    def _steps(self) -> str:
        if not self._indices:
            return self._pick("range(n)", "range(1, n)", "range(n - 1, 0, -1)", "range(m[2])")
        i = self._pick(*self._indices)
        return self._pick(
            f"range({i})",
            f"range({i})",
            f"range({i} + 1, n)",
            f"range({i}, n)",
            "range(n)",
            f"range(m[{i}])",
            f"range(max({i} - 2, 0), min({i} + 2, n))",
            f"range({i}, n, 2)",
            f"range({i} - 1, -1, -1)",
        )

    def _nest(self, depth: int) -> list[str]:
        index = "ijkl"[len(self._indices)]
        steps = self._steps()
        self._indices.append(index)
        lines = [line for _ in range(self._random.randint(0, 2)) for line in self._statement()]
        lines += self._nest(depth - 1) if depth > 1 else []
        if depth > 1 and self._random.random() < 0.3:
            lines += self._nest(1)
        lines += [
            line for _ in range(self._random.randint(0 if lines else 1, 2)) for line in self._statement()
        ]
        if self._random.random() < 0.15:
            lines.append(f"if {self._element()} > 0.9: break")
        self._indices.pop()
        return [f"for {index} in {steps}:", *[f"    {line}" for line in lines]]

    def _row(self) -> str:
        i = self._pick(*self._indices)
        return self._pick(i, i, i, i, f"n - 1 - {i}", f"{i} - 1", str(self._random.randint(-6, 5)))

    def _long(self) -> str:
        i, j = self._pick(*self._indices), self._pick(*self._indices)
        return self._pick(i, j, f"{i} + {j}", f"2 * {i} + 1", f"{i} - {j}", f"19 - {i}")

    def _place(self, name: str) -> str:
        return f"{name}[{self._long()}]" if name in "ux" else f"{name}[{self._row()}, {self._row()}]"

    def _element(self) -> str:
        return self._place(self._pick("a", "x", *self._written, *self._written))

    def _value(self) -> str:
        v, w = self._element(), self._element()
        return self._pick(
            f"0.5 * {v} * {w}",
            f"{v} * 0.5 - 0.25 * {w}",
            f"np.sin({v} * {w})",
            f"{v} / (2.0 + {w} * {w})",
            f"({v} if {w} > 0.1 else 0.25 * {w})",
            f"s * {v} * 0.25",
            f"np.exp(-{v} * {v})",
        )

    def _statement(self) -> list[str]:
        target, value = self._place(self._pick(*self._written)), self._value()
        simple = [
            f"{target} = {value}",
            f"{target} = {value}",
            f"{target} -= 0.25 * {value}",
            f"{target} += 0.125 * {value}",
            f"s = 0.5 * s + {value}",
            f"s -= 0.25 * {value}",
            f"p = p * (1.0 + 0.01 * {value})",
        ]
        if self._random.random() < 0.25:
            condition = self._pick(
                f"{self._element()} > 0.2", f"s > {self._element()}", f"{self._row()} % 2 == 0"
            )
            other = [f"else: {self._pick(*simple)}"] if self._random.random() < 0.5 else []
            return [f"if {condition}: {self._pick(*simple)}", *other]
        if self._random.random() < 0.1:
            self._locals += 1
            return [f"t{self._locals} = {value}", f"{target} = t{self._locals} * {self._element()}"]
        return [self._pick(*simple)]
