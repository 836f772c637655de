"""Prints Functions. The grammar is in docs/ir.md; `parser` reads it back to an equal Function.

Values without a name are numbered in order of definition. A value that is used before it is defined (in
a broken Function) prints as ``%?``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..dtypes import SHORT_NAME
from ..graph import Function, Instruction, Value


def print_function(
    function: Function,
    *,
    indent: str = "",
    mark: Instruction | None = None,
    note: str = "",
    locations: bool = True,
) -> str:
    """`function` as text. `mark` puts `note` with carets under that instruction."""
    rows = function_rows(function, indent=indent, mark=mark, note=note, locations=locations)
    return "\n".join(text for text, _ in rows)


def function_rows(
    function: Function,
    *,
    indent: str = "",
    mark: Instruction | None = None,
    note: str = "",
    locations: bool = True,
    names: Mapping[Value, str] | None = None,
) -> list[tuple[str, Instruction | None]]:
    """The lines of the text, each with its instruction; `names` are the values' in place of numbers."""
    given, names = names, _name_values(function) if names is None else names
    params = ", ".join(f"{names[param]}: {param.type}" for param in function.params)
    results = ", ".join(str(_type_of(result)) for result in function.results)
    head = f"{indent}func @{function.name}({params}) -> {_grouped(results, len(function.results))} {{"
    lines: list[tuple[str, Instruction | None]] = [(head, None)]
    rows = [_row(instruction, names) for instruction in function.body]
    width = max((len(left) for left, _ in rows), default=0)
    for instruction, (left, right) in zip(function.body, rows, strict=True):
        text = f"{indent}  {left:<{width}} = {right}"
        for region in instruction.regions:
            inner = function_rows(region, indent=indent + "  ", locations=locations, names=given)
            lines.append((f"{text} {inner[0][0].lstrip().removeprefix('func ')}", instruction))
            lines += inner[1:-1]
            text = inner[-1][0]
        if locations and instruction.location:
            text = f"{text:<{len(indent) + 60}} # {instruction.location}"
        lines.append((text, instruction))
        if mark is instruction:
            lines.append((f"{indent}  {'^' * max(len(f'{left} = {right}'), 1)}", None))
            lines.append((f"{indent}  ; {note}", None))
    returned = ", ".join(names.get(result, "%?") for result in function.results)
    lines.append((f"{indent}  return {returned}".rstrip(), None))
    lines.append((f"{indent}}}", None))
    return lines


def _grouped(text: str, count: int) -> str:
    return text if count == 1 else f"({text})"


def _type_of(value: Value) -> object:
    return value.type


def _name_values(function: Function) -> dict[Value, str]:
    names: dict[Value, str] = {}
    taken: set[str] = set()
    number = 0
    for param in function.params:
        wanted = param.hint or f"arg{len(names)}"
        name, again = wanted, 1
        while name in taken or name.isdigit():
            again += 1
            name = f"{wanted}_{again}"
        taken.add(name)
        names[param] = f"%{name}"
    for instruction in function.body:
        for result in instruction.results:
            names.setdefault(result, f"%{number}")
            number += 1
    return names


def _row(instruction: Instruction, names: Mapping[Value, str]) -> tuple[str, str]:
    left = ", ".join(f"{names[result]}: {result.type}" for result in instruction.results)
    operands = ", ".join(names.get(operand, "%?") for operand in instruction.operands)
    attrs = ", ".join(f"{key}={print_attr(value)}" for key, value in instruction.attrs.items())
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
    if isinstance(value, np.dtype):
        return SHORT_NAME[value]
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    if isinstance(value, tuple):
        return f"[{', '.join(map(print_attr, value))}]"
    raise TypeError(f"attribute value {value!r} has no text form")
