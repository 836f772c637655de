"""Rewrites the syntax tree of a function: bodies of loops, and branches inside them, become functions.

    for i in range(n):              def body(item):
        s = s + x[i]                    nonlocal i, s
                                        i = item
                                        s = s + x[i]
                                    loops.for_(range(n), body, <description>)

The inner functions share the variables of the outer one, by ``nonlocal``. Jumps become flags (`exits`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any

from .definitions import complete
from .descriptions import Statement, described, mark
from .exits import lower_function, lower_loop
from .expressions import Everywhere, InLoops, Iterations, call, operator_name, thunk
from .liveness import Liveness
from .names import (
    NameTable,
    NodeNames,
    changed_heap,
    changed_list,
    parameters,
    rebound_inside,
    written_in_place,
)
from .refusals import refusal
from .syntax import (
    COMPREHENSIONS,
    SCOPES,
    comprehensions,
    has_jumps,
    placed,
    same_scope,
    walk,
    with_viewed,
    written_arrays,
)


class FunctionRewriter:
    """Rewrites one function; functions inside it get rewriters of their own."""

    def __init__(self, file: str, statements: list[Statement]) -> None:
        """`statements` collects the descriptions, which the code refers to by number."""
        self._file, self._statements = file, statements
        self._count = 0
        self._liveness: Any = None
        self._names: Any = None
        self._written: frozenset[str] = frozenset()
        self._outside: set[str] = set()
        self._variables: frozenset[str] = frozenset()

    def rewrite(self, function: ast.FunctionDef, *, inside: bool = False) -> None:
        """Rewrite `function` in place; with `inside`, as a part of loops: its branches become functions, too,
        and its calls are checked."""
        body = function.body
        parts = [walk(statement) for statement in body]
        if any(isinstance(node, COMPREHENSIONS) for part in parts for node in part):
            for comprehension in comprehensions(body):
                mark(comprehension, self._file, self._statements)
            parts = [walk(statement) for statement in body]
        nodes = [node for part in parts for node in part]
        own = parameters(function)
        rebound = self._find_outside(body, own, nodes)
        self._written = written_in_place(nodes)
        documented = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
        start, body = (body[:1], body[1:]) if documented else ([], body)
        loops = [] if inside else [node for node in nodes if isinstance(node, _LOOPS)]
        written = with_viewed(written_arrays(nodes), nodes)
        written_in_loops = with_viewed(written_arrays(_within(loops)), nodes) if loops else written
        visitors = [Everywhere(written, written_in_loops, items=items) for items in (False, True)]
        around = set(loops)
        body = [
            visitors[not inside and around.isdisjoint(part)].visit(statement)
            for statement, part in zip(body, parts[len(start) :], strict=True)
        ]
        if inside:
            body = self._without_returns(body)
        else:
            body = self._lowered_outside(body)
        self._names = NameTable(rebound)
        self._liveness = Liveness(body, self._names)
        variables = sorted(self._names.of(*body).assigned - own - self._outside)
        self._variables = frozenset(variables)
        declared = [_never_assigned(variables, function)] if variables else []
        globals_ = [node for node in body if isinstance(node, (ast.Global, ast.Nonlocal))]
        rest = [node for node in body if not isinstance(node, (ast.Global, ast.Nonlocal))]
        rewritten = self._inside(rest) if inside else self._outside_loops(rest)
        function.body = [*start, *globals_, *declared, *rewritten] or [ast.Pass()]

    def _find_outside(self, body: list[ast.stmt], own: set[str], nodes: list[ast.AST]) -> frozenset[str]:
        """Note the variables from outside that code of the function assigns; the names of its own variables
        that functions inside rebind. `own` are its parameters, and `nodes` all that is in its body."""
        self._outside = set()
        if not any(isinstance(node, (ast.Global, ast.Nonlocal)) for node in nodes):
            return frozenset()
        for statement in body:
            for node in (statement, *same_scope(statement)):
                if isinstance(node, (ast.Global, ast.Nonlocal)):
                    self._outside.update(node.names)
        own = (own | NameTable().of(*body).assigned) - self._outside
        rebound = rebound_inside(body)
        self._outside |= rebound - own
        return frozenset(rebound & own)

    # -- jumps -------------------------------------------------------------------------------------

    def _without_returns(self, body: list[ast.stmt]) -> list[ast.stmt]:
        if not body or not (
            has_jumps(body[:-1]) or _has_jumps_inside(body[-1]) or any(map(_has_loops, body))
        ):
            return body
        return lower_function(body, self._next)

    def _lowered_outside(self, body: Sequence[ast.stmt], *, handled: bool = False) -> list[ast.stmt]:
        """`body` with loops without jumps; others keep theirs. `handled` says that it is in a ``try``."""
        result: list[ast.stmt] = []
        for statement in body:
            if isinstance(statement, (ast.For, ast.While)):
                if refusal(statement, self._outside):
                    statement.body = self._lowered_outside(statement.body, handled=handled)
                    statement.orelse = self._lowered_outside(statement.orelse, handled=handled)
                    result.append(statement)
                    continue
                loop, behind = lower_loop(statement, self._next(), self._next, raises=not handled)
                result += [*loop, *self._lowered_outside(behind, handled=handled)]
                continue
            inner = handled or isinstance(statement, _TRIES)
            for field in ("body", "orelse", "finalbody"):
                if isinstance(getattr(statement, field, None), list) and not isinstance(statement, SCOPES):
                    lowered = self._lowered_outside(getattr(statement, field), handled=inner)
                    setattr(statement, field, lowered)
            for part in [*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())]:
                part.body = self._lowered_outside(part.body, handled=inner)
            result.append(statement)
        return result

    def _next(self) -> int:
        self._count += 1
        return self._count

    # -- statements --------------------------------------------------------------------------------

    def _outside_loops(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        for statement in statements:
            if isinstance(statement, (ast.For, ast.While)):
                reason = refusal(statement, self._outside)
                if not reason:
                    result += self._loop(statement, inside=False)
                    continue
                result.append(self._refused(statement, reason))
                continue
            if isinstance(statement, ast.FunctionDef):
                FunctionRewriter(self._file, self._statements).rewrite(statement)
            elif not isinstance(statement, SCOPES):
                for field in ("body", "orelse", "finalbody"):
                    if isinstance(getattr(statement, field, None), list):
                        setattr(statement, field, self._outside_loops(getattr(statement, field)))
                for part in [*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())]:
                    part.body = self._outside_loops(part.body)
            result.append(statement)
        return result

    def _refused(self, loop: ast.For | ast.While, reason: str) -> ast.stmt:
        described = self._describe(Statement(self._file, loop.lineno, (), refused=reason), loop)
        if isinstance(loop, ast.For):
            loop.iter = call("refused", loop.iter, described, at=loop.iter)
        else:
            loop.test = call("refused_test", loop.test, described, at=loop.test)
        loop.body = self._outside_loops(loop.body)
        loop.orelse = self._outside_loops(loop.orelse)
        return loop

    def _inside(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Statements that may be traced as a part of a loop."""
        result: list[ast.stmt] = []
        for statement in statements:
            if isinstance(statement, (ast.For, ast.While)):
                result += self._loop(statement, inside=True)
            elif isinstance(statement, ast.If):
                result += self._conditional(statement)
            elif isinstance(statement, ast.FunctionDef):
                FunctionRewriter(self._file, self._statements).rewrite(statement, inside=True)
                result.append(statement)
            elif getattr(statement, "plain", False):  # it runs outside of traces alone
                result.append(statement)
            else:
                if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                    if statement.value is None:
                        continue
                    # a variable of the function around it cannot be annotated
                    plain = ast.Assign([statement.target], statement.value)
                    statement = placed(plain, statement)
                if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
                    operand = _name(statement.target.id, statement.target, ast.Load())
                    operator = _constant(operator_name(statement.op), statement)
                    operated = InLoops().visit(statement.value)
                    value = call("augmented", operator, operand, operated, at=statement)
                    result.append(placed(ast.Assign([statement.target], value), statement))
                    continue
                result.append(InLoops().visit(statement))
        return result

    def _loop(self, loop: ast.For | ast.While, *, inside: bool) -> list[ast.stmt]:
        behind, ahead = self._liveness.behind[loop], self._liveness.ahead[loop]
        flag = getattr(loop, "left", "")
        inner: NodeNames = self._names.of(*loop.body)
        names = inner.assigned
        if isinstance(loop, ast.For):
            names = names | self._names.of(loop.target).assigned
        described = self._describe(
            Statement(
                self._file,
                loop.lineno,
                tuple(sorted(names)),
                tuple(sorted(names & (behind | ahead | {flag}))),
                tuple(sorted(names & behind)),
                tuple(sorted(inner.written)),
                self._written,
                tuple(sorted((inner.appended - inner.used) & self._variables)),
                flag,
                self._names.of(loop).size,
                grows=self._grows(loop, flag),
            ),
            loop,
        )
        body = self._inside(loop.body)
        number = self._next()
        name = f"_tj_body_{number}"
        if isinstance(loop, ast.For):
            item = f"_tj_item_{number}"
            value = _name(item, loop.target, ast.Load())
            bind = placed(ast.Assign([loop.target], value), loop.target)
            function = _function(name, [item], names, [bind, *body], loop)
            iterated = Iterations().visit(loop.iter)
            iterated = InLoops().visit(iterated) if inside else iterated
            run = call("for_", iterated, _name(name, loop, ast.Load()), described, at=loop)
        else:
            function = _function(name, [], names, body, loop)
            test = thunk(InLoops().test(loop.test))
            run = call("while_", test, _name(name, loop, ast.Load()), described, at=loop)
        return [function, placed(ast.Expr(run), loop)]

    def _grows(self, loop: ast.For | ast.While, flag: str) -> bool:
        """Whether a condition decides if or how often `loop` appends to a list, or changes it otherwise."""
        inner = self._names.of(*loop.body)
        is_conditional = bool(flag) or isinstance(loop, ast.While)
        if is_conditional and (inner.appended - inner.used) & self._variables:
            return True
        nodes = list(walk(loop))
        parts = loop.body if is_conditional else [node for node in nodes if isinstance(node, _CONDITIONAL)]
        calls = [node for part in parts for node in walk(part) if isinstance(node, ast.Call)]
        changed = [
            *map(changed_list, calls),
            *[changed_heap(node) for node in nodes if isinstance(node, ast.Call)],
        ]
        return not self._variables.isdisjoint(changed)

    def _conditional(self, node: ast.If) -> list[ast.stmt]:
        behind = self._liveness.behind[node]
        inner: NodeNames = self._names.of(*node.body, *node.orelse)
        names = inner.assigned
        described = self._describe(
            Statement(
                self._file,
                node.lineno,
                tuple(sorted(names)),
                (),
                tuple(sorted(names & behind)),
                tuple(sorted(inner.written)),
                self._written,
                tuple(sorted(inner.appended & self._variables)),
            ),
            node,
        )
        number = self._next()
        functions: list[ast.stmt] = []
        arguments: list[ast.expr] = []
        for label, statements in (("then", node.body), ("else", node.orelse)):
            if not statements:
                arguments.append(_constant(None, node))
                continue
            name = f"_tj_{label}_{number}"
            functions.append(_function(name, [], names, self._inside(statements), statements[0]))
            arguments.append(_name(name, node, ast.Load()))
        run = call("if_", InLoops().test(node.test), *arguments, described, at=node.test)
        return [*functions, placed(ast.Expr(run), node)]

    def _describe(self, statement: Statement, at: ast.AST) -> ast.expr:
        return described(statement, self._statements, at)


def _has_jumps_inside(statement: ast.stmt) -> bool:
    """Whether `statement`, which may be a jump itself, has one in its blocks."""
    return not isinstance(statement, (ast.Return, *SCOPES)) and has_jumps([statement])


_CONDITIONAL = (ast.If, ast.While)
_LOOPS = (ast.For, ast.While)
_TRIES = (ast.Try, getattr(ast, "TryStar", ast.Try))


def _has_loops(statement: ast.stmt) -> bool:
    return any(isinstance(node, _LOOPS) for node in walk(statement))


def _within(loops: Iterable[ast.AST]) -> list[ast.AST]:
    """The nodes in `loops`, each once: those of inner loops are in the loops around them."""
    nodes: list[ast.AST] = []
    seen: set[ast.AST] = set()
    for loop in loops:  # outer ones first
        if loop not in seen:
            inner = walk(loop)
            nodes += inner
            seen.update([node for node in inner if isinstance(node, _LOOPS)])
    return nodes


def _function(
    name: str, parameters: list[str], names: set[str], body: list[ast.stmt], at: ast.AST
) -> ast.FunctionDef:
    arguments = ast.arguments(
        posonlyargs=[],
        args=[placed(ast.arg(parameter), at) for parameter in parameters],
        kwonlyargs=[],
        kw_defaults=[],
        defaults=[],
    )
    shared: list[ast.stmt] = [ast.Nonlocal(sorted(names))] if names else []
    function = ast.FunctionDef(name, arguments, [*shared, *(body or [ast.Pass()])], [])
    complete(function)
    return placed(function, at)


def _never_assigned(names: list[str], at: ast.AST) -> ast.stmt:
    """Makes `names` variables of the function, and does nothing."""
    targets: list[ast.expr] = [_name(name, at, ast.Store()) for name in names]
    assign = placed(ast.Assign(targets, _constant(None, at)), at)
    return placed(ast.If(_constant(False, at), [assign], []), at)


def _name(name: str, at: ast.AST, context: ast.expr_context) -> ast.Name:
    return placed(ast.Name(name, context), at)


def _constant(value: Any, at: ast.AST) -> ast.Constant:
    return placed(ast.Constant(value), at)
