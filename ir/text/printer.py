"""Prints Functions. The grammar is in docs/ir.md; `parser` reads it back to an equal Function.

A value that is used before it is defined (in a broken Function) prints as ``%?``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ..dtypes import SHORT_NAME
from ..graph import Function, Instruction, Value
from . import VERSION
from .lexer import quote, sigil_name


class Names:
    """Names of values in printed text. Several prints with one object give a value the same name.

    Values without a name are numbered in order of definition. With `known`, or once something was printed,
    the numbers go on from the highest, so that a number never stands for two values.

    Example:
        >>> from tracejit.ir.text.parser import parse_document
        >>> from tracejit.ir.text.printer import print_function
        >>> made = parse_document("func @f(%x: f64[]) -> f64[] { %y: f64[] = neg(%x) return %y }")
        >>> print(print_function(made.functions[0], names=Names(made.names)))
        func @f(%x: f64[]) -> f64[] {
          %y: f64[] = neg(%x)
          return %y
        }
    """

    def __init__(self, names: Mapping[Value, str] | None = None) -> None:
        self._names = dict(names or {})
        numbers = [int(text) for text in self._names.values() if text.isdecimal() and text.isascii()]
        self._number = max(numbers, default=-1) + 1

    def of(self, function: Function) -> dict[Value, str]:
        """The names of the values that `function` defines, with ``%`` before them."""
        names, taken = self._names, set[str]()
        values = list(function.params)
        for instruction in function.body:
            values += instruction.results
        for position, param in enumerate(function.params):
            if param not in names:
                names[param] = param.hint or f"arg{position}"
        used = {names[value] for value in values if value in names}
        named: dict[Value, str] = {}
        parameters = len(function.params)
        for position, value in enumerate(values):
            name = names.get(value)
            if position < parameters:
                name = _free(name or "", taken)
            elif name is None or name in taken:
                name = self._next(used)
            names[value] = name
            taken.add(name)
            named[value] = sigil_name("%", name)
        return named

    def _next(self, used: set[str]) -> str:
        while str(self._number) in used:
            self._number += 1
        self._number += 1
        return str(self._number - 1)


def _free(hint: str, taken: set[str]) -> str:
    """`hint`, or that with a number behind."""
    name, again = hint, 1
    while name in taken:
        again += 1
        name = f"{hint}_{again}"
    return name


def print_function(
    function: Function,
    *,
    mark: Instruction | None = None,
    note: str = "",
    locations: bool = True,
    names: Names | None = None,
    aligned: bool = True,
) -> str:
    """`function` as text. `mark` puts `note` with carets under that instruction; `names` are what its values
    are called, numbers unless told; `aligned` puts the ops below each other."""
    rows: list[str] = []
    for text, anchor in lines_of(function, locations=locations, names=names, aligned=aligned):
        rows.append(text)
        if mark is not None and anchor is mark:
            shown = text.split(" @" if mark.regions else " # ")[0].rstrip()
            rows += [f"  {'^' * max(len(shown) - 2, 1)}", f"  ; {note}"]
    return "\n".join(rows)


def print_functions(functions: Iterable[Function], names: Names | None = None) -> str:
    """Functions as the text of a file: a line with the version of the text form, and one after the other.

    Example:
        >>> from tracejit.ir.text.parser import parse_functions
        >>> print(print_functions(parse_functions("func @f() -> () { return }")), end="")
        tir 1
        <BLANKLINE>
        func @f() -> () {
          return
        }
    """
    return (
        "\n\n".join([f"tir {VERSION}", *(print_function(function, names=names) for function in functions)])
        + "\n"
    )


def lines_of(
    function: Function,
    *,
    locations: bool = True,
    names: Names | None = None,
    aligned: bool = True,
) -> Iterator[tuple[str, Instruction | tuple[Function, str]]]:
    """The lines of `function`, each with what it shows: an instruction, or the Function's head, return or
    end. The last line of an instruction with regions shows the end of the last region."""
    yield from _lines(function, "", locations, names, aligned, "func ")


def _lines(
    function: Function, indent: str, locations: bool, shared: Names | None, aligned: bool, lead: str
) -> Iterator[tuple[str, Instruction | tuple[Function, str]]]:
    names = (shared or Names()).of(function)
    params = ", ".join(f"{names[param]}: {param.type}" for param in function.params)
    results = ", ".join(str(_type_of(result)) for result in function.results)
    head = f"{sigil_name('@', function.name)}({params}) -> {_grouped(results, len(function.results))} {{"
    yield f"{lead}{head}", (function, "func")
    rows = [_row(instruction, names) for instruction in function.body]
    width = max((len(left) for left, _ in rows), default=0) if aligned else 0
    for instruction, (left, right) in zip(function.body, rows, strict=True):
        text = f"{indent}  {left:<{width}} = {right}" if left else f"{indent}  {right}"
        anchor: Any = instruction
        for region in instruction.regions:
            for line, what in _lines(region, indent + "  ", locations, shared, aligned, ""):
                if what == (region, "func"):
                    text += " " + line
                    continue
                yield text, anchor
                text, anchor = line, what
        if locations and instruction.location:
            text = f"{text:<{len(indent) + 60}} # {instruction.location}"
        yield text, anchor
    returned = ", ".join(names.get(result, "%?") for result in function.results)
    yield f"{indent}  return {returned}".rstrip(), (function, "return")
    yield f"{indent}}}", (function, "end")


def _grouped(text: str, count: int) -> str:
    return text if count == 1 else f"({text})"


def _type_of(value: Value) -> object:
    return value.type


def _row(instruction: Instruction, names: dict[Value, str]) -> tuple[str, str]:
    left = ", ".join(f"{names[result]}: {result.type}" for result in instruction.results)
    operands = ", ".join(names.get(operand, "%?") for operand in instruction.operands)
    defaults = instruction.op.defaults
    attrs = ", ".join(
        f"{key}={print_attr(value)}"
        for key, value in instruction.attrs.items()
        if key not in defaults or defaults[key] != value
    )
    return left, f"{instruction.op.name}({operands})" + (f" {{{attrs}}}" if attrs else "")


def print_attr(value: Any) -> str:
    """An attribute's text: numbers, names, quoted strings, lists."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if math.isnan(value):
            return "nan"
        if math.isinf(value):
            return "inf" if value > 0 else "-inf"
        return repr(value)
    if isinstance(value, complex):
        return f"complex({print_attr(value.real)}, {print_attr(value.imag)})"
    if isinstance(value, np.dtype):
        return SHORT_NAME[value]
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, tuple):
        return f"[{', '.join(map(print_attr, value))}]"
    raise TypeError(f"attribute value {value!r} has no text form")
