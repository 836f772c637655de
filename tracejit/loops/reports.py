"""Loop reports and the loop mode of one trace."""

from __future__ import annotations

import threading
import warnings
from typing import TYPE_CHECKING, Any, Final

from ..base.errors import TraceError, UnrolledLoopWarning
from ..base.process.finalization import WeakTable
from ..base.records import record
from ..base.user_code import user_stacklevel
from ..state import STATE

if TYPE_CHECKING:
    from .source.descriptions import Statement

#: An unrolled loop that appends so many operations while tracing is worth a warning.
MANY_OPERATIONS: Final = 4000


@record
class LoopReport:
    """The outcome of tracing a loop.

    Attributes:
        where: the line, as ``model.py:12``.
        outcome: "compiled" or "unrolled".
        reason: why it was unrolled; of a compiled loop, how many steps it has.
    """

    where: str
    outcome: str
    reason: str

    def __str__(self) -> str:
        return f"loop at {self.where}: {self.outcome}{': ' if self.reason else ''}{self.reason}"


class LoopError(TraceError):
    """A loop cannot be traced once."""


@record(eq=False, frozen=False)
class Growth:
    """Whether lists may grow under conditions in a trace, so that their lengths are traced numbers, and
    whether one does. `refusal` is the reason why they may not, empty where they may. Lists that
    loops read and change have `room` for so many items."""

    refusal: str = ""
    happens: bool = False
    room: int = 1024


class Session:
    """One trace: its mode, and its loops."""

    def __init__(
        self, mode: str, label: str, checkpoint_every: int | None = None, growth: Growth | None = None
    ) -> None:
        self.mode, self.label, self.checkpoint_every = mode, label, checkpoint_every
        self.growth = growth or Growth("the list's length would depend on values")
        #: Number of loops being traced once around the code that runs.
        self.attempts = 0
        #: Number of sides of traced conditions around the code that runs.
        self.sides = 0
        #: Number of loops around the code that runs that could not be compiled: in them, lists are Python's.
        self.unrolled = 0
        #: Number of first tests of ``while`` loops that run. Their operands are not asked for
        #: their values.
        self.first_tests = 0
        #: The tensors that those loops write in place.
        self.memories: list[Any] = []
        #: The `UntracedObjects` of the loops being traced, which refer to them.
        self.untraced: list[Any] = []
        #: The arrays of lists of Python numbers that loops write in place, by identity.
        self.number_arrays: dict[int, Any] = {}
        #: The lists that variables have where steps begin, by identity: the list, and the identity of that of
        #: which it is a copy.
        self.list_copies: dict[int, tuple[Any, int]] = {}
        #: The lists along which loops are being traced.
        self.iterated: list[Any] = []
        #: The error of a loop inside of another one that reads items of a list before it is known what is
        #: appended to it: what follows may tell.
        self.untyped_items: Exception | None = None
        #: Variables without a value before a loop, while a step is run for their types alone: there a branch
        #: or a loop that may give them one does.
        self.untyped: frozenset[str] = frozenset()
        #: The optional values that tests tell to be there; see `optional_values`.
        self.presences: dict[Any, Any] = {}
        #: The arrays of containers that loops write in place, all by the identity of each.
        self._beside: dict[int, list[Any]] = {}
        #: Identities of the lists and dicts that traced code has made, by tracer.
        self._fresh: WeakTable[Any, set[int]] = WeakTable()
        self._reports: dict[LoopReport, None] = {}
        self._warned: set[str] = set()
        #: The number of operations before a loop, by the line of the loop.
        self._starts: dict[str, int] = {}

    def note_container(self, arrays: list[Any], *, has_numbers: bool) -> None:
        """Note the `arrays` of a container that loops write in place, and whether it has Python's numbers
        alone."""
        for array in arrays:
            self._beside[id(array)] = arrays
        if has_numbers:
            self.number_arrays.update({id(array): array for array in arrays})

    def arrays_beside(self, array: Any) -> list[Any]:
        """The arrays of the container of which `array` is one: a change of it writes most of them."""
        return self._beside.get(id(array), [])

    def note_fresh(self, value: Any) -> None:
        """Note that the running code has made `value`, a list or dict."""
        if self.attempts or self.sides:
            fresh = self._fresh.get(STATE.tracer)
            if fresh is None:
                fresh = self._fresh[STATE.tracer] = set()
            fresh.add(id(value))

    def is_fresh(self, value: Any) -> bool:
        """Whether a list or dict was made where the running code is, so that no other step has it. One that a
        loop or branch has put together is not, though it may be where one was that is gone."""
        tracer = STATE.tracer
        return id(value) in (self._fresh.get(tracer) or ()) and not tracer.merged_containers.holds(value)

    def note(self, where: str, outcome: str, reason: str) -> None:
        """Note the outcome of the loop at `where`. Raises TraceError where it must be compiled and is not."""
        if outcome == "unrolled" and self.mode == "compiled":
            raise TraceError(
                f'{self.label}: the loop at {where} cannot be compiled, which loops="compiled" asks for: '
                f"{reason}"
            )
        self._reports[LoopReport(where, outcome, reason)] = None

    def note_comprehension(self, where: str, reason: str) -> None:
        """Note that a comprehension has become operations for each item; no mode forbids that."""
        self._reports[LoopReport(where, "unrolled", reason)] = None

    def mark(self) -> list[LoopReport]:
        """The reports so far, for `reset`."""
        return list(self._reports)

    def reset(self, reports: list[LoopReport]) -> None:
        """Forget what was noted since `mark`."""
        self._reports = dict.fromkeys(reports)

    def count(self, where: str, operations: int, reason: str) -> None:
        """Take note of the operations so far where a step begins, and warn as `warn` does."""
        start = self._starts.setdefault(where, operations)
        if operations - start > MANY_OPERATIONS:
            self.warn(where, operations - start, reason)

    def warn(self, where: str, operations: int, reason: str) -> None:
        """Warn once of a loop that becomes much code, unless that was asked for."""
        if where not in self._warned and self.mode != "unrolled":
            self._warned.add(where)
            warnings.warn(
                f"{self.label}: the loop at {where} is unrolled, and {operations} operations so far are "
                f"compiled one by one{': ' + reason if reason else ''}. Write it so that it can be compiled "
                "as a loop, or use tj.fori_loop, tj.while_loop or tj.scan",
                UnrolledLoopWarning,
                stacklevel=user_stacklevel(),
            )

    @property
    def reports(self) -> tuple[LoopReport, ...]:
        """The report on each loop, in the order in which they were met."""
        return tuple(self._reports)


class _Current(threading.local):
    session: Any = None


CURRENT: Final = _Current()


class tracing_loops:
    """Context manager: loops of this thread's trace go by `session`."""

    def __init__(self, session: Session | None) -> None:
        self._session = session

    def __enter__(self) -> None:
        self._outer = CURRENT.session
        CURRENT.session = self._session

    def __exit__(self, *exc: object) -> None:
        CURRENT.session = self._outer


def where(statement: Statement) -> str:
    """The line of a statement, as ``model.py:12``."""
    return f"{statement.file.replace(chr(92), '/').rsplit('/', 1)[-1]}:{statement.line}"
