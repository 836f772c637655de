"""Loops of rewritten code: traced once, or run step by step as Python does."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any, Final

from ..base.errors import DTypeError, ShapeError, TracejitError
from ..base.loading import load_module
from ..state import STATE
from ..tape.modes import untaped
from ..tracing.regions import RegionTracer, decisions_of, forget_effects, trace_region, written_of
from ..tracing.untraced_objects import UntracedObjects
from . import iterations
from .carries import LengthIsTold, LoopStatement, TestWrites, UnsteadyError
from .lists.buffers import ChangesListError, ListLayoutError, UntypedItemsError, is_searched, untyped
from .lists.conversions import Conversions
from .lists.stacked_lists import as_tested
from .reports import CURRENT, Session, where
from .source.descriptions import Statement
from .unrolled import SHORT, Watch, watched
from .variables import Variables, is_traced

#: The number of steps that are run to find out whether the test depends on traced values: a Python number may
#: become traced.
_PROBED: Final = 2
#: Errors of a variable that has another type, or no value, in the first step. It may keep its type from then
#: on.
_UNSTEADY: Final = (UnsteadyError, NameError, DTypeError, ShapeError)
#: Advice for loops over other objects.
_ITERABLES: Final = (
    "ranges and arrays, enumerate, zip and reversed of these, indices of NumPy's, and pairwise, product and "
    "combinations become loops"
)


def run_for(iterable: Iterable[Any], body: Callable[[Any], Any], statement: Statement) -> None:
    """``for item in iterable``"""
    session = CURRENT.session
    if STATE.tracer is None or session is None:
        _each(iterable, body, statement)
    elif session.mode == "unrolled":
        _each(watched(iterable, statement, session, ""), body, statement)
    else:
        _trace_for(iterable, body, statement, session)


def _trace_for(
    iterable: Iterable[Any], body: Callable[[Any], Any], statement: Statement, session: Session
) -> None:
    if statement.appended:  # what they append can be stacked where their number is known
        iterations.ask_for_bounds(iterable)
    try:
        steps = iterations.steps_of(iterable)
    except UntypedItemsError:
        if not _in_region():
            raise
        session.untyped_items = untyped()
        return
    if steps is None:
        reason = note(statement, session, f"it iterates over a {type(iterable).__name__}; {_ITERABLES}")
        _each(watched(iterable, statement, session, reason), body, statement)
        return
    fixed = isinstance(steps.count, int)
    # a step in a region cannot ask whether the loop is left
    asks_inside = statement.flag and _in_region()
    is_short = session.mode == "auto" and not _grows(statement, session) and not asks_inside
    if fixed and (not steps.count or (is_short and steps.count * statement.size <= SHORT)):
        _each(watched(iterable, statement, session, ""), body, statement)
        return
    variables, asked = Variables(body), decisions_of(STATE.tracer)
    lists = iterations.lists_in(iterable)
    error = _attempt(LoopStatement(statement, variables, body, steps, lists=lists), session)
    if error is None:
        return
    if not fixed and decisions_of(STATE.tracer) > asked:  # its length may be known now
        again = iterations.steps_of(iterable)
        if isinstance(error, LengthIsTold) or (again is not None and isinstance(again.count, int)):
            _trace_for(iterable, body, statement, session)
            return
    first = 0
    if isinstance(error, _UNSTEADY) and (steps.count > 1 if fixed else not _in_region()):
        if not fixed and not steps.count > 0:
            return
        body(steps.first())
        if statement.flag and variables.get(statement.flag):
            return
        first = 1
        rest = LoopStatement(statement, variables, body, steps.after_first(), lists=lists)
        error = _attempt(rest, session, " after the first")
        if error is None:
            return
    reason = note(statement, session, _reason(error))
    remaining = itertools.islice(iterable, first, None)
    _each(watched(remaining, statement, session, reason), body, statement)


def run_while(test: Callable[[], Any], body: Callable[[], Any], statement: Statement) -> None:
    """``while test()``"""
    session = CURRENT.session
    variables = Variables(body)
    tracer = STATE.tracer
    if tracer is None or session is None or session.mode == "unrolled":
        _while(test(), test, body, statement, variables)
        return
    reason = ""
    start = len(tracer.body)
    value = _first_test(test, session)
    loop = LoopStatement(statement, variables, body, None, test, starts=value is True)
    depends, computes = (is_traced(value), False) if is_traced(value) or not value else _depends(loop)
    if computes and not depends:  # of few steps, the test may be a number because results are shapes
        is_short = session.mode == "auto" and not _grows(statement, session)
        for _ in range(SHORT // max(statement.size, 1) if is_short else 0):
            body()
            if statement.flag and variables.get(statement.flag):
                return
            start = len(tracer.body)
            value = test()
            if not value:
                return
        depends = True
    if depends:
        end = len(tracer.body)
        error = _attempt_while(loop, value, (start, end), session)
        if error is None:
            return
        if isinstance(error, _UNSTEADY) and not (is_traced(value) and _in_region()):
            if not value:
                return
            body()
            if statement.flag and variables.get(statement.flag):
                return
            start = len(tracer.body)
            value = _first_test(test, session)
            end = len(tracer.body)
            if is_traced(value) or value:
                loop = LoopStatement(statement, variables, body, None, test, starts=value is True)
                error = _attempt_while(loop, value, (start, end), session, " after the first")
                if error is None:
                    return
        reason = note(statement, session, _reason(error))
    with Watch(statement, session, reason) as watch:
        _while(value, test, body, statement, variables, watch.note_step)


def _first_test(test: Callable[[], Any], session: Session) -> Any:
    """The value of the test of a ``while`` before its first step, whose operands are not asked for values
    where they can be compiled."""
    session.first_tests += 1
    try:
        return as_tested(test())
    finally:
        session.first_tests -= 1


def _grows(statement: Statement, session: Session) -> bool:
    """Whether a loop, if it is traced, makes lists grow under conditions: step by step, there would be a path
    for each way in which they can."""
    return statement.grows and not session.growth.refusal


def _in_region() -> bool:
    return isinstance(STATE.tracer, RegionTracer)


def note(statement: Statement, session: Session, reason: str) -> str:
    """Note that a loop is unrolled, for the `reason`."""
    session.note(where(statement), "unrolled", reason)
    return reason


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, TracejitError) else f"{type(error).__name__}: {error}"


def _attempt(loop: LoopStatement, session: Session, which: str = "") -> Exception | None:
    """Trace `loop` once. Returns None where that was possible, else why not. `which` of its steps it has."""
    lists, before = Conversions(loop.variables, session), len(session.iterated)
    session.iterated += loop.lists
    try:
        failed = _attempted(loop, session, which)
        while failed is not None and lists.follow(failed):
            failed = _attempted(loop, session, which)
    finally:
        del session.iterated[before:]
    if failed is None:
        return None
    lists.undo()
    if session.attempts or session.sides:
        if isinstance(failed, UntypedItemsError):
            session.untyped_items = failed  # the step is searched for what it appends
            return None
        if isinstance(failed, (ChangesListError, ListLayoutError)):
            try:
                raise failed  # a loop around this one may have the list
            finally:
                del failed  # whose traceback has this frame
    return failed


def _attempted(loop: LoopStatement, session: Session, which: str) -> Exception | None:
    attempts: Any = load_module(".attempts", __package__)  # with the passes for loops over elements
    marked = session.mark()
    session.attempts += 1
    tracer = STATE.tracer
    merged_error, writes = tracer.merged_error, len(written_of(tracer))
    around, session.untyped_items = session.untyped_items, None
    try:
        text = attempts.trace_loop(loop)
    except Exception as error:  # of the user's, too: what raises in a branch need not run
        session.reset(marked)
        tracer.merged_error = merged_error
        del written_of(tracer)[writes:]
        if (searched := session.untyped_items) is not None and is_searched(error):
            return searched.with_traceback(None)
        if session.attempts > 1 and getattr(error, "tensor", None) is not None:
            raise  # a loop around this one carries it
        return error.with_traceback(None)  # which would keep lists alive
    finally:
        session.attempts -= 1
        session.untyped_items = around
    session.note(where(loop.statement), "compiled", text + which)
    return None


def _attempt_while(
    loop: LoopStatement, value: Any, place: tuple[int, int], session: Session, which: str = ""
) -> Exception | None:
    """Trace the ``while`` `loop` once, whose first test gave `value` and has this `place` in the trace.
    Returns None where that was possible, else why not."""
    error = _attempt(loop, session, which)
    if error is None:
        forget_effects(STATE.tracer, *place)  # the loop tests again
    if not isinstance(error, TestWrites):
        return error
    rotation: Any = load_module(".rotation", __package__)
    with rotation.rotated(loop, value) as rotated:
        return _attempt(rotated, session, which)


def _depends(loop: LoopStatement) -> tuple[bool, bool]:
    """Whether the test of a ``while``, or whether a step leaves it, depends on traced values once steps have
    run; and whether a step computes with such values."""
    session = CURRENT.session
    seen: list[bool] = []

    def step() -> list[Any]:
        saved = loop.variables.values(loop.statement.assigned)
        try:
            assert loop.test is not None
            for _ in range(_PROBED):
                loop.body()
                flag = loop.variables.get(loop.statement.flag) if loop.statement.flag else False
                seen.append(is_traced(flag))
                if seen[-1] or flag:
                    break
                again = loop.test()
                seen[-1] = is_traced(again)
                if seen[-1] or not again:
                    break
        finally:
            loop.variables.update(saved)
        return []

    session.attempts += 1
    marked = session.mark()
    untraced = UntracedObjects(loop.variables.values(loop.variables.names()).values())
    session.untraced.append(untraced)
    tracer = RegionTracer(STATE.tracer, repeats=True)
    try:
        with untaped():
            trace_region(tracer, step, (), ())
    except Exception:
        return True, True  # the attempt itself will say why
    finally:
        session.untraced.remove(untraced)
        untraced.restore()
        session.reset(marked)
        session.attempts -= 1
    return seen[-1], bool(tracer.body)


def _each(iterable: Iterable[Any], body: Callable[[Any], Any], statement: Statement) -> None:
    variables = Variables(body) if statement.flag else None
    for item in iterable:
        body(item)
        if variables is not None and variables.get(statement.flag):
            return


def _while(
    value: Any,
    test: Callable[[], Any],
    body: Callable[[], Any],
    statement: Statement,
    variables: Variables,
    note_step: Callable[[], None] = lambda: None,
) -> None:
    while value:  # in no generator, out of which a StopIteration of the user's code would not come
        body()
        if statement.flag and variables.get(statement.flag):
            return
        note_step()
        value = test()
