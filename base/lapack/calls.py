"""LAPACK's functions on matrices that are NumPy arrays.

For eager code, and for what compiled code leaves to it. `has` says whether the library has them; where it has
not, ops compute with NumPy alone.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ..errors import LinAlgError
from .library import library

Array = Any


def has(dtype: Any, *names: str) -> bool:
    """Whether there are LAPACK's functions `names` for the floating `dtype`."""
    lapack = library()
    return (
        lapack is not None
        and dtype.char in _LETTERS
        and all(lapack.find(_LETTERS[dtype.char] + name) for name in names)
    )


def require(what: str, dtype: Any, *names: str) -> None:
    """Raise LinAlgError for `what` unless there are LAPACK's functions `names`."""
    if not has(dtype, *names):
        raise LinAlgError(
            f"{what}: no LAPACK library was found in this process; install SciPy, which has one"
        )


#: The first letter of LAPACK's functions by dtype.
_LETTERS: Final = {"f": "s", "d": "d", "F": "c", "D": "z"}


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
    integer = ctypes.c_int64 if lapack.integer_bits == 64 else ctypes.c_int32
    info = integer(0)
    texts = 0
    places: list[Any] = []
    held: list[Any] = []
    for argument in arguments:
        if argument is None:
            places.append(None)
        elif argument is ...:
            places.append(ctypes.byref(info))
        elif isinstance(argument, str):
            places.append(argument.encode())
            texts += 1
        elif isinstance(argument, int):
            places.append(ctypes.byref(integer(argument)))
        else:
            if isinstance(argument, float):
                argument = np.array([argument], dtype)
                held.append(argument)
            places.append(argument.ctypes.data)
    _function(_LETTERS[dtype.char] + name, len(places), texts)(*places, *[1] * texts)
    return info.value


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


def triangular_solve(
    a: Array, b: Array, lower: bool, transpose: bool, conjugate: bool, unit_diagonal: bool
) -> Array:
    """x with op(a) x = b, for one matrix after the other: rows are columns of the transposed problem."""
    conjugate = conjugate and a.dtype.kind == "c"
    if conjugate and not transpose:  # which BLAS has no name for
        return np.conj(triangular_solve(a, np.conj(b), lower, False, False, unit_diagonal))
    x = np.array(b, order="C")
    size, columns = x.shape[-2:]
    if x.size == 0:
        return x
    operation = "C" if conjugate else "T" if transpose else "N"
    for matrix, right in zip(np.ascontiguousarray(a), x, strict=True):
        call(
            "trsm", a.dtype, "R", "U" if lower else "L", operation, "U" if unit_diagonal else "N", columns,
            size, 1.0, matrix, size, right, columns,
        )  # fmt: skip
    return x


def by_columns(a: Array) -> Array:
    """A copy of a matrix that lies by columns, as LAPACK has it: the transpose of an array by rows."""
    return np.array(a.T, order="C")


def with_workspace(name: str, dtype: Any, *arguments: Any) -> int:
    """`call` with a workspace, ``work`` and ``length`` among the arguments, of the size that it asks for."""
    work = np.empty(1, dtype)
    for asks in (True, False):
        length = -1 if asks else max(int(work[0].real), 1)
        if not asks:
            work = np.empty(length, dtype)
        values = {"work": work, "length": length}
        info = call(
            name, dtype, *[values[x[1:]] if isinstance(x, str) and x[:1] == "@" else x for x in arguments]
        )
    return info


# -- Schur forms ----------------------------------------------------------------------------------

#: Predicates for the eigenvalues that come first, by SciPy's name for each.
SORTS: Final[dict[str, Callable[[Array], Array]]] = {
    "lhp": lambda w: w.real < 0,
    "rhp": lambda w: w.real >= 0,
    "iuc": lambda w: w.real**2 + w.imag**2 <= 1,
    "ouc": lambda w: w.real**2 + w.imag**2 > 1,
}


def schur(a: Array, sort: str = "") -> tuple[Array, Array, int]:
    """t and z with a = z t z^H: z unitary, t upper triangular but for blocks of two of a real matrix; and how
    many eigenvalues are first as `sort` says."""
    size, is_complex = a.shape[-1], a.dtype.kind == "c"
    if not np.isfinite(a).all():
        raise LinAlgError("schur: Array must not contain infs or NaNs")
    t, z = by_columns(a), np.empty((size, size), a.dtype)
    values = np.empty((1 if is_complex else 2, size), a.dtype)
    reals = [np.empty(size, a.real.dtype)] if is_complex else []
    count = integers(1)
    info = with_workspace(
        "gees", a.dtype, "V", "N", None, size, t, size, count, *values, z, size, "@work", "@length", *reals,
        None, ...,
    )  # fmt: skip
    if info:
        raise LinAlgError("schur: eigenvalues did not converge")
    count[0] = 0
    if sort:
        w = values[0] if is_complex else values[0] + 1j * values[1]
        chosen = SORTS[sort](w).astype(count.dtype)
        others = [] if is_complex else [integers(size), size]
        info = with_workspace(
            "trsen", a.dtype, "N", "V", chosen, size, t, size, z, size, *values, count, None, None, "@work",
            "@length", *others, ...,
        )  # fmt: skip
        if info:
            raise LinAlgError("schur: eigenvalues are too close to be sorted")
    return np.ascontiguousarray(t.T), np.ascontiguousarray(z.T), int(count[0])


def triangular_sylvester(t: Array, s: Array, q: Array, adjoint: bool = False, sign: int = 1) -> Array:
    """x with op(t) x + sign x op(s) = q, for Schur forms t and s."""
    if q.size == 0:
        return q
    rows, columns = q.shape
    right, scale = by_columns(q), np.ones(1, q.real.dtype)
    operation = ("T" if t.dtype.kind == "f" else "C") if adjoint else "N"
    call(
        "trsyl", q.dtype, operation, operation, sign, rows, columns, by_columns(t), rows, by_columns(s),
        columns, right, rows, scale, ...,
    )  # fmt: skip
    return right.T / scale


# -- indefinite matrices --------------------------------------------------------------------------


def ldl_routine(dtype: Any, hermitian: bool) -> str:
    """Name the LAPACK routine that factors a Hermitian or a symmetric matrix as LDL."""
    return "hetrf" if hermitian and dtype.kind == "c" else "sytrf"


def ldl(a: Array, lower: bool, hermitian: bool) -> tuple[Array, Array, Array]:
    """l, d and an order with l d l^H = a[order][:, order]: see the op."""
    size, uplo = a.shape[-1], "L" if lower else "U"
    factors, pivots, off = by_columns(a), integers(size), np.zeros(size, a.dtype)
    with_workspace(
        ldl_routine(a.dtype, hermitian), a.dtype, uplo, size, factors, size, pivots, "@work", "@length", ...
    )
    call("syconv", a.dtype, uplo, "C", size, factors, size, pivots, off, ...)
    d = np.diag(np.diagonal(factors))
    rows = np.flatnonzero(off)
    others = rows + 1 if lower else rows - 1
    d[others, rows] = off[rows]
    d[rows, others] = np.conj(off[rows]) if hermitian else off[rows]
    triangle = (np.tril if lower else np.triu)(factors.T, -1 if lower else 1) + np.eye(size, dtype=a.dtype)
    return triangle, d, _order_of(pivots[:size], lower)


def _order_of(pivots: Array, lower: bool) -> Array:
    """The order after the exchanges that LAPACK tells: negative ones stand for the two rows of a block."""
    order, is_second = np.arange(len(pivots)), False
    for row in range(len(pivots)) if lower else reversed(range(len(pivots))):
        pivot = pivots[row]
        if pivot > 0 or is_second:
            other, is_second = abs(int(pivot)) - 1, False
            order[row], order[other] = order[other], order[row]
        else:
            is_second = True
    return order


# -- banded matrices, by columns ------------------------------------------------------------------


def banded_lu(factors: Array, pivots: Array, below: int, above: int) -> None:
    """Factor a banded matrix in place; `pivots` count from 0."""
    size, width = factors.shape
    own = integers(size)
    if size:
        call("gbtrf", factors.dtype, size, size, below, above, factors, width, own, ...)
    pivots[...] = own[:size] - 1


def banded_solve(
    factors: Array, pivots: Array, b: Array, below: int, above: int, transpose: bool, conjugate: bool
) -> Array:
    """x with op(a) x = b, by the factors of a."""
    conjugate = conjugate and b.dtype.kind == "c"
    if conjugate and not transpose:
        return np.conj(banded_solve(factors, pivots, np.conj(b), below, above, False, False))
    (size, width), own = factors.shape, integers(len(pivots))
    own[: len(pivots)] = pivots + 1
    x = by_columns(b)
    if x.size:
        operation = "C" if conjugate else "T" if transpose else "N"
        factors = np.ascontiguousarray(factors)
        call("gbtrs", b.dtype, operation, size, below, above, len(x), factors, width, own, x, size, ...)
    return x.T


def banded_cholesky(factor: Array, lower: bool) -> int:
    """Factor a banded matrix in place; whether it is not positive definite."""
    size, width = factor.shape
    if not size:
        return 0
    return call("pbtrf", factor.dtype, "L" if lower else "U", size, width - 1, factor, width, ...)


def banded_cholesky_solve(factor: Array, b: Array, lower: bool) -> Array:
    """x with a x = b, by the factor of a."""
    size, width = factor.shape
    x = by_columns(b)
    if x.size:
        factor, uplo = np.ascontiguousarray(factor), "L" if lower else "U"
        call("pbtrs", b.dtype, uplo, size, width - 1, len(x), factor, width, x, size, ...)
    return x.T
