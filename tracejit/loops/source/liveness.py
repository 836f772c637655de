"""Liveness of the names in statements: which are read before they are assigned again."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from .names import NameTable
from .syntax import has_jumps, is_endless, walk

_TRY_STAR = getattr(ast, "TryStar", ast.Try)


class Liveness:
    """The live names of one function, whose body is `statements`.

    Of each loop and conditional, `behind` has the names that are live after it, and of each loop `ahead`
    those that are live where a step begins.
    """

    def __init__(self, statements: Sequence[ast.stmt], names: NameTable) -> None:
        self.behind: dict[ast.AST, set[str]] = {}
        self.ahead: dict[ast.AST, set[str]] = {}
        self._names = names
        every = names.of(*statements)
        #: Read by inner functions, which may run at any time.
        self._always, self._all = every.captured, every.loaded
        self._block(statements, set())

    def _read(self, *nodes: ast.AST) -> set[str]:
        """The names that `nodes` read."""
        return self._names.of(*nodes).loaded

    def _block(self, statements: Sequence[ast.stmt], live: set[str]) -> set[str]:
        for statement in reversed(statements):
            live = self._statement(statement, live)
        return live

    def _statement(self, node: ast.stmt, live: set[str]) -> set[str]:
        live = live | self._always
        if isinstance(node, ast.If):
            self.behind[node] = live
            return self._block(node.body, live) | self._block(node.orelse, live) | self._read(node.test)
        if isinstance(node, (ast.For, ast.While)):
            return self._loop(node, live)
        if isinstance(node, ast.Assign):
            kept = live - _names_of_targets(node.targets)
            return kept | self._read(node)
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            return (live - _names_of_targets([node.target])) | self._read(node.value, node.target)
        if isinstance(node, ast.AugAssign):
            return live | self._read(node)
        if isinstance(node, (ast.Return, ast.Raise)):
            return self._read(node) | self._always
        if isinstance(node, ast.With):
            return self._block(node.body, live) | self._read(node)
        if isinstance(node, (ast.Try, _TRY_STAR, ast.Match)):
            return self._opaque(node, live)
        return live | self._read(node)

    def _loop(self, node: ast.For | ast.While, live: set[str]) -> set[str]:
        if has_jumps(node.body) or (node.orelse and has_jumps(node.orelse)):
            return self._opaque(node, live)
        behind = self._block(node.orelse, live)
        self.behind[node] = behind | live
        test = self._read(node.test) if isinstance(node, ast.While) else set()
        target = _names_of_targets([node.target]) if isinstance(node, ast.For) else set()
        ahead = behind | test | _flag_of(node)
        while True:
            self.ahead[node] = ahead
            start = self._block(node.body, set(ahead)) - target
            if start <= ahead:
                break
            ahead = ahead | start
        if is_endless(node):  # whose first step runs
            return start | _flag_of(node)
        return ahead | (self._read(node.iter, node.target) if isinstance(node, ast.For) else test)

    def _opaque(self, node: ast.stmt, live: set[str]) -> set[str]:
        """Statements with jumps: whatever they read may be live anywhere in them."""
        live = live | self._read(node)
        inside = [inner for inner in walk(node) if isinstance(inner, (ast.If, ast.For, ast.While))]
        anywhere = self._all.union(live, *map(_flag_of, inside))
        for inner in inside:
            self.behind[inner] = self.ahead[inner] = anywhere
        return live


def _flag_of(loop: ast.AST) -> set[str]:
    """The name of the flag by which a loop is left, which what runs the loop reads."""
    return {getattr(loop, "left", "")} - {"", None} if isinstance(loop, (ast.For, ast.While)) else set()


def _names_of_targets(targets: Iterable[ast.expr]) -> set[str]:
    names: set[str] = set()
    for target in targets:
        if isinstance(target, ast.Name):
            names.add(target.id)
        elif isinstance(target, (ast.Tuple, ast.List)):
            names |= _names_of_targets(target.elts)
        elif isinstance(target, ast.Starred):
            names |= _names_of_targets([target.value])
    return names
