"""Control flow as operations: labels and jumps, and the loops and conditionals that become some.

A region is entered at the top and left at the bottom. It is no list of its own: a `RegionBegin` stands where
it begins, a `RegionEnd` where it ends, and operations stay one list, in the order in which they are written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, TypeAlias

from .operations import Compute, Operation, Phi
from .registers import Reg, constant

#: A block, by its label, and the values that come from it.
Way: TypeAlias = tuple[str, Sequence[Reg]]


class Label(Operation):
    """The begin of a block."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def line(self) -> str:
        return f"{self.name}:"

    def operands(self) -> tuple[str, ...]:
        return ()


class Branch(Operation):
    """A jump to the first of `targets`, or to the second where a condition does not hold; a `rare` one goes
    to the second nearly always."""

    __slots__ = ("condition", "rare", "targets")
    ends_block = True

    def __init__(self, condition: str, *targets: str, rare: bool = False) -> None:
        self.condition, self.targets, self.rare = condition, targets, rare

    def line(self) -> str:
        if len(self.targets) == 1:
            return f"  br label %{self.targets[0]}"
        weights = ', !prof !{!"branch_weights", i32 1, i32 1048575}' if self.rare else ""
        return f"  br i1 {self.condition}, label %{self.targets[0]}, label %{self.targets[1]}{weights}"

    def operands(self) -> tuple[str, ...]:
        return (self.condition,)


class Switch(Operation):
    """A jump to the target of a value that is one of `numbers` (from 0 on), to the last one for others."""

    __slots__ = ("numbers", "targets", "value")
    ends_block = True

    def __init__(self, value: Reg, targets: Sequence[str], numbers: Sequence[int] = ()) -> None:
        self.value, self.targets = value, targets
        self.numbers = numbers or range(len(targets) - 1)

    def line(self) -> str:
        kind = self.value.type
        pairs = zip(self.numbers, self.targets, strict=False)
        cases = " ".join([f"{kind} {number}, label %{label}" for number, label in pairs])
        return f"  switch {self.value}, label %{self.targets[-1]} [ {cases} ]"

    def operands(self) -> tuple[str, ...]:
        return (self.value.text,)


class Return(Operation):
    """The end of the function."""

    __slots__ = ("value",)
    ends_block = True
    targets: ClassVar[tuple[str, ...]] = ()

    def __init__(self, value: Reg | None = None) -> None:
        self.value = value

    def line(self) -> str:
        return "  ret void" if self.value is None else f"  ret {self.value}"

    def operands(self) -> tuple[str, ...]:
        return () if self.value is None else (self.value.text,)


# -- regions -----------------------------------------------------------------------------------------


class Structure(Operation):
    """Operation that is no instruction of LLVM's, and lowers to some, or none."""

    __slots__ = ()

    def lowered(self) -> Sequence[Operation]:
        """Instructions that it lowers to."""
        raise NotImplementedError

    def line(self) -> str:
        return "\n".join([operation.line() for operation in self.lowered()])

    def operands(self) -> list[str]:
        return [text for operation in self.lowered() for text in operation.operands()]


class Origins(Structure):
    """The traced ops, by number, that the operations from here on are for."""

    __slots__ = ("numbers",)

    def __init__(self, numbers: tuple[int, ...]) -> None:
        self.numbers = numbers

    def lowered(self) -> Sequence[Operation]:
        return ()


class RegionBegin(Structure):
    """The begin of a region."""

    __slots__ = ()

    def ending(self) -> Sequence[Operation]:
        """The instructions that its `RegionEnd` becomes."""
        raise NotImplementedError


class RegionEnd(Structure):
    """The end of a region."""

    __slots__ = ("region",)

    def __init__(self, region: RegionBegin) -> None:
        self.region = region

    def lowered(self) -> Sequence[Operation]:
        return self.region.ending()


class Loop(RegionBegin):
    """``for index in range(start, stop, step)``, rotated: the test is at the end.

    `carried` are the values that steps hand on, `first` those of the first step, `last` those of a step's end
    (known where the region ends). A loop with a `guard` may have no step: the guard is the test, then the
    labels of the loop's entry and of the way round it. They meet at `joined`, where the values are `merged`.
    """

    __slots__ = (
        "before", "carried", "done", "first", "following", "guard", "head", "index", "joined", "last",
        "latch", "merged", "more", "start", "step", "stop",
    )  # fmt: skip

    def __init__(
        self, start: Reg, stop: Reg, step: int, index: Reg, carried: list[Reg], first: Sequence[Reg],
        before: str, head: str, done: str, guard: tuple[str, str, str] | None,
    ) -> None:  # fmt: skip
        self.start, self.stop, self.step, self.index = start, stop, step, index
        self.carried, self.first = carried, first
        self.before, self.head, self.done, self.guard = before, head, done, guard
        self.joined, self.merged = "", list[Reg]()

    def end(self, last: Sequence[Reg], latch: str, following: Reg, more: str) -> None:
        """Say what a step ends with: values, its last block, the next index, whether another one follows."""
        self.last, self.latch, self.following, self.more = last, latch, following, more

    def lowered(self) -> list[Operation]:
        operations: list[Operation] = []
        if self.guard is not None:
            test, enter, skipped = self.guard
            operations += [
                Compute(test, "bool", 1, "icmp slt", (self.start, self.stop)),
                Branch(test, enter, skipped),
                Label(enter),
            ]
        operations += [Branch("", self.head), Label(self.head)]
        ways = [(self.before, [self.start, *self.first]), (self.latch, [self.following, *self.last])]
        return operations + _phis([self.index, *self.carried], ways)

    def ending(self) -> list[Operation]:
        operations: list[Operation] = [
            Compute(self.following.text, "i64", 1, "add", (self.index, constant(self.step, "i64"))),
            Compute(self.more, "bool", 1, "icmp slt", (self.following, self.stop)),
            Branch(self.more, self.head, self.done),
            Label(self.done),
        ]
        if self.guard is None:
            return operations
        _, _, skipped = self.guard
        operations += [Branch("", self.joined), Label(skipped), Branch("", self.joined), Label(self.joined)]
        return operations + _phis(self.merged, [(self.done, self.last), (skipped, self.first)])


class While(RegionBegin):
    """Steps until a `SideExit` leads to `done`, or until `more` does not hold at the end of one.

    `carried` are the values of a step, which `ways_in` bring, the first one from before the loop. `merged`
    are the values behind it, which `ways_out` bring.
    """

    __slots__ = ("carried", "done", "head", "merged", "more", "ways_in", "ways_out")

    def __init__(self, carried: list[Reg], first: Sequence[Reg], before: str, head: str, done: str) -> None:
        self.carried, self.head, self.done = carried, head, done
        self.ways_in: list[Way] = [(before, first)]
        self.ways_out: list[Way] = []
        self.merged: list[Reg] = []
        self.more: Reg | None = None

    def lowered(self) -> list[Operation]:
        return [Branch("", self.head), Label(self.head), *_phis(self.carried, self.ways_in)]

    def ending(self) -> list[Operation]:
        back = Branch("", self.head) if self.more is None else Branch(self.more.text, self.head, self.done)
        return [back, Label(self.done), *_phis(self.merged, self.ways_out)]


class Conditional(RegionBegin):
    """Conditional between parts. A bool `selector` chooses the first part where it holds, else the second, if
    there are two; an integer chooses the part of its number, the last one for other numbers.

    A `RegionPart` stands before each part but the first. `merged` are the values behind them. `ways_out`
    bring those, by the number of the part, or -1 for no part; a part without one leaves the function. The
    first part of a `rare` one is laid out away from the code around it.
    """

    __slots__ = ("joined", "labels", "merged", "rare", "selector", "ways_out")

    def __init__(self, selector: Reg, labels: Sequence[str], joined: str, *, rare: bool = False) -> None:
        self.selector, self.labels, self.joined, self.rare = selector, labels, joined, rare
        self.ways_out: dict[int, Way] = {}
        self.merged: list[Reg] = []

    @property
    def by_bool(self) -> bool:
        """Whether it chooses by a bool."""
        return self.selector.dtype == "bool"

    def lowered(self) -> list[Operation]:
        if not self.by_bool:
            return [Switch(self.selector, self.labels), Label(self.labels[0])]
        then, otherwise = [*self.labels, self.joined][:2]
        return [Branch(self.selector.text, then, otherwise, rare=self.rare), Label(then)]

    def part(self, number: int) -> list[Operation]:
        """The instructions that the begin of a part behind the first one becomes."""
        return [*self._leaving(number - 1), Label(self.labels[number])]

    def ending(self) -> list[Operation]:
        leaving = self._leaving(len(self.labels) - 1)
        return [*leaving, Label(self.joined), *_phis(self.merged, self.ways_out.values())]

    def _leaving(self, number: int) -> list[Operation]:
        return [Branch("", self.joined)] if number in self.ways_out else []


class RegionPart(Structure):
    """The end of a part of a `Conditional`, and the begin of the next one."""

    __slots__ = ("number", "region")

    def __init__(self, region: Conditional, number: int) -> None:
        self.region, self.number = region, number

    def lowered(self) -> list[Operation]:
        return self.region.part(self.number)


class SideExit(Structure):
    """A way out of regions, with `values`: to the label `target` where a condition holds, or where not."""

    __slots__ = ("condition", "following", "holds", "target", "values")

    def __init__(
        self, condition: Reg, target: str, following: str, values: Sequence[Reg] = (), *, holds: bool
    ) -> None:
        self.condition, self.target, self.following = condition, target, following
        self.values, self.holds = values, holds

    def lowered(self) -> list[Operation]:
        ways = self.target, self.following
        return [Branch(self.condition.text, *(ways if self.holds else ways[::-1])), Label(self.following)]


def _phis(results: Sequence[Reg], ways: Iterable[Way]) -> list[Operation]:
    """The values that blocks bring, each as a phi."""
    return [
        Phi(result, [(values[place].text, label) for label, values in ways])
        for place, result in enumerate(results)
    ]


def instructions(operations: Iterable[Operation]) -> list[Operation]:
    """`operations` with their structure lowered to LLVM's instructions and labels."""
    lowered: list[Operation] = []
    for operation in operations:
        if isinstance(operation, Structure):
            lowered += operation.lowered()
        else:
            lowered.append(operation)
    return lowered
