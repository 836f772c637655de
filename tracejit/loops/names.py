"""Which names statements assign and read, and which are live: read later before they are assigned again."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

#: Statements that open a scope of their own.
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def assigned(nodes: Iterable[ast.AST]) -> set[str]:
    """The names that `nodes` bind or delete in the scope that they are in."""
    names: set[str] = set()
    for node in nodes:
        _collect_assigned(node, names)
    return names


def _collect_assigned(node: ast.AST, names: set[str]) -> None:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        names.add(node.name)
        return
    if isinstance(node, ast.Lambda):
        return
    if isinstance(node, _COMPREHENSIONS):
        names.update(
            inner.target.id
            for inner in ast.walk(node)
            if isinstance(inner, ast.NamedExpr) and isinstance(inner.target, ast.Name)
        )
        return
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        names.add(node.id)
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        names.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
    elif (isinstance(node, ast.ExceptHandler) and node.name) or (
        isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name
    ):
        names.add(node.name)
    elif isinstance(node, ast.MatchMapping) and node.rest:
        names.add(node.rest)
    for child in ast.iter_child_nodes(node):
        _collect_assigned(child, names)


def loaded(nodes: Iterable[ast.AST]) -> set[str]:
    """The names that `nodes` read, inner scopes included."""
    return {
        inner.id
        for node in nodes
        for inner in ast.walk(node)
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load)
    }


def written_in_place(nodes: Iterable[ast.AST]) -> set[str]:
    """The names whose objects `nodes` write by subscript or augmented assignment, inner scopes included."""
    names: set[str] = set()
    for node in nodes:
        for inner in ast.walk(node):
            if isinstance(inner, ast.AugAssign) and isinstance(inner.target, ast.Name):
                names.add(inner.target.id)
            elif isinstance(inner, ast.Subscript) and not isinstance(inner.ctx, ast.Load):
                base = inner.value
                while isinstance(base, ast.Subscript):
                    base = base.value
                if isinstance(base, ast.Name):
                    names.add(base.id)
    return names


def appended(nodes: Sequence[ast.AST]) -> set[str]:
    """The names that `nodes` only use to call their method ``append``."""
    methods = [
        inner.value.func.value
        for node in nodes
        for inner in ast.walk(node)
        if isinstance(inner, ast.Expr)
        and isinstance(inner.value, ast.Call)
        and isinstance(inner.value.func, ast.Attribute)
        and inner.value.func.attr == "append"
        and isinstance(inner.value.func.value, ast.Name)
        and len(inner.value.args) == 1
        and not inner.value.keywords
    ]
    used = {
        inner.id
        for node in nodes
        for inner in ast.walk(node)
        if isinstance(inner, ast.Name) and not any(inner is name for name in methods)
    }
    return {name.id for name in methods} - used


class Liveness:
    """The live names of one function, whose body is `statements`.

    Of each loop and conditional, `behind` has the names that are live after it, and of each loop `ahead`
    those that are live where a step begins.
    """

    def __init__(self, statements: Sequence[ast.stmt], live: Iterable[str] = ()) -> None:
        self.behind: dict[ast.AST, set[str]] = {}
        self.ahead: dict[ast.AST, set[str]] = {}
        inner = [node for statement in statements for node in ast.walk(statement) if isinstance(node, SCOPES)]
        #: Read by inner functions, which may run at any time.
        self._always = loaded(inner)
        self._all = loaded(statements)
        self._block(statements, set(live))

    def _block(self, statements: Sequence[ast.stmt], live: set[str]) -> set[str]:
        for statement in reversed(statements):
            live = self._statement(statement, live)
        return live

    def _statement(self, node: ast.stmt, live: set[str]) -> set[str]:
        live = live | self._always
        if isinstance(node, ast.If):
            self.behind[node] = live
            return self._block(node.body, live) | self._block(node.orelse, live) | loaded([node.test])
        if isinstance(node, (ast.For, ast.While)):
            return self._loop(node, live)
        if isinstance(node, ast.Assign):
            kept = live - _names_of_targets(node.targets)
            return kept | loaded([node.value, *node.targets])
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            return (live - _names_of_targets([node.target])) | loaded([node.value, node.target])
        if isinstance(node, ast.AugAssign):
            name = {node.target.id} if isinstance(node.target, ast.Name) else set()
            return live | name | loaded([node.target, node.value])
        if isinstance(node, (ast.Return, ast.Raise)):
            return loaded([node]) | self._always
        if isinstance(node, ast.With):
            return self._block(node.body, live) | loaded([node])
        if isinstance(node, (ast.Try, ast.Match)):
            return self._opaque(node, live)
        return live | loaded([node])

    def _loop(self, node: ast.For | ast.While, live: set[str]) -> set[str]:
        if has_jumps(node.body) or (node.orelse and has_jumps(node.orelse)):
            return self._opaque(node, live)
        behind = self._block(node.orelse, live)
        self.behind[node] = behind | live
        test = loaded([node.test]) if isinstance(node, ast.While) else set()
        target = _names_of_targets([node.target]) if isinstance(node, ast.For) else set()
        ahead = behind | test | {getattr(node, "left", "")} - {""}  # what runs the loop reads its flag
        while True:
            self.ahead[node] = ahead
            start = self._block(node.body, set(ahead)) - target
            if start <= ahead:
                break
            ahead = ahead | start
        return ahead | (loaded([node.iter, node.target]) if isinstance(node, ast.For) else test)

    def _opaque(self, node: ast.stmt, live: set[str]) -> set[str]:
        """Statements with jumps: whatever they read may be live anywhere in them."""
        live = live | loaded([node])
        for inner in ast.walk(node):
            if isinstance(inner, (ast.If, ast.For, ast.While)):
                self.behind[inner] = self.ahead[inner] = self._all | live
        return live


def has_jumps(statements: Iterable[ast.AST]) -> bool:
    """Whether a ``break``, ``continue`` or ``return`` stands in `statements`, inner scopes aside."""
    for statement in statements:
        if isinstance(statement, (ast.Break, ast.Continue, ast.Return)):
            return True
        if isinstance(statement, SCOPES):
            continue
        if has_jumps(inner for inner in ast.iter_child_nodes(statement) if isinstance(inner, _BLOCKS)):
            return True
    return False


_BLOCKS = (ast.stmt, ast.ExceptHandler, ast.match_case)


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
