"""Descriptions of statements for the code that runs them, and comprehensions that count their operations."""

from __future__ import annotations

import ast

from ...base.records import record
from .expressions import RUNTIME, call
from .syntax import COMPREHENSIONS, Comprehension, placed


@record(eq=False)
class Statement:
    """Description of a loop or a conditional, from its source text.

    Attributes:
        file, line: where it stands.
        assigned: the variables that it assigns.
        carried: those of them that a step reads from the one before, or that are read after it.
        results: those of them that are read after it.
        written: names whose objects it writes in place.
        written_anywhere: names whose objects the function writes in place.
        appended: names of lists that it appends to, and does not use otherwise.
        grows: whether a condition decides if it appends, or how often.
        flag: the name of the flag by which a step leaves the loop, empty without.
        size: about how many operations it has.
        refused: why a loop stays as it is written.
    """

    file: str
    line: int
    assigned: tuple[str, ...]
    carried: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    written_anywhere: frozenset[str] = frozenset()
    appended: tuple[str, ...] = ()
    flag: str = ""
    size: int = 0
    refused: str = ""
    grows: bool = False


def mark_comprehensions(function: ast.FunctionDef, file: str, statements: list[Statement]) -> None:
    """Rewrite the comprehensions of `function`, and of functions in it, to count their operations; nothing
    else changes. `statements` collects their descriptions, which the code refers to by number."""
    for statement in function.body:
        for node in ast.walk(statement):
            if isinstance(node, COMPREHENSIONS):
                mark(node, file, statements)


def mark(node: Comprehension, file: str, statements: list[Statement]) -> None:
    """Rewrite a comprehension to count its operations."""
    first = node.generators[0]
    if not first.is_async:
        reason = "a comprehension runs item by item; a loop that appends or adds is compiled"
        statement = Statement(file, node.lineno, (), refused=reason)
        first.iter = call("comprehended", first.iter, described(statement, statements, node), at=first.iter)


def described(statement: Statement, statements: list[Statement], at: ast.AST) -> ast.expr:
    """The expression that refers to the description `statement` in rewritten code. Appends it to
    `statements`."""
    statements.append(statement)
    return placed(ast.Constant(f"{RUNTIME}{len(statements) - 1}"), at)
