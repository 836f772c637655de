"""Debug locations: the numbers of the traced ops that each line of code is for.

`Origins` give these numbers in generated functions. To follow ops into optimised code and assembly,
`with_debug_lines` makes debug locations of them, whose line numbers LLVM carries along; `assembly_lines`
reads those back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from ..llvm.function import Code, FunctionCode, Marked

_NAME: Final = re.compile(r"define [^@]*@([\w.$]+)\(")


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


def marked_lines(code: Code, of_function: dict[str, tuple[int, ...]]) -> list[Marked]:
    """The lines of `code`, each with its ops.

    Lines of a function in `of_function` for which nothing was said (loops, addresses) are for all of its ops.
    """
    lines: list[Marked] = []
    for part in code:
        if isinstance(part, FunctionCode):
            lines += part.marked_lines(of_function.get(part.name, ()))
        else:
            lines += [(line, ()) for line in str(part).split("\n")]
    return lines


def with_debug_lines(lines: Sequence[Marked], groups: Groups, functions: Sequence[str]) -> str:
    """LLVM text of `lines`: each instruction of `functions` has a debug location that says its ops."""
    out: list[str] = []
    subprograms: list[str] = []
    scope, names = "", set(functions)
    for line, origins in lines:
        name = _NAME.match(line)
        if name and name[1] in names:
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


#: Directives of assembly for debuggers, unwinders and linkers.
_NOISE: Final = (".cfi_", ".file", ".size", ".Ltmp", ".Lfunc_", ".Lsec_end", ".p2align")
