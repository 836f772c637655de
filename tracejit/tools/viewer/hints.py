"""Advice on slow code: the most expensive kernels first, in plain words, with the line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from ...base.records import field, record
from ...codegen.lowering.loop_nest import Memory
from ...codegen.module.families import LOWERINGS
from ...codegen.module.step_copies import copy_of
from ...ir.graph import Location
from ...ir.ops.fusion import INTERPRETED
from .kernels import KernelRow, strided_reads
from .peaks import Peaks

#: A kernel with less of the whole time is not worth a word, and one with less than twice its floor is fine.
SHARE: Final = 0.05
NEAR: Final = 2.0
#: Calls whose kernels take fewer seconds are hardly more than a call.
SMALL: Final = 2e-6
#: Number of plain operations that take as long as one exp or log, in vectors, roughly.
TRANSCENDENTAL: Final = 12
#: The smallest slowdown by denormal numbers that is reported.
SLOWED: Final = 1.3
#: The ratio to the floor from which a kernel counts as too slow.
FAR: Final = 4.0


@record(eq=False, frozen=False)
class Hint:
    """One piece of advice."""

    kernel: str
    #: "bad" for what costs most and can be helped, "note" for what is as good as it gets.
    level: str
    title: str
    text: str
    location: Location | None
    share: float
    #: All the kernels of this line that it holds for, with those of gradients.
    kernels: list[str] = field(default_factory=list)


def hints(rows: Sequence[KernelRow], locations: dict[str, Location], peaks: Peaks) -> list[Hint]:
    """Advice on the rows that take most; none without measured times."""
    measured = [row for row in rows if row.seconds is not None]
    total = sum(row.seconds or 0.0 for row in measured if row.parent is None)
    if not total:
        return []
    by_place: dict[tuple[str, str], Hint] = {}
    told: set[str | None] = set()
    for row in sorted(measured, key=lambda row: -(row.seconds or 0.0)):
        if row.parent in told:
            continue
        remarks = [(row, *_said(row, rows, peaks))]
        if row.is_loop:
            told.add(row.name)
            inside = [inner for inner in rows if inner.parent == row.name and inner.seconds]
            remarks += [(inner, *copied) for inner in inside if (copied := copy_in_loop(inner, peaks))]
        for about, level, title, text in remarks:
            where = locations.get(about.name)
            part = (about.seconds or 0.0) / total
            same = by_place.get((str(where), title))
            if same is None:
                by_place[str(where), title] = Hint(about.name, level, title, text, where, part, [about.name])
            else:
                same.share += part
                same.kernels.append(about.name)
    listed = sorted((hint for hint in by_place.values() if hint.share >= SHARE), key=lambda hint: -hint.share)
    if total < SMALL:
        listed.append(
            Hint("", "note", "As quick as a call",
                 f"The kernels take {_time(total)} together, not much more than calling a compiled function "
                 "from Python does. To gain time, do more in one call: tj.vmap, tj.scan.", None, 0.0)
        )  # fmt: skip
    return listed


def _said(row: KernelRow, rows: Sequence[KernelRow], peaks: Peaks) -> tuple[str, str, str]:
    """The level, the title and the text about one kernel."""
    kind = row.instruction.op.kind
    if row.flushed is not None and (row.seconds or 0.0) > SLOWED * row.flushed:
        return _denormals(row)
    if row.kernel is None and not row.is_loop:
        return _host_call(row)
    if row.is_loop:
        return _loop(row, rows)
    floor, limit = peaks.floor(
        row.cost.flops * max(row.runs, 1), row.cost.bytes * max(row.runs, 1), row.dtype,
        threaded=not row.threaded,
    )  # fmt: skip
    times = (row.seconds or 0.0) / floor if floor else float("inf")
    far = f"It takes {_times(times)} what moving its bytes and doing its arithmetic would."
    if kind.traits.control:
        return (
            "note", f"A {kind.traits.label} in registers",
            "Its state is so small that it stays in registers: nothing is read or written between steps, "
            "which wait for each other. "
            + ("Its elements do not, and fill vectors and threads." if row.nest
               else "Many such loops at once, by tj.vmap, would fill whole vectors."),
        )  # fmt: skip
    lowering = LOWERINGS.get(kind)
    if lowering is not None and lowering.arithmetic:
        rate = row.cost.flops * max(row.runs, 1) / (row.seconds or 1.0)
        return (
            "note", lowering.arithmetic,
            f"It does {rate / 1e9:,.0f} GFLOP/s, {floor / (row.seconds or 1.0):.0%} of what this machine "
            "can. Only a smaller product, fewer of them, or float32 would take less.",
        )  # fmt: skip
    if lowering is not None and lowering.advice is not None:
        advice = lowering.advice(row.instruction)
        level = "bad" if advice.always or times > FAR else "note"
        return level, advice.title, f"{advice.work} {far} {advice.remedy}"
    if row.nest is not None and not row.nest.members:
        return (
            "bad", "A copy, only to reorder",
            "Nothing is computed here: the values are written out in another order, because what reads them "
            f"needs them contiguous. {far} Store the data in the order in which it is used.",
        )  # fmt: skip
    if row.nest is not None and strided_reads(row.nest) and times > NEAR:
        return (
            "bad", "Reads across the memory order",
            f"{_capital(row.vectorised)}. {far} Transpose the data once outside, or compute in the other "
            "layout, so that neighbours in the loop are neighbours in memory.",
        )  # fmt: skip
    transcendental = row.cost.transcendentals * TRANSCENDENTAL > row.cost.flops
    if transcendental and times > NEAR:
        return (
            "note", "exp, log and their like",
            f"{row.cost.transcendentals * max(row.runs, 1):,} transcendental functions take most of this; "
            f"each is some {_per_element(row, peaks):.1f} cycles here, a multiplication a fraction of one.",
        )  # fmt: skip
    if times <= NEAR:
        what = "memory bandwidth" if limit == "memory" else "the arithmetic units"
        return (
            "note", f"At the limit of {what}",
            f"It runs at {min(1.0, 1 / times):.0%} of what this machine can do. "
            + ("Fewer bytes would help: float32, or fusing it with its neighbours."
               if limit == "memory" else "Only less work would help."),
        )  # fmt: skip
    slow = [text for text in (row.vectorised, row.threaded) if text]
    why = f" On one thread: {row.threaded}." if row.threaded else ""
    return (
        "bad" if times > FAR else "note", f"Slower than it could be: a {row.kind}",
        f"{far}{' Not vectorised: ' + row.vectorised + '.' if row.vectorised else ''}{why}"
        if slow else far,
    )  # fmt: skip


def _host_call(row: KernelRow) -> tuple[str, str, str]:
    name = row.instruction.op.name
    callback = row.instruction.attrs.get("callback")
    if row.instruction.op is INTERPRETED:
        return (
            "bad", "The compiler failed on this",
            "NumPy computes it, op by op, called from compiled code: a bug in tracejit, please report it.",
        )  # fmt: skip
    if callback is not None:
        function = str(callback).partition("#")[0]
        return (
            "bad", f"Compiled code calls Python: {function}",
            f"At this line the Python function {function} runs, in the interpreter, on every call. It cannot "
            "be compiled, fused, vectorised or threaded. Write it with tj functions; if its inputs do not "
            "change from call to call, compute it once outside and pass the result in.",
        )  # fmt: skip
    return (
        "bad", f"{name} has no machine code",
        f"{name} runs by its NumPy kernel, called from compiled code: nothing fuses with it.",
    )  # fmt: skip


def _loop(row: KernelRow, rows: Sequence[KernelRow]) -> tuple[str, str, str]:
    inside = [inner for inner in rows if inner.parent == row.name]
    steps = max((row.runs for row in inside), default=row.runs)
    each = (row.seconds or 0.0) / max(steps, 1)
    sizes = [result.type.size for row in inside for result in row.instruction.results]
    small = bool(sizes) and max(sizes) <= 64
    what = "a handful of numbers" if small else f"at most {max(sizes, default=0):,} elements"
    return (
        "bad" if steps > 100 else "note",
        f"A loop of {steps:,} steps",
        f"Each step runs {len(inside)} kernel{'s' if len(inside) != 1 else ''} on {what} and takes "
        f"{_time(each)}. Steps wait for each other: no vectors or threads across them. Where a step does not "
        "need the one before it, write the loop as one array operation (a sum, tj.index_add, a matrix "
        "product, tj.vmap).",
    )


def _denormals(row: KernelRow) -> tuple[str, str, str]:
    """Hints about a kernel or loop that denormal numbers slow down."""
    least = "1.2e-38" if row.dtype == "f32" else "2.2e-308"
    return (
        "bad", "Denormal numbers",
        f"Numbers smaller than {least} come up here, with which most CPUs compute slowly: it takes "
        f"{_time(row.seconds or 0.0)}, and {_time(row.flushed or 0.0)} while they count as zero. Write "
        "tj.jit(..., flush_denormals=True) for that, or scale the values so that they stay larger.",
    )  # fmt: skip


def copy_in_loop(row: KernelRow, peaks: Peaks) -> tuple[str, str, str] | None:
    """The level, the title and the text about a kernel in a loop that copies much at each step; None about
    others."""
    instruction = row.instruction
    nbytes = instruction.results[0].type.nbytes
    # in place an update takes what the elements that are written take
    in_place = (row.seconds or 0.0) / max(row.runs, 1) < nbytes / peaks.bytes_per_second(2 * nbytes)
    copy = copy_of(instruction, row.runs, in_place=in_place) if row.runs > 1 else None
    return ("bad", copy.title, copy.text) if copy is not None else None


def _per_element(row: KernelRow, peaks: Peaks) -> float:
    count = row.cost.transcendentals * max(row.runs, 1)
    return (row.seconds or 0.0) * peaks.clock / max(count, 1)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _times(ratio: float) -> str:
    return f"{ratio:,.0f} times" if ratio >= 10 else f"{ratio:.1f} times"


def _time(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def as_json(hint: Hint, place: Any) -> dict[str, Any]:
    """The hint as data for the page; `place` turns a location into a file number and a line."""
    file, line = place(hint.location)
    return {
        "kernel": hint.kernel, "level": hint.level, "title": hint.title, "text": hint.text,
        "share": hint.share, "kernels": hint.kernels, "file": file, "line": line,
        "where": str(hint.location) if hint.location and hint.location.file else "",
    }  # fmt: skip


def _own_line(row: KernelRow) -> Location | None:
    """The one line that stands for a kernel, if there is one."""
    if row.is_loop:
        return row.instruction.location
    strided = strided_reads(row.nest) if row.nest else {}
    for member in row.nest.members if row.nest and strided else ():
        if any(isinstance(operand, Memory) and operand.buffer in strided for operand in member.operands):
            return row.own.get(member.instruction, member.instruction).location
    return None


def locations_of(rows: Sequence[KernelRow], ops: Sequence[Any]) -> Iterator[tuple[str, Location]]:
    """The names of kernels, each with one line: the line of most of its ops, the first line of a loop, or the
    line that reads across the memory order."""
    for row in rows:
        own = _own_line(row)
        if own is not None and own.file:
            yield row.name, Location(own.file, own.line)
            continue
        counts: dict[tuple[str, int], float] = {}
        for number in row.origins:
            where = ops[number].location
            if where is not None and where.file:
                weight = 1.0 if ops[number].op.kind.traits.has_kernel else 0.01
                counts[where.file, where.line] = counts.get((where.file, where.line), 0.0) + weight
        if counts:
            file, line = max(counts, key=lambda count: counts[count])
            yield row.name, Location(file, line)
