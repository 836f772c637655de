"""Random nests of loops over arrays with affine indices, as the text of a function ``f(x, a, y)``: of vectors
`x` and `y` of 14 elements, and a matrix `a` of 7 rows and 7 columns.

Many of them have steps that depend on each other: through elements that neighbours write, negative indices,
sums into an element, scalars."""

from __future__ import annotations

import random

_HEADER = """def f(x, a, y):
    u = x * 1.0
    b = a * 1.0
    c = np.zeros(14)
    s = 0.5
    p = 1.0
    low = 0.75
    place = -1
    top = -2.0
    k = 3
"""
_FOOTER = "    return u, b, c, s, p, low, place, top, k\n"
_RANGES = ("range(6)", "range(1, 6)", "range(5, 0, -1)", "range(0, 6, 2)", "range(3)")


class Generator:
    """Makes programs of one or two nests from a seed; subclasses say what a nest is."""

    #: The text before and behind the nests.
    header = footer = ""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        #: The indices of the loops around a statement.
        self._indices: list[str] = []

    def program(self) -> str:
        """The text of a function."""
        lines: list[str] = []
        for _ in range(self._random.randint(1, 2)):
            lines += self._nest(self._random.randint(1, 3))
        return self.header + "".join(f"    {line}\n" for line in lines) + self.footer

    def _pick(self, *choices: str) -> str:
        return self._random.choice(choices)

    def _nest(self, depth: int) -> list[str]:
        raise NotImplementedError


class NestGenerator(Generator):
    """Nests whose steps are known when they are compiled."""

    header, footer = _HEADER, _FOOTER

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        #: The arrays that a program reads and writes: few names, so that accesses meet.
        self._writes = self._random.sample(["u", "b", "c"], self._random.randint(1, 2))
        #: Whether steps are mostly independent: each writes its own element, and sums are not read.
        self._plain = self._random.random() < 0.7

    def _nest(self, depth: int) -> list[str]:
        index = "ijl"[len(self._indices)]
        steps = self._pick(*_RANGES)
        if self._indices and self._random.random() < 0.1:
            steps = f"range({self._pick(*self._indices)})"
        self._indices.append(index)
        lines = [self._statement() for _ in range(self._random.randint(0, 1))]
        lines += self._nest(depth - 1) if depth > 1 else []
        lines += [self._statement() for _ in range(self._random.randint(0 if lines else 1, 2))]
        self._indices.pop()
        return [f"for {index} in {steps}:", *[f"    {line}" for line in lines]]

    def _row(self) -> str:
        """An index from -7 to 6."""
        if self._random.random() < 0.15:
            return str(self._random.randint(-7, 6))
        i = self._pick(*self._indices)
        return i if self._plain else self._pick(i, i, f"{i} + 1", f"{i} - 1", f"5 - {i}", f"-1 - {i}")

    def _column(self) -> str:
        """An index from -14 to 13."""
        if self._random.random() < 0.5:
            return self._row()
        i, j = self._pick(*self._indices), self._pick(*self._indices)
        return self._pick(f"2 * {i}", f"2 * {i} + 1", f"{i} + {j}", f"{i} + 7", f"{i} - {j}", f"12 - 2 * {i}")

    def _place(self, name: str) -> str:
        return f"{name}[{self._row()}, {self._row()}]" if name in "ab" else f"{name}[{self._column()}]"

    def _target(self) -> str:
        name = self._pick(*self._writes)
        if not self._plain:
            return self._place(name)
        i, j = self._indices[0], self._indices[-1]
        return f"b[{i}, {j}]" if name == "b" else f"{name}[{self._pick(i, j, f'2 * {j} + 1', f'13 - {i}')}]"

    def _operand(self) -> str:
        names = ["x", "a", "y", *(self._writes if self._random.random() < 0.3 else ())]
        choices = [self._place(self._pick(*names)) for _ in range(3)]
        choices += [str(self._random.randint(-3, 3) / 2), f"{self._pick(*self._indices)} * 0.25"]
        return self._pick(*choices)

    def _value(self) -> str:
        x, y = self._operand(), self._operand()
        return self._pick(
            f"{x} * 0.5 + {y} * 0.25", f"{x} - 0.5 * {y}", f"math.sin({x})", f"({x} if {y} > 0.1 else 0.25)"
        )

    def _statement(self) -> str:
        target, value = self._target(), self._value()
        if self._plain:
            return self._pick(
                f"{target} = {value}",
                f"{target} += 0.125 * {value}",
                f"s = s + {value}",
                f"p = p * (1.0 + 0.01 * {value})",
                f"low = min(low, {value})",
                f"top = max({value}, top)",
            )
        return self._pick(
            f"{target} = {value}",
            f"{target} = {value}",
            f"{target} += 0.125 * {value}",
            f"{target} -= 0.125 * {value}",
            f"s = s + {value}",
            f"s -= {value}",
            f"p = p * (1.0 + 0.01 * {value})",
            f"low = min(low, {value})",
            f"top = max({value}, top)",
            f"if {self._operand()} < low: low, place = {self._operand()}, {self._pick(*self._indices)}",
            "k += 2",
            f"s = {value}",
        )
