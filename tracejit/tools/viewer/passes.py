"""The ops of a trace by numbers: which lines of the stages, and which passes, each of them comes to.

A value has the same name at every stage: its number in the trace, or one that follows where a pass made it.

An op's number is in its location (`Location.origins`), which passes hand on, merge and split.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from ...base.process.progress import with_progress
from ...base.records import field, record
from ...codegen.llvm.function import Marked
from ...ir.access import resolve
from ...ir.graph import Function, Instruction, Location, Value
from ...ir.grouping.inlining import is_inline
from ...ir.passes import PIPELINE, Pass, run_passes
from ...ir.passes.fusion.fuse import Note, fuse
from ...ir.registry import Kind
from ...ir.text.lexer import sigil_name
from ...ir.text.printer import Names, lines_of


def numbered(function: Function) -> tuple[Function, list[Instruction]]:
    """`function` with numbered ops, and the ops by number; those of regions follow the op that owns them."""
    ops: list[Instruction] = []
    return _numbered(function, ops), ops


def _numbered(function: Function, ops: list[Instruction]) -> Function:
    body = []
    for instruction in function.body:
        number = len(ops)
        ops.append(instruction)
        regions = tuple([_numbered(region, ops) for region in instruction.regions])
        location = instruction.location or Location("", 0)
        where = Location(location.file, location.line, location.gradient, (number,))
        numbered = Instruction(
            instruction.op, instruction.operands, instruction.attrs, instruction.results, where, regions
        )
        ops[number] = numbered
        body.append(numbered)
    return Function(function.name, function.params, tuple(body), function.results)


def origins_of(instruction: Instruction) -> tuple[int, ...]:
    """The numbers of all ops that an instruction and its regions stem from."""
    numbers = dict.fromkeys(instruction.origins)
    for region in instruction.regions:
        for inner in region.instructions():
            numbers.update(dict.fromkeys(inner.origins))
    return tuple(numbers)


def origins_in(functions: Iterable[Function]) -> set[int]:
    """The numbers of all ops that are left in `functions`."""
    return {
        n for function in functions for instruction in function.instructions() for n in instruction.origins
    }


def with_views(function: Function) -> Function:
    """A fused `function` whose members stand for the views and constants too that they read through, which
    have no code of their own."""
    body = tuple([_with_regions(instruction) for instruction in function.body])
    return Function(function.name, function.params, body, function.results)


def _with_regions(instruction: Instruction) -> Instruction:
    if not instruction.regions:
        return instruction
    inside = _absorbed if instruction.op.kind is Kind.REGION else with_views
    regions = tuple([inside(region) for region in instruction.regions])
    return instruction.replace(regions=regions)


def _absorbed(region: Function) -> Function:
    defs = {result: instruction for instruction in region.body for result in instruction.results}
    body = []
    for instruction in region.body:
        if not is_inline(instruction, defs):
            instruction = instruction.also_for(_inline_behind(instruction, defs))
        body.append(instruction)
    return Function(region.name, region.params, tuple(body), region.results)


def _inline_behind(instruction: Instruction, defs: dict[Value, Instruction]) -> list[Instruction]:
    """The views and constants through which `instruction` reads."""
    inline: dict[Instruction, None] = {}
    stack = list(instruction.operands)
    while stack:
        value = stack.pop()
        definition = defs.get(value)
        if definition is None or definition in inline or not is_inline(definition, defs):
            continue
        inline[definition] = None
        if resolve(value, defs)[0] is not value:
            stack.extend(definition.operands)
    return list(inline)


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
