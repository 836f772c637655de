"""Names of values in text."""

from __future__ import annotations

from collections.abc import Mapping

from ..graph import Function, Value
from .lexer import sigil_name


class Names:
    """What text calls values. Kept over several prints, it gives the same value the same name in each.

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
