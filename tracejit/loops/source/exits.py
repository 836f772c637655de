"""``break``, ``continue``, ``return``, ``raise``, ``assert`` and the ``else`` of loops as flags, so that a
body ends where it ends.

Each loop, and a function whose body is a part of loops, is a level with its `Exits`. A jump sets the flags
of the level that it leaves; what follows a statement that may jump goes into its other branch, or under a
test of the flag. Behind a loop stands what Python does there: a ``return`` that was met inside goes on
outwards, and the ``else`` is under a test. These are statements like others, and are lowered with what
follows. Code that is not traced raises where it is written to; in a trace the flag that it would is looked at
behind the outermost loop, and a call in which it is set runs as Python.

    for i in x:                     left = False
        if i > 1:                   for i in x:                # until left
            break                       skipped = False
        s += i                          if i > 1:
    else:                                   left = skipped = True
        return s                        else:
    t = s                                   s += i
                                    if not left:
                                        value, returned = s, True
                                    else:
                                        t = s
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Final

from .expressions import call
from .syntax import SCOPES, is_endless, placed, same_scope, walk

NEVER, MAYBE, ALWAYS = "never", "maybe", "always"
#: Prefixes of the names of flags, and of values to return.
FLAG: Final = "_tj_flag"
RETURNED: Final = "_tj_value"


class Exits:
    """The flags of a loop, or of a function whose returns become assignments.

    Attributes:
        function: the number of the value that the function returns.
        value: the name of that value; of a loop whose returns all return one variable that it does not
            bind, that variable.
        returned: the flag that says that it does.
        raised: the flag that says that a step raises.
        left: the flag by which a step leaves the loop.
        skipped: the flag by which the rest of a step does not run.
        breaks, leaves, skips, returns, raises: whether there is a ``break``, and whether the flags are set.
    """

    def __init__(self, number: int, function: int, *, is_function: bool = False, raises: bool = True) -> None:
        """`number` is that of the level, `function` that of the value which is returned. `raises` says
        whether a ``raise`` is a jump."""
        self.has_raises = raises and not is_function
        self.function = function
        self.value, self.returned = f"{RETURNED}_{function}", f"{FLAG}_returned_{function}"
        self.left, self.raised = f"{FLAG}_left_{number}", f"{FLAG}_raised_{number}"
        self.skipped = self.returned if is_function else f"{FLAG}_skipped_{number}"
        self.is_function = is_function
        self.breaks = self.leaves = self.skips = self.returns = self.raises = False


def lower_function(body: list[ast.stmt], number: Callable[[], int]) -> list[ast.stmt]:
    """The body of a function with one ``return``, at its end. `number` gives new numbers."""
    function = number()
    level = Exits(function, function, is_function=True)
    at = body[-1]
    nothing = placed(ast.Return(placed(ast.Constant(None), at)), at)
    lowered, _ = lower_block([*body, nothing], level, number)
    return [set_flag(level.returned, body[0], value=False), *lowered, _return(level.value, at)]


def lower_loop(
    loop: ast.For | ast.While, function: int, number: Callable[[], int], *, raises: bool = True
) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """The statements for `loop`, whose body has no jumps then; and those that follow it, which may have some:
    what it returns is in the value `function`. `raises` says whether a ``raise`` is a jump: one that the
    function itself may handle is none."""
    level = Exits(number(), function, raises=raises)
    level.value = _returned_variable(loop) or level.value
    body, _ = lower_block(loop.body, level, number)
    node = placed(type(loop)(**dict(ast.iter_fields(loop))), loop)
    node.body, node.orelse = body, []
    start: list[ast.stmt] = []
    if level.skips:
        node.body = [set_flag(level.skipped, loop, value=False), *body]
    if level.leaves:
        start.append(set_flag(level.left, loop, value=False))
        node.left = level.left  # type: ignore[union-attr]
    behind: list[ast.stmt] = []
    if level.raises:
        start.append(set_flag(level.raised, loop, value=False))
        behind.append(placed(ast.If(_flag(level.raised, loop), [raise_again(loop)], []), loop))
    if level.returns:
        start.append(set_flag(level.returned, loop, value=False))
        returns: ast.stmt = _return(level.value, loop)
        if level.breaks or not is_endless(loop):
            returns = placed(ast.If(_flag(level.returned, loop), [returns], []), loop)
        behind.append(returns)
    if loop.orelse and level.breaks:
        finished = placed(ast.UnaryOp(ast.Not(), _flag(level.left, loop)), loop)
        behind.append(placed(ast.If(finished, loop.orelse, []), loop))
    else:
        behind += loop.orelse
    return [*start, node], behind


def _returned_variable(loop: ast.For | ast.While) -> str:
    """The variable that each ``return`` in `loop` returns and that it does not bind, which is what it was
    where the step ended; empty without."""
    nodes = list(same_scope(loop))
    values = [node.value for node in nodes if isinstance(node, ast.Return)]
    names = {value.id if isinstance(value, ast.Name) else "" for value in values}
    if len(names) != 1 or "" in names or any(isinstance(node, SCOPES) for node in nodes):
        return ""
    (name,) = names
    is_bound = any(
        isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)
        for node in nodes
    )
    return "" if is_bound else name


def lower_block(
    statements: Sequence[ast.stmt], level: Exits, number: Callable[[], int]
) -> tuple[list[ast.stmt], str]:
    """`statements` without jumps, and whether they leave the step: "never", "maybe" or "always"."""
    result: list[ast.stmt] = []
    for position, statement in enumerate(statements):
        rest = statements[position + 1 :]
        if isinstance(statement, (ast.Break, ast.Continue, ast.Return)):
            return [*result, *_jump(statement, level)], ALWAYS
        if isinstance(statement, ast.Raise) and level.has_raises:
            return [*result, *_raise(statement, level)], ALWAYS
        if isinstance(statement, ast.Assert) and level.has_raises:
            statement = _as_raise(statement)
        if isinstance(statement, (ast.For, ast.While)):
            raises = level.has_raises or level.is_function
            loop, behind = lower_loop(statement, level.function, number, raises=raises)
            lowered, leaves = lower_block([*behind, *rest], level, number)
            return [*result, *loop, *lowered], leaves
        result.append(statement)
        if not isinstance(statement, ast.If):
            continue
        body, leaves = lower_block(statement.body, level, number)
        orelse, leaves_else = lower_block(statement.orelse, level, number)
        node = placed(ast.If(statement.test, body, orelse), statement)
        result[-1] = node
        if leaves == leaves_else == NEVER:
            continue
        if leaves == leaves_else == ALWAYS:
            return result, ALWAYS
        lowered, leaves_rest = lower_block(rest, level, number)
        if leaves == ALWAYS:
            node.orelse = [*orelse, *_guarded(lowered, leaves_else, level, statement)]
        elif leaves_else == ALWAYS:
            node.body = [*body, *_guarded(lowered, leaves, level, statement)]
        else:
            result += _guarded(lowered, MAYBE, level, statement)
        node.body = node.body or [placed(ast.Pass(), statement)]
        return result, ALWAYS if leaves_rest == ALWAYS else MAYBE
    return result, NEVER


def _guarded(statements: list[ast.stmt], leaves: str, level: Exits, at: ast.stmt) -> list[ast.stmt]:
    """`statements`, to run where what stands before them has not left."""
    if leaves == NEVER or not statements:
        return statements
    level.skips = True
    test = placed(ast.UnaryOp(ast.Not(), _flag(level.skipped, at)), at)
    return [placed(ast.If(test, statements, []), at)]


def _jump(statement: ast.Break | ast.Continue | ast.Return, level: Exits) -> list[ast.stmt]:
    level.skips = True
    if isinstance(statement, ast.Continue):
        return _set_flags(statement, level.skipped)
    if not level.is_function:
        level.leaves = True
    if isinstance(statement, ast.Break):
        level.breaks = True
        return _set_flags(statement, level.left, level.skipped)
    level.returns = True
    flags = [level.returned] if level.is_function else [level.returned, level.left, level.skipped]
    value = statement.value or placed(ast.Constant(None), statement)
    if isinstance(value, ast.Name) and value.id == level.value:  # what an inner loop has met
        return _set_flags(statement, *flags)
    target = placed(ast.Name(level.value, ast.Store()), statement)
    return [placed(ast.Assign([target], value), statement), *_set_flags(statement, *flags)]


def _raise(statement: ast.Raise, level: Exits) -> list[ast.stmt]:
    level.skips = level.leaves = level.raises = True
    outside_traces = placed(ast.If(call("is_plain", at=statement), [statement], []), statement)
    statement.plain = True  # type: ignore[attr-defined]
    return [outside_traces, *_set_flags(statement, level.raised, level.left, level.skipped)]


def raise_again(at: ast.AST) -> ast.Raise:
    """``raise`` behind a loop of which a step raises."""
    return placed(ast.Raise(call("raised", at=at), None), at)


def _as_raise(statement: ast.Assert) -> ast.stmt:
    """``if not test: raise AssertionError(message)``"""
    if not __debug__:
        return placed(ast.Pass(), statement)
    arguments = [] if statement.msg is None else [statement.msg]
    error = ast.Call(ast.Name("AssertionError", ast.Load()), arguments, [])
    test = ast.UnaryOp(ast.Not(), statement.test)
    result = ast.If(test, [ast.Raise(error, None)], [])
    for node in (error.func, error, test, result.body[0], result):
        placed(node, statement)
    return result


def _return(name: str, at: ast.AST) -> ast.Return:
    return placed(ast.Return(_flag(name, at)), at)


def _flag(name: str, at: ast.AST) -> ast.Name:
    return placed(ast.Name(name, ast.Load()), at)


def _set_flags(at: ast.stmt, *flags: str) -> list[ast.stmt]:
    return [set_flag(flag, at, value=True) for flag in dict.fromkeys(flags)]


def set_flag(flag: str, at: ast.AST, *, value: bool) -> ast.stmt:
    """``flag = value``"""
    statement = ast.Assign([ast.Name(flag, ast.Store())], ast.Constant(value))
    for node in walk(statement):
        if isinstance(node, (ast.expr, ast.stmt)):
            placed(node, at)
    return statement
