"""``break``, ``continue`` and ``return`` inside loops as flags, so that a body ends where it ends.

What follows a conditional that may leave goes into its other branch, or under a test of the flag.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, Final

from .syntax import SCOPES, children, placed, walk

NEVER, MAYBE, ALWAYS = "never", "maybe", "always"
#: What the names of flags, and of values to return, begin with.
FLAG: Final = "_tj_flag"
RETURNED: Final = "_tj_value"


class Exits:
    """The flags of one loop, or of a function whose returns become assignments."""

    def __init__(self, number: int, returned: tuple[str, str] | None, outer: Exits | None) -> None:
        """`returned` are the names of the function's flag and value; in a loop, returns use them, too."""
        self.returned = returned
        self.outer = outer
        self.left = f"{FLAG}_left_{number}"
        self.skipped = f"{FLAG}_skipped_{number}"
        self.is_function = False
        self.leaves = self.skips = self.returns = False


def lower_block(
    statements: Sequence[ast.stmt], exits: Exits, lower_loop: Callable[[Any, Exits], list[ast.stmt]]
) -> tuple[list[ast.stmt], str]:
    """`statements` of a loop's body without jumps, and whether they leave the step: "never", "maybe" or
    "always". ``lower_loop(loop, exits)`` gives the statements for an inner loop."""
    result: list[ast.stmt] = []
    for position, statement in enumerate(statements):
        rest = statements[position + 1 :]
        if isinstance(statement, (ast.Break, ast.Continue, ast.Return)):
            return [*result, *_jump(statement, exits)], ALWAYS
        if isinstance(statement, ast.If):
            body, leaves = lower_block(statement.body, exits, lower_loop)
            orelse, leaves_else = lower_block(statement.orelse, exits, lower_loop)
            node = placed(ast.If(statement.test, body, orelse), statement)
            result.append(node)
            if leaves == leaves_else == NEVER:
                continue
            if leaves == leaves_else == ALWAYS:
                return result, ALWAYS
            behind, leaves_rest = lower_block(rest, exits, lower_loop)
            if leaves == ALWAYS:
                node.orelse = [*orelse, *_guarded(behind, leaves_else, exits, statement)]
            elif leaves_else == ALWAYS:
                node.body = [*body, *_guarded(behind, leaves, exits, statement)]
            else:
                result += _guarded(behind, MAYBE, exits, statement)
            node.body = node.body or [placed(ast.Pass(), statement)]
            return result, ALWAYS if leaves_rest == ALWAYS else MAYBE
        if isinstance(statement, (ast.For, ast.While)):
            result += lower_loop(statement, exits)
            if not _returns(statement):
                continue
            assert exits.returned is not None
            exits.leaves = exits.skips = True
            flag = placed(ast.Name(exits.returned[0], ast.Load()), statement)
            behind, leaves_rest = lower_block(rest, exits, lower_loop)
            taken = [] if exits.is_function else _set_flags(statement, exits.left, exits.skipped)
            taken = taken or [placed(ast.Pass(), statement)]
            result.append(placed(ast.If(flag, taken, behind), statement))
            return result, ALWAYS if leaves_rest == ALWAYS else MAYBE
        result.append(statement)
    return result, NEVER


def _returns(node: ast.AST) -> bool:
    """Whether a ``return`` of the same function stands in `node`."""
    for child in children(node):
        if isinstance(child, ast.Return) or (not isinstance(child, SCOPES) and _returns(child)):
            return True
    return False


def _guarded(statements: list[ast.stmt], leaves: str, exits: Exits, at: ast.stmt) -> list[ast.stmt]:
    """`statements`, to run where what stands before them has not left."""
    if leaves == NEVER or not statements:
        return statements
    exits.skips = True
    test = ast.UnaryOp(ast.Not(), ast.Name(exits.skipped, ast.Load()))
    node = ast.If(test, statements, [])
    placed(node, at)
    placed(test, at)
    placed(test.operand, at)
    return [node]


def _jump(statement: ast.stmt, exits: Exits) -> list[ast.stmt]:
    exits.skips = True
    if isinstance(statement, ast.Continue):
        return _set_flags(statement, exits.skipped)
    if not exits.is_function:
        exits.leaves = True
    if isinstance(statement, ast.Break):
        return _set_flags(statement, exits.left, exits.skipped)
    assert isinstance(statement, ast.Return)
    assert exits.returned is not None
    exits.returns = True
    outer = exits.outer
    while outer is not None:
        outer.returns, outer = True, outer.outer
    flag, name = exits.returned
    value = statement.value or placed(ast.Constant(None), statement)
    target = placed(ast.Name(name, ast.Store()), statement)
    assign = placed(ast.Assign([target], value), statement)
    flags = [flag] if exits.is_function else [flag, exits.left, exits.skipped]
    return [assign, *_set_flags(statement, *flags)]


def _set_flags(at: ast.stmt, *flags: str) -> list[ast.stmt]:
    return [set_flag(flag, at, value=True) for flag in dict.fromkeys(flags)]


def set_flag(flag: str, at: ast.AST, *, value: bool) -> ast.stmt:
    """``flag = value``"""
    statement = ast.Assign([ast.Name(flag, ast.Store())], ast.Constant(value))
    for node in walk(statement):
        if isinstance(node, (ast.expr, ast.stmt)):
            placed(node, at)
    return statement
