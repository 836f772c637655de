"""JSON document of all that the viewer shows of a function.

Ops of the trace are numbered; a line of a listing refers to the set of ops that it is about by an index into
``groups``. See docs/view.md for the fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from ...base.errors import TracejitError
from ...base.records import record
from ...codegen.instrument.debug_locations import Groups, assembly_lines, marked_lines, with_debug_lines
from ...codegen.llvm.compiler import assembly
from ...codegen.llvm.function import FunctionCode, Marked
from ...codegen.llvm.target import host
from ...codegen.loops.nodes import Kernel as Loops
from ...codegen.module.writer import Module, generate
from ...codegen.nest.maps import ScheduledLoops
from ...ir.graph import Function
from ...loops.reports import LoopReport
from .drawing import Drawing
from .hints import as_json, hints, locations_of
from .kernels import Apart, KernelRow, alike, kernel_rows
from .loops import loop_listing
from .measuring import Measured, made_up, measure
from .numbering import numbered, with_views
from .passes import Passed, StageNames, as_rows, listing, through_passes
from .peaks import Peaks, measured_peaks
from .sources import Sources

#: The version of the document's form.
VERSION: Final = 1
#: Functions with more ops are refused: the page would be too large for a browser.
MAX_OPS: Final = 10_000

Array = np.ndarray[Any, Any]


@record
class ViewedFunction:
    """A function to show: the traced Function, the values of its inputs that are known, and the user's name
    of it."""

    label: str
    function: Function
    inputs: Sequence[Array | None]
    #: Reports on the loops in its source.
    loops: tuple[LoopReport, ...] = ()
    #: Whether its calls take denormal numbers for zero.
    flush_denormals: bool = False


def document_of(subject: ViewedFunction, *, timing: bool = True) -> dict[str, Any]:
    """The document of `subject`; without `timing` nothing is run.

    Raises TracejitError for a Function of more than `MAX_OPS` ops.
    """
    return _Collector(subject, timing).document()


class _Collector:
    def __init__(self, subject: ViewedFunction, timing: bool) -> None:
        self.subject, self.timing = subject, timing
        self.traced, self.ops = numbered(subject.function)
        if len(self.ops) > MAX_OPS:
            unrolled = [f"; {loop}" for loop in subject.loops if loop.outcome == "unrolled"]
            raise TracejitError(
                f"{subject.label} has {len(self.ops):,} ops, and the page can show {MAX_OPS:,}; view a "
                "part of it, or write repetitions as tj.scan or tj.fori_loop, whose bodies are traced once"
                + "".join(unrolled)
            )
        self.names = StageNames()
        self.groups: dict[tuple[int, ...], int] = {(): 0}
        self.stages: list[dict[str, Any]] = []
        self.apart: list[Apart] = []

    def document(self) -> dict[str, Any]:
        """The document's parts, in the order in which compilation makes them."""
        self._stage("trace", "Traced", "what the function did, op by op", self._listing(self.traced))
        passed = through_passes(self.traced, self.names, lambda *note: self.apart.append(note))
        optimized = self._listing(passed.optimized)
        self._stage("optimized", "Optimized", "after the passes before fusion", optimized)
        fused = with_views(passed.fused)
        self._stage("fused", "Fused", "groups that become one loop nest each", self._listing(fused))
        module = generate(fused, host())
        rows = kernel_rows(fused, module, self.names, self.apart)
        self._nests(rows)
        machine_lines = self._machine_code(module, rows)
        measured, problem = self._measured()
        peaks = measured_peaks() if self.timing else None
        picture = Drawing(self.names, self.group).picture(fused)
        sources = Sources(self.ops)
        return {
            "version": VERSION,
            "title": self.subject.label,
            "signature": self.stages[0]["lines"][0].removesuffix(" {"),
            "files": sources.files,
            "ops": self._ops(sources, passed),
            "groups": [list(group) for group in self.groups],
            "stages": self.stages,
            "passes": self._passes(passed),
            "kernels": [self._kernel(row, measured, peaks, machine_lines) for row in rows],
            "graph": {"width": picture.width, "height": picture.height, "svg": picture.svg},
            "hints": self._hints(rows, sources, peaks, measured),
            "loops": [self._loop(loop, sources) for loop in self.subject.loops],
            "machine": _peaks_json(peaks),
            "timing": self._timing_json(measured, problem),
        }

    # -- stages -----------------------------------------------------------------------------------

    def group(self, origins: tuple[int, ...]) -> int:
        """The number of a set of ops."""
        return self.groups.setdefault(origins, len(self.groups))

    def _listing(self, function: Function) -> list[Marked]:
        return listing(function, self.names)

    def _stage(self, name: str, title: str, about: str, lines: Sequence[Marked]) -> None:
        self.stages.append(
            {
                "id": name,
                "title": title,
                "about": about,
                "lines": [text for text, _ in lines],
                "groups": [self.group(origins) for _, origins in lines],
            }
        )

    def _nests(self, rows: Sequence[KernelRow]) -> None:
        """The kernels' descriptions, with the ops of each line of a nest, or of its loops."""
        lines: list[Marked] = []
        self.nest_lines: dict[str, int] = {}
        #: The loops of kernels, of those that share their code as well.
        written: dict[str, Loops] = {}
        for row in rows:
            self.nest_lines[row.name] = len(lines)
            if row.nest is not None:
                values = [
                    self.names[value] for value in (*row.instruction.operands, *row.instruction.results)
                ]
                names = {
                    theirs.result: self.names[own.result]
                    for theirs, own in row.own.items()
                    if len(own.results) == 1
                }
                head, *rest = row.nest.rows(names or self.names, values)
                lines.append((head[0].replace(f" {row.nest.name}:", f" {row.name}:", 1), row.origins))
                if row.kernel is not None and isinstance(row.kernel.described, ScheduledLoops):
                    written[row.name] = written[row.kernel.name] = row.kernel.described.loops
                loops = written.get(row.name, written.get(row.kernel.name)) if row.kernel else None
                if loops is not None:
                    others = {theirs.origins: own.origins for theirs, own in row.own.items()}
                    lines += loop_listing(loops, row.nest, values, names or self.names, others, row.origins)
                    continue
                for text, instruction in rest:
                    lines.append(
                        (text, row.own.get(instruction, instruction).origins if instruction else row.origins)
                    )
            elif row.kernel is not None:
                lines.append((row.kernel.description, row.origins))
            else:
                lines.append((f"{row.kind} {row.name}: {row.instruction.op.name}", row.origins))
        self._stage("loops", "Loops", "of each kernel: estimates, its schedule and its loops", lines)

    def _machine_code(self, module: Module, rows: Sequence[KernelRow]) -> dict[str, dict[str, int]]:
        """LLVM text and assembly; where each kernel begins in them."""
        of_function: dict[str, tuple[int, ...]] = {}
        for row in rows:
            for part in row.kernel.code if row.kernel is not None else ():
                if isinstance(part, FunctionCode):  # equal kernels share theirs, which are for the ops of all
                    before = of_function.get(part.name, ())
                    of_function[part.name] = tuple(dict.fromkeys([*before, *row.origins]))
        lines = list(_for_all(marked_lines([*module.head, *module.functions], of_function), alike(rows)))
        self._stage("llvm", "LLVM", "as generated: vectors are written out", lines)
        groups = Groups()
        text = assembly(with_debug_lines(lines, groups, list(of_function)))
        compiled = assembly_lines(text, groups)
        self._stage("asm", "Assembly", f"for {host().cpu}", compiled)
        starts: dict[str, dict[str, int]] = {name: {} for name in of_function}
        for number, (line, _) in enumerate(lines):
            if line.startswith("define "):
                starts.get(line.partition("@")[2].partition("(")[0], {}).setdefault("llvm", number)
        for number, (line, _) in enumerate(compiled):
            if line.endswith(":"):
                starts.get(line[:-1].lstrip("_"), {}).setdefault("asm", number)
        return starts

    # -- tables -----------------------------------------------------------------------------------

    def _ops(self, sources: Sources, passed: Passed) -> list[list[Any]]:
        """Name, file and line of each op, whether it is of a gradient, and the pass that removed it."""
        rows: list[list[Any]] = []
        for number, op in enumerate(self.ops):
            file, line = sources.place(op.location)
            gradient = int(op.location is not None and op.location.gradient)
            rows.append([op.op.name, file, line, gradient, passed.removed.get(number)])
        return rows

    def _passes(self, passed: Passed) -> list[dict[str, Any]]:
        return [
            {
                "name": step.name,
                "about": step.about,
                "milliseconds": step.milliseconds,
                "before": step.before,
                "after": step.after,
                "changes": as_rows(step, self.group),
            }
            for step in passed.steps
        ]

    def _measured(self) -> tuple[Measured | None, str]:
        """The times of a call, or why there are none."""
        if not self.timing:
            return None, "timing was switched off"
        inputs = made_up(self.traced, self.subject.inputs)
        try:
            return measure(self.subject.function, inputs, flush_denormals=self.subject.flush_denormals), ""
        except Exception as error:  # the user's callbacks and indices may raise anything
            return None, f"the function raised {type(error).__name__}: {error}"

    def _kernel(
        self,
        row: KernelRow,
        measured: Measured | None,
        peaks: Peaks | None,
        places: dict[str, dict[str, int]],
    ) -> dict[str, Any]:
        for timed in measured.kernels if measured else ():
            if timed.name == row.name:
                row.seconds, row.runs, row.flushed = timed.seconds, timed.runs, timed.flushed
        runs = row.runs or (1 if row.parent is None else int(row.trips))
        cost = row.cost
        many = 1 if row.is_loop or row.parent is None else runs
        flops, nbytes = cost.flops * many, cost.bytes * many
        entry: dict[str, Any] = {
            "name": row.name,
            "kind": row.kind,
            "parent": row.parent,
            "group": self.group(row.origins),
            "ops": sum(len(region.body) for region in row.instruction.regions) or 1,
            "types": [str(result.type) for result in row.instruction.results],
            "at": {
                "loops": self.nest_lines[row.name],
                **(places.get(row.kernel.name, {}) if row.kernel else {}),
            },
            "runs": runs,
            "flops": flops,
            "transcendentals": cost.transcendentals * many,
            "bytes": nbytes,
            "exact": cost.exact,
            "intensity": flops / nbytes if nbytes else None,
            "seconds": row.seconds,
            "fused": row.fused,
            "vectorised": row.vectorised,
            "threaded": row.threaded,
        }
        if peaks is not None and row.kernel is not None:
            floor, limit = peaks.floor(flops, nbytes, row.dtype, threaded=not row.threaded)
            threads = 1 if row.threaded else peaks.threads
            entry["estimate"] = row.kernel.cycles * many / peaks.clock / threads
            entry["floor"], entry["limit"] = floor, limit
        return entry

    def _hints(
        self, rows: Sequence[KernelRow], sources: Sources, peaks: Peaks | None, measured: Measured | None
    ) -> list[dict[str, Any]]:
        if peaks is None or measured is None:
            return []
        locations = dict(locations_of(rows, self.ops))
        return [as_json(hint, sources.place) for hint in hints(rows, locations, peaks)]

    @staticmethod
    def _loop(loop: LoopReport, sources: Sources) -> dict[str, Any]:
        name, _, line = loop.where.rpartition(":")
        return {
            "file": sources.number(name),
            "line": int(line),
            "where": loop.where,
            "outcome": loop.outcome,
            "reason": loop.reason,
        }

    def _timing_json(self, measured: Measured | None, problem: str) -> dict[str, Any]:
        supplied = sum(1 for input_ in self.subject.inputs if input_ is not None)
        return {
            "seconds": measured.seconds if measured else None,
            "problem": problem,
            "made_up": len(self.subject.function.params) - supplied,
            "compile": measured.compiling if measured else {},
        }


def _for_all(
    lines: Sequence[Marked], sets: dict[str, dict[tuple[int, ...], tuple[int, ...]]]
) -> Iterator[Marked]:
    """Lines with the ops of every kernel that shares them."""
    origin_sets: dict[tuple[int, ...], tuple[int, ...]] = {}
    for text, origins in lines:
        if text.startswith("define "):
            origin_sets = sets.get(text.partition("@")[2].partition("(")[0], {})
        yield text, origin_sets.get(origins, origins)


def _peaks_json(peaks: Peaks | None) -> dict[str, Any] | None:
    if peaks is None:
        return None
    return {
        "cpu": peaks.cpu,
        "clock": peaks.clock,
        "threads": peaks.threads,
        "vector_bits": peaks.vector_bits,
        "bytes": [[level, size, rate] for level, size, rate in peaks.bytes],
        "flops": {dtype: list(both) for dtype, both in peaks.flops.items()},
    }
