"""The names in statements and expressions."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from .syntax import COMPREHENSIONS, SCOPES, children, same_scope, walk


class NodeNames:
    """The names in a node, and how much code it is.

    Attributes:
        loaded: names that it reads, inner scopes included.
        assigned: names that it binds or deletes in the scope that it is in, or that functions which it may
            call do.
        written: names whose objects it writes by subscript or augmented assignment, inner scopes included.
        appended: names whose method ``append`` it calls.
        used: names that it has for anything else.
        captured: names that functions, classes and lambdas in it read.
        size: about how many operations it has.
    """

    __slots__ = ("appended", "assigned", "captured", "loaded", "size", "used", "written")

    def __init__(self) -> None:
        self.loaded: set[str] = set()
        self.assigned: set[str] = set()
        self.written: set[str] = set()
        self.appended: set[str] = set()
        self.used: set[str] = set()
        self.captured: set[str] = set()
        self.size = 0

    def add(self, other: NodeNames) -> None:
        self.loaded |= other.loaded
        self.assigned |= other.assigned
        self.written |= other.written
        self.appended |= other.appended
        self.used |= other.used
        self.captured |= other.captured
        self.size += other.size


class NameTable:
    """The `NodeNames` of the nodes of a tree, each looked at once: what contains statements is put together
    from theirs. A part of the tree must not change before all is asked that is wanted of it."""

    def __init__(self, rebound: frozenset[str] = frozenset()) -> None:
        """`rebound` are the variables that functions inside rebind: any call may do so."""
        self._known: dict[ast.AST, NodeNames] = {}
        self._rebound = rebound

    def of(self, *nodes: ast.AST) -> NodeNames:
        """The names in `nodes` together."""
        if len(nodes) == 1:
            return self._of(nodes[0])
        together = NodeNames()
        for node in nodes:
            together.add(self._of(node))
        return together

    def _of(self, node: ast.AST) -> NodeNames:
        names = self._known.get(node)
        if names is None:
            names = self._known[node] = self._of_parts(node) if isinstance(node, _COMPOUND) else _flat(node)
            if self._rebound and any(isinstance(inner, ast.Call) for inner in walk(node)):
                names.assigned = names.assigned | self._rebound
        return names

    def _of_parts(self, node: Any) -> NodeNames:
        names = NodeNames()
        for child in children(node):
            names.add(self._of(child))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.assigned = {node.name}
            names.captured = names.loaded
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names.assigned.add(node.name)
        elif isinstance(node, ast.If):
            names.size += 1
        return names


def _flat(node: ast.AST) -> NodeNames:
    """The names in `node`, in which no statements stand."""
    names = NodeNames()
    loaded, assigned, used = names.loaded, names.assigned, names.used
    binds = False
    for inner in walk(node):
        kind: Any = type(inner)
        if kind is ast.Name:
            name: str = inner.id  # type: ignore[attr-defined]
            used.add(name)
            if type(inner.ctx) is not ast.Store:  # type: ignore[attr-defined]
                loaded.add(name)
            if type(inner.ctx) is not ast.Load:  # type: ignore[attr-defined]
                assigned.add(name)
        elif kind in _COUNTED:
            names.size += 1
            if kind is ast.Subscript or kind is ast.AugAssign:
                _add_written(inner, names.written)
                if kind is ast.AugAssign and isinstance(inner.target, ast.Name):  # type: ignore[attr-defined]
                    loaded.add(inner.target.id)  # type: ignore[attr-defined]
        elif kind is ast.Lambda:
            names.captured |= _flat(inner.body).loaded | _flat(inner.args).loaded  # type: ignore[attr-defined]
            binds = True
        elif kind in _BINDING:
            binds = True
    if binds:  # what its scopes and comprehensions assign is theirs
        names.assigned = set()
        _collect_assigned(node, names.assigned)
    list_ = _list_of(node)
    if list_:
        names.appended = {list_}
        names.used = _flat(node.value.args[0]).used  # type: ignore[attr-defined]
    return names


def _add_written(node: Any, names: set[str]) -> None:
    if isinstance(node, ast.AugAssign):
        if isinstance(node.target, ast.Name):
            names.add(node.target.id)
    elif not isinstance(node.ctx, ast.Load):
        base = node.value
        while isinstance(base, ast.Subscript):
            base = base.value
        if isinstance(base, ast.Name):
            names.add(base.id)


def written_in_place(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """The names whose objects are written by subscripts and augmented assignments among `nodes`."""
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, (ast.Subscript, ast.AugAssign)):
            _add_written(node, names)
    return frozenset(names)


def rebound_inside(statements: Iterable[ast.AST]) -> set[str]:
    """The names that functions in `statements`, which stand in one function, declare nonlocal, and which are
    not their own."""
    names: set[str] = set()
    for statement in statements:
        for node in (statement, *same_scope(statement)):
            if isinstance(node, SCOPES):
                names |= rebound_outside(node)
    return names


def rebound_outside(scope: ast.AST) -> set[str]:
    """The names of variables of functions around the function, class or lambda `scope` that it assigns, or
    that functions in it do."""
    if not any(isinstance(node, ast.Nonlocal) for node in walk(scope)):
        return set()
    declared = {name for node in same_scope(scope) if isinstance(node, ast.Nonlocal) for name in node.names}
    inside = rebound_inside(children(scope))
    if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
        inside -= NameTable().of(*scope.body).assigned | parameters(scope) - declared
    return declared | inside


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """The names of the parameters of `function`."""
    return {node.arg for node in walk(function.args) if isinstance(node, ast.arg)}


def _list_of(node: Any) -> str:
    """The name to which the statement `node` appends an item, empty if it does something else."""
    call = node.value if isinstance(node, ast.Expr) else None
    if (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "append"
        and isinstance(call.func.value, ast.Name)
        and len(call.args) == 1
        and not call.keywords
    ):
        return call.func.value.id
    return ""


def changed_list(node: ast.Call) -> str:
    """The name of which `node` calls a method that changes lists, empty without."""
    function = node.func
    is_method = isinstance(function, ast.Attribute) and function.attr in _CHANGING
    return getattr(function.value, "id", "") if is_method else ""  # type: ignore[attr-defined]


def changed_heap(node: ast.Call) -> str:
    """The name that `node` hands to a function of ``heapq`` as the heap, empty without."""
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    return getattr(node.args[0], "id", "") if name in _OF_HEAPS and node.args else ""


def _collect_assigned(node: Any, names: set[str]) -> None:
    """Add what `node`, in which no statements stand, binds in its scope."""
    if isinstance(node, ast.Lambda):
        return
    if isinstance(node, COMPREHENSIONS):
        targets = [inner.target for inner in walk(node) if isinstance(inner, ast.NamedExpr)]
        names.update(target.id for target in targets if isinstance(target, ast.Name))
        return
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        names.add(node.id)
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        names.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
    elif isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
        names.add(node.name)
    elif isinstance(node, ast.MatchMapping) and node.rest:
        names.add(node.rest)
    for child in children(node):
        _collect_assigned(child, names)


#: Methods that change lists, and functions that change heaps.
_CHANGING = frozenset(("append", "clear", "extend", "insert", "pop", "popleft"))
_OF_HEAPS = frozenset(("heapify", "heappop", "heappush", "heappushpop", "heapreplace"))
#: Nodes that contain statements.
_COMPOUND = (
    *(ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Match, ast.match_case),
    *(ast.Try, getattr(ast, "TryStar", ast.Try), ast.ExceptHandler),
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef),
)
#: Nodes that count as an operation, except conditionals.
_COUNTED = frozenset((ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call, ast.Subscript, ast.AugAssign, ast.IfExp))
#: Nodes of other kinds that bind names, or that keep names in them from being bound.
_BINDING = frozenset(
    (*COMPREHENSIONS, ast.Import, ast.ImportFrom, ast.MatchAs, ast.MatchStar, ast.MatchMapping)
)
