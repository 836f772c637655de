"""Arrays that are written as a whole are not filled, and nothing reads what was never written: random
programs, whose unwritten elements are NaN in the interpreter."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.tracejit.loops.checking import load
from tracejit.ir.graph import Function
from tracejit.ir.interpreter import interpret
from tracejit.ir.passes import OPTIMIZE, layout, run_passes
from tracejit.ir.passes.layout import fills

_BEFORE = tuple(pass_ for pass_ in OPTIMIZE if pass_.name != "drop-fills")


class _Program:
    """A program that makes an array of 6 elements, or of 6 rows of 4, and writes it by pieces."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.rank = self.random.randint(1, 2)

    def text(self) -> str:
        fill = self.random.choice(("np.zeros({})", "np.empty({})", "np.full({}, 3.0)"))
        lines = [f"y = {fill.format('6' if self.rank == 1 else '(6, 4)')}", "s = 0.0"]
        for _ in range(self.random.randint(1, 3)):
            lines += self.piece()
        body = "".join(f"    {line}\n" for line in lines)
        return f"import numpy as np\n\n\ndef f(x):\n{body}    return y, s\n"

    def range(self, size: int) -> str:
        low, high = self.random.choice(((0, size), (0, size), (1, size), (0, size - 1), (2, size)))
        down = f"range({high - 1}, {low - 1}, -1)"
        return self.random.choice((f"range({low}, {high})",) * 3 + (down, f"range({low}, {high}, 2)"))

    def piece(self) -> list[str]:
        choice = self.random.random()
        if choice < 0.2:
            at = self.random.choice((0, 0, 5, -1))
            return [f"y[{at}] = x[{at}, 0]" if self.rank == 1 else f"y[{at}, 0] = x[{at}, 0]"]
        if choice < 0.35 and self.rank == 2:
            at = self.random.choice((0, 0, 3))
            return [f"for i in {self.range(6)}:", f"    y[i, {at}] = s", "    s = s * 0.5 + x[i, 1]"]
        if self.rank == 1:
            return [f"for i in {self.range(6)}:", *self.indented(self.step("i"))]
        column = self.random.choice((self.range(4), "range(i, 4)", "range(4)"))
        before = ["y[i, 0] = x[i, 0]"] if self.random.random() < 0.4 else []
        inner = [*before, f"for j in {column}:", *self.indented(self.step("i, j"))]
        return [f"for i in {self.range(6)}:", *self.indented(inner)]

    def step(self, place: str) -> list[str]:
        """A step that writes at `place`."""
        x = f"x[{place if self.rank == 2 else place + ', 0'}]"
        last = "y[i - 1]" if self.rank == 1 else self.random.choice(("y[i, j - 1]", "y[i - 1, j]"))
        write = self.random.choice((
            [f"y[{place}] = s"], [f"y[{place}] = {x}"], [f"y[{place}] = {last} * 0.5 + s"],
            [f"y[{place}] = s", f"y[{place}] += {x}"], [f"y[{place}] += s"],
            [f"if {x} > 0.5:", f"    y[{place}] = s", "else:", f"    y[{place}] = -{x}"],
            [f"if {x} > 0.5:", f"    y[{place}] = s"],
            [f"y[{place}] = s", f"s += {last}"],
        ))  # fmt: skip
        return [*write, f"s = s * 0.5 + {x}"]

    @staticmethod
    def indented(lines: list[str]) -> list[str]:
        return ["    " + line for line in lines]


def _programs(seed: int, folder: Path) -> tuple[Any, Any]:
    function = load(_Program(seed).text(), f"filled_{seed}", folder)
    return function, np.random.default_rng(seed).uniform(size=(6, 4))


def _empties(function: Function) -> int:
    return sum(
        (instruction.op.name == "empty") + sum(map(_empties, instruction.regions))
        for instruction in function.body
    )


def _check(seed: int, folder: Path) -> int:
    """The number of arrays of the program `seed` that are not filled."""
    function, x = _programs(seed, folder)
    traced = tj.jit(function, loops="compiled").trace(x)
    before = run_passes(traced, _BEFORE)
    after = fills.drop_fills(before)
    for result, expected in zip(interpret(after, [x]), interpret(before, [x]), strict=True):
        np.testing.assert_array_equal(result, expected)
    for result, expected in zip(tj.jit(function, loops="compiled")(x), function(x), strict=True):
        if "np.empty" not in _Program(seed).text():
            np.testing.assert_allclose(result, expected, rtol=1e-12)
    return _empties(after)


def test_what_is_not_filled_is_written_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layout, "MIN_FILL", 1)
    counts = [_check(seed, tmp_path) for seed in range(60)]
    assert 8 <= sum(map(bool, counts)) <= 52, counts


def test_elements_that_no_step_writes_are_those_of_the_fill() -> None:
    @tj.jit
    def f(x):  # type: ignore[no-untyped-def]
        y = np.full(len(x), 7.0)
        last = 0.0
        for i in range(1, len(x)):
            last = 0.5 * last + x[i]
            y[i] = last
        return y

    x = np.ones(2000)
    for _ in range(5):
        assert f(x)[0] == 7.0
