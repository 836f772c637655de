"""Splitting of a large module into several, which LLVM compiles one after the other.

LLVM compiles one module at a time and cannot be stopped. So the text of a large one is cut into pieces of a
tenth of a second or so each: between two of them a signal is let in, somebody else may compile, and what
nobody wants any more is given up. Code is the same: nothing is optimised across functions.

A module of which only some functions are worth optimising becomes two: LLVM takes longer for a function that
it is to leave alone than for one of a module that it does not optimise.

A function is defined in one piece and declared in those that call it. So is a variable; small constants are
copied, since code finds its own more quickly.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final

#: Characters of a piece, and of a module that is cut.
PIECE: Final = 1 << 16
_CUT: Final = 2 * PIECE
#: Characters of functions that are no piece of their own: LLVM takes a millisecond for the least module.
_SMALL: Final = PIECE // 16
#: Longer definitions of constants are not copied.
_COPIED: Final = 1 << 12
# Patterns are compiled with the first module that is taken apart, and `re` keeps them.
_NAME: Final = r"@([\w.$-]+)"
_DEFINE: Final = r"define (internal )?(.*?)@([\w.$-]+)\((.*)\)([^()]*)\{$"
_LINKAGE: Final = r" = (?:(?:internal|private|unnamed_addr) )*(?=(global|constant) )"
_GLOBAL: Final = rf"@([\w.$-]+){_LINKAGE}"
_PARAMETER: Final = r" %[\w.$-]+(?=,|$)"


def cut(text: str, exports: Sequence[str] = ("main",)) -> list[str]:
    """The modules that `text` becomes: itself where it is short, or holds what this does not know.

    `exports` are in the last one.
    """
    if len(text) < _CUT:
        return [text]
    module = _Module()
    if not module.read(text):
        return [text]
    groups: list[list[str]] = [[]]
    size = 0
    for name in module.functions:
        if name in exports:
            continue
        if size > PIECE:
            groups.append([])
            size = 0
        groups[-1].append(name)
        size += len(module.functions[name])
    if len(groups) > 1 and size < _SMALL:
        last = groups.pop()
        groups[-1] += last
    groups.append([name for name in module.functions if name in exports])
    return module.pieces([group for group in groups if group])


def apart(text: str, names: Collection[str]) -> tuple[str, str] | None:
    """The functions `names` of a module as one, and the others as another; None where it holds what this does
    not know."""
    module = _Module()
    if not module.read(text):
        return None
    inside, outside = module.pieces(
        [
            [name for name in module.functions if name in names],
            [name for name in module.functions if name not in names],
        ]
    )
    return inside, outside


class _Module:
    """The definitions of a module, by name."""

    def __init__(self) -> None:
        self.functions: dict[str, str] = {}
        self.signatures: dict[str, str] = {}
        self.globals: dict[str, str] = {}
        self.declarations: dict[str, str] = {}
        self._references: dict[str, set[str]] = {}

    def read(self, text: str) -> bool:
        """Take `text` apart; whether all of it is known."""
        function: list[str] = []
        for line in text.splitlines():
            if function:
                function.append(line)
                if line == "}":
                    self._define(function)
                    function = []
            elif line.startswith("define "):
                if re.match(_DEFINE, line) is None:
                    return False
                function = [line]
            elif line.startswith("declare "):
                name = re.search(_NAME, line)
                if name is None:
                    return False
                self.declarations[name[1]] = line
            elif match := re.match(_GLOBAL, line):
                self.globals[match[1]] = line
            elif line.strip() and not line.lstrip().startswith(";"):
                return False
        return not function

    def _define(self, lines: list[str]) -> None:
        match = re.match(_DEFINE, lines[0])
        assert match is not None
        _, result, name, parameters, _ = match.groups()
        self.functions[name] = "\n".join(lines)
        self.signatures[name] = f"declare {result}@{name}({re.sub(_PARAMETER, '', parameters)}) nounwind"
        self._references[name] = set(re.findall(_NAME, self.functions[name])) - {name}

    def pieces(self, groups: Sequence[Sequence[str]]) -> list[str]:
        """The text of each group of functions; variables stand in the last."""
        home = {name: number for number, group in enumerate(groups) for name in group}
        references = [set().union(*[self._references[name] for name in group]) for group in groups]
        shared = {
            name
            for number, names in enumerate(references)
            for name in names
            if home.get(name, len(groups) - 1) != number
        }
        return [
            self._piece(group, names, shared, last=number == len(groups) - 1)
            for number, (group, names) in enumerate(zip(groups, references, strict=True))
        ]

    def _piece(self, group: Sequence[str], names: set[str], shared: set[str], *, last: bool) -> str:
        lines = []
        for name, line in self.globals.items():
            copied = " constant " in line and len(line) <= _COPIED
            if copied:
                lines += [line] * (name in names)
            elif last:
                lines.append(re.sub(_LINKAGE, " = dso_local ", line, count=1) if name in shared else line)
            elif name in names:
                lines.append(f"@{name} = external global i8")
        lines += [self.declarations[name] for name in sorted(names) if name in self.declarations]
        lines += [
            self.signatures[name] for name in sorted(names) if name in self.signatures and name not in group
        ]
        for name in group:
            text = self.functions[name]
            lines.append(text.replace("define internal ", "define dso_local ", 1) if name in shared else text)
        return "\n".join(lines)
