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


#: Fields that hold names, numbers, operators and contexts: nothing that is looked at as a node.
_LEAVES = frozenset(("id", "ctx", "op", "ops", "attr", "n", "s", "kind", "level", "type_comment"))
#: Where nodes have other nodes, by their class.
_FIELDS: dict[type, tuple[str, ...]] = {
    kind: () if kind is ast.Constant else tuple([name for name in kind._fields if name not in _LEAVES])
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST)
}


def walk(node: ast.AST) -> list[ast.AST]:
    """`node` and all that is in it but operators, in the order of ``ast.walk``, which takes five times as
    long."""
    nodes = [node]
    for outer in nodes:  # it grows
        if _FIELDS[type(outer)]:
            nodes += children(outer)
    return nodes


def children(node: ast.AST) -> list[ast.AST]:
    """What stands directly in `node`, without operators and contexts of names."""
    nodes: list[ast.AST] = []
    fields = _FIELDS[type(node)]
    if not fields:
        return nodes
    values, kind = vars(node), ast.AST
    for field in fields:
        inner = values.get(field)
        if type(inner) is list:
            nodes += [each for each in inner if isinstance(each, kind)]
        elif isinstance(inner, kind):
            nodes.append(inner)
    return nodes


class Transformer(ast.NodeTransformer):
    """Replaces nodes that `walk` sees by others, in half the time."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for field in _FIELDS[type(node)]:
            inner = getattr(node, field, None)
            if inner.__class__ is list:
                inner[:] = [self.visit(each) if isinstance(each, ast.AST) else each for each in inner]
            elif isinstance(inner, ast.AST):
                setattr(node, field, self.visit(inner))
        return node


def locate_missing(tree: ast.AST) -> None:
    """``ast.fix_missing_locations`` of what `walk` sees: a node without a place has that of the one around
    it."""
    pending = [(tree, tree)]
    while pending:
        node, at = pending.pop()
        for child in children(node):
            if "lineno" not in child._attributes:
                pending.append((child, at))
                continue
            if "lineno" not in vars(child):
                ast.copy_location(child, at)
            pending.append((child, child))


def assigned(nodes: Iterable[ast.AST]) -> set[str]:
    """The names that `nodes` bind or delete in the scope that they are in."""
    names: set[str] = set()
    for node in nodes:
        _collect_assigned(node, names)
    return names


def _collect_assigned(node: ast.AST, names: set[str]) -> None:
    if type(node) not in _BINDING:
        for child in children(node):
            _collect_assigned(child, names)
        return
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


#: What `_collect_assigned` asks for.
_BINDING = frozenset(
    (
        *SCOPES, *COMPREHENSIONS, ast.Name, ast.Import, ast.ImportFrom, ast.ExceptHandler,
        ast.MatchAs, ast.MatchStar, ast.MatchMapping,
    )
)  # fmt: skip


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
        #: What `loaded` says of a node: steps of loops are looked at twice and more.
        self._loaded: dict[ast.AST, set[str]] = {}
        #: Read by inner functions, which may run at any time.
        self._always = loaded(inner)
        self._all = loaded(statements)
        self._block(statements, set(live))

    def _read(self, *nodes: ast.AST) -> set[str]:
        """The names that `nodes` read."""
        names: set[str] = set()
        for node in nodes:
            if node not in self._loaded:
                self._loaded[node] = loaded([node])
            names |= self._loaded[node]
        return names

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
            return kept | self._read(node.value, *node.targets)
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            return (live - _names_of_targets([node.target])) | self._read(node.value, node.target)
        if isinstance(node, ast.AugAssign):
            name = {node.target.id} if isinstance(node.target, ast.Name) else set()
            return live | name | self._read(node.target, node.value)
        if isinstance(node, (ast.Return, ast.Raise)):
            return self._read(node) | self._always
        if isinstance(node, ast.With):
            return self._block(node.body, live) | self._read(node)
        if isinstance(node, (ast.Try, ast.Match)):
            return self._opaque(node, live)
        return live | self._read(node)

    def _loop(self, node: ast.For | ast.While, live: set[str]) -> set[str]:
        if has_jumps(node.body) or (node.orelse and has_jumps(node.orelse)):
            return self._opaque(node, live)
        behind = self._block(node.orelse, live)
        self.behind[node] = behind | live
        test = self._read(node.test) if isinstance(node, ast.While) else set()
        target = _names_of_targets([node.target]) if isinstance(node, ast.For) else set()
        ahead = behind | test | {getattr(node, "left", "")} - {""}  # what runs the loop reads its flag
        while True:
            self.ahead[node] = ahead
            start = self._block(node.body, set(ahead)) - target
            if start <= ahead:
                break
            ahead = ahead | start
        return ahead | (self._read(node.iter, node.target) if isinstance(node, ast.For) else test)

    def _opaque(self, node: ast.stmt, live: set[str]) -> set[str]:
        """Statements with jumps: whatever they read may be live anywhere in them."""
        live = live | self._read(node)
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
#: What `refusal` asks for.
_ASKED = frozenset((*_REFUSED, ast.For, ast.While, ast.Call, ast.Name, ast.Import, ast.ImportFrom))
#: Builtins that look at the frame which calls them.
_FRAMES = ("super", "locals", "vars", "eval", "exec", "dir")


def refusal(loop: ast.For | ast.While | ast.FunctionDef, outside: set[str]) -> str:
    """Why `loop`, or a function that is called in one, stays as it is written; empty where nothing speaks
    against it. `outside` are the names that the function declares global or nonlocal."""
    for node in (loop, *_same_scope(loop)):
        if type(node) not in _ASKED:
            continue
        if isinstance(node, ast.For) and not _is_plain_target(node.target):
            return f"the target of a loop is not a name or a tuple of names (line {node.lineno})"
        if isinstance(node, (ast.For, ast.While)) and _leaves(node.orelse, returns=node is not loop):
            return f"the else of a loop leaves (line {node.lineno})"
        text = _REFUSED.get(node.__class__)
        if text is not None:
            return f"it contains {text} (line {getattr(node, 'lineno', loop.lineno)})"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FRAMES:
            return f"it calls {node.func.id}() (line {node.lineno})"
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) and node.id in outside:
            return f"it assigns {node.id}, a variable outside the function (line {node.lineno})"
        if isinstance(node, ast.While) and any(isinstance(x, ast.NamedExpr) for x in walk(node.test)):
            return f"its test assigns a variable (line {node.lineno})"
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            return f"it contains an import (line {node.lineno})"
    return ""


def _same_scope(node: ast.AST) -> list[ast.AST]:
    """What is in `node`, inner scopes aside, in the order of the text."""
    nodes: list[ast.AST] = []
    pending = children(node)[::-1]
    while pending:
        nodes.append(pending.pop())
        if not isinstance(nodes[-1], SCOPES):
            pending += children(nodes[-1])[::-1]
    return nodes


def _leaves(statements: list[ast.stmt], *, returns: bool) -> bool:
    kinds = (ast.Break, ast.Continue, ast.Return) if returns else (ast.Break, ast.Continue)
    return any(isinstance(node, kinds) for statement in statements for node in walk(statement))


def _is_plain_target(target: ast.expr) -> bool:
    if isinstance(target, (ast.Tuple, ast.List)):
        return all(map(_is_plain_target, target.elts))
    return isinstance(target, ast.Name)
