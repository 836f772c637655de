"""``tj.profile``: what ran, kernel by kernel."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import numpy as np

from ..base.errors import TracejitError
from ..base.process.finalization import Followed, WeakTable
from ..base.process.locks import ForkLock
from ..base.records import record
from ..codegen.module.costs import Cost
from ..provided import REPORTS
from ..runtime.executable import Executable
from ..runtime.timing import TimedExecutable, site_costs, timed
from . import tables
from .observing import CallRun, KernelRun, profiling
from .records import FunctionProfile, KernelRecord, NestProfile, lines_of, ops_of, owner_of, text_of
from .trace import Event, write_trace

#: Kernels and events that are kept one by one; what comes after is counted in the sums alone.
KEPT: Final = 200_000


@record(eq=False)
class _Seen:
    """A compiled function that was called, which is kept alive, with what each of its nests is."""

    executable: Executable
    function: FunctionProfile
    costs: list[Cost]
    labels: list[str]
    notes: list[dict[str, Any]]


class Profile:
    """Record of what ran while it was on: the context manager and the result of ``tj.profile``.

    Attributes:
        result: what the profiled function returned.
        kernels: one `KernelRecord` per eager kernel and per call of a compiled function, in order.
        functions: one `FunctionProfile` per compiled function and signature, with its nests.
        eager: (op, backend, inputs) to (calls, milliseconds, bytes), for eager kernels.
        new_bytes: bytes that kernels allocated and that were still alive at the end.
        peak_bytes: the most bytes that were alive at once of what its kernels allocated.
        milliseconds_on: how long the profile was on.
        dropped: how many kernels and events were not kept one by one, beyond the first 200,000.
    """

    def __init__(self, *, everywhere: bool = True) -> None:
        self.result: Any = None
        self.kernels: list[KernelRecord] = []
        self.eager: dict[tuple[str, str, tuple[str, ...]], tuple[int, float, int]] = {}
        self.new_bytes = self.peak_bytes = self.dropped = 0
        self.milliseconds_on = 0.0
        self.instrument_milliseconds = 0.0
        self.events: list[Event] = []
        self._everywhere = everywhere
        self._functions: dict[int, _Seen] = {}
        self._done: list[FunctionProfile] = []
        self._live = 0
        #: The owners of memory that are alive, and the bytes of each until its death is noted.
        self._owners: WeakTable[Any, None] = WeakTable()
        self._bytes: Followed[Any, int] = Followed()
        self._lock = ForkLock()
        self._stack = ExitStack()
        self._begun = 0

    def __enter__(self) -> Profile:
        if self._begun:
            raise TracejitError("profile: this profile has run already; make another with tj.profile()")
        self._stack.enter_context(profiling(self, everywhere=self._everywhere))
        self._begun = time.monotonic_ns()
        return self

    def __exit__(self, *exc: object) -> None:
        self.milliseconds_on = (time.monotonic_ns() - self._begun) / 1e6
        self._stack.close()
        with self._lock:
            self._forget_dead()
            self.new_bytes = self._live
            self._done = [function.function for function in self._functions.values()]
            self._functions.clear()  # executables must not live as long as what is known about them
            self._bytes.clear()

    # -- what was seen ----------------------------------------------------------------------------

    @property
    def functions(self) -> list[FunctionProfile]:
        """The compiled functions that were called, the one that took longest first."""
        with self._lock:
            profiles = [*self._done, *(function.function for function in self._functions.values())]
        return sorted(profiles, key=lambda profile: -profile.milliseconds)

    @property
    def kernel_names(self) -> list[str]:
        """The distinct names of the kernels, in order of their first run."""
        return list(dict.fromkeys(kernel.name for kernel in self.kernels))

    @property
    def milliseconds(self) -> float:
        """The time that eager kernels and compiled functions took together."""
        eager = sum(spent for _, spent, _ in self.eager.values())
        return eager + sum(function.milliseconds for function in self.functions)

    def table(self, limit: int = 20) -> str:
        """Functions with their nests, and eager kernels, as a table; the first `limit` of each."""
        return tables.table(self, limit)

    def summary(self) -> str:
        """A summary in a few lines: the time by part, and the GFLOP/s and GB/s achieved."""
        return tables.summary(self)

    def as_dict(self) -> dict[str, Any]:
        """Totals without single events, as values that JSON can hold."""
        return tables.as_dict(self)

    def save_trace(self, path: str | os.PathLike[str]) -> None:
        """Write a file in Chrome's trace event format, which ``ui.perfetto.dev`` opens.

        Times are microseconds since the profile began; each thread has its own row. Raises OSError.
        """
        Path(path).write_text(write_trace(self.events, self.dropped), encoding="utf-8")

    def __str__(self) -> str:
        return f"{self.table()}\n{self.summary()}"

    def _repr_html_(self) -> str:
        """The HTML for notebooks."""
        html: str = REPORTS().profile_html(self)
        return html

    # -- seeing -----------------------------------------------------------------------------------

    def ran_kernel(self, ran: KernelRun) -> None:
        """Note an eager kernel."""
        arrays = ran.arrays
        inputs = tuple(map(text_of, ran.operands))
        nbytes = sum(array.nbytes for array in arrays)
        spent = (ran.end - ran.begin) / 1e6
        key = (ran.op.name, ran.backend, inputs)
        with self._lock:
            calls, milliseconds, total = self.eager.get(key, (0, 0.0, 0))
            self.eager[key] = calls + 1, milliseconds + spent, total + nbytes
            self._keep(ran.op.name, ran.backend, inputs, arrays, ran, "eager")
            self._memory(arrays, ran.operands)

    def ran_call(self, ran: CallRun) -> None:
        """Note a call of a compiled function with its kernels."""
        with self._lock:
            seen = self._seen(ran.executable)
            function = seen.function
            function.calls += 1
            function.milliseconds += (ran.end - ran.begin) / 1e6
            for nest, cost, spent in zip(function.nests, seen.costs, ran.times.sites, strict=True):
                if spent.runs:
                    once = spent.nanoseconds / spent.runs / 1e6
                    nest.best = min(nest.best, once) if nest.runs else once
                nest.runs += spent.runs
                nest.denormal_runs += spent.denormal_runs
                nest.milliseconds += spent.nanoseconds / 1e6
                nest.cost += cost.times(spent.runs)
            results = list(ran.results)
            self._keep(f"@{function.name}", "llvm", function.inputs, results, ran, "function")
            for site, begin, end in ran.times.events.tolist():
                self._event(seen.labels[site], "kernel", begin, end, seen.notes[site])
            self._memory(results, ran.args)

    def _seen(self, executable: Executable) -> _Seen:
        earlier = self._functions.get(id(executable))
        if earlier is not None:
            return earlier
        variant = timed(executable)
        function = _described(executable, variant)
        for compiled, what in ((executable, "compile"), (variant, "instrument")):
            if compiled.begun < self._begun:
                continue
            spent = sum(compiled.milliseconds.values())
            if what == "compile":
                function.compile_milliseconds = spent
            else:
                self.instrument_milliseconds += spent
            end = compiled.begun + int(spent * 1e6)
            self._event(
                f"{what} {function.name}", "compile", compiled.begun, end, dict(compiled.milliseconds)
            )
        labels = [f"{nest.name} {', '.join(nest.ops)}" for nest in function.nests]
        notes: list[dict[str, Any]] = [
            {"kind": nest.kind, "lines": list(nest.lines)} for nest in function.nests
        ]
        seen = self._functions[id(executable)] = _Seen(
            executable, function, site_costs(variant), labels, notes
        )
        return seen

    def _keep(
        self, name: str, backend: str, inputs: tuple[str, ...], arrays: Sequence[Any], ran: Any, category: str
    ) -> None:
        """Keep one record and one event, as long as there is room."""
        outputs, nbytes = tuple(map(text_of, arrays)), sum(array.nbytes for array in arrays)
        if len(self.kernels) < KEPT:
            self.kernels.append(
                KernelRecord(
                    name, backend, inputs, outputs, nbytes, (ran.end - ran.begin) / 1e6,
                    (ran.begin - self._begun) / 1e6, threading.current_thread().name,
                )
            )  # fmt: skip
        what = {"inputs": list(inputs), "outputs": list(outputs), "bytes": nbytes}
        self._event(name, category, ran.begin, ran.end, what)

    def _event(self, name: str, category: str, begin: int, end: int, what: dict[str, Any]) -> None:
        if len(self.events) >= KEPT:
            self.dropped += 1
            return
        thread = threading.current_thread()
        self.events.append(
            Event(name, category, begin - self._begun, end - begin, thread.native_id or 0, thread.name, what)
        )

    def _memory(self, arrays: Sequence[Any], operands: Sequence[Any]) -> None:
        """Follow the memory of new arrays until it is given back."""
        self._forget_dead()
        owners = {id(owner_of(operand)) for operand in operands if isinstance(operand, np.ndarray)}
        for array in arrays:
            owner = owner_of(array)
            if id(owner) not in owners and owner not in self._owners:
                self._follow(owner)
        self.peak_bytes = max(self.peak_bytes, self._live)

    def _follow(self, owner: Any) -> None:
        self._owners[owner] = None
        self._bytes.follow(owner, owner.nbytes)
        self._live += owner.nbytes

    def _forget_dead(self) -> None:
        """Subtract the memory that has been given back since the last call."""
        self._live -= sum(self._bytes.take())


def _described(executable: Executable, variant: TimedExecutable) -> FunctionProfile:
    """A function with its nests, before anything ran."""
    nests = [
        NestProfile(
            site.name, site.kind, ops_of(site.instruction), lines_of(site.instruction),
            site.parent,
        )
        for site in variant.probes.sites
    ]  # fmt: skip
    source = executable.source
    where = next(
        (str(instruction.location) for instruction in source.body if instruction.location is not None), ""
    )
    types = tuple(str(param.type) for param in source.params)
    copies = tuple([f"{copy.location or ''}: {copy.text}" for copy in executable.copies_at_steps()])
    return FunctionProfile(
        source.name, types, where, nests, fallbacks=tuple(variant.fallbacks), copies=copies
    )


def profile(f: Callable[..., Any] | None = None, /, *args: Any, **kwargs: Any) -> Profile:
    """Say what ran: of ``f(*args, **kwargs)`` on this thread, or of all threads within ``with profile():``.

    Compiled functions are timed kernel by kernel, by a variant with clocks in it, which is compiled when the
    profile first sees them. Calls take the slow way from Python meanwhile, and eager operations of every
    thread are slower.

    Example:
        >>> import tracejit as tj
        >>> made = tj.profile(lambda x: tj.exp(x * 2.0).sum(), tj.ones(1000))
        >>> [(one.name, one.outputs, one.bytes) for one in made.kernels]
        [('mul', ('f64[1000]',), 8000), ('exp', ('f64[1000]',), 8000), ('sum', ('f64[]',), 8)]
        >>> made.new_bytes, made.peak_bytes
        (8, 16000)
        >>> f = tj.jit(lambda x: tj.exp(x * 2.0).sum())
        >>> with tj.profile() as p:
        ...     _ = f(tj.ones(1000)), f(tj.ones(1000))
        >>> [(one.kind, one.ops, one.runs, one.cost.flops) for one in p.functions[0].nests]
        [('row nest', ('mul', 'exp', 'sum'), 2, 6000)]

    Errors of `f` reach the caller as they are. Semantics: ``tf.profile`` of TensorFlow.js; the context
    manager is as ``torch.profiler.profile``.
    """
    if f is None:
        if args or kwargs:
            raise TracejitError("profile: expected a function to call with the arguments, got None")
        return Profile()
    if not callable(f):
        raise TracejitError(
            f"profile: expected a function, or nothing in a with statement, got {type(f).__name__}"
        )
    recorded = Profile(everywhere=False)
    with recorded:
        recorded.result = f(*args, **kwargs)
    return recorded
