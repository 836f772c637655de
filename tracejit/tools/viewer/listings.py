"""The stages as listings: lines of text, each with the numbers of the ops that it is about.

A value has the same name at every stage: its number in the trace, or one that follows where a pass made it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ...codegen.llvm.function import Marked
from ...ir.graph import Function, Instruction, Value
from ...ir.text.lexer import sigil_name
from ...ir.text.printer import Names, lines_of
from .origins import origins_of


class StageNames(Names, Mapping[Value, str]):
    """Names of values that stay what they are from stage to stage, with ``%`` before them."""

    def __init__(self) -> None:
        super().__init__()
        #: By op and origins: what members of a fused group, which are copies, were called before.
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
                if instruction.op.kind.traits.grouped:
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


def listing(function: Function, names: StageNames) -> list[Marked]:
    """The lines of `function`; heads and results of functions are about nothing in particular."""
    names.learn(function)
    return [
        # without the padding that depends on the lines around
        (re.sub(r" +=", " =", text, count=1), origins_of(what) if isinstance(what, Instruction) else ())
        for text, what in lines_of(function, locations=False, names=names)
    ]
