"""Peaks of this machine, measured once per process in about half a second."""

from __future__ import annotations

import ctypes
import functools
import threading
import time
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ...base.records import record
from ...codegen.llvm.compiler import compile_module
from ...codegen.llvm.target import host
from ...runtime.threads import num_threads

#: Levels of memory to measure: the name, the bytes that a copy reads and writes, and the tries.
LEVELS: Final = (("near cache", 1 << 18, 200), ("far cache", 1 << 22, 40), ("memory", 1 << 27, 5))


_ACCUMULATORS: Final = 12


_ROUNDS: Final = 1 << 18


@record
class Peaks:
    """Peaks. Rates are per second; `flops` by dtype, a multiply-add being two."""

    cpu: str
    #: Cycles per second, taken from a chain of multiply-adds at four cycles each, as most CPUs have it.
    clock: float
    threads: int
    vector_bits: int
    #: Levels of memory: the name, the bytes that fit, and bytes per second from and to there.
    bytes: tuple[tuple[str, int, float], ...]
    #: The rates of one thread and of all threads.
    flops: dict[str, tuple[float, float]]

    def bytes_per_second(self, nbytes: int) -> float:
        """The rate at which something that touches so many bytes can have them."""
        return next((rate for _, size, rate in self.bytes if nbytes <= 2 * size), self.bytes[-1][2])

    def floor(self, flops: float, nbytes: int, dtype: str, *, threaded: bool) -> tuple[float, str]:
        """The least seconds that so much work takes here, and what limits it: "memory" or "arithmetic"."""
        peak = self.flops.get(dtype, self.flops["f64"])[1 if threaded else 0]
        by_work, by_bytes = flops / peak, nbytes / self.bytes_per_second(nbytes)
        return (by_bytes, "memory") if by_bytes >= by_work else (by_work, "arithmetic")


@functools.lru_cache(maxsize=1)
def measured_peaks() -> Peaks:
    """The machine that this process runs on, measured at the first call."""
    target = host()
    return Peaks(
        target.cpu,
        _clock(),
        num_threads(),
        target.vector_bits,
        tuple((level, size, _copy_rate(size, repeats)) for level, size, repeats in LEVELS),
        {dtype: _peaks(dtype) for dtype in ("f32", "f64")},
    )


def _best(run: Callable[[], Any], repeats: int) -> float:
    """The least seconds of some runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def _copy_rate(nbytes: int, repeats: int) -> float:
    source = np.ones(nbytes // 2, np.uint8)
    target = np.zeros_like(source)
    seconds = _best(lambda: np.copyto(target, source), repeats)
    return nbytes / max(seconds, 1e-9)


def _clock() -> float:
    library = compile_module(_fma_loop("f64", 1, 1), ["peak"])
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(library.addresses["peak"])
    place = np.zeros(1)
    return 4.0 * _ROUNDS / _best(lambda: run(place.ctypes.data, _ROUNDS), 5)


def _peaks(dtype: str) -> tuple[float, float]:
    """FLOP/s of one thread, and of all at once."""
    lanes, threads = host().lanes(dtype), num_threads()
    library = compile_module(_fma_loop(dtype, lanes, _ACCUMULATORS), ["peak"])
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(library.addresses["peak"])
    places = [np.zeros(lanes * 8, np.float64) for _ in range(threads)]
    flops = 2.0 * lanes * _ACCUMULATORS * _ROUNDS
    number = flops / _best(lambda: run(places[0].ctypes.data, _ROUNDS), 5)
    if threads == 1:
        return number, number

    def together() -> None:
        workers = [threading.Thread(target=run, args=(place.ctypes.data, _ROUNDS)) for place in places]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    return number, max(number, threads * flops / _best(together, 5))


def _fma_loop(dtype: str, lanes: int, count: int) -> str:
    """``@peak(ptr place, i64 rounds)``: independent chains of multiply-adds in registers."""
    scalar = "float" if dtype == "f32" else "double"
    kind = f"<{lanes} x {scalar}>" if lanes > 1 else scalar
    name = f"llvm.fma.{f'v{lanes}' if lanes > 1 else ''}{dtype}"
    chains = range(count)
    phis = "\n".join(f"  %a{i} = phi {kind} [ %start, %entry ], [ %b{i}, %loop ]" for i in chains)
    steps = "\n".join(
        f"  %b{i} = call {kind} @{name}({kind} %a{i}, {kind} %start, {kind} %start)" for i in chains
    )
    sums = "\n".join(f"  %s{i} = fadd {kind} {f'%s{i - 1}' if i else '%start'}, %b{i}" for i in chains)
    return f"""\
declare {kind} @{name}({kind}, {kind}, {kind})
define void @peak(ptr %place, i64 %rounds) nounwind {{
entry:
  %start = load {kind}, ptr %place, align 8
  br label %loop
loop:
  %n = phi i64 [ 0, %entry ], [ %next, %loop ]
{phis}
{steps}
  %next = add i64 %n, 1
  %more = icmp slt i64 %next, %rounds
  br i1 %more, label %loop, label %done
done:
{sums}
  store {kind} %s{count - 1}, ptr %place, align 8
  ret void
}}"""
