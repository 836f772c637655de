"""What the text of statements says: names that they assign and read, which of them are live (read later
before they are assigned again), and what stands in a loop that cannot be a function of its own."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from ...frontend.library import WRITERS

#: Statements that open a scope of their own.
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
Comprehension: TypeAlias = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def walk(node: ast.AST) -> list[ast.AST]:
    """`node` and all that is in it, in the order of ``ast.walk``, which takes three times as long."""
    nodes = [node]
    for outer in nodes:  # it grows
        nodes += children(outer)
    return nodes


def children(node: ast.AST) -> list[ast.AST]:
    """What stands directly in `node`, without contexts of names."""
    nodes: list[ast.AST] = []
    for inner in vars(node).values():
        if inner.__class__ is list:
            nodes += [each for each in inner if isinstance(each, ast.AST)]
        elif isinstance(inner, ast.AST) and not isinstance(inner, ast.expr_context):
            nodes.append(inner)
    return nodes


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
    if isinstance(node, COMPREHENSIONS):
        names.update(
            inner.target.id
            for inner in walk(node)
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
    for child in children(node):
        _collect_assigned(child, names)


def comprehensions(nodes: Iterable[ast.AST]) -> Iterator[Comprehension]:
    """The comprehensions and generator expressions in `nodes`, without those in functions in them."""
    for node in nodes:
        if isinstance(node, SCOPES):
            continue
        if isinstance(node, COMPREHENSIONS):
            yield node
        yield from comprehensions(children(node))


def loaded(nodes: Iterable[ast.AST]) -> set[str]:
    """The names that `nodes` read, inner scopes included."""
    return {
        inner.id
        for node in nodes
        for inner in walk(node)
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load)
    }


def written_in_place(nodes: Iterable[ast.AST]) -> set[str]:
    """The names whose objects `nodes` write by subscript or augmented assignment, inner scopes included."""
    names: set[str] = set()
    for node in nodes:
        for inner in walk(node):
            if isinstance(inner, ast.AugAssign) and isinstance(inner.target, ast.Name):
                names.add(inner.target.id)
            elif isinstance(inner, ast.Subscript) and not isinstance(inner.ctx, ast.Load):
                base = inner.value
                while isinstance(base, ast.Subscript):
                    base = base.value
                if isinstance(base, ast.Name):
                    names.add(base.id)
    return names


def written_by_calls(nodes: Iterable[ast.AST]) -> set[str]:
    """The names of arrays that `nodes` hand to functions of NumPy's that write them: ``np.add.at(a, ...)``,
    ``np.put(a, ...)``, ``np.add(x, y, out=a)``."""
    names: set[str] = set()
    for node in nodes:
        for inner in walk(node):
            if not isinstance(inner, ast.Call):
                continue
            written = [keyword.value for keyword in inner.keywords if keyword.arg == "out"]
            if isinstance(inner.func, ast.Attribute) and inner.func.attr in WRITERS:
                written += inner.args[:1]
            names.update(target.id for target in written if isinstance(target, ast.Name))
    return names


def appended(nodes: Sequence[ast.AST]) -> set[str]:
    """The names that `nodes` only use to call their method ``append``."""
    methods = [
        inner.value.func.value
        for node in nodes
        for inner in walk(node)
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
        for inner in walk(node)
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
        inner = [node for statement in statements for node in walk(statement) if isinstance(node, SCOPES)]
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
        for inner in walk(node):
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
        if has_jumps(inner for inner in children(statement) if isinstance(inner, _BLOCKS)):
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
        if isinstance(node, ast.While) and any(isinstance(x, ast.NamedExpr) for x in walk(node.test)):
            return f"its test assigns a variable (line {node.lineno})"
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            return f"it contains an import (line {node.lineno})"
    return ""


def _same_scope(node: ast.AST) -> Iterator[ast.AST]:
    for child in children(node):
        yield child
        if not isinstance(child, SCOPES):
            yield from _same_scope(child)


def _leaves(statements: list[ast.stmt], *, returns: bool) -> bool:
    kinds = (ast.Break, ast.Continue, ast.Return) if returns else (ast.Break, ast.Continue)
    return any(isinstance(node, kinds) for statement in statements for node in walk(statement))


def _is_plain_target(target: ast.expr) -> bool:
    if isinstance(target, (ast.Tuple, ast.List)):
        return all(map(_is_plain_target, target.elts))
    return isinstance(target, ast.Name)
