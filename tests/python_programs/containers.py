"""Random programs in which loops and branches give lists, dicts and objects several names, and which change
one of them by one name and read it by another.

Steps of the loops hand containers on and make new ones, and mostly write none, so that they are compiled. A
change behind the loops, or in an outer step, must be seen by every name, as in Python.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from .place import indented

_MODULE = """from dataclasses import dataclass

import numpy as np


@dataclass
class Pair:
    s: object
    r: object


def same(d, e, v):
    return d if v > 0.25 else e


def both(d, e):
    return (d, e), [d]


def put(d, v):
    d["s"] = v


def undone(d, e, v):
    kept = d["s"]
    d.update(s=v)
    v = e["s"]
    d["s"] = kept
    return v


def searched(d, e, x, v):
    for q in range(len(x)):
        if x[q] > v:
            return e, [e]
    return d, [d]


def renewed(d, x, n):
    for q in range(n):
        d = {"s": d["s"] * 0.5 + x[q % 6], "r": d["r"]}
    return d


def f(x, a, n, z, y):
    k, s = 0, 0.0
    d, e = {"s": z, "r": x * 1.0}, {"s": 0.5, "r": x * 0.5}
    b = d
    l, q = [z, x * 2.0], [1.0, x + 1.0]
    o, v = Pair(z, x + 2.0), Pair(0.5, x - 1.0)
    c = (d, e)
    g = {"p": d, "q": [e]}
"""
_RESULT = (
    "(k, s, d['s'], e['s'], b['s'], d['r'], c[0]['s'], c[1]['s'], g['p']['s'], g['q'][0]['s'], "
    "l[0], q[0], len(l), len(q), len(d), len(e), len(g['q']), o.s, v.s)"
)
_LOOPS = ("range(n)", "range(3)", "range(6)", "range(n % 3)", "range(1, 4)")


@dataclass
class ContainerPrograms:
    """Writes the program of a seed."""

    seed: int
    random: random.Random = field(init=False)
    #: Whether statements write items: by their text a loop is refused sooner than by a call of a function.
    writes_items: bool = field(init=False)
    #: Whether the program compares containers by identity.
    compares: bool = field(init=False)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.writes_items = self.random.random() < 0.25
        self.compares = self.random.random() < 0.15

    def program(self) -> str:
        """The text of the module."""
        lines: list[str] = []
        for _ in range(self.random.randint(1, 2)):
            lines += self._loop(1)
            lines += self._changes(self.random.randint(1, 2))
        lines.append(f"return {_RESULT}")
        return _MODULE + "".join(f"    {line}\n" for line in lines)

    def _pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def _number(self) -> str:
        return self._pick("z", "x[k % 6]", "x[1] * 0.5", "0.75", "d['s'] * 0.5", "e['s'] - 0.25", "c[1]['s']")

    def _test(self) -> str:
        return self._pick("x[k % 6] > z", "x[2] < 0.5", "d['s'] > 0.5", "e['s'] < z", "k % 2 == 1", "k > 1")

    def _new(self) -> str:
        return f'{{"s": {self._number()}, "r": {self._pick("d", "e")}["r"]{self._pick("", " * 0.5")}}}'

    def _rebound(self) -> list[str]:
        """A statement that gives a container another name, or makes a new name."""
        name, other = self.random.sample(("d", "e"), 2)
        first, second = self.random.sample(("l", "q"), 2)
        left, right = self.random.sample(("o", "v"), 2)
        test, number = self._test(), self._number()
        return self.random.choice(
            (
                [f"{name} = {other}"],
                [f"{name} = {self._new()}"],
                [f"{name} = {self._new()}"],
                [f"{name} = {self._new()}", f"{other} = {name}"],
                [f"{name} = {other} = {self._new()}"],
                [f"{name}, {other} = {other}, {name}"],
                [f"{name}, {other} = {self._new()}, {name}"],
                [f"{name} = {other} if {test} else {self._pick(name, self._new())}"],
                [f"if {test}:", f"    {name} = {other}"],
                [f"if {test}:", f"    {name} = {self._new()}"],
                [f"if {test}:", f"    {name} = {other} = {self._new()}", "else:", f"    {name} = {other}"],
                [f"c = ({name}, {other})"],
                [f"c = (c[1], {name})"],
                [f"c = both({name}, {other})[0]"],
                [f"{name} = c[{self._pick('0', '1')}]"],
                [f'g = {{"p": {name}, "q": [{other}]}}'],
                [f'g = {{"p": g["p"], "q": [{name}]}}'],
                [f'g = {{"p": {name}, "q": g["q"]}}'],
                [f'{name} = g["{self._pick("p", "q")}"]'.replace('"q"]', '"q"][0]')],
                [f"{name} = same({name}, {other}, {number})"],
                [f"{name} = renewed({other}, x, {self._pick('n', '2', 'n % 2')})"],
                [f"{name}, _ = searched({name}, {other}, x, {number})"],
                [f"{name} = dict({other})"],
                [f"{name} = {other}.copy()"],
                [f"{first} = {second}"],
                [f"{first} = [{number}, {second}[1]]"],
                [f"{first} = {second} = [{number}, {second}[1]]"],
                [f"{first} = {second} if {test} else {first}"],
                [f"{left} = {right}"],
                [f"{left} = {right} if {test} else {left}"],
                [f"s = s * 0.5 + {number}"],
                ["k = (k + 1) % 5"],
                [f"k += {name} is {other}" if self.compares else "k += 1"],
            )
        )

    def _loop(self, depth: int) -> list[str]:
        body: list[str] = []
        for _ in range(self.random.randint(1, 4)):
            body += self._rebound()
        if depth < 2 and self.random.random() < 0.4:
            body += self._loop(depth + 1)
            if self.random.random() < 0.6:
                name = self._pick("d", "e")
                if self.random.random() < 0.7:
                    body.insert(0, f"{name} = {self._new()}")
                body += self._change(name)
            body += self._rebound()
        if self.random.random() < 0.2:
            body += [f"if {self._test()}:", f"    {self._pick('break', 'continue', f'return {_RESULT}')}"]
            body += self._rebound()
        if self.random.random() < 0.75:
            return [f"for i{depth} in {self._pick(*_LOOPS)}:", *indented(body)]
        count = f"h{depth}"
        steps = self._pick("n", "3", "4")
        return [f"{count} = 0", f"while {count} < {steps}:", f"    {count} += 1", *indented(body)]

    def _changes(self, most: int) -> list[str]:
        lines: list[str] = []
        for _ in range(most):
            lines += self._change(self._pick("d", "e", "b"))
        return lines

    def _change(self, name: str) -> list[str]:
        """A change of a container, by name of its names."""
        number = self._number()
        other = self._pick("d", "e")
        by_statements = (
            [f'{name}["s"] = {number}'],
            [f'{name}["s"] += 0.25'],
            [f'{name}["k"] = {number}'],
            [f"{name} |= {{'k': 0.5}}"],
            [f"both({name}, {other})[1][0]['s'] = {number}"],
            [f'c[{self._pick("0", "1")}]["s"] = {number}'],
            [f'g["q"][0]["s"] = {number}'],
            [f"{self._pick('l', 'q')}[0] = {number}"],
            [f"{self._pick('o', 'v')}.s = {number}"],
            [f'{name}["r"] = x * 4.0'],
        )
        return self.random.choice(
            (
                *(by_statements if self.writes_items else ()),
                [f"put({name}, {number})"],
                [f"put({name}, {number})"],
                [f"{name}.update(s={number})"],
                [f'{name}.pop("k", None)'],
                [f"s += undone({name}, {other}, {number})"],
                [f"s += searched({name}, {other}, x, z)[1][0]['s']", f"put({name}, {number})"],
                [f'put(g["p"], {number})'],
                [f"put(c[{self._pick('0', '1')}], {number})"],
                [f'g["q"].append({other})'],
                [f"{self._pick('l', 'q')}.append({number})"],
                [f"{self._pick('l', 'q')}.insert(0, {number})"],
                [f"setattr({self._pick('o', 'v')}, 's', {number})"],
                [f"k += {name} is {other}" if self.compares else f"{name}.update(k=z)"],
            )
        )
