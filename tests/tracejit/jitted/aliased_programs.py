"""Random functions that write one of their objects and read others, called with objects of several names.

A program is the text of a function of two or three parameters, each an array, a list or dict of arrays, or a
tuple with such a list. It returns a number and arrays that it reaches, or views of them: of the results of a
jitted function no two share memory, nor does one with anything else, but that a new tensor may be in a
container as well. It is called several times, each time with another pattern: one object twice, views of one
array with and without overlap, containers that share leaves, and objects that the function finds outside, in
globals, in a closure and in an attribute. Python on NumPy arrays tells what is right, in a world of its own
that is built alike; the arrays of every other program are tensors.
``python -m tests.tracejit.jitted.aliased_programs --seconds 60`` goes on.
"""

from __future__ import annotations

import argparse
import random
import time
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import tracejit as tj

KINDS = ("array", "list", "dict", "nested")
#: Arrays and containers that the function finds outside; one array is a view.
OUTSIDE = ("G", "V", "held.array", "near", "GL[-1]", "GD['a']", "held.items[0]")
_HEADER = """\
def make(near):
    def f({parameters}):
        acc = 0.0
{body}
        return [acc, {results}]
    return f
"""


class Program:
    """The function of a seed, and the patterns in which it is called."""

    def __init__(self, seed: int, calls: int = 4) -> None:
        self._random = random.Random(seed)
        self.kinds = [self._random.choice(KINDS) for _ in range(self._random.choice((2, 2, 3)))]
        names = [f"p{i}" for i in range(len(self.kinds))]
        lines = [self._line(names) for _ in range(self._random.randint(2, 4))]
        body, results = "\n".join(f"        {x}" for x in lines), ", ".join(self._results(names))
        self.text = _HEADER.format(parameters=", ".join(names), body=body, results=results)
        first = [[self._choice(kind) for kind in self.kinds] for _ in range(2)]
        self.patterns = [self._random.choice(first) for _ in range(calls - 2)]
        self.patterns = [first[0], *self.patterns, [self._choice(kind) for kind in self.kinds]]

    # -- the text ----------------------------------------------------------------------------------

    def _line(self, names: list[str]) -> str:
        pick = self._random.choice
        position = self._random.randrange(len(names))
        name, kind = names[position], self.kinds[position]
        what = self._random.random()
        if what < 0.1:
            return f"acc = acc + (2.0 if {pick(names)} is {pick([*names, 'GL', 'G'])} else 3.0)"
        if what < 0.3:
            return f"acc = acc * 0.5 + {pick(OUTSIDE)}{pick(('[0]', '.sum()', '[-1]'))}"
        if what < 0.6:
            return f"acc = acc * 0.5 + {self._leaf(name, kind)}{pick(('[0]', '.sum()', '[-1]', '[1]'))}"
        return self._write(name, kind, self._value(names))

    def _leaf(self, name: str, kind: str) -> str:
        if kind == "array":
            return name
        if kind == "dict":
            return f"{name}['a']"
        container = f"{name}[0]" if kind == "nested" else name
        return f"{container}[{self._random.choice((0, -1))}]"

    def _results(self, names: list[str]) -> list[str]:
        pick = self._random.choice
        leaves = [self._leaf(name, kind) for name, kind in zip(names, self.kinds, strict=True)]
        return [pick((*leaves, pick(OUTSIDE))) + pick(("", "", "[1:]", "[::-1]", " * 1.5")) for _ in range(2)]

    def _value(self, names: list[str]) -> str:
        position = self._random.randrange(len(names))
        leaf = self._leaf(names[position], self.kinds[position])
        return self._random.choice(
            (f"{leaf} * 1.5", f"{leaf} + 1.0", f"{leaf} - {self._random.choice(OUTSIDE)}")
        )

    def _write(self, name: str, kind: str, value: str) -> str:
        pick = self._random.choice
        leaf = self._leaf(name, kind)
        in_place = [f"{leaf}[{pick((0, 1, -1))}] = {pick(('7.0', 'acc', '-1.0'))}", f"{leaf}[:] = {value}"]
        in_place += [f"{leaf}[1:] *= 2.0", f"{leaf}[{pick((0, 2))}] += 1.0"]
        if kind == "array":
            return pick(in_place)
        if kind == "dict":
            return pick((f"{name}['a'] = {value}", f"{name}['b'] = {value}", pick(in_place)))
        container = f"{name}[0]" if kind == "nested" else name
        return pick((f"{container}.append({value})", f"{container}[0] = {value}", pick(in_place)))

    # -- the calls ---------------------------------------------------------------------------------

    def _choice(self, kind: str) -> tuple[str, int]:
        """The source of an argument: an object of the world of its kind."""
        return kind, self._random.randrange(8 if kind == "array" else 5)


class World:
    """Objects that calls pass and that functions find outside, built alike each time, of what `make` makes of
    arrays."""

    def __init__(self, make: Callable[[Any], Any] = np.array) -> None:
        self.base = make(np.arange(1.0, 8.0))
        self.outer = make(np.linspace(-1.0, 1.0, 5))
        near = self.outer[:3]
        self.near = near
        captured = make([0.5, 0.25, 2.0])
        self.held = types.SimpleNamespace(array=self.base[3:6], items=[make([3.0, 2.0, 1.0])])
        self.names: dict[str, Any] = {
            "G": captured, "V": self.outer[1:4], "GL": [captured, make([1.0, 1.5, 2.0])],
            "GD": {"a": self.base[:3]}, "held": self.held,
        }  # fmt: skip
        self.arrays = [
            self.base[:3], self.base[1:4], self.base[4:7], self.base[:6:2], captured, self.outer[2:5], near,
            self.base[2::-1],
        ]  # fmt: skip
        shared = [self.arrays[0], make([4.0, 5.0, 6.0])]
        self.lists = [
            shared, [self.arrays[0], shared[1]], self.names["GL"], [self.arrays[1], captured], self.held.items
        ]  # fmt: skip
        self.dicts: list[dict[str, Any]] = [
            {"a": self.arrays[0]}, {"a": self.arrays[2]}, self.names["GD"], {"a": near}, {"a": shared[1]}
        ]  # fmt: skip

    def argument(self, choice: tuple[str, int]) -> Any:
        """The object that a program's pattern chooses."""
        kind, number = choice
        if kind == "array":
            return self.arrays[number]
        if kind == "nested":
            return (self.lists[number], self.arrays[number])
        return (self.lists if kind == "list" else self.dicts)[number]

    def function(self, text: str) -> Callable[..., Any]:
        """The function of a program in this world."""
        scope = self.names | {"__name__": "aliased"}
        exec(text, scope)
        function: Callable[..., Any] = scope["make"](self.near)
        return function

    def values(self) -> list[Any]:
        """The elements of all objects that there are."""
        return [[np.array(leaf) for leaf in _leaves(tree)] for tree in self._trees()]

    def objects(self) -> dict[int, Any]:
        """All tensors and arrays that there are, by their identities."""
        return {id(leaf): leaf for tree in self._trees() for leaf in _leaves(tree)}

    def _trees(self) -> list[Any]:
        return [self.base, self.outer, self.names["G"], *self.lists, *self.dicts]


def _leaves(tree: Any) -> list[Any]:
    if isinstance(tree, dict):
        return [tree[key] for key in sorted(tree)]
    return list(tree) if isinstance(tree, list) else [tree]


def check(seed: int) -> int:
    """Assert that the program `seed` does what Python does; how many of its calls ran as Python."""
    program = Program(seed)
    plain, compiled = World(), World(tj.tensor if seed % 2 else np.array)
    function, jitted = plain.function(program.text), tj.jit(compiled.function(program.text))
    uncompiled = 0
    for number, pattern in enumerate(program.patterns):
        about = f"seed {seed}, call {number} with {pattern}\n{program.text}"
        try:
            expected: Any = [np.array(result) for result in function(*map(plain.argument, pattern))]
        except Exception as error:  # an object has lost what the function looks for
            expected = type(error)
        known = compiled.objects()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                result: Any = jitted(*map(compiled.argument, pattern))
            except Exception as error:
                if not isinstance(expected, type):
                    raise AssertionError(f"{about}\n{type(error).__name__}: {error}") from error
                return uncompiled
        uncompiled += any(warning.category is tj.UncompiledCallWarning for warning in told)
        assert not isinstance(expected, type), about
        for got, want in zip(result, expected, strict=True):
            np.testing.assert_allclose(np.asarray(got), want, rtol=1e-12, err_msg=about)
        objects = compiled.objects()
        for index, written in enumerate(result):
            assert id(written) not in known, about
            if id(written) not in objects:
                written[...] = np.nan
            assert not any(np.isnan(np.asarray(other)).any() for other in result[index + 1 :]), about
        for before, after in zip(plain.values(), compiled.values(), strict=True):
            assert len(before) == len(after), about
            for want, got in zip(before, after, strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-12, err_msg=about)
    return uncompiled


def main() -> None:
    """Check programs of new seeds for some time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=None, help="the first; else by the clock")
    options = parser.parse_args()
    first = options.seed if options.seed is not None else time.time_ns() % 1_000_000_000
    start, count, failures, uncompiled = time.monotonic(), 0, 0, 0
    while time.monotonic() - start < options.seconds:
        try:
            uncompiled += check(first + count)
        except AssertionError as error:
            failures += 1
            print(error)
        count += 1
    print(f"{count} programs from seed {first}: {failures} failures, {uncompiled} warned of calls as Python")


if __name__ == "__main__":
    main()
