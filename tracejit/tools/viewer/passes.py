"""The passes, one by one: what each changed, how long it took, and which pass an op went away in."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Any, Final

from ...codegen.llvm.function import Marked
from ...ir.graph import Function
from ...ir.passes import PIPELINE, Pass, run_passes
from ...ir.passes.fusion.fuse import Note, fuse
from ...ir.process.progress import with_progress
from ...ir.records import field, record
from .listings import StageNames, listing
from .origins import origins_in

#: Lines shown around a change.
CONTEXT: Final = 2


@record(eq=False, frozen=False)
class PassRecord:
    """What one pass did."""

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
    #: By the number of an op that is in nothing any more: the pass that it went away in.
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
    """What the pass promises, from its docstring."""
    words = " ".join((pass_.apply.__doc__ or "").replace("*", "").split())
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
