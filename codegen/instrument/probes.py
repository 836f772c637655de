"""Clocks around every kernel, for profiles: an instrumented ``@main`` writes into a buffer of its caller's.

The buffer is ``int64``: how many events are written, how many there is room for, then for each `Site` its
count of runs and their nanoseconds together, then the events: site, begin, end. Each call has a buffer of its
own, so calls at the same time do not meet. The clock is ``CLOCK_MONOTONIC``, Python's `time.monotonic_ns`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from ...ir.graph import Instruction
from ...ir.records import record
from ..kernels.kernel import Kernel
from ..llvm.registers import Reg, constant, pointer
from .variants import Instrument, ModuleContext

#: Words of the buffer before the sites, of one site, and of one event.
HEAD_WORDS, SITE_WORDS, EVENT_WORDS = 2, 2, 3
_CLOCK: Final = time.CLOCK_MONOTONIC


@record(eq=False, frozen=False)
class Site:
    """An instruction that is timed.

    Attributes:
        name: the kernel's name in the module, such as ``k3``.
        instruction: what it computes.
        parent: the index of the loop or branch around it, None at the top.
        kernel: its code; None for host calls, and for loops that call other kernels.
    """

    name: str
    instruction: Instruction
    parent: int | None
    kernel: Kernel | None = None

    @property
    def kind(self) -> str:
        """nest, contraction, host call, loop, ... in a word or two."""
        if self.kernel is None:
            return self.instruction.op.kind.traits.label or "host call"
        return self.kernel.description.split(":")[0].rsplit(" ", 1)[0]


class Probes(Instrument):
    """Times every kernel, host call, loop and branch; `sites` are known once the module is written.

    Clocks within loops make these slower; without `nested` there are none.
    """

    parameter = "%times"

    def __init__(self, *, nested: bool = True) -> None:
        self.nested = nested
        self.begin()

    def begin(self) -> None:
        """Forget all sites."""
        self.sites: list[Site] = []
        self._open: list[int] = []

    def words(self, events: int) -> int:
        """The length of a buffer with room for so many events."""
        return HEAD_WORDS + SITE_WORDS * len(self.sites) + EVENT_WORDS * events

    def kernel(self, instruction: Instruction, kernel: Kernel, extents: Sequence[int]) -> None:
        """Note which kernel it is."""
        if self.sites[self._open[-1]].instruction is instruction:
            self.sites[self._open[-1]].kernel = kernel

    def before(self, writing: ModuleContext, instruction: Instruction, name: str) -> tuple[int, Reg] | None:
        """Read the clock."""
        if self._open and not self.nested:
            return None
        site = len(self.sites)
        self.sites.append(Site(name, instruction, self._open[-1] if self._open else None))
        self._open.append(site)
        return site, writing.w.result_of("probe_clock", "i64", 1)

    def after(self, writing: ModuleContext, mark: tuple[int, Reg] | None) -> None:
        """Read the clock again, and note both."""
        if mark is None:
            return
        site, begin = mark
        self._open.pop()
        writing.w.run("probe", pointer(self.parameter), constant(site, "i64"), begin)

    def finish(self, writing: ModuleContext) -> None:
        """Add the functions that the probes call."""
        writing.declarations["clock_gettime"] = "declare i32 @clock_gettime(i32, ptr)"
        events = HEAD_WORDS + SITE_WORDS * len(self.sites)
        writing.functions += [_CLOCK_TEXT, _PROBE_TEXT.replace("EVENTS", str(events))]


_CLOCK_TEXT: Final = f"""\
define internal i64 @probe_clock() nounwind {{
  %now = alloca [2 x i64]
  %ignored = call i32 @clock_gettime(i32 {_CLOCK}, ptr %now)
  %seconds = load i64, ptr %now
  %slot = getelementptr i64, ptr %now, i64 1
  %rest = load i64, ptr %slot
  %scaled = mul i64 %seconds, 1000000000
  %sum = add i64 %scaled, %rest
  ret i64 %sum
}}"""

_PROBE_TEXT: Final = f"""\
define internal void @probe(ptr %times, i64 %site, i64 %begin) nounwind noinline {{
  %end = call i64 @probe_clock()
  %spent = sub i64 %end, %begin
  %place = mul i64 %site, {SITE_WORDS}
  %first = add i64 %place, {HEAD_WORDS}
  %runs = getelementptr i64, ptr %times, i64 %first
  %total = getelementptr i64, ptr %runs, i64 1
  %r0 = load i64, ptr %runs
  %r1 = add i64 %r0, 1
  store i64 %r1, ptr %runs
  %t0 = load i64, ptr %total
  %t1 = add i64 %t0, %spent
  store i64 %t1, ptr %total
  %written = load i64, ptr %times
  %more = add i64 %written, 1
  store i64 %more, ptr %times
  %limit = getelementptr i64, ptr %times, i64 1
  %room = load i64, ptr %limit
  %fits = icmp slt i64 %written, %room
  br i1 %fits, label %note, label %leave
note:
  %behind = mul i64 %written, {EVENT_WORDS}
  %at = add i64 %behind, EVENTS
  %event = getelementptr i64, ptr %times, i64 %at
  store i64 %site, ptr %event
  %begun = getelementptr i64, ptr %event, i64 1
  store i64 %begin, ptr %begun
  %ended = getelementptr i64, ptr %event, i64 2
  store i64 %end, ptr %ended
  br label %leave
leave:
  ret void
}}"""
