"""Random programs whose loops are left before their tests would fail, as the text of ``f(x, k, t)``: `x` has
six numbers, `k` the integers from 0 to 5 in some order, and `t` is a number.

The tests index, divide integers and call helpers that loop."""

from __future__ import annotations

import random

_HEADER = """def peek(x, i):
    return x[i] + 0.5


def first(x, i):
    while x[i] < 0.0:
        i += 1
        if i >= len(x):
            break
    return i


def f(x, k, t):
    x = x * 1.0
    s = 0.0
    a = b = c = 0
"""
_FOOTER = "    return s, a, b, c\n"


class ExitGenerator:
    """Makes programs from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def program(self) -> str:
        """The text of a function."""
        lines = self._loop(0)
        if self._random.random() < 0.4:
            lines += self._loop(0)
        return _HEADER + "".join(f"    {line}\n" for line in lines) + _FOOTER

    def _pick(self, *choices: str) -> str:
        return self._random.choice(choices)

    def _test(self, i: str) -> str:
        limit = self._pick("t", "t", "t * 2", "x[0] + 3.0")
        fallible = [
            f"x[{i}] < {limit}",
            f"x[k[{i}]] < {limit}",
            f"peek(x, {i}) < {limit}",
            f"-9.0 < x[{i}] < {limit}",
            f"not x[{i}] > {limit}",
            f"12 // (6 - k[{i}]) < 20",
            f"k[{i}] + 12 // (7 - {i}) < 99",
            f"x[first(x, {i})] < 1.0 + {limit}",
            f"x[{i}] < {limit} and x[k[{i}]] < 2.0",
            f"x[{i}] < {limit} or x[k[{i}]] > 9.0",
            f"(x[{i}] if {i} % 2 == 0 else x[k[{i}]]) < {limit}",
        ]
        return self._pick(*fallible, "True", f"s < 20.0 + {limit}")

    def _leave(self, i: str) -> list[str]:
        """Lines that leave the loop before `i` is out of range."""
        last = self._pick("6", "6", "6", "5", "7")
        test = self._pick(f"{i} >= {last}", f"{i} >= {last}", f"{i} >= {last} or s > 30.0")
        leave = self._pick("break", "break", "break", "return s, a, b, c", "return -s, b, a, c")
        return [f"if {test}:", f"    s += {self._pick('0.5', '2.0')}", f"    {leave}"]

    def _jump(self, i: str) -> list[str]:
        """A statement that may leave the step, or the loop, earlier."""
        test = self._pick(f"x[{i} - 1] > t", f"{i} % 3 == 2", f"k[{i} - 1] == 4", "s > 12.0")
        return [f"if {test}:", "    s += 0.25", "    " + self._pick("continue", "break", "return s, c, b, a")]

    def _loop(self, depth: int) -> list[str]:
        i = "abc"[depth]
        inner: list[str] = []
        if depth < 2 and self._random.random() < 0.5:
            inner = self._loop(depth + 1)
        if self._random.random() < 0.75:
            lines = [f"{i} = {self._pick('0', '0', '1')}", f"while {self._test(i)}:"]
            body = [f"{i} += 1"]
        else:
            lines = [f"for {i} in range(1, {self._pick('7', '6', 'len(x) + 1')}):"]
            body = []
        body.append(f"s += {self._pick('1.0', f'x[{i} - 1]', f'x[{i} - 1] * 0.5')}")
        if self._random.random() < 0.3:
            body.append(f"x[{i} - 1] += {self._pick('0.125', 's * 0.01')}")
        rest = [self._leave(i), *([inner] if inner else []), *([self._jump(i)] if self._half() else [])]
        if not self._half():
            self._random.shuffle(rest)
        for part in rest:
            body += part
        lines += [f"    {line}" for line in body]
        if self._half():
            lines += ["else:", f"    s += {self._pick('100.0', 't')}"]
        return lines

    def _half(self) -> bool:
        return self._random.random() < 0.5
