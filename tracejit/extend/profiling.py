"""What ran and what it took: ``profile``; and what is alive: ``memory``."""

from __future__ import annotations

import gc
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ir.dtypes import SHORT_NAME
from ..ir.graph import Value
from ..ir.records import field, record
from ..runtime.bypass import bypass_native_entries
from ..runtime.observing import OBSERVER
from ..state import STATE
from ..tape.nodes import Node
from ..tensor import Tensor
from .active import watch_kernels

__all__ = ["KernelRecord", "MemoryInfo", "Profile", "memory", "profile"]


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
    """

    name: str
    backend: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    bytes: int
    milliseconds: float


@record(eq=False, frozen=False)
class Profile:
    """What a call ran.

    Attributes:
        result: what the function returned.
        kernels: one `KernelRecord` per kernel, in order.
        new_bytes: bytes that kernels allocated and that are still alive, in the result or elsewhere.
        peak_bytes: the most bytes that were alive at once of what its kernels allocated.
    """

    result: Any = None
    kernels: list[KernelRecord] = field(default_factory=list)
    new_bytes: int = 0
    peak_bytes: int = 0

    @property
    def kernel_names(self) -> list[str]:
        """The distinct names of the kernels, in order of their first run."""
        return list(dict.fromkeys(one.name for one in self.kernels))

    @property
    def milliseconds(self) -> float:
        """The time that the kernels took together."""
        return sum(one.milliseconds for one in self.kernels)

    def __str__(self) -> str:
        lines = [f"{'kernel':<20} {'ms':>9} {'bytes':>10}  backend  inputs -> outputs"]
        for one in self.kernels:
            types = f"{', '.join(one.inputs)} -> {', '.join(one.outputs)}"
            lines.append(
                f"{one.name:<20} {one.milliseconds:>9.3f} {one.bytes:>10}  {one.backend:<7}  {types}"
            )
        lines.append(f"new bytes {self.new_bytes}, peak bytes {self.peak_bytes}")
        return "\n".join(lines)


class _Recorder:
    """Sees each kernel of one thread, and follows the arrays that they return until they die."""

    def __init__(self, made: Profile, outer: _Recorder | None) -> None:
        self.made, self.outer = made, outer
        self.live = 0
        self._followed: dict[int, Any] = {}

    def run(self, name: str, backend: str, operands: Sequence[Any], run: Callable[[], Any]) -> Any:
        """Run a kernel and note it. A kernel within it is not another record."""
        STATE.profile, OBSERVER.call = None, None
        start = time.perf_counter()
        try:
            outcome = run()
        finally:
            seconds = time.perf_counter() - start
            STATE.profile, OBSERVER.call = self, self.compiled
        several = isinstance(outcome, (tuple, list))
        arrays = [np.asarray(one) for one in (outcome if several else [outcome])]
        self.note(
            KernelRecord(
                name, backend, tuple(map(_text, operands)), tuple(map(_text, arrays)),
                sum(one.nbytes for one in arrays), seconds * 1e3,
            ),
            arrays, operands,
        )  # fmt: skip
        return type(outcome)(arrays) if several else arrays[0]

    def compiled(self, name: str, inputs: Sequence[Any], run: Callable[[], Any]) -> Any:
        """The same for a compiled function."""
        return self.run(f"@{name}", "llvm", inputs, run)

    def note(self, one: KernelRecord, arrays: Sequence[Any], operands: Sequence[Any]) -> None:
        """Keep a record, here and in the profiles around this one."""
        self.made.kernels.append(one)
        known = {id(_owner(operand)) for operand in operands if isinstance(operand, np.ndarray)}
        for array in arrays:
            owner = _owner(array)
            if id(owner) not in known and id(owner) not in self._followed:
                self._follow(owner)
        self.made.peak_bytes = max(self.made.peak_bytes, self.live)
        if self.outer is not None:
            self.outer.note(one, arrays, operands)

    def _follow(self, owner: Any) -> None:
        key, nbytes = id(owner), owner.nbytes

        def died(_: Any) -> None:
            self.live -= nbytes
            self._followed.pop(key, None)

        self._followed[key] = weakref.ref(owner, died)
        self.live += nbytes


def _owner(array: Any) -> Any:
    """The array whose memory `array` is a view of."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _text(value: Any) -> str:
    if isinstance(value, (bool, int, float)):
        return type(value).__name__
    array = np.asarray(value)
    return f"{SHORT_NAME.get(array.dtype, array.dtype.name)}[{','.join(map(str, array.shape))}]"


def profile(f: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Profile:
    """Run ``f(*args, **kwargs)`` and say which kernels ran on this thread.

    A call of a compiled function is one record, named ``@name``. Profiling slows eager operations of every
    thread.

    Example:
        >>> import tracejit as tj
        >>> made = tj.profile(lambda x: tj.exp(x * 2.0).sum(), tj.ones(1000))
        >>> [(one.name, one.outputs, one.bytes) for one in made.kernels]
        [('mul', ('f64[1000]',), 8000), ('exp', ('f64[1000]',), 8000), ('sum', ('f64[]',), 8)]
        >>> made.new_bytes, made.peak_bytes
        (8, 16000)

    Errors of `f` reach the caller as they are. Semantics: ``tf.profile`` of TensorFlow.js.
    """
    made = Profile()
    outer = STATE.profile
    recorder = _Recorder(made, outer)
    observed = OBSERVER.call
    STATE.profile, OBSERVER.call = recorder, recorder.compiled
    watch_kernels(+1)
    bypass_native_entries(+1)
    try:
        made.result = f(*args, **kwargs)
    finally:
        bypass_native_entries(-1)
        watch_kernels(-1)
        STATE.profile, OBSERVER.call = outer, observed
    made.new_bytes = recorder.live
    return made


@record
class MemoryInfo:
    """What is alive.

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
    for one in gc.get_objects():
        kind = type(one)
        if kind is Tensor:
            data = getattr(one, "_data", None)
            if isinstance(data, np.ndarray):
                tensors += 1
                owner = _owner(data)
                held[id(owner)] = owner.nbytes
            elif isinstance(data, Value):
                tensors += 1
        elif issubclass(kind, Node):
            nodes += 1
            for array in _arrays_of(one):
                owner = _owner(array)
                saved[id(owner)] = owner.nbytes
    only_saved = sum(nbytes for key, nbytes in saved.items() if key not in held)
    return MemoryInfo(tensors, sum(held.values()) + only_saved, only_saved, nodes)


def _arrays_of(node: Any) -> list[Any]:
    """The arrays that a node holds, directly or in a list or tuple of its own."""
    found = []
    for one in gc.get_referents(node):
        parts = one if type(one) in (list, tuple) else [one]
        found += [part for part in parts if isinstance(part, np.ndarray)]
    return found
