"""The allocator of large results, compiled when the first large result is made."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ...base.process.forking import FORKS
from ...base.process.locks import ForkLock
from ...codegen.interface import CACHED_BYTES, RESULTS_EXPORTS, RESULTS_IMPORTS, Library
from ..loading.objects import load_support
from ..threads import available_cores
from .capi import array_api

_LOCK = ForkLock()
#: Results of fewer bytes get their pages soon enough, and of more not while a function is compiled.
_MIN_BYTES: Final = 1 << 20
_MAX_BYTES: Final = 1 << 24


def _library() -> Library:
    """The one library, whose blocks know only it."""
    with _LOCK:
        return _loaded()


@functools.lru_cache(maxsize=1)
def _loaded() -> Library:
    functions: dict[str, int] = {}
    for name in RESULTS_IMPORTS:
        if name.startswith("PyArray"):
            functions[name] = array_api(name)
        else:
            functions[name] = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
    return load_support("results", RESULTS_EXPORTS, functions)


def allocator_address() -> int:
    """The address of ``tracejit_result_array``."""
    return _library().addresses["tracejit_result_array"]


@functools.lru_cache(maxsize=1)
def _allocate() -> Any:
    return ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.py_object, ctypes.py_object, ctypes.c_int, ctypes.c_void_p, ctypes.c_int64
    )(allocator_address())


def empty(shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
    """An uninitialised array, from the cache of blocks if it is large."""
    nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if nbytes < CACHED_BYTES:
        return np.empty(shape, dtype)
    dims = (ctypes.c_ssize_t * max(1, len(shape)))(*shape)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(dtype))  # the call takes a reference over
    array: np.ndarray[Any, Any] = _allocate()(np.ndarray, dtype, len(shape), ctypes.addressof(dims), nbytes)
    return array


def touch_ahead(sizes: Sequence[int]) -> None:
    """Touch blocks for results of `sizes` bytes in another thread, and leave them in the cache.

    A page is cleared when it is touched first, which takes longer than most functions take to fill it. Done
    while the function is compiled, it costs the first call nothing.
    """
    large = [size for size in sizes if size >= _MIN_BYTES]
    if not large or sum(large) > _MAX_BYTES or cached_bytes() >= sum(large) or available_cores() == 1:
        return
    try:
        FORKS.threads.begin(functools.partial(_touch, large))
    except RuntimeError:  # too many threads, or Python is ending: the first call touches them
        return


def _touch(sizes: Sequence[int]) -> None:
    try:
        blocks = [empty((size,), np.dtype(np.uint8)) for size in sizes]
    except MemoryError:  # the call says so, if it needs them then
        return
    for block in blocks:
        ctypes.memset(block.ctypes.data, 0, block.nbytes)  # without the GIL


def cached_bytes() -> int:
    """Bytes the cache holds for later results."""
    return int(ctypes.c_int64.from_address(_library().addresses["tracejit_result_bytes"]).value)
