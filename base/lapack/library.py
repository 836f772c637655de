"""The LAPACK library of this process: its functions, the width of its integers, and single-threaded calls.

NumPy's wheels export the OpenBLAS that they bring, under names with a prefix and a suffix; other builds link
the system's library. SciPy's Cython interface is asked where NumPy has none (as on Windows, where a module's
symbols are its own). The width of integers is not believed from names: a probe factors a matrix of one
element, with an `info` whose bits are all set, and looks how many were cleared.

Results on one thread do not depend on how many the library has, and no call waits for a thread that another
process keeps from running.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

from ..records import record

#: Prefix and suffix of the names of LAPACK's functions: NumPy's and SciPy's OpenBLAS with integers of 64 bits
#: and of 32, others' OpenBLAS and MKL, Apple's Accelerate.
_SPELLINGS = (
    ("scipy_", "_64_"), ("", "_64_"), ("scipy_", "_"), ("", "$NEWLAPACK$ILP64"), ("", "$NEWLAPACK"),
    ("", "_"),
)  # fmt: skip
#: Name templates of OpenBLAS's functions that set and get its number of threads, which is process-wide.
_THREADS = ("scipy_openblas_{}64_", "openblas_{}64_", "scipy_openblas_{}", "openblas_{}")


@record(eq=False)
class LapackLibrary:
    """LAPACK as it was found.

    Attributes:
        source: whose it is, for `tracejit doctor`.
        integer_bits: the width of its integers, 32 or 64.
        find: gives the address of a function by its name in LAPACK's documents, 0 where it has none.
        get_threads: the address of what tells the number of its threads, 0 where it has none.
        set_threads: the same of what sets it.
        blocks_from: the rows of square matrices from which blocks around its functions pay.
    """

    source: str
    integer_bits: int
    find: Callable[[str], int]
    get_threads: int = 0
    set_threads: int = 0
    blocks_from: int = 33


@functools.lru_cache(maxsize=1)
def library() -> LapackLibrary | None:
    """The LAPACK of this process; None where there is none that can be called."""
    for source, find, get_threads, set_threads in _candidates():
        address = find("dpotrf")
        bits = _integer_bits(address) if address else 0
        if bits:
            return LapackLibrary(
                source, bits, functools.lru_cache(maxsize=None)(find), get_threads, set_threads
            )
    return None


def _candidates() -> Iterator[tuple[str, Callable[[str], int], int, int]]:
    module = importlib.import_module("numpy.linalg._umath_linalg")
    try:
        handle = ctypes.CDLL(module.__file__ or "")
    except (OSError, TypeError):
        handle = None
    if handle is not None:
        for prefix, suffix in _SPELLINGS:
            if _address(handle, f"{prefix}dpotrf{suffix}"):
                find = functools.partial(_of_handle, handle, prefix, suffix)
                get, put = (
                    _threads_function(handle, name) for name in ("get_num_threads", "set_num_threads")
                )
                yield f"NumPy's, as {prefix}dpotrf{suffix}", find, get, put
    if importlib.util.find_spec("scipy") is not None:
        yield "SciPy's, by its Cython interface", _of_scipy, 0, 0


def _address(handle: Any, name: str) -> int:
    try:
        return ctypes.cast(getattr(handle, name), ctypes.c_void_p).value or 0
    except AttributeError:
        return 0


def _of_handle(handle: Any, prefix: str, suffix: str, name: str) -> int:
    return _address(handle, f"{prefix}{name}{suffix}")


def _threads_function(handle: Any, name: str) -> int:
    return next(filter(None, (_address(handle, spelling.format(name)) for spelling in _THREADS)), 0)


def _of_scipy(name: str) -> int:
    """The address of a function in SciPy's Cython interfaces to LAPACK and BLAS."""
    for module in ("scipy.linalg.cython_lapack", "scipy.linalg.cython_blas"):
        try:
            capsule = importlib.import_module(module).__pyx_capi__.get(name)
        except (ImportError, AttributeError):
            return 0
        if capsule is not None:
            signature = ctypes.pythonapi.PyCapsule_GetName
            signature.restype, signature.argtypes = ctypes.c_char_p, [ctypes.py_object]
            pointer = ctypes.pythonapi.PyCapsule_GetPointer
            pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
            return int(pointer(capsule, signature(capsule)) or 0)
    return 0


def _integer_bits(address: int) -> int:
    """32 or 64, as `dpotrf` at `address` shows; 0 where it gives no right result."""
    if sys.byteorder != "little":
        return 0
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5, ctypes.c_size_t)(address)
    matrix = np.array([4.0])
    size, info = ctypes.c_int64(1), ctypes.c_int64(-1)
    uplo = ctypes.c_char(b"U")
    function(
        ctypes.addressof(uplo), ctypes.addressof(size), matrix.ctypes.data, ctypes.addressof(size),
        ctypes.addressof(info), 1,
    )  # fmt: skip
    if matrix[0] != 2.0:
        return 0
    return {0: 64, -(1 << 32): 32}.get(info.value, 0)


F = TypeVar("F", bound=Callable[..., Any])


@functools.lru_cache(maxsize=1)
def _functions() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """The functions that get and set the number of threads, or None if the library has none."""
    lapack = library()
    if lapack is None or not (lapack.get_threads and lapack.set_threads):
        return None
    get = ctypes.CFUNCTYPE(ctypes.c_int)(lapack.get_threads)
    return get, ctypes.CFUNCTYPE(None, ctypes.c_int)(lapack.set_threads)


def on_one_thread(function: F) -> F:
    """Decorator: `function`, during which the library has one thread.

    Who finds one thread there leaves the number as it is: so nobody keeps a number that another one restores.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        functions = _functions()
        before = 1 if functions is None else functions[0]()
        if functions is None or before <= 1:
            return function(*args, **kwargs)
        functions[1](1)
        try:
            return function(*args, **kwargs)
        finally:
            functions[1](before)

    return call  # type: ignore[return-value]
