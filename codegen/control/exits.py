"""How the functions of a module are left before their end: with an error's status, or where a signal's
handler raised an exception."""

from __future__ import annotations

import abc

from ..interface import INTERRUPTED
from ..llvm.emitter import Reg, constant
from ..llvm.loops import FunctionWriter
from .polling import poll


class ExitWriter(abc.ABC):
    """Of a writer of functions over an arena, what leaves them."""

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
        """Leave where what was called was left so."""
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
