"""The stages as listings: lines of text, each with the numbers of the ops that it is about.

A value has the same name at every stage: its number in the trace, or one that follows where a pass made it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ..codegen.marks import Marked
from ..ir.graph import Function, Instruction, Value
from ..ir.registry import Kind
from ..ir.text.printer import function_rows
from .origins import origins_of


class Names(Mapping[Value, str]):
    """Names of values that stay what they are from stage to stage."""

    def __init__(self) -> None:
        self._names: dict[Value, str] = {}
        self._taken: set[str] = set()
        self._number = 0
        #: By op and origins: what members of a fused group, which are copies, were called before.
        self._before: dict[tuple[str, tuple[int, ...]], str] = {}

    def __getitem__(self, value: Value) -> str:
        return self._names[value]

    def __iter__(self) -> Iterator[Value]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def learn(self, function: Function) -> None:
        """Name what has no name yet."""
        for param in function.params:
            if param not in self._names:
                self._names[param] = f"%{self._fresh(param.hint or 'arg')}"
        for one in function.body:
            for result in one.results:
                if result not in self._names:
                    self._names[result] = f"%{self._number}"
                    self._number += 1
            if one.origins and len(one.results) == 1:
                self._before[one.op.name, one.origins] = self._names[one.result]
            for region in one.regions:
                if one.op.kind is Kind.REGION:
                    self._learn_copies(one, region)
                self.learn(region)

    def _learn_copies(self, group: Instruction, region: Function) -> None:
        """The values in a fused group have the names that they have outside."""
        for inner, outer in zip(region.params, group.operands, strict=True):
            self._names.setdefault(inner, self._names.get(outer, "%?"))
        for inner, outer in zip(region.results, group.results, strict=True):
            self._names.setdefault(inner, self._names[outer])
        for one in region.body:
            before = self._before.get((one.op.name, one.origins))
            if before and one.origins and len(one.results) == 1:
                self._names.setdefault(one.result, before)

    def _fresh(self, wanted: str) -> str:
        name, again = wanted, 1
        while name in self._taken or name.isdigit():
            again += 1
            name = f"{wanted}_{again}"
        self._taken.add(name)
        return name


def listing(function: Function, names: Names) -> list[Marked]:
    """The lines of `function`; heads and results of functions are about nothing in particular."""
    names.learn(function)
    rows = function_rows(function, locations=False, names=names)
    return [(text, () if one is None else origins_of(one)) for text, one in rows]


def unaligned(lines: list[Marked]) -> list[Marked]:
    """Lines without the padding that depends on their neighbours, for comparing."""
    return [(re.sub(r" +=", " =", text, count=1), origins) for text, origins in lines]
