"""Early exits of native code: with the status of an error, or where a loop polls for a signal.

A loop of known length polls after each strip of steps, so that its steps stay as they are; one of unknown
length counts its steps. Code that is over in less than a millisecond does not poll: its caller does, if it
runs often.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import Final

from ..interface import INTERRUPTED, POLL
from ..llvm.emitter import Reg, constant
from ..llvm.loops import Bound, FunctionWriter

#: Estimated cycles between two polls, of some ten nanoseconds each.
BETWEEN_POLLS: Final = 100_000.0
#: Estimated cycles up to which code does not poll.
LONG_CYCLES: Final = 1_000_000.0


def steps_between_polls(cycles: float) -> int:
    """Number of steps, of `cycles` each, between two polls: a power of two."""
    return 1 << int(BETWEEN_POLLS / max(cycles, 1.0)).bit_length() - 1 if cycles < BETWEEN_POLLS else 1


def poll(w: FunctionWriter, stop: str) -> None:
    """Poll for signals, and branch to the label `stop` where a handler raised."""
    w.declare(POLL, f"i32 @{POLL}() cold")
    w.exit_if(w.ne(w.result_of(POLL, "i32", 1), 0), stop)


def poll_or_return(w: FunctionWriter) -> None:
    """Poll for signals, and return without a result where a handler raised."""
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


class ExitWriter(abc.ABC):
    """Base of writers of functions over an arena: writes the ways out of the function."""

    w: FunctionWriter
    #: The module's messages, by status - 1.
    errors: list[str]
    #: Labels where the function is left, the statuses that are not 0, and what to add to them.
    failures: list[tuple[str, str, int]]
    #: The label where it is left once a signal's handler raised; empty where it does not let signals in.
    stop: str

    @abc.abstractmethod
    def close_arena(self, label: str) -> None:
        """Give back what the function holds, in the block `label`."""

    @property
    def fallible(self) -> bool:
        """Whether there is anything but success."""
        return bool(self.failures or self.stop)

    def check_status(self, status: str, base: int) -> None:
        """Leave with `base` + status where `status` is not 0."""
        failed = self.w.label("failed")
        self.failures.append((failed, status, base))
        self.w.exit_if(self.w.ne(Reg(status, "i32"), 0), failed)

    def fail(self, message: str) -> None:
        """End the block: leave with `message`."""
        failed = self.w.label("failed")
        self.failures.append((failed, str(len(self.errors)), 1))
        self.errors.append(message)
        self.w.branch(failed)

    def poll(self) -> None:
        """Let signals in, and leave where a handler raised."""
        self.stop = self.stop or self.w.label("interrupted")
        poll(self.w, self.stop)

    def leave_if(self, interrupted: Reg) -> None:
        """Leave where a called function was `interrupted`."""
        self.stop = self.stop or self.w.label("interrupted")
        self.w.exit_if(interrupted, self.stop)

    def exits(self) -> None:
        """Write the blocks in which the function is left, behind its end."""
        w = self.w
        for label, status, base in self.failures:
            w.start(label)
            self.close_arena(label)
            w.ret(w.add(Reg(status, "i32"), base))
        if self.stop:
            w.start(self.stop)
            self.close_arena(self.stop)
            w.ret(constant(INTERRUPTED, "i32"))
