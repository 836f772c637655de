"""What NumPy has for complex numbers, of real ones: there are no others here."""

from __future__ import annotations

from typing import Any

from ...eager.tensor import Tensor
from ...ir.dtypes import BOOL, as_dtype, default_dtype, is_inexact
from ...ir.errors import ShapeError
from ..creation import ones_like, zeros_like
from ..elementwise.logic import array_equal
from ..manipulation import broadcast_arrays
from ..operands import as_tensor, cast, filled, run

__all__ = [
    "angle",
    "array_equiv",
    "conj",
    "conjugate",
    "imag",
    "iscomplex",
    "isreal",
    "real",
    "real_if_close",
]


def real(val: Any) -> Tensor:
    """`val`, which is real.

    Example:
        >>> import tracejit as tj
        >>> tj.real([1.0, 2.0])
        tensor([1., 2.])

    Semantics: ``numpy.real``.
    """
    return as_tensor(val)


def imag(val: Any) -> Tensor:
    """Zeros, in the shape and dtype of `val`.

    Example:
        >>> import tracejit as tj
        >>> tj.imag([1.0, 2.0])
        tensor([0., 0.])

    Semantics: ``numpy.imag``.
    """
    x = as_tensor(val)
    return zeros_like(x, order="A")


def conjugate(x: Any) -> Tensor:
    """A copy of `x`, which is real; bools become int8, as in NumPy.

    Example:
        >>> import tracejit as tj
        >>> tj.conjugate([1.0, 2.0])
        tensor([1., 2.])

    Semantics: ``numpy.conjugate``.
    """
    x = as_tensor(x)
    return cast(x, as_dtype("i1")) if x.dtype is BOOL else run("copy", x)


def real_if_close(x: Any, tol: float = 100) -> Tensor:
    """`x`, which is real.

    Example:
        >>> import tracejit as tj
        >>> tj.real_if_close([1.0, 2.0])
        tensor([1., 2.])

    Semantics: ``numpy.real_if_close``.
    """
    return as_tensor(x)


def isreal(x: Any) -> Tensor:
    """True everywhere.

    Example:
        >>> import tracejit as tj
        >>> tj.isreal([1.0, 2.0])
        tensor([ True,  True])

    Semantics: ``numpy.isreal``.
    """
    return ones_like(as_tensor(x), BOOL, "A")


def iscomplex(x: Any) -> Tensor:
    """False everywhere.

    Example:
        >>> import tracejit as tj
        >>> tj.iscomplex([1.0, 2.0])
        tensor([False, False])

    Semantics: ``numpy.iscomplex``.
    """
    return filled(False, as_tensor(x).shape, BOOL)


def angle(z: Any, deg: bool = False) -> Tensor:
    """The angle of a number in the complex plane: 0 of positive ones, pi (180 degrees) of negative ones.

    Example:
        >>> import tracejit as tj
        >>> tj.angle([1.0, -2.0], deg=True)
        tensor([  0., 180.])

    Semantics: ``numpy.angle``.
    """
    x = as_tensor(z)
    x = x if is_inexact(x.dtype) else cast(x, default_dtype())
    radians = run("atan2", zeros_like(x), x)
    return run("mul", radians, 57.29577951308232) if deg else radians


def array_equiv(x: Any, y: Any) -> Tensor:
    """Whether `x` and `y` broadcast, and have equal elements then, as a bool tensor of rank 0.

    Example:
        >>> import tracejit as tj
        >>> tj.array_equiv([1, 2], [[1, 2], [1, 2]])
        tensor(True)

    Semantics: ``numpy.array_equiv``, which gives a Python bool.
    """
    try:
        first, second = broadcast_arrays(x, y)
    except ShapeError:
        return filled(False, (), BOOL)
    return array_equal(first, second)


# NumPy's second name.
conj = conjugate
