"""C functions of `c/`, compiled for this machine and called with pointers.

A function takes pointers to the arguments and to the results, in this order, and then the workload's sizes.
Results are written to the same arrays in each call, so that it allocates nothing.
"""

from __future__ import annotations

import ctypes
import math
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

Array = np.ndarray[Any, Any]
#: Shapes and dtypes of the results, by the workload's sizes.
Results = Callable[..., tuple[tuple[tuple[int, ...], Any], ...]]

SOURCES: Final = Path(__file__).parent / "c"
COMPILER: Final = "gcc"
#: Threads are OpenMP's, as many as for the other libraries.
FLAGS: Final = ("-O3", "-march=native", "-ffast-math", "-fopenmp")
_ALIGNMENT: Final = 64


class MissingCompilerError(Exception):
    """Raised where this machine has no `COMPILER`."""


def empty(shape: tuple[int, ...], dtype: Any) -> Array:
    """An array that begins at a line of the cache, as ours and what C programs allocate do."""
    nbytes = math.prod(shape) * np.dtype(dtype).itemsize
    memory = np.empty(nbytes + _ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    return memory[start : start + nbytes].view(dtype).reshape(shape)


def pointer(array: Array) -> Any:
    """A pointer to a copy of an array, which lives as long as the pointer."""
    aligned = empty(array.shape, array.dtype)
    aligned[...] = array
    return aligned.ctypes.data_as(ctypes.c_void_p)


class CLibrary:
    """The compiled functions; MissingCompilerError where they cannot be compiled."""

    def __init__(self) -> None:
        if shutil.which(COMPILER) is None:
            raise MissingCompilerError(f"no {COMPILER} here")
        answer = subprocess.run([COMPILER, "-dumpfullversion"], capture_output=True, text=True, check=True)
        self.version = f"{COMPILER} {answer.stdout.strip()} {' '.join(FLAGS)}"
        with tempfile.TemporaryDirectory(prefix="tracejit-benchmarks-") as folder:
            self.functions = ctypes.CDLL(str(_compiled(Path(folder))))

    def bind(self, name: str, results: Results, sizes: tuple[int, ...]) -> Callable[..., tuple[Array, ...]]:
        """A function of pointers to the arguments that returns the results of a C function."""
        function = getattr(self.functions, name)
        function.restype = None
        arrays = tuple(empty(shape, dtype) for shape, dtype in results(*sizes))
        others = (
            *(array.ctypes.data_as(ctypes.c_void_p) for array in arrays),
            *map(ctypes.c_long, sizes),
        )

        def run(*arguments: Any) -> tuple[Array, ...]:
            function(*arguments, *others)
            return arrays

        return run


def _compiled(folder: Path) -> Path:
    """The shared library of all sources.

    It is linked without `-ffast-math`, with which gcc would have the whole process flush denormal numbers.
    """
    objects = []
    for source in sorted(SOURCES.glob("*.c")):
        objects.append(str(folder / f"{source.stem}.o"))
        _run([COMPILER, *FLAGS, "-std=gnu11", "-fPIC", "-c", str(source), "-o", objects[-1]])
    library = folder / "limits.so"
    _run([COMPILER, "-shared", "-fopenmp", *objects, "-lm", "-o", str(library)])
    return library


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr}")
