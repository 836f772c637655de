"""The allocator of large results, compiled when the first large result is made."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np

from ...codegen.interface import CACHED_BYTES, RESULTS_EXPORTS, RESULTS_IMPORTS, Library
from ...ir.process.locks import ForkLock
from ..cache.objects import load_support
from .capi import array_api

_LOCK = ForkLock()


@functools.lru_cache(maxsize=1)
def _library() -> Library:
    functions: dict[str, int] = {}
    for name in RESULTS_IMPORTS:
        if name.startswith("PyArray"):
            functions[name] = array_api(name)
        else:
            functions[name] = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
    return load_support("results", RESULTS_EXPORTS, functions)


def allocator_address() -> int:
    """The address of ``tracejit_result_array``."""
    with _LOCK:
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


def cached_bytes() -> int:
    """Bytes the cache holds for later results."""
    return int(ctypes.c_int64.from_address(_library().addresses["tracejit_result_bytes"]).value)
