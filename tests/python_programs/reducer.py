"""Makes a failing program small: statements are taken away, or replaced by what stands in them."""

from __future__ import annotations

import ast
import copy
import time
from collections.abc import Callable, Iterator


def reduce_text(text: str, fails: Callable[[str], bool], seconds: float = 60.0) -> str:
    """The smallest text found in about `seconds` for which `fails` holds, as it does for `text`."""
    end = time.monotonic() + seconds
    progress = True
    while progress:
        progress = False
        for smaller in _smaller(text):
            if time.monotonic() > end:
                return text
            if len(smaller) < len(text) and fails(smaller):
                text, progress = smaller, True
                break
    return text


def _smaller(text: str) -> Iterator[str]:
    tree = ast.parse(text)
    blocks = [
        (node_number, field)
        for node_number, node in enumerate(ast.walk(tree))
        for field in ("body", "orelse", "finalbody", "handlers", "cases")
        if isinstance(getattr(node, field, None), list)
    ]
    for node_number, field in blocks:
        statements = getattr(list(ast.walk(tree))[node_number], field)
        for position in range(len(statements)):
            for replacement in ([], *_parts(statements[position])):
                changed = copy.deepcopy(tree)
                node = list(ast.walk(changed))[node_number]
                block = getattr(node, field)
                block[position : position + 1] = copy.deepcopy(replacement)
                if not block and field == "body":
                    block.append(ast.Pass())
                try:
                    smaller = ast.unparse(ast.fix_missing_locations(changed))
                    compile(smaller, "", "exec")
                except (SyntaxError, ValueError):
                    continue
                yield smaller


def _parts(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Statements that may stand instead of `statement`."""
    if isinstance(statement, (ast.If, ast.For, ast.While, ast.Try, ast.With)):
        yield statement.body
    if isinstance(statement, ast.Match):
        yield from (case.body for case in statement.cases)
    if isinstance(statement, ast.Try):
        yield from (handler.body for handler in statement.handlers)
    if isinstance(statement, (ast.If, ast.For, ast.While, ast.Try)) and statement.orelse:
        yield statement.orelse
        shorter = copy.deepcopy(statement)
        shorter.orelse = []
        yield [shorter]
