"""Signals in native code: ``tracejit_poll``, which native loops call, ``tracejit_run``, and
``tracejit_call_back``.

CPython only notes a signal when it comes; what the user has set for it runs where the main thread asks.
So loops that may run long call ``i32 tracejit_poll()`` every hundred thousand cycles or so. It reads a clock,
and every few milliseconds of the main thread takes the GIL and runs the handlers (``PyErr_CheckSignals``). If
one raises, as that of Ctrl-C does, the exception stays set, `raised` is noted, and this call and all
later ones give -1: what runs leaves its loops and returns -1 in turn. Whoever hands the exception to Python
clears `raised`. A worker of the pool gets -1 where the job that it works for was `cancelled` by its caller.

Other Python threads run no handlers and go on. A thread that holds the GIL in a loop lets others have it.

Taking the GIL lasts as long as another thread keeps it. So the next time is put off in proportion.
"""

from __future__ import annotations

from typing import Annotated, Final

from ..interface import CALL_BACK, CANCELLED, INTERRUPTED, POLL, RAISED, RUN_MAIN
from .atomics import atomic_load
from .functions import Bytes, ImportedFunction, Int, Int32, Object, native
from .module import NativeModule
from .pointers import Pointer
from .python_api import long_value, new_long, restore_thread, save_thread, vectorcall
from .structs import BYTES, OBJECT, WORDS, CFunctionType
from .writer import NativeWriter

#: Nanoseconds between two looks of the main thread, at least and at most; and while it holds the GIL.
_MIN_PAUSE: Final = 10_000_000
_MAX_PAUSE: Final = 500_000_000
_HOLDING: Final = 5_000_000
#: A look may take one part in so many of the time.
_SHARE: Final = 30
#: A ``@main``. What a variant with an instrument takes besides comes last; others do not look at it.
_MAIN: Final = CFunctionType("i32", (BYTES, BYTES, BYTES))

_this_thread = ImportedFunction("pthread_self", "i64")
_read_clock = ImportedFunction("clock_gettime", "i32", "i32", WORDS)
_thread_state = ImportedFunction("PyGILState_GetThisThreadState", BYTES)
_holds_gil = ImportedFunction("PyGILState_Check", "i32")
_take_gil = ImportedFunction("PyGILState_Ensure", "i32")
_release_gil = ImportedFunction("PyGILState_Release", None, "i32")
_check_signals = ImportedFunction("PyErr_CheckSignals", "i32")


def _word(f: NativeWriter, name: str) -> Pointer:
    """Variable of `interface.INTERRUPT_STATE` by name."""
    return f.global_(name, "i64")


@native("i64")
def now(f: NativeWriter, clock: Int32) -> None:
    """Nanoseconds by a clock of the system's."""
    time = f.array("i64", 2)
    _read_clock(f, clock, time)
    f.ret(f.add(f.mul(time[0], 1_000_000_000), time[1]))


@native()
def take_turns(f: NativeWriter) -> None:
    """Let other threads of Python's have the GIL, which this one holds."""
    restore_thread(f, save_thread(f))


@native("i32", export=POLL)
def poll(f: NativeWriter) -> None:
    """Poll for signals: returns 0 where the code may go on, -1 where it is to leave its loops."""
    go_on, stop, clock = f.returning(0), f.returning(-1), f.module.numbers["coarse clock"]
    with f.if_(f.eq(_this_thread(f), _word(f, "tracejit_main_thread").value)):
        stop.when(f.ne(_word(f, RAISED).value, 0))
        go_on.when(f.lt(now(f, clock), _word(f, "tracejit_next_look").value))
        f.ret(run_handlers(f))
    with f.if_(f.is_null(_thread_state(f))):  # a worker of the pool
        go_on.when(f.eq(atomic_load(f, _word(f, CANCELLED), "monotonic"), 0))
        stop.leave()
    go_on.when(f.eq(_holds_gil(f), 0))
    moment, next_turn = now(f, clock), _word(f, "tracejit_next_turn")
    go_on.when(f.lt(moment, next_turn.value))
    next_turn.value = f.add(moment, _HOLDING)
    take_turns(f)
    f.ret(0)


@native("i32", attributes="cold noinline")
def run_handlers(f: NativeWriter) -> None:
    """Run the user's handlers of the signals that have come; returns -1 where one raises."""
    clock = f.module.numbers["precise clock"]
    begin, holding = now(f, clock), f.ne(_holds_gil(f), 0)
    state = _take_gil(f)
    with f.if_(f.ne(_check_signals(f), 0)):
        _word(f, RAISED).value = 1
        _release_gil(f, state)
        f.ret(-1)
    _release_gil(f, state)
    end = now(f, clock)
    pause = f.min(f.max(f.mul(f.sub(end, begin), _SHARE), _MIN_PAUSE), _MAX_PAUSE)
    wait = f.select(holding, f.coerced(_HOLDING, "i64"), pause)
    _word(f, "tracejit_next_look").value = f.add(end, wait)
    with f.if_(holding):
        take_turns(f)
    f.ret(0)


@native("i32", export=RUN_MAIN)
def run_main(
    f: NativeWriter, main: Annotated[Pointer, _MAIN], inputs: Bytes, outputs: Bytes, more: Bytes
) -> None:
    """Run a function's ``@main`` without the GIL, for a caller that looks for exceptions."""
    thread = save_thread(f)
    status = f.invoke_at(main, inputs, outputs, more)
    restore_thread(f, thread)
    with f.if_(f.lt(status, 0)):
        _word(f, RAISED).value = 0
    f.ret(status)


@native("i32", export=CALL_BACK)
def call_back(f: NativeWriter, callable: Object, pointers: Int) -> None:
    """Call a Python function of an address, which catches what it raises and returns a status.

    A signal may come as it is entered, before it catches anything. What the handler raises then stays set, as
    where a loop polls. (A callback of ctypes would print it and go on with results that nobody wrote.)
    """
    state = _take_gil(f)
    arguments = f.array(OBJECT, 1)
    arguments[0] = number = new_long(f, pointers)
    with f.if_(f.not_(f.is_null(number))):
        status = vectorcall(f, callable, arguments, 1, None)
        f.decref(number)
        with f.if_(f.not_(f.is_null(status))):
            value = f.convert("trunc", long_value(f, status), "i32")
            f.decref(status)
            _release_gil(f, state)
            f.ret(value)
    with f.if_(f.eq(_this_thread(f), _word(f, "tracejit_main_thread").value)):
        _word(f, RAISED).value = 1
    _release_gil(f, state)
    f.ret(INTERRUPTED)


def interrupts_text(triple: str) -> str:
    """The module for a target: clocks have other numbers, and Linux one that is quicker to read."""
    clocks = {"coarse clock": 6, "precise clock": 1 if "linux" in triple else 6}
    return NativeModule(numbers=clocks).text(poll, run_main, call_back)
