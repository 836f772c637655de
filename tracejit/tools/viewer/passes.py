"""Listings of a function's stages, and the changes that each pass makes to them.

A value has the same name at every stage: its number in the trace, or one that follows where a pass made it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...base.process.progress import with_progress
from ...base.records import field, record
from ...codegen.llvm.function import Marked
from ...ir.graph import Function, Instruction, Value
from ...ir.passes import PIPELINE, Pass, run_passes
from ...ir.passes.fusion.fuse import Note, fuse
from ...ir.text.lexer import sigil_name
from ...ir.text.printer import Names, lines_of
from .numbering import origins_in, origins_of


class StageNames(Names, Mapping[Value, str]):
    """Names of values that stay what they are from stage to stage, with ``%`` before them."""

    def __init__(self) -> None:
        super().__init__()
        #: Earlier names of members of a fused group, which are copies, by op and origins.
        self._before: dict[tuple[str, tuple[int, ...]], str] = {}

    def __getitem__(self, value: Value) -> str:
        return sigil_name("%", self._names[value])

    def __iter__(self) -> Iterator[Value]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def learn(self, function: Function) -> None:
        """Name what has no name yet."""
        self.of(function)
        for instruction in function.body:
            if instruction.origins and len(instruction.results) == 1:
                self._before[instruction.op.name, instruction.origins] = self._names[instruction.result]
            for region in instruction.regions:
                if instruction.op.kind.traits.grouped and _computes(region, instruction):
                    self._learn_copies(instruction, region)
                self.learn(region)

    def _learn_copies(self, group: Instruction, region: Function) -> None:
        """The values in a fused group have the names that they have outside."""
        names = self._names
        for inner, outer in zip(region.params, group.operands, strict=True):
            if outer in names:
                names.setdefault(inner, names[outer])
        for inner, outer in zip(region.results, group.results, strict=True):
            names.setdefault(inner, names[outer])
        for instruction in region.body:
            before = self._before.get((instruction.op.name, instruction.origins))
            if before and instruction.origins and len(instruction.results) == 1:
                names.setdefault(instruction.result, before)


def _computes(region: Function, group: Instruction) -> bool:
    """Whether `region` is `group` itself, rather than a part of its derivative."""
    sizes = len(region.params), len(region.results)
    return sizes == (len(group.operands), len(group.results))


def listing(function: Function, names: StageNames) -> list[Marked]:
    """The lines of `function`; heads and results of functions are about nothing in particular."""
    names.learn(function)
    return [
        # without the padding that depends on the lines around
        (re.sub(r" +=", " =", text, count=1), origins_of(what) if isinstance(what, Instruction) else ())
        for text, what in lines_of(function, locations=False, names=names)
    ]


#: Lines shown around a change.
CONTEXT: Final = 2


@record(eq=False, frozen=False)
class PassRecord:
    """The changes that one pass made."""

    name: str
    about: str
    milliseconds: float
    #: Instructions before and after.
    before: int
    after: int
    #: ``(sign, text, origins)`` with the signs " ", "-" and "+", and "@" where lines are left out.
    changes: list[tuple[str, str, tuple[int, ...]]] = field(default_factory=list)


@record(eq=False, frozen=False)
class Passed:
    """A Function through the pipeline."""

    optimized: Function
    fused: Function
    steps: list[PassRecord]
    #: The pass that removed an op, by the number of the op.
    removed: dict[int, str]


def through_passes(function: Function, names: StageNames, note: Note) -> Passed:
    """Run the pipeline on a numbered `function`; `note` is told what fusion could not fuse."""
    steps: list[PassRecord] = []
    removed: dict[int, str] = {}
    optimized = current = function
    lines = listing(function, names)
    alive = origins_in([function])
    for pass_ in with_progress(PIPELINE, f"passes of {function.name}"):
        before = current
        told = Pass(pass_.name, lambda f: fuse(f, note), pass_.skips) if pass_.name == "fuse" else pass_
        current, took = _timed(told, before)
        step = PassRecord(pass_.name, _about(pass_), took * 1e3, _count(before), _count(current))
        if current is not before:
            after = listing(current, names)
            step.changes = list(_changes(lines, after))
            left = origins_in([current])
            removed.update(dict.fromkeys(alive - left, pass_.name))
            lines, alive = after, left
        if pass_.name != "fuse":
            optimized = current
        steps.append(step)
    return Passed(optimized, current, steps, removed)


def _timed(pass_: Pass, function: Function) -> tuple[Function, float]:
    """The Function after a pass, and the seconds that it took."""
    seconds: list[float] = []
    after = run_passes(function, [pass_], lambda _name, _function, took: seconds.append(took))
    return after, seconds[0]


def _count(function: Function) -> int:
    return sum(1 for _ in function.instructions())


def _about(pass_: Pass) -> str:
    """The promise of the pass, from its docstring."""
    words = " ".join(pass_.promise.replace("*", "").split())
    return words.partition("Ensures: ")[2] or words


def _changes(old: list[Marked], new: list[Marked]) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    """The changed lines with some around them."""
    matcher = difflib.SequenceMatcher(None, [text for text, _ in old], [text for text, _ in new], False)
    for number, group in enumerate(matcher.get_grouped_opcodes(CONTEXT)):
        if number:
            yield "@", "", ()
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                yield from ((" ", *line) for line in new[j1:j2])
            else:
                yield from (("-", *line) for line in old[i1:i2])
                yield from (("+", *line) for line in new[j1:j2])


def as_rows(step: PassRecord, group: Any) -> list[list[Any]]:
    """The changes for the page, with `group` numbering sets of ops."""
    return [[sign, text, group(origins)] for sign, text, origins in step.changes]
