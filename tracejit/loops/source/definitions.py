"""The syntax trees of functions, from the lines of their files."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Sequence
from types import CodeType
from typing import Final

#: Most parentheses around the body of a lambda that are closed behind it, and within how many bytes.
_AROUND: Final = 8
_TAIL: Final = 400


def function_at(code: CodeType, lines: Sequence[str]) -> ast.FunctionDef | str:
    """The definition of a function in the `lines` of its file, or what is wrong with its source."""
    first = code.co_firstlineno
    # the lines that the code knows of, which do for most; else tokens tell where the function ends
    last = max((end for _, end, _, _ in _positions(code) if end is not None), default=first)
    module = _block(lines[first - 1 : last], first)
    module = module or _block(inspect.getblock(list(lines[first - 1 :])), first)
    if module is None:
        return "cannot be read"
    statement = module.body[0]
    definition = statement.body[0] if isinstance(statement, ast.If) else statement
    if not isinstance(definition, ast.FunctionDef) or definition.name != code.co_name:
        return "is not that of a function"
    return definition


def _block(lines: Sequence[str], first: int) -> ast.Module | None:
    """The statement in `lines`, of which the first has the number `first`."""
    text = "".join(lines)
    before = "\n" * (first - 1)
    if text[:1].isspace():  # then there are lines before it
        before = f"{before[:-1]}if 1:\n"
    try:
        return ast.parse(before + text)
    except SyntaxError:
        return None


def _positions(code: CodeType) -> Iterator[tuple[int | None, int | None, int | None, int | None]]:
    """Lines and columns of `code` and of code in it: where they begin, and end."""
    yield from code.co_positions()
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _positions(constant)


def extent(code: CodeType) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Line and column where the text of `code`, and of code in it, begins and where it ends, or None where
    it does not know."""
    places = [
        ((start, column), (end, last))
        for start, end, column, last in _positions(code)
        if start and end and column is not None and last is not None and (start, column) != (end, last)
    ]
    return (min(place for place, _ in places), max(place for _, place in places)) if places else None


def lambda_at(code: CodeType, lines: Sequence[str]) -> ast.FunctionDef | str:
    """A definition that does what a lambda in the `lines` of its file does, or what is wrong with its
    source."""
    first = code.co_firstlineno
    within = extent(code)
    if within is None:
        return "is not there"
    start, end = within
    for match in reversed(list(re.finditer(rb"\blambda\b", lines[first - 1].encode()))):
        if (first, match.start()) < start:
            parsed = _lambda(lines, (first, match.start()), end)
            if parsed is not None:
                return _definition(parsed)
    return "cannot be read"


def _lambda(lines: Sequence[str], start: tuple[int, int], end: tuple[int, int]) -> ast.Lambda | None:
    """The lambda from `start` to `end`, or behind some parentheses more."""
    part = [line.encode() for line in lines[start[0] - 1 :]]
    last = end[0] - start[0]
    part[0] = part[0][start[1] :]
    column = end[1] - (start[1] if last == 0 else 0)
    head, tail = (
        b"".join([*part[:last], part[last][:column]]),
        part[last][column:] + b"".join(part[last + 1 :]),
    )
    closing = [match.end() for match in re.finditer(rb"\)", tail[:_TAIL])]
    for length in [0, *closing[:_AROUND]]:
        try:
            tree = ast.parse(b"(\n" + b" " * start[1] + head + tail[:length] + b")", mode="eval").body
        except SyntaxError:
            continue
        if isinstance(tree, ast.Lambda):
            ast.increment_lineno(tree, start[0] - 2)
            return tree
    return None


def _definition(function: ast.Lambda) -> ast.FunctionDef:
    body = ast.copy_location(ast.Return(function.body), function.body)
    definition = ast.FunctionDef("<lambda>", function.args, [body], [])
    complete(definition)
    return ast.copy_location(definition, function)


def complete(definition: ast.stmt) -> None:
    """Give a definition the fields that the running Python asks for."""
    if "type_params" in definition._fields:
        definition.type_params = []  # type: ignore[attr-defined]
