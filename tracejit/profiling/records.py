"""Records of profiles of time, as data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..base.records import field, record
from ..codegen.module.costs import Cost
from ..ir.dtypes import SHORT_NAME
from ..ir.graph import Instruction, Location


@record
class KernelRecord:
    """One kernel that ran.

    Attributes:
        name: the op's name, or ``@name`` for a call of a compiled function.
        backend: who ran it: "numpy", "llvm" for compiled code, or a backend of the user's.
        inputs: the inputs as text, such as ``f64[3]``; Python numbers as ``float``.
        outputs: the results, likewise.
        bytes: bytes of the results.
        milliseconds: wall time.
        start: when it began, in milliseconds after the profile did.
        thread: the name of the thread that ran it.
    """

    name: str
    backend: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    bytes: int
    milliseconds: float
    start: float = 0.0
    thread: str = ""


@record(eq=False, frozen=False)
class NestProfile:
    """One kernel of a compiled function, all its runs together.

    Attributes:
        name: its name in ``--stage loops``, such as ``k3``.
        kind: what it is: "map nest", "row nest", "contraction", "host call", "loop", ...
        ops: the ops that it computes, each once.
        lines: the user's lines, as ``model.py:12``.
        parent: index of the loop or branch around it among the function's nests, None at the top.
        runs: how often it ran.
        milliseconds: wall time of all runs; a loop's with the kernels in it.
        cost: flops and bytes of all runs.
        best: the least milliseconds of a run, on average over the runs of a call.
        denormal_runs: in how many the calling thread met denormal numbers, where the CPU tells (x86).
    """

    name: str
    kind: str
    ops: tuple[str, ...]
    lines: tuple[str, ...]
    parent: int | None
    runs: int = 0
    milliseconds: float = 0.0
    cost: Cost = field(default_factory=Cost)
    best: float = 0.0
    denormal_runs: int = 0

    @property
    def gflops(self) -> float:
        """Achieved GFLOP/s."""
        return self.cost.flops / self.milliseconds / 1e6 if self.milliseconds else 0.0

    @property
    def gbytes(self) -> float:
        """Achieved GB/s: bytes that must be moved at least, by the time it took."""
        return self.cost.bytes / self.milliseconds / 1e6 if self.milliseconds else 0.0


@record(eq=False, frozen=False)
class FunctionProfile:
    """One compiled function for one signature, all its calls together.

    Attributes:
        name: the function's name; gradients of eager code are called ``name_backward``.
        inputs: the types it was compiled for.
        where: its first line that was compiled, as ``model.py:12``; empty where there is none.
        calls: how often it was called.
        milliseconds: wall time of the calls, kernels and the way there from Python.
        compile_milliseconds: what compiling it took while the profile ran, tracing not counted.
        nests: its kernels, in program order.
        fallbacks: what the compiler failed on, and what was done instead: the texts of its warnings.
        copies: what lines copy at each step of a loop, why, and what to write.
    """

    name: str
    inputs: tuple[str, ...]
    where: str
    nests: list[NestProfile]
    calls: int = 0
    milliseconds: float = 0.0
    compile_milliseconds: float = 0.0
    fallbacks: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()

    @property
    def kernel_milliseconds(self) -> float:
        """The part of its time that was spent in native kernels and host calls."""
        return sum(nest.milliseconds for nest in self.nests if nest.parent is None)

    @property
    def cost(self) -> Cost:
        """Flops and bytes of all calls: of kernels, where loops hold kernels."""
        parents = {nest.parent for nest in self.nests}
        return sum((nest.cost for i, nest in enumerate(self.nests) if i not in parents), Cost())


def ops_of(instruction: Instruction) -> tuple[str, ...]:
    """The ops that an instruction computes, each once, in order; views are none."""
    if not instruction.regions:
        return (instruction.op.name,)
    inside = [
        name
        for region in instruction.regions
        for inner in region.body
        for name in ops_of(inner)
        if inner.op.kind.value not in ("view", "creation")
    ]
    first = () if instruction.op.kind.value == "region" else (instruction.op.name,)
    return tuple(dict.fromkeys([*first, *inside])) or ("copy",)


def lines_of(instruction: Instruction) -> tuple[str, ...]:
    """The user's lines that an instruction comes from, as ``model.py:12``, in order."""
    places = {(location.file, location.line): str(location) for location in _locations(instruction)}
    return tuple(places[place] for place in sorted(places))


def _locations(instruction: Instruction) -> Iterator[Location]:
    if instruction.location is not None:
        yield instruction.location
    for region in instruction.regions:
        for inner in region.body:
            yield from _locations(inner)


def owner_of(array: Any) -> Any:
    """The array whose memory `array` is a view of."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def text_of(value: Any) -> str:
    """A value's type: ``f64[3]``, or ``float`` for a Python number."""
    if isinstance(value, (bool, int, float, complex)):
        return type(value).__name__
    array = np.asarray(value)
    return f"{SHORT_NAME.get(array.dtype, array.dtype.name)}[{','.join(map(str, array.shape))}]"
