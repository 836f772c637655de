"""Clocks around every kernel, for profiles: an instrumented ``@main`` writes into a buffer of its caller's.

The buffer is ``int64``: how many events are written, how many there is room for, then for each `Site` its
count of runs, their nanoseconds together, and in how many this thread met denormal numbers (on x86, which
notes it), then the events: site, begin, end. Each call has a buffer of its
own, so calls at the same time do not meet. The clock is ``CLOCK_MONOTONIC``, Python's `time.monotonic_ns`.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Sequence
from typing import Final

from ...base.records import record
from ...ir.graph import Instruction
from ..llvm.function import FunctionCode
from ..llvm.loops import FunctionWriter
from ..llvm.registers import Reg, constant, pointer
from ..lowering.kernel import Kernel
from .variants import Instrument, ModuleContext

#: Words of the buffer before the sites, of one site, and of one event.
HEAD_WORDS, SITE_WORDS, EVENT_WORDS = 2, 3, 3
_CLOCK: Final = time.CLOCK_MONOTONIC
#: The bits of x86's MXCSR that note a denormal operand, and a result too small to be normal.
_DENORMAL_BITS: Final = 0x02 | 0x10


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
        """The length of a buffer for `events` events."""
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
        if _notes_denormals():
            for name in ("stmxcsr", "ldmxcsr"):
                writing.declarations[f"llvm.x86.sse.{name}"] = f"declare void @llvm.x86.sse.{name}(ptr)"
        writing.functions += [_clock(), _probe(events)]


def _notes_denormals() -> bool:
    return platform.machine().lower() in ("x86_64", "amd64")


def _read_notes(w: FunctionWriter, place: str) -> Reg:
    """The word in which this thread's CPU notes what floating-point code has met."""
    w.run("llvm.x86.sse.stmxcsr", pointer(place))
    return w.load(place, "i32")


def _clock() -> FunctionCode:
    """The time in nanoseconds; the CPU's notes begin anew."""
    w = FunctionWriter()
    if _notes_denormals():
        place = w.slot("i32", 1)
        w.store(w.and_(_read_notes(w, place), ~_DENORMAL_BITS), place)
        w.run("llvm.x86.sse.ldmxcsr", pointer(place))
    now = w.slot("i64", 2)
    w.result_of("clock_gettime", "i32", 1, constant(_CLOCK, "i32"), pointer(now))
    seconds, rest = w.load(now, "i64"), w.load(w.offset(now, "i64", 1), "i64")
    w.ret(w.add(w.mul(seconds, 1_000_000_000), rest))
    return w.function("internal i64 @probe_clock()", "nounwind")


def _probe(events: int) -> FunctionCode:
    """Notes a run of a site that began at some time, and its event, for which words from `events` on are."""
    w, times, site, begin = FunctionWriter(), "%times", Reg("%site", "i64"), Reg("%begin", "i64")
    denormals = constant(0, "i64")
    if _notes_denormals():
        notes = w.and_(_read_notes(w, w.slot("i32", 1)), _DENORMAL_BITS)
        denormals = w.select(w.ne(notes, 0), constant(1, "i64"), denormals)
    end = w.result_of("probe_clock", "i64", 1)

    def add(place: str, value: Reg | int) -> Reg:
        before = w.load(place, "i64")
        w.store(w.add(before, value), place)
        return before

    runs = w.offset(times, "i64", w.add(w.mul(site, SITE_WORDS), HEAD_WORDS))
    add(runs, 1)
    add(w.offset(runs, "i64", 1), w.sub(end, begin))
    add(w.offset(runs, "i64", 2), denormals)
    written = add(times, 1)

    def note() -> None:
        event = w.offset(times, "i64", w.add(w.mul(written, EVENT_WORDS), events))
        for number, value in enumerate((site, begin, end)):
            w.store(value, w.offset(event, "i64", number))

    w.when(w.lt(written, w.load(w.offset(times, "i64", 1), "i64")), note)
    w.ret()
    return w.function("internal void @probe(ptr %times, i64 %site, i64 %begin)", "nounwind noinline")
