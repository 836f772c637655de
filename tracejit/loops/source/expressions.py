"""Expressions inside loops: tests that may be traced, calls and writes whose effects must be known."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any, Final, TypeGuard

from .syntax import Transformer, placed, walk

#: Stand for the object that rewritten code calls, and for descriptions of loops, until the code is compiled.
RUNTIME: Final = "\0loops"
#: Functions of Python, itertools and NumPy whose results loops go along.
ITERATIONS: Final = frozenset((
    "arange", "combinations", "enumerate", "ndenumerate", "ndindex", "pairwise", "product", "range",
    "reversed", "zip",
))  # fmt: skip
#: Objects of NumPy's that make arrays for an index.
_INDEXED_BUILDERS: Final = frozenset(("r_", "c_"))
#: Functions of ours that give what stands in for a function.
_LOOK_UPS: Final = ("callee", "creation")
#: Functions and methods that change nothing, and names of modules whose functions do not.
_PLAIN_FUNCTIONS: Final = frozenset((
    "abs", "all", "any", "bool", "complex", "divmod", "dot", "float", "int", "isinstance", "item", "len",
    "max", "mean", "min", "pow", "round", "sum",
))  # fmt: skip
_LIBRARIES: Final = frozenset(("cmath", "jnp", "math", "np", "numpy", "tj", "tracejit"))
_EAGER: Final = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)


def call(name: str, *arguments: ast.expr, at: ast.AST) -> ast.Call:
    """``<runtime>.name(*arguments)``"""
    runtime = placed(ast.Constant(RUNTIME), at)
    function = placed(ast.Attribute(runtime, name, ast.Load()), at)
    return placed(ast.Call(function, list(arguments), []), at)


def thunk(value: ast.expr) -> ast.Lambda:
    """``lambda: value``"""
    empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return placed(ast.Lambda(empty, value), value)


def operator_name(node: ast.operator) -> str:
    """The function of the module ``operator`` that computes what `node` does."""
    name = type(node).__name__.lower()
    names = {"mult": "mul", "div": "truediv", "bitand": "and_", "bitor": "or_", "bitxor": "xor"}
    return names.get(name, "matmul" if name == "matmult" else name)


def name_of(function: ast.expr) -> str:
    """The last part of the name that is called."""
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _may_act(value: ast.expr) -> bool:
    """Whether `value` calls a function that may do more than compute: any but those with known names."""
    calls = [node.func for node in walk(value) if isinstance(node, ast.Call)]
    return any(
        name_of(function) not in _PLAIN_FUNCTIONS and not _is_of_library(function) for function in calls
    )


def _is_of_library(function: ast.expr) -> bool:
    return (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Name)
        and function.value.id in _LIBRARIES
    )


def _is_deferrable(*values: ast.expr) -> bool:
    return not any(isinstance(node, _EAGER) for value in values for node in walk(value))


def _is_ours(function: ast.expr) -> TypeGuard[ast.Attribute]:
    if not isinstance(function, ast.Attribute):
        return False
    return isinstance(function.value, ast.Constant) and function.value.value == RUNTIME


def _is_looked_up(function: ast.expr) -> bool:
    """Whether a call asks already what stands in for the function that it calls."""
    return isinstance(function, ast.Call) and _is_ours(function.func) and function.func.attr in _LOOK_UPS


def _is_chained(node: ast.Subscript) -> bool:
    """Whether `node` is a subscript of a subscript that an argument can stand for."""
    inner = node.value
    return isinstance(inner, ast.Subscript) and not any(
        isinstance(part, (ast.Slice, ast.Starred))
        for part in (inner.slice, *getattr(inner.slice, "elts", ()))
    )


def _key(node: ast.expr) -> ast.expr:
    """The key of a subscript as an expression."""
    if isinstance(node, ast.Tuple):
        node.elts = [_key(part) for part in node.elts]
    if not isinstance(node, ast.Slice):
        return node
    bounds = [part or ast.Constant(None) for part in (node.lower, node.upper, node.step)]
    return call("slice_of", *[placed(bound, node) for bound in bounds], at=node)


class InLoops(Transformer):
    """Rewrites the expressions of what may be traced as a part of a loop."""

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        self.generic_visit(node)
        if not _is_deferrable(*node.values):
            return node
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        return call(name, node.values[0], *map(thunk, node.values[1:]), at=node)

    def test(self, node: ast.expr) -> Any:
        """Rewrite `node`, of whose value only the truth counts."""
        if not isinstance(node, ast.BoolOp) or not _is_deferrable(*node.values):
            return self.visit(node)
        name = "both" if isinstance(node.op, ast.And) else "either"
        acts = placed(ast.Constant(any(map(_may_act, node.values[1:]))), node)
        values = [self.test(value) for value in node.values]
        return call(name, acts, values[0], *map(thunk, values[1:]), at=node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        if not isinstance(node.op, ast.Not):
            self.generic_visit(node)
            return node
        return call("not_", self.test(node.operand), at=node)

    def visit_Compare(self, node: ast.Compare) -> Any:
        self.generic_visit(node)
        contains = any(isinstance(op, (ast.In, ast.NotIn)) for op in node.ops)
        if len(node.ops) == 1 and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            negated = placed(ast.Constant(isinstance(node.ops[0], ast.IsNot)), node)
            return call("is_", node.left, node.comparators[0], negated, at=node)
        if (len(node.ops) == 1 and not contains) or not _is_deferrable(*node.comparators):
            return node
        names = [placed(ast.Constant(type(op).__name__), node) for op in node.ops]
        listed = placed(ast.Tuple(list(names), ast.Load()), node)
        return call("compare", listed, node.left, *map(thunk, node.comparators), at=node)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        node.test = self.test(node.test)
        node.body, node.orelse = self.visit(node.body), self.visit(node.orelse)
        if not _is_deferrable(node.body, node.orelse):
            return node
        return call("choose", node.test, thunk(node.body), thunk(node.orelse), at=node)

    def visit_Call(self, node: ast.Call) -> Any:
        if _is_ours(node.func):  # what `Iterations` and `Everywhere` wrote
            node.args = [self.visit(argument) for argument in node.args]
            return node
        looked_up = _is_looked_up(node.func)
        self.generic_visit(node)
        if not looked_up:
            node.func = call("callee", node.func, at=node.func)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        if name_of(node.value) in _INDEXED_BUILDERS:
            node.slice = self.visit(node.slice)
            node.value = call("callee", node.value, at=node.value)
            return node
        to_write = not isinstance(node.ctx, ast.Load)
        if _is_chained(node):
            node.slice = self.visit(node.slice)
            node.value = self._part(node.value, to_write=to_write)  # type: ignore[arg-type]
            return node
        self.generic_visit(node)
        node.value = call("target" if to_write else "indexed", node.value, at=node.value)
        return node

    def _part(self, node: ast.Subscript, *, to_write: bool) -> ast.Call:
        if _is_chained(node):
            value: ast.expr = self._part(node.value, to_write=False)  # type: ignore[arg-type]
        else:
            value = self.visit(node.value)
        writes = placed(ast.Constant(to_write), node)
        return call("part", value, self.visit(node.slice), writes, at=node)

    def visit_List(self, node: ast.List) -> Any:
        self.generic_visit(node)
        return call("fresh", node, at=node) if isinstance(node.ctx, ast.Load) else node

    def visit_Dict(self, node: ast.Dict) -> Any:
        self.generic_visit(node)
        return call("fresh", node, at=node)

    def visit_ListComp(self, node: ast.ListComp) -> Any:
        self.generic_visit(node)
        return call("fresh", node, at=node)

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        has_lists = any(isinstance(part, (ast.List, ast.ListComp)) for part in (node.left, node.right))
        self.generic_visit(node)
        return call("fresh", node, at=node) if has_lists else node  # [0.0] * n

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            node.value = call("attribute_target", node.value, at=node.value)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        node.body = self.visit(node.body)
        return node


class Everywhere(Transformer):
    """Rewrites what is assigned inside and outside of loops. ``a = np.zeros(...)`` and its like, where the
    function writes elements of `a`, make what can hold what is traced, as an array of NumPy's cannot, and so
    does ``a = 2 * TABLE``."""

    def __init__(
        self, written: frozenset[str], written_in_loops: frozenset[str], *, items: bool = False
    ) -> None:
        """Rewrite reads of items, too, if `items`: in code outside of loops, which rewrite their own."""
        self._written, self._written_in_loops, self._items = written, written_in_loops, items

    def visit_Assign(self, node: ast.Assign) -> Any:
        node.value = self._assigned(node.targets, node.value)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is not None:
            node.value = self._assigned([node.target], node.value)
        return node

    def _assigned(self, targets: list[ast.expr], value: ast.expr) -> ast.expr:
        """`value`, rewritten, that is assigned to `targets`; of tuples each part by itself."""
        if isinstance(value, ast.Tuple) and len(targets) == 1 and isinstance(targets[0], ast.Tuple):
            parts = targets[0].elts
            starred = any(isinstance(part, ast.Starred) for part in (*parts, *value.elts))
            if len(parts) == len(value.elts) and not starred:
                pairs = zip(parts, value.elts, strict=True)
                value.elts = [self._assigned([part], element) for part, element in pairs]
                targets[0] = self.visit(targets[0])
                return value
        names = [target.id if isinstance(target, ast.Name) else "" for target in targets]
        for part in (value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,):
            if isinstance(part, ast.Call) and self._written.issuperset(names):
                part.func = call("creation", part.func, at=part.func)
        computed = isinstance(value, (ast.BinOp, ast.UnaryOp, ast.Call))
        targets[:] = [self.visit(target) for target in targets]
        value = self.visit(value)
        if computed and self._written_in_loops.intersection(names):
            value = call("own", value, at=value)
        return value

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        for keyword in node.keywords:
            if keyword.arg == "out" and isinstance(keyword.value, ast.Call):
                keyword.value.func = call("creation", keyword.value.func, at=keyword.value.func)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        self.generic_visit(node)
        if name_of(node.value) in _INDEXED_BUILDERS:
            node.value = call("callee", node.value, at=node.value)
        elif self._items and isinstance(node.ctx, ast.Load):
            return call("item", node.value, _key(node.slice), at=node)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        return node  # which has a rewriter of its own


def follow_calls(statements: Iterable[ast.stmt]) -> None:
    """Rewrite the calls that nothing else did, and decorators: ``math.sqrt`` and its like are followed where
    Python's own would ask for a value."""
    for statement in statements:
        for node in walk(statement):
            if isinstance(node, ast.Call):
                if not (_is_ours(node.func) or _is_looked_up(node.func)):
                    node.func = call("callee", node.func, at=node.func)
            elif isinstance(node, ast.FunctionDef):
                node.decorator_list = [call("callee", part, at=part) for part in node.decorator_list]


class Iterations(Transformer):
    """Rewrites ``range``, ``enumerate``, ``zip`` and ``reversed`` where a loop outside of loops goes along
    them."""

    def visit_Call(self, node: ast.Call) -> Any:
        if name_of(node.func) in ITERATIONS:
            node.func = call("iteration", node.func, at=node.func)
            node.args = [self.visit(argument) for argument in node.args]
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        return node
