"""Random programs whose decisions come before, between and behind effects and callbacks, against Python:
``python -m tests.tracejit.jitted.effect_programs``.

A program is the text of ``f(x, note, host)``: `x` has four numbers, `note` is an effect, and `host` gives a
number by a callback.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tracejit as tj
from tests.tracejit.loops.checking import load

CALLS = 6


class EffectGenerator:
    """Makes programs from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._number = 0

    def program(self) -> str:
        """The text of a function."""
        lines = ["s = x[0] * 1.0", *self._block(0), *self._note(), *self._block(0), "return s"]
        return "def f(x, note, host):\n" + "".join(f"    {line}\n" for line in lines)

    def _pick(self, *choices: str) -> str:
        return self._random.choice(choices)

    def _value(self) -> str:
        return self._pick("s", "x[0]", "x[1]", "x[2]", "x[3] + s", "x[1] * x[2]")

    def _test(self) -> str:
        return f"{self._value()} {self._pick('<', '>')} {self._pick('-0.5', '0.0', '0.3', '1.0', 'x[3]')}"

    def _note(self) -> list[str]:
        self._number += 1
        return [f"note({self._number}, {self._value()})"]

    def _block(self, depth: int) -> list[str]:
        lines: list[str] = []
        for _ in range(self._random.randint(1, 3)):
            lines += self._statement(depth)
        return lines

    def _statement(self, depth: int) -> list[str]:
        kind = self._random.random()
        if kind < 0.3:
            return self._note()
        if kind < 0.5:
            return [f"s = s * 0.5 + host({self._value()})"]
        if kind < 0.55:
            return [f"s = s + x[int(min(abs({self._value()}) * 3.0, 4.0))]"]
        if kind < 0.6 and depth:
            return [f"if {self._test()}:", "    raise ValueError('refused')"]
        if depth == 2 or kind < 0.66:
            return [f"s = s * 0.5 + {self._value()}"]
        if kind < 0.72:
            inner = self._note() if self._random.random() < 0.5 else [f"s = s + abs(host({self._value()}))"]
            return [f"while s < {self._pick('0.4', '1.5')}:", *_indented([*inner, "s = s * 0.5 + 1.0"])]
        if kind < 0.8:
            body = [*self._note(), f"s = s + x[i] * {self._pick('0.5', '0.25')}"]
            if self._random.random() < 0.5:
                body += ["if s > 1.0:", f"    {self._pick('break', 'continue', 'return s')}"]
            return ["for i in range(4):", *_indented([*body, *self._note()])]
        lines = [f"if {self._test()}:", *_indented(self._block(depth + 1))]
        if self._random.random() < 0.4:
            lines.append(f"    return s * {self._pick('1.0', '2.0')}")
        if self._random.random() < 0.6:
            lines += ["else:", *_indented(self._block(depth + 1))]
        return lines


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


class _Log:
    """Effects in order, and inputs of callbacks."""

    def __init__(self, worst: float) -> None:
        self.effects: list[tuple[int, float]] = []
        self.inputs: list[float] = []
        self.worst = worst

    def note(self, number: int, value: Any) -> None:
        def run(number: int, value: Any) -> None:
            self.effects.append((number, round(float(value), 9)))
            if value > self.worst:
                raise ValueError("too large")

        tj.debug.callback(run, number, value)

    def host(self, value: Any) -> Any:
        def run(value: Any) -> Any:
            self.inputs.append(round(float(value), 9))
            return np.float64(np.tanh(value))

        return tj.pure_callback(run, tj.TensorType(tj.float64, ()), value)

    def outcome(self, function: Callable[..., Any], x: Any, names: Callable[[Any], Any]) -> Any:
        """The outcome of a call: its result or error, its effects, and the inputs of its callbacks."""
        self.effects, self.inputs = [], []
        try:
            result: Any = round(float(function(names(x))), 9)
        except (IndexError, ValueError) as error:
            kind = "IndexError" if isinstance(error, IndexError) else "ValueError"
            return kind, self.effects, None  # what nothing needs is not computed
        return result, self.effects, sorted(self.inputs)


def check(seed: int, folder: Path) -> int:
    """Assert that calls of the program `seed` do what Python does, as often; how many calls."""
    program = load(EffectGenerator(seed).program(), f"effects_{seed}", folder)
    log = _Log(random.Random(seed).choice([1.5, 9.0, 9.0]))
    jitted = tj.jit(lambda x: program(x, log.note, log.host), max_paths=1000)
    rng = np.random.default_rng(seed)
    points = [rng.uniform(-1, 1.4, 4) for _ in range(CALLS)]
    for requires_grad in (False, False, True):  # each path when it is traced, and when it is there
        for x in points:
            expected = log.outcome(lambda x: program(x, log.note, log.host), x, np.array)
            result = log.outcome(jitted, x, lambda x, flag=requires_grad: tj.tensor(x, requires_grad=flag))
            assert result == expected, (x.tolist(), requires_grad)
    return 3 * CALLS


def main() -> int:
    """Check many programs; 1 where one differs."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.tracejit.jitted.effect_programs", description=main.__doc__
    )
    parser.add_argument("--first", type=int, default=0, help="the seed of the first program")
    parser.add_argument("--programs", type=int, default=200, help="how many")
    options = parser.parse_args()
    failed = calls = 0
    for seed in range(options.first, options.first + options.programs):
        with tempfile.TemporaryDirectory() as folder:
            try:
                calls += check(seed, Path(folder))
            except Exception as error:
                failed += 1
                message = " ".join(f"{type(error).__name__}: {error}".split())[:400]
                print(f"program {seed}: {message}", flush=True)
    print(f"seeds {options.first} to {seed}: {calls} calls compared, {failed} programs differ", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
