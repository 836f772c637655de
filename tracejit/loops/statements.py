"""What rewritten code calls: each statement decides whether it is traced once or runs as Python does."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import numpy as np

from ..array import creation
from ..autograd.modes import untaped
from ..eager.tensor import Tensor
from ..ir.errors import TracejitError
from ..state import STATE
from ..tracing.regions import RegionTracer, trace_region
from . import iterations
from .attempts import trace_loop
from .branches import chosen, conditional
from .calls import checked_callee, checked_target
from .carries import LoopStatement
from .functions import set_runtime
from .reports import CURRENT, MANY_OPERATIONS, LoopError, Session
from .rewriting import Statement
from .scalars import contains, truth
from .stand_ins import everywhere
from .variables import Variables, is_parameter, is_traced

#: Loops of fewer steps times operations in the text of a step are unrolled. There both ways compile in 5 to
#: 7 ms, and a call is 10-30 % faster unrolled; at four times as many it compiles two to three times as long.
SHORT: Final = 64
_COMPARISONS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt, "GtE": operator.ge, "Eq": operator.eq,
    "NotEq": operator.ne, "Is": operator.is_, "IsNot": operator.is_not,
    "In": contains, "NotIn": lambda x, y: _negated(contains(x, y)),
}  # fmt: skip


def _in_float64(function: Callable[..., Tensor], place: int) -> Callable[..., Tensor]:
    """`function`, whose argument number `place` is the dtype: NumPy's default, whatever ours is."""

    @functools.wraps(function)
    def made(*args: Any, **options: Any) -> Tensor:
        if len(args) <= place:
            options.setdefault("dtype", np.float64)
        return function(*args, **options)

    return made


def _full(shape: Any, fill_value: Any, dtype: Any = None, *args: Any, **options: Any) -> Tensor:
    """``numpy.full``: of a Python float in float64, whatever our default is."""
    if dtype is None and type(fill_value) is float:
        dtype = np.float64
    return creation.full(shape, fill_value, dtype, *args, **options)


_CREATIONS: Final[tuple[tuple[Any, Callable[..., Any]], ...]] = (
    (np.zeros, _in_float64(creation.zeros, 1)),
    (np.ones, _in_float64(creation.ones, 1)),
    (np.empty, _in_float64(creation.empty, 1)),
    (np.full, _full),
    (np.zeros_like, creation.zeros_like),
    (np.ones_like, creation.ones_like),
    (np.empty_like, creation.empty_like),
    (np.full_like, creation.full_like),
)


class Runtime:
    """The functions of rewritten code."""

    # -- loops --------------------------------------------------------------------------------------

    def for_(self, iterable: Iterable[Any], body: Callable[[Any], Any], statement: Statement) -> None:
        """``for item in iterable``"""
        session = CURRENT.session
        if STATE.tracer is None or session is None:
            _each(iterable, body, statement)
            return
        reason = self._for_reason(iterable, body, statement, session)
        if reason is None:
            return
        _each(_watched(iterable, statement, session, reason), body, statement)

    def _for_reason(
        self, iterable: Any, body: Callable[[Any], Any], statement: Statement, session: Session
    ) -> str | None:
        """Trace the loop once. Returns None where that was possible, else why not."""
        if session.mode == "unrolled":
            return ""
        steps = iterations.steps_of(iterable)
        if steps is None:
            return _note(statement, session, f"it goes along a {type(iterable).__name__}")
        if isinstance(steps.count, int):
            if steps.count == 0:
                return ""
            if session.mode == "auto" and steps.count * statement.size <= SHORT:
                return ""
        return _attempt(LoopStatement(statement, Variables(body), body, steps), session)

    def while_(self, test: Callable[[], Any], body: Callable[[], Any], statement: Statement) -> None:
        """``while test()``"""
        session = CURRENT.session
        value = test()
        if STATE.tracer is None or session is None or session.mode == "unrolled":
            _while(value, test, body, statement)
            return
        variables = Variables(body)
        reason: str | None = ""
        loop = LoopStatement(statement, variables, body, None, test)
        if is_traced(value) or (value and _depends(loop)):
            reason = _attempt(loop, session)
            if reason is None:
                return
        start, tracer = len(STATE.tracer.body), STATE.tracer
        while value:
            body()
            if len(tracer.body) - start > MANY_OPERATIONS:
                session.warn(_where(statement), len(tracer.body) - start, reason or "")
            if statement.flag and variables.get(statement.flag):
                return
            value = test()

    def iteration(self, function: Any) -> Any:
        """`function`, or what stands in for ``range``, ``enumerate``, ``zip`` and ``reversed``."""
        try:
            return iterations.STAND_INS.get(function, function) if STATE.tracer is not None else function
        except TypeError:
            return function

    def refused(self, iterable: Iterable[Any], statement: Statement) -> Iterable[Any]:
        """What a loop that stays as it is written goes along."""
        session = CURRENT.session
        if STATE.tracer is None or session is None:
            return iterable
        reason = "" if session.mode == "unrolled" else _note(statement, session, statement.refused)
        return _watched(iterable, statement, session, reason)

    def refused_test(self, value: Any, statement: Statement) -> Any:
        """The test of a loop that stays as it is written."""
        session = CURRENT.session
        if STATE.tracer is not None and session is not None and session.mode != "unrolled":
            _note(statement, session, statement.refused)
        return value

    # -- branches -----------------------------------------------------------------------------------

    def if_(self, test: Any, then: Any, orelse: Any, statement: Statement) -> None:
        """``if test``"""
        if not _is_structured(test):
            function = then if test else orelse
            if function is not None:
                function()
            return
        nothing = _nothing
        conditional(truth(test), then or nothing, orelse or nothing, statement, Variables(then, orelse))

    def choose(self, test: Any, then: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
        """``then() if test else orelse()``"""
        if not _is_structured(test):
            return then() if test else orelse()
        return chosen(truth(test), then, orelse)

    def not_(self, value: Any) -> Any:
        """``not value``"""
        return _negated(value)

    def and_(self, value: Any, *more: Callable[[], Any]) -> Any:
        """``value and more()``"""
        for thunk in more:
            if _is_structured(value):
                value = chosen(truth(value), thunk, _constantly(value))
            elif not value:
                return value
            else:
                value = thunk()
        return value

    def or_(self, value: Any, *more: Callable[[], Any]) -> Any:
        """``value or more()``"""
        for thunk in more:
            if _is_structured(value):
                value = chosen(truth(value), _constantly(value), thunk)
            elif value:
                return value
            else:
                value = thunk()
        return value

    def compare(self, names: tuple[str, ...], value: Any, *more: Callable[[], Any]) -> Any:
        """``value < more[0]() <= more[1]()``"""

        def following(position: int, left: Any) -> Any:
            right = more[position]()
            result = _COMPARISONS[names[position]](left, right)
            if position + 1 == len(more):
                return result
            if _is_structured(result):
                return chosen(truth(result), lambda: following(position + 1, right), lambda: False)
            return following(position + 1, right) if result else result

        return following(0, value)

    # -- effects ------------------------------------------------------------------------------------

    def callee(self, function: Any) -> Any:
        """`function`, which is about to be called."""
        session = CURRENT.session
        if session is None or STATE.tracer is None:
            return function
        return checked_callee(function) if session.attempts else everywhere(function)

    def creation(self, function: Any) -> Any:
        """`function`; for one of NumPy's that makes an array, ours that makes a Tensor of the same dtype."""
        if STATE.tracer is not None and CURRENT.session is not None:
            for theirs, ours in _CREATIONS:
                if function is theirs:
                    return ours
        return self.callee(function)

    def target(self, value: Any) -> Any:
        """`value`, whose items are about to be written."""
        session = CURRENT.session
        return checked_target(value) if session is not None and session.attempts else value

    def indexed(self, value: Any) -> Any:
        """`value`, an item of which is read, by an index that may be traced."""
        if type(value) is np.ndarray and isinstance(STATE.tracer, RegionTracer):
            return STATE.tracer.symbolic(value)
        return value

    def augmented(self, name: str, value: Any, operand: Any) -> Any:
        """The new value of a variable after an augmented assignment with the operator `name`."""
        session = CURRENT.session
        if session is not None and session.attempts:
            value = checked_target(value)
        if (
            session is not None
            and is_traced(value)
            and not value.shape
            and not _is_argument(value, session)
        ):
            return getattr(operator, name)(value, operand)  # NumPy's scalars are immutable
        return getattr(operator, f"i{name.rstrip('_')}")(value, operand)

    def attribute_target(self, value: Any) -> Any:
        """`value`, whose attribute is about to be written."""
        session = CURRENT.session
        if session is not None and session.attempts:
            raise LoopError(f"it sets an attribute of a {type(value).__name__}")
        return value


def _is_argument(value: Tensor, session: Session) -> bool:
    """Whether a write to `value` is one to an argument of the traced function."""
    if is_parameter(value):
        session.scalars.append(value)
    held = any(value is argument for argument in session.scalars)
    return held or any(memory.holds(value) for memory in session.memories)


def _is_structured(test: Any) -> bool:
    """Whether a test is traced where Python code cannot be told its value."""
    return isinstance(STATE.tracer, RegionTracer) and is_traced(test)


def _negated(value: Any) -> Any:
    return ~truth(value) if _is_structured(value) else not value


def _nothing() -> None:
    pass


def _constantly(value: Any) -> Callable[[], Any]:
    return lambda: value


def _where(statement: Statement) -> str:
    return f"{statement.file.replace(chr(92), '/').rsplit('/', 1)[-1]}:{statement.line}"


def _note(statement: Statement, session: Session, reason: str) -> str:
    session.note(_where(statement), "unrolled", reason)
    return reason


def _attempt(loop: LoopStatement, session: Session) -> str | None:
    """Trace `loop` once. Returns None where that was possible, else why not."""
    marked = session.mark()
    session.attempts += 1
    try:
        text = trace_loop(loop)
    except Exception as error:  # of the user's, too: what raises in a branch need not run
        session.reset(marked)
        if session.attempts > 1 and getattr(error, "tensor", None) is not None:
            raise  # a loop around this one carries it
        reason = str(error) if isinstance(error, TracejitError) else f"{type(error).__name__}: {error}"
        return _note(loop.statement, session, reason)
    finally:
        session.attempts -= 1
    session.note(_where(loop.statement), "compiled", text)
    return None


def _depends(loop: LoopStatement) -> bool:
    """Whether the test of a ``while``, or whether a step leaves it, depends on traced values once a step has
    run."""
    session = CURRENT.session
    seen: list[bool] = []

    def step() -> list[Any]:
        saved = loop.variables.values(loop.statement.assigned)
        try:
            loop.body()
            flag = loop.variables.get(loop.statement.flag) if loop.statement.flag else False
            assert loop.test is not None
            seen.append(is_traced(flag) or is_traced(loop.test()))
        finally:
            loop.variables.update(saved)
        return []

    session.attempts += 1
    marked = session.mark()
    try:
        with untaped():
            trace_region(RegionTracer(STATE.tracer, repeats=True), step, (), ())
    except Exception:
        return True  # the attempt itself will say why
    finally:
        session.reset(marked)
        session.attempts -= 1
    return seen[-1]


def _each(iterable: Iterable[Any], body: Callable[[Any], Any], statement: Statement) -> None:
    variables = Variables(body) if statement.flag else None
    for item in iterable:
        body(item)
        if variables is not None and variables.get(statement.flag):
            return


def _while(value: Any, test: Callable[[], Any], body: Callable[[], Any], statement: Statement) -> None:
    variables = Variables(body)
    while value:
        body()
        if statement.flag and variables.get(statement.flag):
            return
        value = test()


def _watched(iterable: Iterable[Any], statement: Statement, session: Session, reason: str) -> Iterator[Any]:
    """The items of an unrolled loop, which warns where it becomes much code."""
    tracer = STATE.tracer
    start = len(tracer.body)
    for item in iterable:
        yield item
        if len(tracer.body) - start > MANY_OPERATIONS:
            session.warn(_where(statement), len(tracer.body) - start, reason)


set_runtime(Runtime())
