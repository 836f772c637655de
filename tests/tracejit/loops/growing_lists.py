"""Random programs of loops that append to lists under conditions, and of what is done with such lists."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

from .checking import load

#: Items: all of one list are of one of these groups.
ITEMS = (
    ("x[i]", "x[i] * s", "-x[i]", "x[i] ** 2", "0.5", "0"),
    ("i", "2 * i", "i - 3", "7"),
    ("x[i] > 0.5", "s < x[i]"),
    ("(i, x[i])", "(i + 1, s)", "(0, x[i] * s)"),
)
CONDITIONS = (
    "x[i] > 0",
    "x[i] < t",
    "s * x[i] > 0.1",
    "x[i] > 0 and i > 2",
    "abs(x[i]) < 0.5 or x[i] > t",
    "i % 3 == 1",
)
#: Uses by the group of the items; each expression is a number, an array or a list.
USES = (
    ("{a}", "len({a})", "np.array({a})", "np.asarray({a}) * 2", "sum({a})", "max({a}) if {a} else 0.0",
     "[{a}[-1], {a}[0]] if len({a}) else 0", "np.array({a}).sum()", "min({a}) if len({a}) > 0 else 1.0",
     "any({a})", "weighted({a})", "sum({a}) / (len({a}) + 1)"),
    ("{a}", "len({a})", "sum({a})", "picked({a}, x)", "max({a}) if {a} else -1", "np.array({a}).sum()"),
    ("{a}", "len({a})", "sum({a})", "any({a})", "all({a})"),
    ("{a}", "len({a})", "weighted_pairs({a})"),
)  # fmt: skip
HELPERS = """
import numpy as np


def weighted(items):
    total = 0.0
    for k, item in enumerate(items):
        total += item * (k + 1)
    return total


def picked(items, x):
    total = 0.0
    for item in items:
        total += x[item % len(x)]
    return total


def weighted_pairs(items):
    total = 0.0
    for first, second in items:
        total = 0.5 * total + first * second
    return total
"""


class Program:
    """The source of a function `f(x, t)` with loops that append."""

    def __init__(self, seed: int) -> None:
        self.choice = random.Random(seed)
        self.lists = {
            name: self.choice.randrange(len(ITEMS)) for name in ("a", "b")[: self.choice.choice((1, 1, 2))]
        }
        lines = ["s = 1.0"]
        for name in self.lists:
            lines.append(f"{name} = []")
        for _ in range(self.choice.choice((1, 1, 2))):
            lines += self.loop()
        uses = [
            self.choice.choice(USES[group]).format(a=name)
            for name, group in self.lists.items()
            for _ in range(2)
        ]
        lines.append(f"return s, {', '.join(uses)}")
        self.source = "\n".join([HELPERS, "", "def f(x, t):", *["    " + line for line in lines], ""])

    def loop(self) -> list[str]:
        kind = self.choice.choice(("range", "range", "enumerate", "while", "nested"))
        body = self.body()
        if kind == "range":
            return ["for i in range(len(x)):", *_indented(body)]
        if kind == "enumerate":
            return ["for i, v in enumerate(x):", *_indented([*body, "s = s + 0.1 * v"])]
        if kind == "while":
            body = [line for line in body if "continue" not in line and "break" not in line]
            return ["i = 0", "while i < len(x):", *_indented([*body, "i += 1"])]
        inner = ["for i in range(k + 1, len(x)):", *_indented(body)]
        return ["for k in range(len(x)):", *_indented([*self.appends(1, "k"), *inner])]

    def body(self) -> list[str]:
        lines = []
        if self.choice.random() < 0.3:
            jump = self.choice.choice(("break", "continue"))
            lines.append(f"if {self.choice.choice(('x[i] > 1.2', 'x[i] < -1.2'))}: {jump}")
        lines += self.appends(2, "i")
        lines.append(self.choice.choice(("s = 0.9 * s + 0.1 * x[i]", "s = max(s, x[i])", "pass")))
        return lines + self.appends(1, "i")

    def appends(self, depth: int, index: str) -> list[str]:
        lines = []
        for _ in range(self.choice.choice((0, 1, 1, 2))):
            name = self.choice.choice(list(self.lists))
            item = self.choice.choice(ITEMS[self.lists[name]])
            line = f"{name}.append({item})"
            if self.choice.random() < 0.7:
                lines += [f"if {self.choice.choice(CONDITIONS)}:", f"    {line}"]
                if depth > 1:
                    lines += _indented(self.appends(1, "i"))
                if self.choice.random() < 0.4:
                    other = self.appends(depth - 1, "i") if depth > 1 else []
                    lines += ["else:", *_indented(other or [line])]
            else:
                lines.append(line)
        return [re.sub(r"\bi\b", index, line) for line in lines]


def _indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines or ["pass"]]


def function_of(seed: int, folder: Path) -> Any:
    """The function of the program number `seed`, whose source is a file in `folder`."""
    return load(Program(seed).source, f"growing_{seed}", folder)
