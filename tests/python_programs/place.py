"""Random choices of a program, and where its statements stand."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

FLOATS = ("s", "t", "w")
INTEGERS = ("k", "m")
#: Kinds of Python that a program may draw from. Each program has some of them, and more often uses those.
FEATURES = (
    "aliases",
    "arrays",
    "attributes",
    "bits",
    "booleans",
    "captured",
    "comprehensions",
    "containers",
    "division",
    "elements",
    "errors",
    "exceptions",
    "guards",
    "loop targets",
    "made",
    "matching",
    "mixed",
    "names",
    "rank 0",
    "returned",
    "rows",
    "shared",
    "star",
    "walrus",
    "with",
)


@dataclass(frozen=True)
class Place:
    """The place of a statement.

    Attributes:
        indices: counters of the loops around it, with the number that each is less than.
        rows: names of arrays of rank 1 that have a value here, with their lengths.
        loops: how many loops of this function are around it.
        depth: how many statements are around it.
    """

    indices: tuple[tuple[str, int], ...] = ()
    rows: tuple[tuple[str, int], ...] = (("x", 6), ("u", 6))
    loops: int = 0
    depth: int = 0


@dataclass
class Choices:
    """Random choices of the program of a seed, and the names of its functions.

    Attributes:
        seed: gives the program.
        scalar: functions of two numbers.
        filling: functions that write an array.
        searching: functions of an array that give a number.
        matrices: functions that write an array of rank 2.
        choosing: functions of an array and a number that give an array, often the same one.
        pairing: functions of an array and a number that give two arrays.
        touching: functions that write, and give a bool.
        sharing: functions of two dicts and a number that give a dict, often one of them.
        closures: functions of a number inside `f`.
        features: the kinds of Python that it draws from.
        budget: so many statements are still to be written: a small program compiles soon, and fails for one
            reason.
    """

    seed: int
    scalar: list[str] = field(default_factory=list)
    filling: list[str] = field(default_factory=list)
    searching: list[str] = field(default_factory=list)
    matrices: list[str] = field(default_factory=list)
    choosing: list[str] = field(default_factory=list)
    pairing: list[str] = field(default_factory=list)
    touching: list[str] = field(default_factory=list)
    sharing: list[str] = field(default_factory=list)
    closures: list[str] = field(default_factory=list)
    features: frozenset[str] = frozenset()
    budget: int = 0
    _count: int = 0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    def pick(self, *choices: str) -> str:
        """Draw from `choices`."""
        return self.random.choice(choices)

    def chance(self, share: float) -> bool:
        """True in so many cases of one."""
        return self.random.random() < share

    def has(self, feature: str, share: float = 1.0) -> bool:
        """Whether the program has `feature`, and uses it here, as it does in so many cases of one."""
        assert feature in FEATURES
        return feature in self.features and self.chance(share)

    def number(self) -> int:
        """A new number, for a name."""
        self._count += 1
        return self._count


def indented(lines: list[str]) -> list[str]:
    """`lines` as those of a block."""
    return [f"    {line}" for line in lines]
