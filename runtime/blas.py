"""Finds the BLAS that numpy has loaded, by the symbols it exports."""

from __future__ import annotations

import ctypes
import functools
import importlib
from typing import Final

from ..codegen.nests.contraction import Blas

#: cblas gemm symbols by vendor build, with the width of BLAS integers.
_NAMES: Final = (
    ("scipy_cblas_{}gemm64_", "i64", "OpenBLAS (numpy's, 64-bit integers)"),
    ("cblas_{}gemm64_", "i64", "OpenBLAS (64-bit integers)"),
    ("scipy_cblas_{}gemm", "i32", "OpenBLAS (numpy's)"),
    ("cblas_{}gemm", "i32", "CBLAS"),
)


@functools.lru_cache(maxsize=1)
def find_blas() -> Blas | None:
    """The BLAS behind ``np.dot``, or None where its symbols cannot be found.

    The dynamic linker is asked for the symbols of numpy's own extension and what that depends on, so nothing
    is loaded that was not in the process.
    """
    try:
        library = ctypes.CDLL(importlib.import_module("numpy._core._multiarray_umath").__file__)
    except (ImportError, OSError):
        return None
    for pattern, integer, name in _NAMES:
        found = {}
        for letter, dtype in (("s", "f32"), ("d", "f64")):
            try:
                function = getattr(library, pattern.format(letter))
            except AttributeError:
                break
            found[dtype] = ctypes.cast(function, ctypes.c_void_p).value or 0
        if len(found) == 2:
            return Blas(name, found, integer)
    return None
