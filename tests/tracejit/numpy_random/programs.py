"""Random programs that draw from NumPy's generators in loops, branches and nested loops."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import numpy as np

#: Draws of numbers and of small integers, of both kinds of generator; ``n`` and ``k`` are integers.
GENERATOR = (
    "random()", "uniform(-1.0, 2.5)", "uniform()", "normal()", "normal(0.25, 1.5)", "standard_normal()",
    "exponential(0.5)", "standard_exponential()", "uniform(s - 1.0, s + k)", "normal(s, k)",
    "normal(size=3).sum()", "gamma(0.7)", "gamma(k + 0.5, 0.5)", "random((2, n + 1)).mean()",
)  # fmt: skip
GENERATOR_INTEGERS = (
    "integers(7)", "integers(-2, 5)", "integers(0, 6, endpoint=True)", "integers(k, k + n)", "choice(5)",
    "integers(1)", "integers(k + 1)", "integers(0, 2**40) % 9", "integers(-2**63, 2**63 - 1) % 5",
    "integers(2**32) % 7", "integers(-2**63, 2**63) % 3", "integers(0, 2**33 + k) % 4", "poisson(2.5)",
    "poisson(k)", "binomial(k + 3, 0.4)", "choice(4, p=[0.1, 0.2, 0.3, 0.4])", "permutation(4)[1]",
    "choice(5, 2, replace=False).sum()", "integers(5, size=4).max()",
)  # fmt: skip
RANDOM_STATE = (
    "random()", "rand()", "random_sample()", "uniform(-1.0, 2.5)", "normal()", "normal(0.25, 1.5)", "randn()",
    "standard_normal()", "exponential(0.5)", "standard_exponential()", "uniform(s, k)", "normal(s, k)",
    "randn(3).sum()", "gamma(0.7)", "gamma(k + 0.5, 0.5)", "rand(2, 2).mean()",
)  # fmt: skip
RANDOM_STATE_INTEGERS = (
    "randint(7)", "randint(-2, 5)", "randint(k, k + n)", "choice(5)", "randint(1)", "randint(0, 2**40) % 9",
    "randint(k + 1)", "randint(2**32) % 7", "randint(-2**63, 2**63 - 1, dtype=np.int64) % 5",
    "randint(0, 2**33 + k) % 4", "poisson(2.5)", "poisson(k)", "binomial(k + 3, 0.4)", "permutation(4)[1]",
    "choice(5, 2, replace=False).sum()", "randint(5, size=4).max()",
)  # fmt: skip
#: Ways by which a program comes by a generator.
PLACES = ("argument", "global", "attribute", "np.random")
KINDS = ("PCG64", "PCG64", "MT19937", "SFC64", "Philox", "PCG64DXSM", "RandomState")


class Holder:
    """An object with a generator."""

    def __init__(self, rng: Any) -> None:
        self.rng = rng


class Generators(NamedTuple):
    """The generators of a program: the kind of each, and how the program comes by it."""

    kinds: tuple[str, ...]
    places: tuple[str, ...]

    def names(self) -> list[str]:
        """The expressions for them."""
        texts = {"argument": "a{}", "global": "g{}", "attribute": "holder{}.rng", "np.random": "np.random"}
        return [texts[place].format(i) for i, place in enumerate(self.places)]

    def make(self, seed: int) -> list[Any]:
        """New ones."""
        np.random.seed(seed)
        return [
            np.random.mtrand._rand if place == "np.random"  # type: ignore[attr-defined]
            else np.random.RandomState(seed + i) if kind == "RandomState"
            else np.random.Generator(getattr(np.random, kind)(seed + i))
            for i, (kind, place) in enumerate(zip(self.kinds, self.places, strict=True))
        ]  # fmt: skip


def state_of(generator: Any) -> str:
    """The state of a generator as text, with all words."""
    with np.printoptions(threshold=10**6):
        if isinstance(generator, np.random.RandomState):
            return repr(generator.get_state(legacy=False))
        return repr(generator.bit_generator.state)


class _Writer:
    def __init__(self, rng: random.Random, generators: Generators) -> None:
        self.rng, self.generators, self.lines = rng, generators, list[str]()
        self.count, self.draws = 0, 0

    def draw(self, integer: bool = False) -> str:
        self.draws += 1
        number = self.rng.randrange(len(self.generators.kinds))
        legacy = self.generators.kinds[number] == "RandomState"
        forms = (
            (RANDOM_STATE_INTEGERS if integer else RANDOM_STATE) if legacy
            else (GENERATOR_INTEGERS if integer else GENERATOR)
        )  # fmt: skip
        return f"{self.generators.names()[number]}.{self.rng.choice(forms)}"

    def fraction(self) -> str:
        """A draw from 0 to 1."""
        self.draws += 1
        return f"{self.rng.choice(self.generators.names())}.random()"

    def block(self, depth: int, indent: str, loop: bool) -> None:
        for _ in range(self.rng.randint(1, 3)):
            self.statement(depth, indent, loop)

    def statement(self, depth: int, indent: str, loop: bool) -> None:
        kinds = (
            "add", "add", "set", "int", "unused", "if", "for", "while", "break", "either", "or", "until",
            "while draws",
        )  # fmt: skip
        kind = self.rng.choice(kinds)
        if self.draws > 12 or (depth == 0 and kind in ("if", "for", "while")):
            kind = "unused"
        lines, inner = self.lines, indent + "    "
        self.count += 1
        if kind == "add":
            lines.append(f"{indent}s = 0.5 * s + {self.draw()}")
        elif kind == "set":
            lines.append(f"{indent}s = {self.draw()}")
        elif kind == "int":
            lines.append(f"{indent}k = {self.draw(integer=True)}")
            lines.append(f"{indent}k = abs(k) % 20")
        elif kind == "if":
            lines.append(f"{indent}if {self.draw()} < {self.rng.choice((0.2, 0.5, 0.9))}:")
            self.block(depth - 1, inner, loop)
            if self.rng.random() < 0.6:
                lines.append(f"{indent}else:")
                self.block(depth - 1, inner, loop)
        elif kind == "for":
            bound = self.rng.choice(("n", "k", "n + k", "3"))
            lines.append(f"{indent}for i{self.count} in range({bound}):")
            self.block(depth - 1, inner, True)
        elif kind == "while":
            test, name = self.fraction(), f"t{self.count}"
            lines.append(f"{indent}{name} = {test}")
            lines.append(f"{indent}while {name} > 0.3:")
            self.block(0, inner, False)
            lines.append(f"{inner}{name} = {test}")
        elif kind == "either":
            test = self.rng.choice(("s < 0.4", "k > 2", f"{self.fraction()} < 0.5"))
            other = self.rng.choice((self.draw(), "0.25"))
            lines.append(f"{indent}s += {self.draw()} if {test} else {other}")
        elif kind == "or":
            word = self.rng.choice(("or", "and"))
            lines.append(f"{indent}if s < 0.4 {word} {self.fraction()} < 0.5:")
            self.block(0, inner, loop)
        elif kind == "until":
            name = f"u{self.count}"
            lines.append(f"{indent}while True:")
            lines.append(f"{inner}{name} = {self.fraction()}")
            lines.append(f"{inner}if {name} < 0.6:")
            lines.append(f"{inner}    break")
            lines.append(f"{indent}s += {name}")
        elif kind == "while draws":
            word = self.rng.choice(("", " and k < 9", f" or {self.fraction()} < 0.1"))
            lines.append(f"{indent}while {self.fraction()} < 0.4{word}:")
            lines.append(f"{inner}k += 1")
            if self.rng.random() < 0.4:
                lines.append(f"{inner}if {self.fraction()} < 0.2:")
                lines.append(f"{inner}    break")
        elif kind == "break" and loop:
            lines.append(f"{indent}if {self.draw()} > 1.2:")
            lines.append(f"{inner}break")
        else:
            lines.append(f"{indent}{self.draw(self.rng.random() < 0.5)}")


def program(seed: int) -> tuple[str, Generators]:
    """The text of a function ``f(n, *arguments)``, and its generators."""
    rng = random.Random(seed)
    count = rng.choice((1, 1, 2, 3))
    places = tuple(rng.choice(PLACES) for _ in range(count))
    kinds = tuple("RandomState" if place == "np.random" else rng.choice(KINDS) for place in places)
    generators = Generators(kinds, places)
    writer = _Writer(rng, generators)
    arguments = "".join(f", a{i}" for i, place in enumerate(places) if place == "argument")
    writer.lines += [f"def f(n{arguments}):", "    s = 0.0", "    k = 2", "    for i in range(n):"]
    writer.block(2, "        ", True)
    if rng.random() < 0.5:
        writer.block(1, "    ", False)
    writer.lines.append("    return s, k")
    return "\n".join(writer.lines) + "\n", generators
