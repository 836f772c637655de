"""Limits of the machine: copy bandwidth by size, and multiply-adds per second. A workload's limit is the
larger of the two times that follow for it."""

from __future__ import annotations

import ctypes
import functools
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np

from tracejit.codegen.llvm.compiler import compile_module
from tracejit.codegen.llvm.target import host
from tracejit.runtime.threads import available_cores

from ..workload import Workload

#: Chains of multiply-adds that do not wait for each other: more than latency times issue width.
_CHAINS: Final = 12
_TRIPS: Final = 2_000_000
_REPEATS: Final = 7
#: Copies of less than this measure the call.
MIN_BYTES: Final = 1 << 16


def seconds(workload: Workload) -> float | None:
    """The least time that the machine allows, None where the workload states no traffic and no work."""
    bounds = []
    if workload.traffic is not None:
        moved = workload.traffic(*workload.sizes)
        bounds.append(moved / copy_bandwidth(max(round(moved), MIN_BYTES)))
    if workload.work is not None:
        bounds.append(workload.work(*workload.sizes) / peak(workload.unit))
    return max(bounds, default=None)


@functools.cache
def copy_bandwidth(nbytes: int) -> float:
    """Bytes read and written per second by the C library's copy, in all `nbytes`; the best of one thread
    and all."""
    half = max(nbytes // 2, 64)
    source, target = np.ones(half, np.uint8), np.ones(half, np.uint8)
    repeats = max(1, 2_000_000 // half)

    def copy(begin: int, end: int) -> None:
        for _ in range(repeats):
            np.copyto(target[begin:end], source[begin:end])

    best = min(_timed(lambda: copy(0, half)) for _ in range(_REPEATS))
    cores = available_cores()
    if cores > 1 and half > 1 << 20:
        bounds = [half * i // cores for i in range(cores + 1)]
        with ThreadPoolExecutor(cores) as pool:
            for _ in range(_REPEATS):
                best = min(best, _timed(lambda: list(pool.map(copy, bounds, bounds[1:]))))
    return 2 * half * repeats / best


@functools.cache
def peak(unit: str) -> float:
    """Arithmetic operations per second of all cores: two for each multiply-add."""
    bits = {"f32": 32, "f64": 64}[unit]
    lanes = host().vector_bits // bits
    run = _multiply_adds("float" if unit == "f32" else "double", lanes)
    cores = available_cores()
    with ThreadPoolExecutor(cores) as pool:
        best = min(_timed(lambda: list(pool.map(run, [_TRIPS] * cores))) for _ in range(_REPEATS))
    return 2 * lanes * _CHAINS * _TRIPS * cores / best


def _timed(f: Callable[[], object]) -> float:
    start = time.perf_counter()
    f()
    return time.perf_counter() - start


def _multiply_adds(scalar: str, lanes: int) -> Callable[[int], float]:
    """A native loop of `_CHAINS` vector multiply-adds."""
    kind, short = f"<{lanes} x {scalar}>", "f32" if scalar == "float" else "f64"
    phis = [
        f"  %a{i} = phi {kind} [ splat ({scalar} {float(i)}), %entry ], [ %b{i}, %loop ]"
        for i in range(_CHAINS)
    ]
    steps = [
        f"  %b{i} = call {kind} @llvm.fma.v{lanes}{short}({kind} %a{i}, {kind} splat ({scalar} 0.5), "
        f"{kind} splat ({scalar} 1.0))"
        for i in range(_CHAINS)
    ]
    total = [f"  %t0 = extractelement {kind} %b0, i64 0"]
    for i in range(1, _CHAINS):
        total += [
            f"  %e{i} = extractelement {kind} %b{i}, i64 0",
            f"  %t{i} = fadd {scalar} %t{i - 1}, %e{i}",
        ]
    text = "\n".join(
        [
            f"declare {kind} @llvm.fma.v{lanes}{short}({kind}, {kind}, {kind})",
            f"define {scalar} @run(i64 %trips) {{",
            "entry:",
            "  br label %loop",
            "loop:",
            "  %i = phi i64 [ 0, %entry ], [ %next, %loop ]",
            *phis,
            *steps,
            "  %next = add i64 %i, 1",
            "  %more = icmp ult i64 %next, %trips",
            "  br i1 %more, label %loop, label %done",
            "done:",
            *total,
            f"  ret {scalar} %t{_CHAINS - 1}",
            "}",
        ]
    )
    library = compile_module(text, ["run"])
    result = ctypes.c_float if scalar == "float" else ctypes.c_double
    native = ctypes.CFUNCTYPE(result, ctypes.c_int64)(library.addresses["run"])

    def run(trips: int) -> float:
        value: float = native(trips)
        assert library is not None  # the code lives as long as the library
        return value

    return run
