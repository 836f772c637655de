"""Loops that let signals in, see `interrupts`: what may run long asks from time to time whether to go on.

A loop of known length asks after each strip of steps, so its steps stay as they are; one of unknown length
counts. What is over in less than a millisecond does not ask: whoever runs it often does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ..interface import POLL
from ..llvm.emitter import Reg
from ..llvm.loops import Bound, FunctionWriter

#: About how many estimated cycles lie between two polls, of some ten nanoseconds each.
BETWEEN_POLLS: Final = 100_000.0
#: What takes fewer does not poll.
LONG_CYCLES: Final = 1_000_000.0


def steps_between_polls(cycles: float) -> int:
    """How many steps of `cycles` each lie between two polls: a power of two."""
    return 1 << int(BETWEEN_POLLS / max(cycles, 1.0)).bit_length() - 1 if cycles < BETWEEN_POLLS else 1


def poll(w: FunctionWriter, stop: str) -> None:
    """Go to the label `stop` where the function is to be left."""
    w.declare(POLL, f"i32 @{POLL}() cold")
    w.exit_if(w.ne(w.result_of(POLL, "i32", 1), 0), stop)


def poll_or_return(w: FunctionWriter) -> None:
    """Leave a function without result where it is to be left."""
    w.declare(POLL, f"i32 @{POLL}() cold")
    w.when(w.ne(w.result_of(POLL, "i32", 1), 0), w.ret)


def polled_loop(
    w: FunctionWriter,
    stop: Bound,
    body: Callable[[Reg, list[Reg]], Sequence[Reg]],
    carried: Sequence[Reg],
    cycles: float,
    ask: Callable[[], None],
    by: int = 1,
) -> list[Reg]:
    """``for i in range(0, stop, by)``, with `body(i, carried) -> carried` of about `cycles`; `ask` writes a
    poll. Where `stop` is a register, so short a loop as one strip does not ask: it may be in another one."""
    if isinstance(stop, int) and stop // by * cycles <= LONG_CYCLES:
        return w.loop(0, stop, by, body, carried)
    every = steps_between_polls(cycles) * by

    def strip(first: Reg, state: list[Reg]) -> Sequence[Reg]:
        if every == by:
            state = list(body(first, state))
        else:
            end = w.add(first, every)
            state = w.loop(first, w.min(end, stop), by, body, state, nonempty=True)
            if isinstance(stop, Reg):
                w.when(w.lt(end, stop), ask)
                return state
        ask()
        return state

    return w.loop(0, stop, every, strip, carried)
