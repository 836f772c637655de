"""``tracejit doctor``: what this machine and installation offer."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import time
from typing import Any

import numpy as np

from ....array.creation import tensor
from ....base.lapack.library import library
from ....codegen.kernels.gemm.tiles import tile_for
from ....codegen.llvm.loading import llvm_binding
from ....codegen.llvm.target import host
from ....dispatch import native_ops
from ....dispatch.native_ops import entry_layout_of_tensors
from ....jitted.jit import jit
from ....runtime.cache.store import CACHE
from ....runtime.native import special_ufuncs
from ....runtime.threads import available_cores, num_threads
from ....version import __version__

_EXAMPLES = """\
examples:
  tracejit doctor
  tracejit doctor --json

The exit code is 1 where compiling fails.
"""


def add_parser(commands: Any) -> None:
    """Add ``doctor`` to the command line."""
    parser = commands.add_parser(
        "doctor",
        epilog=_EXAMPLES,
        help="print versions, CPU features, threads, products and cache state; check that compiling works",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")


def run(options: argparse.Namespace) -> int:
    """Print the report; 0 if compiled code computes what it should."""
    report = examine()
    if options.json:
        print(json.dumps(report))
    else:
        width = max(map(len, report))
        for name, value in report.items():
            print(f"{name:<{width}}  {value}")
    return 0 if report["compiling"].startswith("works") else 1


def examine() -> dict[str, str]:
    """The report, in order."""
    target = host()
    threads = os.environ.get("TRACEJIT_NUM_THREADS")
    llvm = ".".join(map(str, llvm_binding().llvm_version_info))
    return {
        "tracejit": __version__,
        "python": f"{platform.python_version()} ({platform.python_implementation()}, {platform.machine()})",
        "numpy": np.__version__,
        "llvmlite": f"{importlib.metadata.version('llvmlite')}, LLVM {llvm}",
        "cpu": f"{target.cpu}, {target.vector_bits}-bit vectors, masked access: {_yes(target.fast_masks)}",
        "cores": f"{available_cores()} available",
        "threads": f"{num_threads()}" + (f" (TRACEJIT_NUM_THREADS={threads})" if threads else ""),
        "matrix products": f"{_tile('f32')} in float32, {_tile('f64')} in float64",
        "linear algebra": _lapack(),
        "native call entry": "in use"
        if entry_layout_of_tensors()
        else "not available here: calls take the slow path",
        "native eager ops": _native_eager(),
        "special functions": _special_functions(),
        "compile cache": (CACHE.problem and f"not used: {CACHE.problem}") or CACHE.folder,
        "compiling": _try_compiling(),
    }


def _lapack() -> str:
    lapack = library()
    if lapack is None:
        return "no LAPACK is found: compiled code calls NumPy's functions"
    threads = "held to one thread" if lapack.set_threads else "threads as it likes"
    return f"{lapack.source}, integers of {lapack.integer_bits} bits, {threads}"


def _native_eager() -> str:
    problem = native_ops.load()
    return f"not available here: {problem}" if problem else "in use after a thousand eager operations"


def _special_functions() -> str:
    problem = special_ufuncs.problem()
    return f"NumPy computes eager calls: {problem}" if problem else "eager calls are native code"


def _tile(dtype: str) -> str:
    tile = tile_for(host(), dtype)
    return f"{tile.rows} x {tile.columns} tiles"


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _try_compiling() -> str:
    start = time.perf_counter()
    f = jit(lambda x: (x * 2 + 1).sum())
    result = float(f(tensor([1.0, 2.0, 3.0])))
    milliseconds = (time.perf_counter() - start) * 1e3
    if result != 15.0:
        return f"FAILS: expected 15.0, got {result}"
    return f"works, first function in {milliseconds:.0f} ms"
