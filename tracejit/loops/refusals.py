"""Which loops stay as they are written: what stands in them that cannot be a function of its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .names import SCOPES

_REFUSED = {
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
}
#: Builtins that look at the frame which calls them.
_FRAMES = ("super", "locals", "vars", "eval", "exec", "dir")


def refusal(loop: ast.For | ast.While | ast.FunctionDef, outside: set[str]) -> str:
    """Why `loop`, or a function that is called in one, stays as it is written; empty where nothing speaks
    against it. `outside` are the names that the function declares global or nonlocal."""
    for node in (loop, *_same_scope(loop)):
        if isinstance(node, ast.For) and not _is_plain_target(node.target):
            return f"the target of a loop is not a name or a tuple of names (line {node.lineno})"
        if isinstance(node, (ast.For, ast.While)) and _leaves(node.orelse, returns=node is not loop):
            return f"the else of a loop leaves (line {node.lineno})"
        for kind, text in _REFUSED.items():
            if isinstance(node, kind):
                return f"it contains {text} (line {getattr(node, 'lineno', loop.lineno)})"
        if isinstance(node, getattr(ast, "TryStar", ())):
            return f"it contains a try statement (line {node.lineno})"  # type: ignore[attr-defined]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FRAMES:
            return f"it calls {node.func.id}() (line {node.lineno})"
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) and node.id in outside:
            return f"it assigns {node.id}, a variable outside the function (line {node.lineno})"
        if isinstance(node, ast.While) and any(isinstance(x, ast.NamedExpr) for x in ast.walk(node.test)):
            return f"its test assigns a variable (line {node.lineno})"
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            return f"it contains an import (line {node.lineno})"
    return ""


def _same_scope(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, SCOPES):
            yield from _same_scope(child)


def _leaves(statements: list[ast.stmt], *, returns: bool) -> bool:
    kinds = (ast.Break, ast.Continue, ast.Return) if returns else (ast.Break, ast.Continue)
    return any(isinstance(node, kinds) for statement in statements for node in ast.walk(statement))


def _is_plain_target(target: ast.expr) -> bool:
    if isinstance(target, (ast.Tuple, ast.List)):
        return all(map(_is_plain_target, target.elts))
    return isinstance(target, ast.Name)
