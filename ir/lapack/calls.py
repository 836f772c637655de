"""LAPACK's functions on matrices that are NumPy arrays.

For eager code, and for what compiled code leaves to it. `has` says whether the library has them; where it has
not, ops compute with NumPy alone.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import LinAlgError
from .library import library

Array = Any


def has(dtype: Any, *names: str) -> bool:
    """Whether there are LAPACK's functions `names` for `dtype`, which is float32 or float64."""
    lapack = library()
    return (
        lapack is not None
        and dtype.char in "fd"
        and all(lapack.find(_letter(dtype) + name) for name in names)
    )


def _letter(dtype: Any) -> str:
    return {"f": "s", "d": "d"}[dtype.char]


@functools.lru_cache(maxsize=256)
def _function(name: str, pointers: int, texts: int) -> Callable[..., None]:
    """The function as a callable of `pointers`, behind which lie the lengths of its `texts`."""
    lapack = library()
    assert lapack is not None
    kinds = [ctypes.c_void_p] * pointers + [ctypes.c_size_t] * texts
    return ctypes.CFUNCTYPE(None, *kinds)(lapack.find(name))


def call(name: str, dtype: Any, *arguments: Any) -> int:
    """Run LAPACK's `name` for `dtype`: arrays are passed as they lie, numbers and texts by reference.

    An argument ``...`` is `info`, whose value is returned. The GIL is let go.
    """
    lapack = library()
    assert lapack is not None
    integer = np.int64 if lapack.integer_bits == 64 else np.int32
    info = np.zeros(1, integer)
    texts = sum(isinstance(argument, str) for argument in arguments)
    held: list[Any] = []
    for argument in arguments:
        if argument is ...:
            held.append(info)
        elif isinstance(argument, str):
            held.append(np.frombuffer(argument.encode(), np.uint8))
        elif isinstance(argument, int):
            held.append(np.array([argument], integer))
        elif isinstance(argument, float):
            held.append(np.array([argument], dtype))
        else:
            held.append(argument)
    places = [None if array is None else array.ctypes.data for array in held]
    _function(_letter(dtype) + name, len(places), texts)(*places, *[1] * texts)
    return int(info[0])


def integers(count: int) -> Array:
    """An array for `count` integers of LAPACK's."""
    lapack = library()
    return np.empty(max(count, 1), np.int64 if lapack is None or lapack.integer_bits == 64 else np.int32)


def lu(matrices: Array) -> tuple[Array, Array]:
    """The factors and pivots (from 0) of a stack of matrices; a matrix of NaN or infinities, too."""
    count, rows, columns = matrices.shape
    least = min(rows, columns)
    # of its columns one behind the other
    factors = np.array(np.swapaxes(matrices, -1, -2), order="C")
    pivots = np.empty((count, least), np.int64)
    own = integers(least)
    for matrix, pivot in zip(factors, pivots, strict=True):
        if least:
            call("getrf", matrices.dtype, rows, columns, matrix, rows, own, ...)
        pivot[...] = own[:least] - 1
    return np.ascontiguousarray(np.swapaxes(factors, -1, -2)), pivots


def triangular_solve(a: Array, b: Array, lower: bool, transpose: bool, unit_diagonal: bool) -> Array:
    """x with op(a) x = b, for one matrix after the other: rows are columns of the transposed problem."""
    x = np.array(b, order="C")
    size, columns = x.shape[-2:]
    if x.size == 0:
        return x
    for matrix, right in zip(np.ascontiguousarray(a), x, strict=True):
        call(
            "trsm", a.dtype, "R", "U" if lower else "L", "T" if transpose else "N",
            "U" if unit_diagonal else "N", columns, size, 1.0, matrix, size, right, columns,
        )  # fmt: skip
    return x


def schur(a: Array) -> tuple[Array, Array]:
    """t and z with a = z t z^T: z orthogonal, t upper triangular but for blocks of two."""
    size = a.shape[-1]
    if not np.isfinite(a).all():
        raise LinAlgError("schur: the matrix has NaN or infinite elements")
    t, z = np.array(a.T, order="C"), np.empty((size, size), a.dtype)
    parts = np.empty((2, size), a.dtype)
    work, count = np.empty(1, a.dtype), integers(1)
    for length in (-1, 0):
        length = length or int(work[0])
        work = np.empty(max(length, 1), a.dtype)
        info = call(
            "gees", a.dtype, "V", "N", None, size, t, size, count, parts[0], parts[1], z, size, work, length,
            None, ...,
        )  # fmt: skip
    if info:
        raise LinAlgError("schur: it did not converge")
    return np.ascontiguousarray(t.T), np.ascontiguousarray(z.T)


def sylvester(a: Array, b: Array, q: Array) -> Array:
    """x with a x + x b = q, by the Schur forms of both (Bartels and Stewart 1972)."""
    t, u = schur(a)
    s, v = schur(b)
    rows, columns = q.shape
    right = np.array((u.T @ q @ v).T, order="C")
    scale = np.ones(1, a.dtype)
    call(
        "trsyl", a.dtype, "N", "N", 1, rows, columns, np.array(t.T, order="C"), rows,
        np.array(s.T, order="C"), columns, right, rows, scale, ...,
    )  # fmt: skip
    return u @ (right.T / scale) @ v.T
