"""Records of profiles of time and of memory, as data."""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...codegen.module.costs import Cost
from ...eager.tensor import Tensor
from ...ir.dtypes import SHORT_NAME
from ...ir.graph import Instruction, Location, Value
from ...ir.records import field, record
from ...tape.nodes import Node


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


@record
class MemoryInfo:
    """The tensors and the tape that are alive: the result of ``tj.memory``.

    Attributes:
        tensors: how many Tensors there are.
        bytes: bytes of the arrays that Tensors and the tape hold, shared memory counted once.
        saved_bytes: those of them that only the tape holds.
        nodes: how many operations the tape holds.
    """

    tensors: int
    bytes: int
    saved_bytes: int
    nodes: int


def memory() -> MemoryInfo:
    """Count what is alive: tensors, their bytes, and what the tape keeps for backward passes.

    It asks Python's garbage collector for its objects, so it costs time here, and none anywhere else.

    Example:
        >>> import tracejit as tj
        >>> before = tj.memory()
        >>> x = tj.ones(1000)
        >>> after = tj.memory()
        >>> after.tensors - before.tensors, after.bytes - before.bytes
        (1, 8000)

    Semantics: ``tf.memory`` of TensorFlow.js.
    """
    gc.collect()
    held: dict[int, int] = {}
    saved: dict[int, int] = {}
    tensors = nodes = 0
    for item in gc.get_objects():
        kind = type(item)
        if kind is Tensor:
            data = getattr(item, "_data", None)
            if isinstance(data, np.ndarray):
                tensors += 1
                owner = owner_of(data)
                held[id(owner)] = owner.nbytes
            elif isinstance(data, Value):
                tensors += 1
        elif issubclass(kind, Node):
            nodes += 1
            for array in _arrays_of(item):
                owner = owner_of(array)
                saved[id(owner)] = owner.nbytes
    only_saved = sum(nbytes for key, nbytes in saved.items() if key not in held)
    return MemoryInfo(tensors, sum(held.values()) + only_saved, only_saved, nodes)


def _arrays_of(node: Any) -> list[Any]:
    """The arrays that a node holds, directly or in a list or tuple of its own."""
    arrays = []
    for referent in gc.get_referents(node):
        parts = referent if type(referent) in (list, tuple) else [referent]
        arrays += [part for part in parts if isinstance(part, np.ndarray)]
    return arrays


@record
class Event:
    """An event with a duration: `begin` and `duration` in nanoseconds, `begin` since the profile began."""

    name: str
    category: str
    begin: int
    duration: int
    thread: int
    thread_name: str
    what: dict[str, Any]


def write_trace(events: Sequence[Event], dropped: int = 0) -> str:
    """The text of a trace file."""
    pid = os.getpid()
    program = Path(sys.argv[0]).name if sys.argv and sys.argv[0] else "python"
    names = {event.thread: event.thread_name for event in events}
    rows: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": program}},
        *(
            {"ph": "M", "name": "thread_name", "pid": pid, "tid": thread, "args": {"name": name}}
            for thread, name in names.items()
        ),
    ]
    for event in sorted(events, key=lambda event: (event.begin, -event.duration)):
        rows.append(
            {
                "ph": "X", "name": event.name, "cat": event.category, "pid": pid, "tid": event.thread,
                "ts": event.begin / 1e3, "dur": event.duration / 1e3, "args": event.what,
            }
        )  # fmt: skip
    other = {"dropped events": dropped} if dropped else {}
    return json.dumps({"traceEvents": rows, "displayTimeUnit": "ns", "otherData": other})
