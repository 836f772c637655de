"""Random programs with loops, as the text of a function ``f(x, y, n)``: `x` and `y` are arrays of six
elements, which it writes copies of, and `n` is an integer from 0 to 6."""

from __future__ import annotations

import random

_HEADER = """def f(x, y, n):
    u = x * 1.0
    v = y * 1.0
    s = 0.0
    t = 1.5
    k = 0
    items = []
"""
_RETURN = "return u, v, s, t, k, items"
_FOOTER = f"    {_RETURN}\n"
#: The numbers and arrays of a program.
_NUMBERS = ("s", "t")
_ARRAYS = ("u", "v")


class Generator:
    """Makes programs from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._indices: list[str] = []
        self._depth = 0
        self._whiles = 0
        self._branches = 0

    def program(self) -> str:
        """The text of a function."""
        lines = []
        for _ in range(self._random.randint(1, 2)):
            lines += self._loop() if self._random.random() < 0.8 else self._statement()
        body = "".join(f"    {line}\n" for line in lines)
        return _HEADER + body + _FOOTER

    def _pick(self, *choices: str) -> str:
        return self._random.choice(choices)

    # -- expressions -------------------------------------------------------------------------------

    def _index(self) -> str:
        if not self._indices:
            return str(self._random.randint(-6, 5))
        i = self._pick(*self._indices)
        if i.startswith("m"):  # counted before it is used
            i = f"({i} - 1)"
        return self._pick(i, i, f"{i} - 1", f"({i} + {self._random.randint(1, 5)}) % 6", "k % 6")

    def _operand(self) -> str:
        choices = [*_NUMBERS, f"{self._pick('u', 'v', 'x', 'y')}[{self._index()}]"]
        choices += [str(self._random.randint(-2, 3) / 2)]
        if self._indices:
            choices += [f"{self._pick(*self._indices)} * 0.5"]
        return self._pick(*choices)

    def _value(self) -> str:
        a, b = self._operand(), self._operand()
        forms = [f"{a} * 0.5 + {b} * 0.25", f"{a} - {b} * 0.5", f"0.5 * {a}"]
        if self._depth:  # outside of loops it makes a Python number, which has no gradient
            forms.append(f"math.sin({a})")
        forms += [f"min({a}, {b})", f"max({a}, {b})", f"abs({a}) * 0.5", f"({a} if {self._test()} else {b})"]
        return self._pick(*forms)

    def _test(self) -> str:
        a, b = self._operand(), self._operand()
        choices = [f"{a} > {b}", f"{a} < {b} + 0.3", "k % 2 == 0", f"-0.7 < {a} <= 0.9"]
        choices += [f"{a} > 0.1 and {b} < 0.8", f"{a} < -0.5 or not {b} > 0.2"]
        if self._indices:
            i = self._pick(*self._indices)
            choices += [f"{i} > 2", f"{i} % 2 == 1", f"{i} == n - 1", f"{i} in (0, 3, 5)"]
        return self._pick(*choices)

    # -- statements --------------------------------------------------------------------------------

    def _block(self, most: int = 3) -> list[str]:
        lines: list[str] = []
        for _ in range(self._random.randint(1, most)):
            lines += self._statement()
        return lines

    def _statement(self) -> list[str]:
        kind = self._random.random()
        if kind < 0.3:
            name = self._pick(*_NUMBERS)
            if self._random.random() < 0.4:
                return [f"{name} {self._pick('+=', '-=')} {self._value()} * 0.5"]
            # outside of loops two names of one tensor of rank 0 change together, as PyTorch's do
            new = "" if self._depth else " + 0.0"
            return [f"{name} = {self._value()}{new}"]
        if kind < 0.55:
            array, operator = self._pick(*_ARRAYS), self._pick("=", "=", "+=", "-=")
            return [f"{array}[{self._index()}] {operator} {self._value()}"]
        if kind < 0.62:
            return ["k += 1"]
        if kind < 0.65:
            return ["s, t = t, s"]
        if kind < 0.67:
            return ["u, v = v, u"]
        if kind < 0.68 and self._depth:
            return [f"items.append({self._value()} + 0.0)"]
        if kind < 0.70:
            return [f"w = {self._value()}", "s = w * 0.5 + 0.1"]
        if self._branches < 2 and (kind < 0.85 or self._depth >= 2):
            return self._conditional()
        return self._loop() if self._depth < 3 else ["t = t * 0.5 + s * 0.25"]

    def _conditional(self) -> list[str]:
        self._branches += 1
        jumps = self._depth and self._random.random() < 0.25
        lines = [f"if {self._test()}:", *_indented(self._block(2))]
        if jumps:
            lines.append("    " + self._pick("break", "continue", "break", _RETURN))
        if self._random.random() < 0.3:
            lines += [f"elif {self._test()}:", *_indented(self._block(2))]
        if self._random.random() < 0.5:
            lines += ["else:", *_indented(self._block(2))]
        self._branches -= 1
        return lines

    def _loop(self) -> list[str]:
        self._depth += 1
        number = self._depth
        index = "ijl"[number - 1]
        kind = self._random.random()
        header: list[str] = []
        start = "0"
        footer: list[str] = []
        indices = [index]
        if kind < 0.15:
            self._whiles += 1
            index = f"m{self._whiles}"
            indices = [index]
            header = [f"{index} = {self._pick('0', '0', 'n')}"]
            line = f"while {index} < {self._pick('n', '4', '6')}" + self._pick("", " and s < 3.0") + ":"
            footer = [f"{index} += 1"]
        elif kind < 0.25:
            line = f"for {index}, e in enumerate({self._pick('x', 'u')}):"
        elif kind < 0.32:
            stop = self._pick("n", "5")
            start = f"{stop} - 1"
            line = f"for {index} in reversed(range({stop})):"
        else:
            outer = self._indices[-1] if self._indices and not self._indices[-1].startswith("m") else "n"
            bounds = self._pick(
                "n", "n", "5", "6", "1, n", "0", "4, -1, -1", "n - 1, -1, -1", "0, 6, 2", "3, 3",
                f"{outer}", f"{outer}, 6", "5, 0, -2", "1, 2",
                "0, 6, n + 1", "5, -1, -n - 1", "1, 6, n % 3 + 1",
            )  # fmt: skip
            start = bounds.split(",")[0] if "," in bounds else "0"
            line = f"for {index} in range({bounds}):"
        self._indices += indices
        body = self._block(2)
        if not index.startswith("m") and self._random.random() < 0.1:  # a variable of the loop's own
            first = [f"if {index} == {start}:", f"    p = {self._value()}", "else:", "    p = p * 0.5 + 0.1"]
            body = [*first, "s = p", *body]
        if footer:  # before a continue could pass over it
            body = [footer[0], *body]
        self._indices = self._indices[: len(self._indices) - 1]
        lines = [*header, line, *_indented(body)]
        if self._random.random() < 0.1:
            lines += ["else:", "    s = s * 0.5 + 0.25"]
        self._depth -= 1
        return lines


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]
