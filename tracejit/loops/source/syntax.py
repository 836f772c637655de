"""Syntax trees: walks over them, changes of them, and places in the text."""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, TypeAlias, TypeVar

from ...frontend.libraries.library import WRITERS

N = TypeVar("N", bound=ast.AST)
#: Statements that open a scope of their own.
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
Comprehension: TypeAlias = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


#: Fields that hold names, numbers, operators and contexts: nothing that is looked at as a node.
_LEAVES = frozenset(("id", "ctx", "op", "ops", "attr", "n", "s", "kind", "level", "type_comment"))
#: Fields of nodes that hold other nodes, by class.
_FIELDS: dict[type, tuple[str, ...]] = {
    kind: () if kind is ast.Constant else tuple([name for name in kind._fields if name not in _LEAVES])
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST)
}


def _inside(fields: tuple[str, ...], node: ast.AST) -> list[ast.AST]:
    nodes: list[ast.AST] = []
    values, kind = vars(node), ast.AST
    for field in fields:
        inner = values.get(field)
        if not inner:
            continue
        if type(inner) is not list:
            if isinstance(inner, kind):
                nodes.append(inner)
        elif len(inner) == 1:
            if isinstance(inner[0], kind):
                nodes.append(inner[0])
        else:
            nodes += [each for each in inner if isinstance(each, kind)]
    return nodes


#: Functions that list the children of nodes, by class; None for classes without children. The frequent
#: classes, of which no part may be missing, have their own.
_CHILDREN: dict[type, Callable[[Any], Sequence[ast.AST]] | None] = {
    kind: functools.partial(_inside, fields) if fields else None for kind, fields in _FIELDS.items()
}
_CHILDREN |= {
    ast.Assign: lambda node: [*node.targets, node.value],
    ast.Attribute: lambda node: (node.value,),
    ast.AugAssign: operator.attrgetter("target", "value"),
    ast.BinOp: operator.attrgetter("left", "right"),
    ast.Call: lambda node: [node.func, *node.args, *node.keywords],
    ast.Compare: lambda node: [node.left, *node.comparators],
    ast.Expr: lambda node: (node.value,),
    ast.For: lambda node: [node.target, node.iter, *node.body, *node.orelse],
    ast.If: lambda node: [node.test, *node.body, *node.orelse],
    ast.Subscript: operator.attrgetter("value", "slice"),
    ast.Tuple: operator.attrgetter("elts"),
    ast.UnaryOp: lambda node: (node.operand,),
}


def walk(node: ast.AST) -> list[ast.AST]:
    """`node` and all that is in it but operators, in the order of ``ast.walk``, which takes ten times as
    long."""
    nodes = [node]
    for outer in nodes:  # it grows
        inside = _CHILDREN[type(outer)]
        if inside is not None:
            nodes += inside(outer)
    return nodes


def children(node: ast.AST) -> Sequence[ast.AST]:
    """The direct children of `node`, without operators and contexts of names."""
    inside = _CHILDREN[type(node)]
    return () if inside is None else inside(node)


def same_scope(node: ast.AST) -> list[ast.AST]:
    """The nodes in `node` in source order, without the contents of inner scopes."""
    nodes: list[ast.AST] = []
    pending = list(children(node)[::-1])
    while pending:
        nodes.append(pending.pop())
        if not isinstance(nodes[-1], SCOPES):
            pending += children(nodes[-1])[::-1]
    return nodes


class Transformer:
    """Replaces nodes that `walk` sees by others, as ``ast.NodeTransformer``, in a third of the time."""

    _visitors: ClassVar[dict[type, Callable[..., Any]]]

    def __init_subclass__(cls) -> None:
        names = [name for name in dir(cls) if name.startswith("visit_")]
        cls._visitors = {getattr(ast, name.removeprefix("visit_")): getattr(cls, name) for name in names}

    def visit(self, node: Any) -> Any:
        visitor = self._visitors.get(type(node))
        return self.generic_visit(node) if visitor is None else visitor(self, node)

    def generic_visit(self, node: Any) -> Any:
        values, visit = vars(node), self.visit
        for field in _FIELDS[type(node)]:
            inner = values.get(field)
            if type(inner) is list:
                inner[:] = [visit(each) if isinstance(each, ast.AST) else each for each in inner]
            elif isinstance(inner, ast.AST):
                values[field] = visit(inner)
        return node


def placed(node: N, at: ast.AST) -> N:
    """`node` with the place of `at`: ``ast.copy_location``, in a third of the time."""
    source, target = vars(at), vars(node)
    for name in _PLACE:
        if name in source:
            target[name] = source[name]
    return node


_PLACE = ("lineno", "col_offset", "end_lineno", "end_col_offset")


def locate_missing(tree: ast.AST) -> None:
    """``ast.fix_missing_locations`` of what `walk` sees: a node without a place has that of the node around
    it."""
    pending = [(tree, tree)]
    while pending:
        node, at = pending.pop()
        for child in children(node):
            if "lineno" in vars(child):
                if _FIELDS[type(child)]:
                    pending.append((child, child))
            elif "lineno" in child._attributes:
                pending.append((placed(child, at), child))
            else:
                pending.append((child, at))


def comprehensions(nodes: Iterable[ast.AST]) -> Iterator[Comprehension]:
    """The comprehensions and generator expressions in `nodes`, without those in functions in them."""
    for node in nodes:
        if isinstance(node, SCOPES):
            continue
        if isinstance(node, COMPREHENSIONS):
            yield node
        yield from comprehensions(children(node))


def written_arrays(nodes: Iterable[ast.AST]) -> set[str]:
    """The names of arrays in whose memory `nodes` may write: by subscripts and augmented assignments, by
    NumPy's functions, as in ``np.add.at(a, ...)``, ``np.put(a[i], ...)``, ``np.add(x, y, out=a)``; and by any
    function or method whose result nobody takes, as in ``fill(a, x)``."""
    names: set[str] = set()
    for node in nodes:
        written: list[ast.expr] = []
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            written = [node.value, *node.value.args]
        elif isinstance(node, ast.AugAssign):
            written = [node.target]
        elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            written = [node]
        elif isinstance(node, ast.Call):
            written = [keyword.value for keyword in node.keywords if keyword.arg == "out"]
            if isinstance(node.func, ast.Attribute) and node.func.attr in WRITERS:
                written += node.args[:1]
        names.update(*map(roots_of, written))
    return names


def roots_of(node: ast.AST) -> set[str]:
    """The names of the arrays in whose memory the parts, attributes, items, choices and results of methods
    and of functions for views that `node` is made of may lie, as in ``np.ravel(a[i].T)``; none for other
    expressions."""
    names: set[str] = set()
    while isinstance(node, (ast.Subscript, ast.Attribute, ast.Call, ast.Starred, ast.NamedExpr)):
        if isinstance(node, ast.Call):
            if getattr(node.func, "attr", getattr(node.func, "id", "")) in _VIEWING:
                names.update(*map(roots_of, node.args[:1]))
            node = node.func
        else:
            node = node.value
    if isinstance(node, ast.Name):
        names.add(node.id)
    elif isinstance(node, (ast.Tuple, ast.List, ast.Dict, ast.IfExp, ast.BoolOp)):
        names.update(*map(roots_of, children(node)))
    return names


def with_viewed(names: set[str], nodes: Iterable[ast.AST]) -> frozenset[str]:
    """`names`, and those of the arrays of which `nodes` make variables with these names views, as in
    ``row = a[i]`` or ``for row in a``."""
    roots: dict[str, set[str]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign):
            targets, sources = node.targets, roots_of(node.value)
        elif isinstance(node, ast.For):
            targets = [node.target]
            sources = {inner.id for inner in walk(node.iter) if isinstance(inner, ast.Name)}
        else:
            continue
        for target in targets:
            for inner in walk(target):
                if isinstance(inner, ast.Name):
                    roots.setdefault(inner.id, set()).update(sources)
    found, new = set(names), set(names)
    while new:
        new = {root for name in new for root in roots.get(name, ())} - found
        found |= new
    return frozenset(found)


def is_endless(loop: ast.stmt) -> bool:
    """Whether `loop` runs until it is left."""
    return isinstance(loop, ast.While) and isinstance(loop.test, ast.Constant) and bool(loop.test.value)


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
#: Functions of NumPy's and Python's whose results may lie in the memory of their first argument.
_VIEWING = frozenset((
    "array_split", "asanyarray", "asarray", "ascontiguousarray", "atleast_1d", "atleast_2d", "atleast_3d",
    "diagonal", "expand_dims", "flip", "fliplr", "flipud", "hsplit", "imag", "iter", "list", "moveaxis",
    "next", "ravel", "real", "reshape", "reversed", "rollaxis", "rot90", "split", "squeeze", "swapaxes",
    "transpose", "tuple", "vsplit",
))  # fmt: skip
