"""Instructions that compute, branch, iterate, call and return."""

from __future__ import annotations

import contextlib
import dis
import operator
import sys
from typing import Any, Final

import numpy as np

from .bytecode import Instruction
from .execution import Execution, on
from .guards import is_constant
from .values import TRACED, UNKNOWN, Constant, Iteration, Place, options

#: Comparisons of constants, by what `dis` calls them.
_COMPARISONS: Final = {
    "==": operator.eq, "!=": operator.ne,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
#: Classes of numbers and arrays, of which no traced value is an instance to a pattern.
_KINDS: Final = (bool, int, float, complex, np.ndarray, np.float64, np.int64, np.bool_)


@on("RETURN_CONST")
def _return_const(run: Execution, i: Instruction) -> int:
    run.results.append(Constant(i.argument))
    return -1


@on("RETURN_VALUE")
def _return_value(run: Execution, i: Instruction) -> int:
    run.results.append(run.pop())
    return -1


@on("RAISE_VARARGS", "RERAISE")
def _raise(run: Execution, i: Instruction) -> int:
    for value in run.pop_many(min(i.number, 2)) if i.name == "RAISE_VARARGS" else ():
        for option in options(value):
            if isinstance(option, Place):
                held = option.value
                run.reader.classes.same_handlers(held if isinstance(held, type) else type(held))
        run.reader.escapes.escape(value)
    return -1


@on("YIELD_VALUE")
def _yield(run: Execution, i: Instruction) -> None:
    run.yields.append(run.pop())
    run.push(UNKNOWN)


@on("SEND")
def _send(run: Execution, i: Instruction) -> None:
    run.pop()
    iterator = run.stack[-1] if run.stack else UNKNOWN
    run.push(iterator.element if isinstance(iterator, Iteration) else UNKNOWN)


@on("RETURN_GENERATOR")
def _return_generator(run: Execution, i: Instruction) -> None:
    run.push(UNKNOWN)


@on("BINARY_OP")
def _binary_op(run: Execution, i: Instruction) -> None:
    left, right = run.pop_many(2)
    symbol = dis._nb_ops[i.number][1]  # type: ignore[attr-defined]
    if symbol.endswith("="):
        run.reader.operations.write_array(left)
    if symbol == "[]":
        run.push(run.reader.contents.item(left, right))
    elif type(left) is Place and type(left.value) is int and type(right) is Constant and _is_stored(run, i):
        run.push(left)  # to count alone depends on nothing; what is not stored in the same place does
    else:
        run.push(run.reader.operations.binary(left, right, symbol, run.site(i)))


def _is_stored(run: Execution, i: Instruction) -> bool:
    """Whether the result of `i` goes nowhere but to an attribute, an item or a variable of others'."""
    for following in run.program.instructions[i.position + 1 :]:
        if following.name in ("STORE_ATTR", "STORE_SUBSCR", "STORE_GLOBAL", "STORE_DEREF"):
            return True
        if following.name not in ("SWAP", "LOAD_FAST", "LOAD_DEREF", "LOAD_GLOBAL", "LOAD_CONST"):
            return False
    return False


@on("COMPARE_OP")
def _compare_op(run: Execution, i: Instruction) -> None:
    left, right = run.pop_many(2)
    result = run.reader.operations.binary(left, right, "compare", run.site(i))
    compare = _COMPARISONS.get(str(i.argument).removeprefix("bool(").removesuffix(")"))
    if compare is not None and truth_of(left) is not None and truth_of(right) is not None:
        with contextlib.suppress(TypeError, ValueError):  # the function fails there, too
            result = Constant(bool(compare(left.value, right.value)))
    run.push(result)


@on("IS_OP")
def _is_op(run: Execution, i: Instruction) -> None:
    left, right = run.pop_many(2)
    run.reader.operations.tell_apart(left, right)
    decided = isinstance(left, (Place, Constant)) and isinstance(right, Constant) and right.value is None
    run.push(Constant((left.value is None) != bool(i.number)) if decided else UNKNOWN)


@on("CONTAINS_OP")
def _contains_op(run: Execution, i: Instruction) -> None:
    value, container = run.pop_many(2)
    run.reader.contents.look_up(value)
    run.reader.operations.search(container)
    run.push(UNKNOWN)


@on("GET_LEN", "MATCH_MAPPING", "MATCH_SEQUENCE", "MATCH_KEYS")
def _match(run: Execution, i: Instruction) -> None:
    for value in run.stack[-2 if i.name == "MATCH_KEYS" else -1 :]:  # which stay
        run.reader.escapes.escape(value)
    run.push(UNKNOWN)


@on("MATCH_CLASS")
def _match_class(run: Execution, i: Instruction) -> None:
    if len(run.stack) > 2:
        subject, cls = run.stack[-3], run.stack[-2]
        run.reader.builtins.tell_class(subject, cls)
        kinds = [
            each.value
            for each in options(cls)
            if isinstance(each, Place) and any(each.value is kind for kind in _KINDS)
        ]
        if kinds and TRACED in options(subject):
            run.reader.uses.asked_of_all = f"whether a traced value matches {kinds[0].__name__}()"
    run._unlisted(i)


@on("UNARY_NOT", "TO_BOOL")
def _test(run: Execution, i: Instruction) -> None:
    value = run.pop()
    run.reader.operations.test(value)
    truth = truth_of(value)
    run.push(UNKNOWN if truth is None else Constant(truth == (i.name == "TO_BOOL")))


@on("UNARY_NEGATIVE", "UNARY_POSITIVE", "UNARY_INVERT")
def _unary(run: Execution, i: Instruction) -> None:
    run.push(run.reader.operations.unary(run.pop()))


@on(
    "POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE", "POP_JUMP_FORWARD_IF_TRUE", "POP_JUMP_FORWARD_IF_FALSE",
    "POP_JUMP_BACKWARD_IF_TRUE", "POP_JUMP_BACKWARD_IF_FALSE",
)  # fmt: skip
def _jump_if(run: Execution, i: Instruction) -> int | None:
    value = run.pop()
    run.reader.operations.test(value)
    truth = truth_of(value)
    return None if truth is None else _branch(run, i, jumps=truth == ("TRUE" in i.name))


@on(
    "POP_JUMP_IF_NONE", "POP_JUMP_IF_NOT_NONE", "POP_JUMP_FORWARD_IF_NONE", "POP_JUMP_FORWARD_IF_NOT_NONE",
    "POP_JUMP_BACKWARD_IF_NONE", "POP_JUMP_BACKWARD_IF_NOT_NONE",
)  # fmt: skip
def _jump_if_none(run: Execution, i: Instruction) -> int | None:
    value = run.pop()
    run.reader.operations.tell_kinds(value)
    if isinstance(value, (Place, Constant)):
        return _branch(run, i, jumps=(value.value is None) == ("NOT_NONE" not in i.name))
    return None


def _branch(run: Execution, i: Instruction, *, jumps: bool) -> int:
    """Follow only the way that a jump takes whose condition is known."""
    if not jumps:
        return i.position + 1
    run._merge(i.target, run.stack, run.locals)
    return -1


def truth_of(value: Any) -> bool | None:
    """Whether a constant, or a place with one, is true; None where that is not known."""
    if isinstance(value, (Place, Constant)) and is_constant(value.value):
        return bool(value.value) if not isinstance(value.value, np.dtype) else True
    return None


@on("JUMP_IF_TRUE_OR_POP", "JUMP_IF_FALSE_OR_POP")
def _jump_or_pop(run: Execution, i: Instruction) -> int | None:
    run.reader.operations.test(run.stack[-1] if run.stack else UNKNOWN)
    run._merge(i.target, run.stack, run.locals)
    run.pop()
    return i.position + 1


@on("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP", "JUMP_NO_INTERRUPT")
def _jump(run: Execution, i: Instruction) -> int:
    run._merge(i.target, run.stack, run.locals)
    return -1


@on("GET_ITER", "GET_YIELD_FROM_ITER")
def _get_iter(run: Execution, i: Instruction) -> None:
    run.push(Iteration(run.reader.contents.iterate(run.pop())))


@on("FOR_ITER")
def _for_iter(run: Execution, i: Instruction) -> int:
    iterator = run.stack[-1] if run.stack else UNKNOWN
    after = list(run.stack)
    if sys.version_info < (3, 12):
        after = after[:-1]
    else:
        after.append(UNKNOWN)
    run._merge(i.target, after, run.locals)
    run.push(run.reader.contents.iterate(iterator))
    return i.position + 1


@on("KW_NAMES")
def _kw_names(run: Execution, i: Instruction) -> None:
    names = i.argument
    run.keywords = names if isinstance(names, tuple) else run.code.co_consts[i.number]


@on("CALL", "CALL_KW")
def _call(run: Execution, i: Instruction) -> None:
    names = run.keywords
    run.keywords = ()
    if i.name == "CALL_KW":
        listed = run.pop()
        names = listed.value if isinstance(listed, Constant) else ()
    values = run.pop_many(i.number)
    positional, named = values[: len(values) - len(names)], values[len(values) - len(names) :]
    below, above = run.pop_many(2)
    callee = above if below is UNKNOWN else below
    if below is UNKNOWN and above is UNKNOWN:
        callee = UNKNOWN
    elif below is not UNKNOWN and above is not UNKNOWN:
        callee, positional = below, [above, *positional]  # a comprehension: the iterator beside its function
    run.push(run.reader.call(callee, positional, dict(zip(names, named, strict=True)), run, i))


@on("CALL_FUNCTION_EX")
def _call_function_ex(run: Execution, i: Instruction) -> None:
    if sys.version_info >= (3, 14):
        named = run.pop()
    else:
        named = run.pop() if i.number & 1 else None
    positional = run.pop()
    if sys.version_info >= (3, 13):
        run.pop()
        callee = run.pop()
    else:
        callee = run.pop()
        run.pop()
    run.push(run.reader.call_unpacked(callee, positional, named, run, i))


@on("BEFORE_WITH")
def _before_with(run: Execution, i: Instruction) -> None:
    manager = run.pop()
    run.push(UNKNOWN)
    run.push(run.reader.enter(manager, run, i))
