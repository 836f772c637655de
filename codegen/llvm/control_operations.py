"""Control flow as operations: labels and jumps, and the loops and conditionals that become some.

A region is entered at the top and left at the bottom. It is no list of its own: a `RegionBegin` stands where
it begins, a `RegionEnd` where it ends, and operations stay one list, in the order in which they are written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from .operations import Compute, Operation, Phi
from .registers import Reg, constant


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
    """A jump to the first of `targets`, or to the second where a condition does not hold."""

    __slots__ = ("condition", "targets")
    ends_block = True

    def __init__(self, condition: str, *targets: str) -> None:
        self.condition, self.targets = condition, targets

    def line(self) -> str:
        if len(self.targets) == 1:
            return f"  br label %{self.targets[0]}"
        return f"  br i1 {self.condition}, label %{self.targets[0]}, label %{self.targets[1]}"

    def operands(self) -> tuple[str, ...]:
        return (self.condition,)


class Switch(Operation):
    """A jump to ``targets[value]``; to the last of them where there is none."""

    __slots__ = ("targets", "value")
    ends_block = True

    def __init__(self, value: Reg, targets: Sequence[str]) -> None:
        self.value, self.targets = value, targets

    def line(self) -> str:
        kind = self.value.type
        cases = " ".join([f"{kind} {i}, label %{label}" for i, label in enumerate(self.targets[:-1])])
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
    """What is no instruction of LLVM's, and becomes some, or none."""

    __slots__ = ()

    def lowered(self) -> Sequence[Operation]:
        """The instructions that it becomes."""
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
        entering = [(self.index, self.start, self.following)]
        entering += zip(self.carried, self.first, self.last, strict=True)
        for phi, first, last in entering:
            operations.append(Phi(phi, [(first.text, self.before), (last.text, self.latch)]))
        return operations

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
        for merged, first, last in zip(self.merged, self.first, self.last, strict=True):
            operations.append(Phi(merged, [(last.text, self.done), (first.text, skipped)]))
        return operations


class When(RegionBegin):
    """What is done where a condition holds."""

    __slots__ = ("after", "condition", "then")

    def __init__(self, condition: str, then: str, after: str) -> None:
        self.condition, self.then, self.after = condition, then, after

    def lowered(self) -> list[Operation]:
        return [Branch(self.condition, self.then, self.after), Label(self.then)]

    def ending(self) -> list[Operation]:
        return [Branch("", self.after), Label(self.after)]


def instructions(operations: Iterable[Operation]) -> list[Operation]:
    """`operations` with their structure lowered to LLVM's instructions and labels."""
    lowered: list[Operation] = []
    for operation in operations:
        if isinstance(operation, Structure):
            lowered += operation.lowered()
        else:
            lowered.append(operation)
    return lowered
