"""Marks in LLVM text: comments that say which traced ops a line is for, where those ops are numbered.

Text without marks is what is compiled. To follow ops into optimised code and assembly, `with_debug_lines`
turns marks into debug locations, whose line numbers LLVM carries along; `marked_lines` and `assembly_lines`
read them back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

#: A line of text with the numbers of the ops that it is for.
Marked = tuple[str, tuple[int, ...]]

_MARK: Final = re.compile(r" ; from ([\d,]+)$")
_NAME: Final = re.compile(r"define [^@]*@([\w.$]+)\(")
_LOCATION: Final = re.compile(r", !dbg !(\d+)")
_DEFINED: Final = re.compile(r"^!(\d+) = !DILocation\(line: (\d+)")


def mark_of(origins: tuple[int, ...]) -> str:
    """The comment on lines that are for the traced ops with these numbers; nothing where there are none.

    >>> mark_of((3, 4))
    ' ; from 3,4'
    """
    return f" ; from {','.join(map(str, origins))}" if origins else ""


class Groups:
    """Sets of op numbers, each with a line number that stands for it in debug locations."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, ...], int] = {}
        self._table: list[tuple[int, ...]] = []

    def line(self, origins: tuple[int, ...]) -> int:
        """The line number of a set of op numbers."""
        number = self._numbers.get(origins)
        if number is None:
            self._table.append(origins)
            number = self._numbers[origins] = len(self._table)
        return number

    def origins(self, line: int) -> tuple[int, ...]:
        """The op numbers of a line number; none for lines that stand for nothing."""
        return self._table[line - 1] if 0 < line <= len(self._table) else ()


def marked_lines(text: str, of_function: dict[str, tuple[int, ...]]) -> list[Marked]:
    """The lines of generated `text` without their marks, each with its ops.

    Lines of a function in `of_function` that have no mark (loops, addresses) are for all of its ops.
    """
    found: list[Marked] = []
    default: tuple[int, ...] = ()
    for line in text.split("\n"):
        name = _NAME.match(line)
        if name:
            default = of_function.get(name[1], ())
        mark = _MARK.search(line)
        if mark:
            found.append((line[: mark.start()], tuple(map(int, mark[1].split(",")))))
        else:
            found.append((line, default))
        if line == "}":
            default = ()
    return found


def with_debug_lines(lines: Sequence[Marked], groups: Groups, functions: Sequence[str]) -> str:
    """LLVM text of `lines`: each instruction of `functions` has a debug location that says its ops."""
    out: list[str] = []
    subprograms: list[str] = []
    scope, wanted = "", set(functions)
    for line, origins in lines:
        name = _NAME.match(line)
        if name and name[1] in wanted:
            scope = f"!{3 + len(subprograms)}"
            subprograms.append(
                f'{scope} = distinct !DISubprogram(name: "{name[1]}", scope: !1, file: !1, line: 1, '
                "type: !2, spFlags: DISPFlagDefinition, unit: !0)"
            )
            out.append(f"{line.removesuffix(' {')} !dbg {scope} {{")
            continue
        if line == "}":
            scope = ""
        if scope and line.startswith("  ") and origins:
            out.append(f"{line}, !dbg !DILocation(line: {groups.line(origins)}, scope: {scope})")
        else:
            out.append(line)
    if not subprograms:
        return "\n".join(out)
    out += [
        "!llvm.dbg.cu = !{!0}",
        "!llvm.module.flags = !{!1000000}",
        '!1000000 = !{i32 2, !"Debug Info Version", i32 3}',
        "!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, emissionKind: DebugDirectivesOnly)",
        '!1 = !DIFile(filename: "trace", directory: "")',
        "!2 = !DISubroutineType(types: !{})",
        *subprograms,
    ]
    return "\n".join(out)


def optimized_lines(text: str, groups: Groups) -> list[Marked]:
    """The lines of LLVM's own print of a module with debug locations, each with its ops."""
    lines = text.split("\n")
    line_of = {match[1]: int(match[2]) for line in lines if (match := _DEFINED.match(line))}
    found: list[Marked] = []
    for line in lines:
        if line.startswith("!"):
            continue
        match = _LOCATION.search(line)
        if match:
            found.append((line.replace(match[0], ""), groups.origins(line_of.get(match[1], 0))))
        else:
            found.append((re.sub(r" !dbg !\d+", "", line), ()))
    while found and not found[-1][0]:
        found.pop()
    return found


def assembly_lines(text: str, groups: Groups) -> list[Marked]:
    """The lines of assembly with ``.loc`` directives, each with its ops, without what only debuggers read."""
    return list(_assembly(text, groups))


def _assembly(text: str, groups: Groups) -> Iterator[Marked]:
    origins: tuple[int, ...] = ()
    for line in text.split("\n"):
        words = line.split()
        first = words[0] if words else ""
        if first == ".loc":
            origins = groups.origins(int(words[2]))
        elif first == ".cfi_endproc":
            origins = ()
        elif ".note.GNU-stack" in line:
            return
        elif not first.startswith(_NOISE):
            yield line, origins


#: What assembly says to debuggers, unwinders and linkers.
_NOISE: Final = (".cfi_", ".file", ".size", ".Ltmp", ".Lfunc_", ".Lsec_end", ".p2align")
