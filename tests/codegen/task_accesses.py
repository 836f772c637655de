"""The tasks of compiled parallel regions, run one at a time in random order, with what each reads and writes.

The law of tasks (`codegen.lowering.parallel_for`) is about bytes: no task writes one that another task of its
region reads or writes, unless both store the same final value once and nobody reads it. Tasks that keep to it
give the same results in every order, and interleaved in every way. So it is looked at rather than its
consequence: kernels note each access, `parallel_for` is a function here that runs the tasks in random groups
in random order, and the accesses of each two groups are compared. What is written by functions that are
compiled elsewhere (packed products, LAPACK), or through pointers that come from memory, is found by comparing
memory before and after a task. Results and arenas begin with random bytes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pytest

from tracejit.base.machine import Machine, use_machine
from tracejit.codegen.instrument.access_checks import AccessChecks
from tracejit.codegen.interface import PARALLEL_FOR, THREADS
from tracejit.codegen.llvm.function import FunctionCode
from tracejit.codegen.llvm.loops import FunctionWriter
from tracejit.codegen.llvm.registers import Reg, constant, llvm_type, pointer
from tracejit.codegen.module import writer
from tracejit.ir.graph import Function
from tracejit.runtime import executable as executables
from tracejit.runtime import tiers
from tracejit.runtime.executable import Executable

from ..support import Array

#: Groups of tasks that a region is run in at most.
GROUPS: Final = 12
#: Words of an access in the log: place, bytes of an element, site, and the mask's two halves.
_WORDS: Final = 5
_ENTRIES: Final = 1 << 22  # pages that no group reaches are never touched
_LOG: Final = "task_log"
_SIGNATURE: Final = "ptr %p, ptr %base, i64 %extent, i64 %size, i64 %align, i64 %site"
_TASK: Final = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
#: Kinds of accesses by an instruction: to memory of its task alone, a write, a read, or an atomic update.
OWN, WRITES, READS, ATOMIC = range(4)
#: Every kernel with tasks hands them out, however little work they are.
SMALL_TASKS: Final = {"task_cycles": 1.0, "product_task_cycles": 1.0, "least_tasks": 1}


class Conflict(AssertionError):
    """Two tasks of a region touch a byte."""


class Trace(AccessChecks):
    """Notes accesses instead of checking them."""

    def __init__(self) -> None:
        #: The text and kernel of each place in the code that accesses memory, and what it does, by number.
        self.sites: list[str] = []
        self.kinds: list[int] = []
        #: Bytes of blocks that one task at a time has, in the code of either tier.
        self.scratch: set[int] = set()
        super().__init__(tiered=True)

    def site(self, text: str, buffer: Any, name: str, instruction: Any) -> int:
        where = f"`{text}` of {name} ({instruction.op.name})"
        is_source = "llvm.memcpy" in text and self.sites[-1:] == [where]  # of a copy, the target comes first
        self.sites.append(where)
        self.kinds.append(READS if is_source else _kind(text, buffer.text))
        return len(self.sites) - 1

    def before(self, writing: Any, instruction: Any, name: str) -> None:
        """Do nothing."""

    def after(self, writing: Any, mark: Any) -> None:
        """Do nothing."""

    def finish(self, writing: Any) -> None:
        words = 1 + _WORDS * _ENTRIES
        self.scratch.update(size for kernel in writing.module.kernels for size in kernel.scratch_blocks)
        writing.globals.append(f"@{_LOG} = external global [{words} x i64]")
        writing.functions += [_note(), _check(), _copy(), _masked(), *map(_by_lanes, sorted(self._lanes))]


def _note() -> FunctionCode:
    """Append an access to the log; what has no room is counted."""
    w = FunctionWriter()
    number = w.load(f"@{_LOG}", "i64")
    w.store(w.add(number, 1), f"@{_LOG}")

    def write() -> None:
        first = w.add(w.mul(number, _WORDS), 1)
        values = [Reg(f"%{name}", "i64") for name in ("place", "size", "site", "low", "high")]
        for word, value in enumerate(values):
            w.store(value, w.offset(f"@{_LOG}", "i64", w.add(first, word)))

    w.when(w.lt(number, _ENTRIES), write)
    w.ret()
    return w.function(
        "internal void @note(i64 %place, i64 %size, i64 %site, i64 %low, i64 %high)", "noinline"
    )


def _address(w: FunctionWriter, place: Reg) -> Reg:
    return w.convert("ptrtoint", place, "i64")


_PLACE, _SIZE, _SITE = pointer("%p"), Reg("%size", "i64"), Reg("%site", "i64")
_ALL: Final = (constant(1, "i64"), constant(0, "i64"))


def _check() -> FunctionCode:
    w = FunctionWriter()
    w.run("note", _address(w, _PLACE), _SIZE, _SITE, *_ALL)
    w.ret(_PLACE)
    return w.function(f"internal ptr @check({_SIGNATURE})", "noinline")


def _copy() -> FunctionCode:
    w, count = FunctionWriter(), Reg("%count", "i64")
    w.run("note", _address(w, _PLACE), count, _SITE, *_ALL)
    w.ret(count)
    return w.function(
        "internal i64 @check_copy(ptr %p, ptr %base, i64 %extent, i64 %count, i64 %site)", "noinline"
    )


def _masked() -> FunctionCode:
    w, mask = FunctionWriter(), Reg("%mask", "i128")
    high = w.convert("trunc", w.compute("lshr", "i128", 1, mask, Reg("64", "i128")), "i64")
    w.run("note", _address(w, _PLACE), _SIZE, _SITE, w.convert("trunc", mask, "i64"), high)
    w.ret(_PLACE)
    return w.function(f"internal ptr @check_masked({_SIGNATURE}, i128 %mask)", "noinline")


def _by_lanes(count: int) -> FunctionCode:
    w, places, mask = FunctionWriter(), Reg("%p", "ptr", count), Reg("%mask", "bool", count)

    def lane(number: Reg, _: list[Reg]) -> Sequence[Reg]:
        place = w.arrange("extractelement", "ptr", 1, places, number)
        there = w.arrange("extractelement", "bool", 1, mask, number)
        w.when(there, lambda: w.run("note", _address(w, place), _SIZE, _SITE, *_ALL))
        return ()

    w.loop(0, count, 1, lane)
    w.ret(places)
    kind = llvm_type("ptr", count)
    rest = _SIGNATURE.removeprefix("ptr %p")
    signature = f"internal {kind} @check_lanes{count}({kind} %p{rest}, <{count} x i1> %mask)"
    return w.function(signature, "noinline")


class Region:
    """Accesses by tasks of one parallel region so far, by byte of the memory that they share."""

    def __init__(self, size: int) -> None:
        self.written, self.read = np.zeros(size, bool), np.zeros(size, bool)
        #: Whether a byte was written more than once by one group; whether by atomic steps.
        self.again, self.atomic = np.zeros(size, bool), np.zeros(size, bool)


class Tasks:
    """Runs executables, and the tasks of their parallel regions one at a time."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.log = np.zeros(1 + _WORDS * _ENTRIES, np.int64)
        #: Memory that tasks share: results, and blocks of the C allocator.
        self.memory: list[Array] = []
        self.kept: list[Array] = []
        self.regions = self.groups = 0
        self.failure: BaseException | None = None
        self.trace = Trace()
        self._parallel_for = ctypes.CFUNCTYPE(
            None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
        )(self._run_region)
        # what kernels ask for: few threads or many
        threads = int(self.rng.choice((1, 2, self.rng.integers(3, 65))))
        self._threads = ctypes.CFUNCTYPE(ctypes.c_int64)(lambda: threads)
        self._allocate = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(self._allocated)
        self._free = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda place: None)

    def imports(self) -> dict[str, int]:
        functions = {
            PARALLEL_FOR: self._parallel_for, THREADS: self._threads, "aligned_alloc": self._allocate,
            "free": self._free,
        }  # fmt: skip
        addresses = {name: ctypes.cast(f, ctypes.c_void_p).value or 0 for name, f in functions.items()}
        return {**addresses, _LOG: self.log.ctypes.data}

    def _allocated(self, align: int, size: int) -> int:
        room = self.rng.integers(0, 256, size + align, np.uint8)
        self.kept.append(room)
        start = -room.ctypes.data % align
        if size not in self.trace.scratch:
            self.memory.append(room[start : start + size])
        return int(room.ctypes.data) + start

    def run(self, executable: Executable, arguments: Sequence[Array]) -> list[Array]:
        """The results; raises `Conflict` where tasks do not keep to the law."""
        self.memory = []
        results = []
        for result in executable.source.results:
            room = self.rng.integers(0, 256, max(1, result.type.nbytes), np.uint8)
            self.memory.append(room)
            results.append(room[: result.type.nbytes].view(result.dtype).reshape(result.shape))
        self.failure = None
        outcome = executable.run(arguments, dict(enumerate(results)))
        if self.failure is not None:
            raise self.failure
        return outcome

    # -- regions ----------------------------------------------------------------------------------

    def _run_region(self, task: int, context: int, tasks: int, chunk: int) -> None:
        try:
            self._run_groups(_TASK(task), context, tasks)
        except BaseException as error:  # it must not unwind native frames
            self.failure = self.failure or error

    def _run_groups(self, task: Any, context: int, tasks: int) -> None:
        if tasks <= 0:
            return
        cuts = np.arange(1, tasks)
        if tasks > GROUPS:
            cuts = np.sort(self.rng.choice(cuts, GROUPS - 1, replace=False))
        bounds = [0, *map(int, cuts), tasks]
        self.regions += 1
        starts = np.array([block.ctypes.data for block in self.memory])
        self.order = np.argsort(starts)
        #: The memory as one range of bytes: where each block begins in it.
        sizes = [self.memory[number].size for number in self.order]
        self.firsts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        self.starts, self.sizes = starts[self.order], np.array(sizes)
        region = Region(int(sum(sizes)))
        for group in self.rng.permutation(len(bounds) - 1):
            self.groups += 1
            before = self._bytes()
            self.log[0] = 0
            task(context, bounds[group], bounds[group + 1])
            self._look(region, before, self._bytes())

    def _bytes(self) -> Array:
        return np.concatenate([self.memory[number] for number in self.order])

    def _look(self, region: Region, before: Array, after: Array) -> None:
        """Compare what a group of tasks did with what those before did."""
        count = int(self.log[0])
        assert count <= _ENTRIES, "the log is full"
        size = len(before)
        entries = self.log[1 : 1 + _WORDS * count].reshape(-1, _WORDS)
        kind = np.array(self.trace.kinds)[entries[:, 2]]
        writes, reads, atomic = [
            self._counts(entries[kind == each], size) for each in (WRITES, READS, ATOMIC)
        ]
        elsewhere = (before != after) & (writes == 0) & (atomic == 0)  # by code that notes nothing
        writes[elsewhere] += 1
        wrote, read = (writes > 0) | (atomic > 0), reads > 0
        twice = wrote & region.written & ~((writes == 0) & region.atomic)
        once = (writes == 1) & ~region.again & (before == after) & ~read & ~region.read
        self._fail_at(twice & ~once, "written by two tasks", entries)
        self._fail_at(
            (wrote & region.read) | (read & region.written), "written and read by two tasks", entries
        )
        region.atomic = (region.atomic | (atomic > 0)) & (writes == 0)
        region.written |= wrote
        region.read |= read
        region.again |= writes > 1

    def _fail_at(self, bad: Array, text: str, entries: Array) -> None:
        """Raise `Conflict` where a byte is `bad`, with the places in the code among the last task's."""
        if not bad.any():
            return
        places = np.flatnonzero(bad)
        block = int(np.searchsorted(self.firsts, places[0], "right")) - 1
        codes = [
            self.trace.sites[number]
            for number in np.unique(entries[:, 2])
            if self.trace.kinds[number] != OWN
            and self._counts(entries[entries[:, 2] == number], len(bad))[places].any()
        ]
        where = f"byte {places[0] - self.firsts[block]} of {self.sizes[block]} and {len(places) - 1} more"
        raise Conflict(f"{where} {text}: {'; '.join(codes) or 'code compiled elsewhere'}")

    def _counts(self, entries: Array, size: int) -> Array:
        """Count the accesses of each byte by `entries`, as far as it is memory that tasks share."""
        lanes = []
        plain = entries[:, 3] == 1
        plain &= entries[:, 4] == 0
        lanes.append(entries[plain][:, :2])
        masked = entries[~plain]
        for half, first in ((3, 0), (4, 64)):
            for lane in range(64):
                chosen = masked[(masked[:, half] >> lane) & 1 == 1]
                if len(chosen):
                    places = chosen[:, :2].copy()
                    places[:, 0] += (first + lane) * places[:, 1]
                    lanes.append(places)
        places, nbytes = np.concatenate(lanes).T
        block = np.searchsorted(self.starts, places, "right") - 1
        inside = (block >= 0) & (places < self.starts[block] + self.sizes[block]) & (nbytes > 0)
        first = self.firsts[block[inside]] + places[inside] - self.starts[block[inside]]
        steps = np.zeros(size + 1, np.int64)
        np.add.at(steps, first, 1)
        np.add.at(steps, np.minimum(first + nbytes[inside], size), -1)
        return np.cumsum(steps[:-1])


def _kind(text: str, buffer: str) -> int:
    """The access that a place in the code makes to memory that tasks share."""
    if buffer.startswith(("a stack slot", "a scratch slot", "a table")):
        return OWN
    if "atomicrmw" in text:
        return ATOMIC
    writes = ("llvm.memcpy", "llvm.memset", "llvm.masked.store", "llvm.masked.scatter")
    return WRITES if text.startswith("store") or any(name in text for name in writes) else READS


def check_tasks(
    monkeypatch: pytest.MonkeyPatch, seed: int, function: Function, arguments: Sequence[Array],
    **machine: Any,
) -> Tasks:  # fmt: skip
    """Run `function` in both tiers as it is compiled for a `machine` with these fields, where all kernels
    with tasks hand them out. Raises `Conflict` where tasks do not keep to the law; compares results with
    those of threads."""
    tasks, link = Tasks(seed), executables.link

    def linked(image: bytes, exports: Sequence[str], imports: Any) -> Any:
        return link(image, exports, {**imports, **tasks.imports()})

    with use_machine(Machine(**{**SMALL_TASKS, **machine})):
        expected = Executable(function)(arguments)
        with monkeypatch.context() as patch:
            patch.setenv("TRACEJIT_TIERS", "always")
            patch.setattr(writer, "STACK_ARENA", 0)
            patch.setattr(executables, "link", linked)
            executable = Executable(function, tasks.trace)
            try:
                for tier in ("baseline", "optimized"):
                    assert executable.tier == tier, executable.problem
                    for result, other in zip(tasks.run(executable, arguments), expected, strict=True):
                        np.testing.assert_array_equal(result, other)
                    assert tiers.BACKGROUND.wait(60)
            finally:  # what is compiled in the background is linked with the patch that it was begun with
                assert tiers.BACKGROUND.wait(60)
    return tasks
