"""Time per kernel: a variant of an executable with clocks around every kernel, compiled when asked for.

The ordinary executable stays as it is, so nothing is paid for what nobody measures.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ..base.process.locks import ForkLock
from ..base.records import record
from ..codegen.instrument.probes import EVENT_WORDS, HEAD_WORDS, SITE_WORDS, Probes, Site
from ..codegen.module.costs import Cost, cost_of
from ..ir.graph import Function, Instruction, Value
from .executable import Array, Executable
from .interrupts import interruptible
from .native.allocator import empty

#: Events kept of one call; runs beyond them are counted and added up all the same.
MAX_EVENTS: Final = 4096
_LOCK = ForkLock()


@record
class SiteTime:
    """Time of one kernel in one call.

    Attributes:
        site: which kernel.
        runs: how often it ran.
        nanoseconds: all runs together; for a loop, with the kernels in it.
        denormal_runs: in how many the calling thread met denormal numbers, on x86; for a loop, since the last
            kernel in it.
    """

    site: Site
    runs: int
    nanoseconds: int
    denormal_runs: int


@record
class CallTimes:
    """Times of one call of a timed executable, kernel by kernel.

    Attributes:
        sites: one `SiteTime` per kernel, in program order.
        events: ``int64[n, 3]``: index into `sites`, begin and end in nanoseconds of `time.monotonic_ns`.
    """

    sites: tuple[SiteTime, ...]
    events: np.ndarray[Any, Any]


class TimedExecutable(Executable):
    """An executable whose calls can be timed kernel by kernel, by any number of threads at once."""

    def __init__(
        self, function: Function, probes: Probes | None = None, flush_denormals: bool = False
    ) -> None:
        self.probes = probes or Probes()
        super().__init__(function, instrument=self.probes, flush_denormals=flush_denormals)
        main = self.library.addresses["main"]
        self._timed_main = interruptible(main)
        self._buffers = threading.local()
        self._main = self._into_buffer

    def run_timed(self, args: Sequence[Array]) -> tuple[list[Array], CallTimes]:
        """Run on `args`: the results, and the time of each kernel."""
        sites = self.probes.sites
        first = HEAD_WORDS + SITE_WORDS * len(sites)
        buffer = np.empty(self.probes.words(MAX_EVENTS), np.int64)
        buffer[:first], buffer[1] = 0, MAX_EVENTS
        self._buffers.address = buffer.ctypes.data
        results = self.run(args)
        table = buffer[HEAD_WORDS:first].reshape(-1, SITE_WORDS).tolist()
        count = min(int(buffer[0]), MAX_EVENTS)
        events = buffer[first : first + EVENT_WORDS * count].reshape(-1, EVENT_WORDS).copy()
        times = tuple(SiteTime(site, *row) for site, row in zip(sites, table, strict=True))
        return results, CallTimes(times, events)

    def _into_buffer(self, inputs: int, outputs: int) -> int:
        status: int = self._timed_main(inputs, outputs, self._buffers.address)
        return status


def prepared_call(executable: Executable, args: Sequence[Array]) -> Callable[[], None]:
    """A call of native code with `args`, without the work of Python before and after; its results are lost.

    Example:
        >>> import numpy as np, tracejit as tj
        >>> call = prepared_call(Executable(tj.trace(lambda x: x + 1, tj.ones(3))), [np.ones(3)])
        >>> call()

    Raises what the call raises.
    """
    plain = [executable._plain(np.asarray(arg), i) for i, arg in enumerate(args)]
    results = [empty(result.shape, result.dtype) for result in executable.source.results]
    inputs = (ctypes.c_void_p * max(1, len(plain)))(*[array.ctypes.data for array in plain])
    outputs = (ctypes.c_void_p * max(1, len(results)))(*[result.ctypes.data for result in results])
    main, first, second = executable._main, ctypes.addressof(inputs), ctypes.addressof(outputs)
    alive = plain, results, inputs, outputs

    def call() -> None:
        assert alive
        status = main(first, second)
        if status:
            executable.fail(status)

    return call


def timed(executable: Executable) -> TimedExecutable:
    """The timed variant of `executable`, compiled the first time."""
    with _LOCK:
        variant: TimedExecutable | None = getattr(executable, "timed_variant", None)
        if variant is None:
            variant = TimedExecutable(executable.source, flush_denormals=executable.flush_denormals)
            executable.timed_variant = variant
        return variant


@record
class KernelTime:
    """The measured time of one kernel.

    Attributes:
        name: the kernel's name in ``--stage loops``, such as ``k3``.
        kind: what it is: "map nest", "row nest", "matmul", "host call", "loop", ...
        instruction: the instruction of the fused Function.
        parent: index of the loop or branch that it runs in, None at the top.
        runs: how often it ran in one call.
        seconds: its time in one call, the least of the repeats; a loop's with the kernels in it.
        cost: work and traffic of one call.
    """

    name: str
    kind: str
    instruction: Instruction
    parent: int | None
    runs: int
    seconds: float
    cost: Cost

    @property
    def gflops(self) -> float:
        """Achieved GFLOP/s, 0.0 where the clock saw no time pass."""
        return self.cost.flops / self.seconds / 1e9 if self.seconds else 0.0

    @property
    def gbytes(self) -> float:
        """Achieved GB/s, 0.0 where the clock saw no time pass."""
        return self.cost.bytes / self.seconds / 1e9 if self.seconds else 0.0


def measure_kernels(executable: Executable, inputs: Sequence[Array], repeats: int = 5) -> list[KernelTime]:
    """Measure the time of each kernel in a call with `inputs`: the least of `repeats` calls, after a warm-up.

    The inputs are arrays of the parameters' types. Kernels in a loop are counted with all their runs.

    Example:
        >>> import numpy as np, tracejit as tj
        >>> executable = Executable(tj.trace(lambda x: tj.exp(x) + 1, tj.ones(1000)))
        >>> (one,) = measure_kernels(executable, [np.ones(1000)])
        >>> one.name, one.kind, one.runs, one.cost.flops, one.seconds > 0
        ('k0', 'map nest', 1, 2000, True)
    """
    variant = timed(executable)
    variant.run_timed(inputs)
    calls = [variant.run_timed(inputs)[1].sites for _ in range(max(1, repeats))]
    costs = site_costs(variant)
    kernels = []
    for each, cost in zip(zip(*calls, strict=True), costs, strict=True):
        best = min(each, key=lambda timing: timing.nanoseconds)
        site = best.site
        runs = best.runs if site.parent is not None else 1
        kernels.append(
            KernelTime(
                site.name, site.kind, site.instruction, site.parent, best.runs, best.nanoseconds / 1e9,
                cost.times(runs),
            )
        )  # fmt: skip
    return kernels


def site_costs(variant: TimedExecutable) -> list[Cost]:
    """The cost of one run of each site."""
    defs: dict[Value, Instruction] = {}
    for instruction in variant.fused.instructions():
        defs.update((result, instruction) for result in instruction.results)
    return [cost_of(site.instruction, defs) for site in variant.probes.sites]
