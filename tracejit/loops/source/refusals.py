"""Reasons why a loop stays as it is written: what its body contains cannot be a function of its own."""

from __future__ import annotations

import ast
from typing import Any

from .names import rebound_outside
from .syntax import SCOPES, same_scope, walk

_REFUSED: dict[type[ast.AST], str] = {
    ast.Try: "a try statement",
    ast.With: "a with statement",
    ast.AsyncWith: "a with statement",
    ast.AsyncFor: "async for",
    ast.Match: "a match statement",
    ast.Yield: "yield",
    ast.YieldFrom: "yield",
    ast.Await: "await",
    ast.ClassDef: "a class",
    ast.Global: "a global statement",
    ast.Nonlocal: "a nonlocal statement",
    getattr(ast, "TryStar", ast.Try): "a try statement",
}
#: Node classes that `refusal` looks at.
_ASKED = frozenset((*_REFUSED, *SCOPES, ast.For, ast.While, ast.Call, ast.Name, ast.Import, ast.ImportFrom))
#: Builtins that look at the frame which calls them.
_FRAMES = ("super", "locals", "vars", "eval", "exec", "dir")


def refusal(loop: ast.For | ast.While | ast.FunctionDef, outside: set[str]) -> str:
    """The reason why `loop`, or a function that is called in one, stays as it is written; empty without
    one. `outside` are variables that do not belong to the function, but to one around it or to the module."""
    if not any(_may_refuse(node, outside) for node in walk(loop)):  # which does not keep their order
        return ""
    for node in (loop, *same_scope(loop)):
        if type(node) not in _ASKED:
            continue
        if isinstance(node, ast.For) and not _is_plain_target(node.target):
            return f"the target of a loop is not a name or a tuple of names (line {node.lineno})"
        text = _REFUSED.get(node.__class__)
        if text is not None:
            return f"it contains {text} (line {getattr(node, 'lineno', loop.lineno)})"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FRAMES:
            return f"it calls {node.func.id}() (line {node.lineno})"
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) and node.id in outside:
            return f"it assigns {node.id}, a variable outside the function (line {node.lineno})"
        if isinstance(node, SCOPES) and node is not loop and (rebound := rebound_outside(node) & outside):
            name = min(rebound)
            return f"a function in it assigns {name}, a variable outside the function (line {node.lineno})"
        if isinstance(node, ast.While) and any(isinstance(x, ast.NamedExpr) for x in walk(node.test)):
            return f"its test assigns a variable (line {node.lineno})"
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            return f"it contains an import (line {node.lineno})"
    return ""


def _may_refuse(node: Any, outside: set[str]) -> bool:
    """Whether `node` may be what `refusal` looks for."""
    kind = type(node)
    if kind not in _ASKED:
        return False
    if kind is ast.Name:
        return bool(outside) and node.id in outside
    if kind in SCOPES and kind is not ast.ClassDef:
        return bool(outside)
    if kind is ast.Call:
        return isinstance(node.func, ast.Name) and node.func.id in _FRAMES
    if kind is ast.For:
        return not _is_plain_target(node.target)
    if kind is ast.While:
        return any(isinstance(inner, ast.NamedExpr) for inner in walk(node.test))
    return True


def _is_plain_target(target: ast.expr) -> bool:
    if isinstance(target, (ast.Tuple, ast.List)):
        return all(map(_is_plain_target, target.elts))
    return isinstance(target, ast.Name)
