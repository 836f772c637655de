"""A program: captures, arguments, statements and results, all as text, and its source as a Python module.

The module defines ``arguments()``, which makes fresh arguments, and ``make(xp)``, which returns the program
and a function that rebinds what the program captures. So one text runs with tracejit, NumPy and JAX.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field, replace
from typing import Any

HEADER = """\
import collections
import functools
import types

import numpy as np

from tests.fuzz.layouts import laid_out


class Holder:
    pass


class Slotted:
    __slots__ = ("value",)
"""
NAME = re.compile(r"\b[av]\d+\b")


@dataclass(frozen=True)
class Statement:
    """Lines of the program's body. `step` names the generator's step that wrote them."""

    text: str
    #: The values that it defines; empty for a write in place.
    targets: tuple[str, ...]
    step: str = ""

    def names(self) -> set[str]:
        """The arguments and values that occur in it, its targets included."""
        return set(NAME.findall(self.text))


@dataclass(frozen=True)
class Capture:
    """A place that the program reads and `rebind` changes."""

    place: str
    content: str
    #: Declaration of the name in ``rebind``: "global", "nonlocal" or "".
    scope: str
    name: str
    setup: str
    expression: str
    rebinding: str


@dataclass(frozen=True)
class Argument:
    name: str
    expression: str
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Program:
    """A program as data, written by `source`, with each result's tolerance before and after rebinding."""

    seed: tuple[int, int]
    arguments: tuple[Argument, ...]
    captures: tuple[Capture, ...]
    statements: tuple[Statement, ...]
    results: tuple[str, ...]
    #: Largest absolute difference that rounding explains, per result; 0 for what is exact.
    tolerances: tuple[float, ...]
    #: The differences after rebinding; None where the rebound program is ill-conditioned.
    rebound_tolerances: tuple[float, ...] | None
    #: Facts that modes ask for: "branch" (Python control flow on values), "write", "special", ...
    features: frozenset[str] = field(default_factory=frozenset)

    def source(self) -> str:
        """The Python module of this program."""
        return "\n\n".join((HEADER, _arguments(self.arguments), _make(self))) + "\n"

    @property
    def steps(self) -> list[str]:
        return [statement.step for statement in self.statements]

    def with_(self, **changes: Any) -> Program:
        return replace(self, **changes)

    def to_json(self) -> dict[str, Any]:
        """The program as plain data."""
        return {**asdict(self), "features": sorted(self.features)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Program:
        rebound = data["rebound_tolerances"]
        return cls(
            seed=(int(data["seed"][0]), int(data["seed"][1])),
            arguments=tuple(Argument(**{**a, "shape": tuple(a["shape"])}) for a in data["arguments"]),
            captures=tuple(Capture(**c) for c in data["captures"]),
            statements=tuple(Statement(**{**s, "targets": tuple(s["targets"])}) for s in data["statements"]),
            results=tuple(data["results"]),
            tolerances=tuple(data["tolerances"]),
            rebound_tolerances=None if rebound is None else tuple(rebound),
            features=frozenset(data["features"]),
        )


def indent(text: str, levels: int) -> str:
    return "\n".join("    " * levels + line if line else line for line in text.split("\n"))


def _arguments(arguments: tuple[Argument, ...]) -> str:
    lines = [f"        {argument.expression},  # {argument.name}" for argument in arguments]
    return "\n".join(["def arguments():", "    return [", *lines, "    ]"])


def _make(program: Program) -> str:
    names = ", ".join(argument.name for argument in program.arguments)
    lines = ["def make(xp):"]
    globals_ = [capture.name for capture in program.captures if capture.scope == "global"]
    if globals_:
        lines.append(f"    global {', '.join(globals_)}")
    lines += [indent(capture.setup, 1) for capture in program.captures]
    lines += ["", f"    def program({names}):"]
    lines += [indent(statement.text, 2) for statement in program.statements]
    lines += [f"        return ({''.join(name + ', ' for name in program.results)})", "", "    def rebind():"]
    lines += [f"        {c.scope} {c.name}" for c in program.captures if c.scope]
    lines += [indent(capture.rebinding, 2) for capture in program.captures]
    if not program.captures:
        lines.append("        pass")
    return "\n".join([*lines, "", "    return program, rebind"])


def load(source: str, name: str = "<fuzz>") -> dict[str, Any]:
    """Run a program's source: the namespace of its module."""
    namespace: dict[str, Any] = {"__name__": "fuzz_program"}
    exec(compile(source, name, "exec"), namespace)
    return namespace
