"""Complex numbers and their parts, and what these functions give for real ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.errors import ShapeError
from ...ir.dtypes import (
    BOOL,
    COMPLEX64,
    COMPLEX128,
    as_dtype,
    default_dtype,
    is_complex,
    is_inexact,
)
from ...tensors.tensor import Tensor
from ..creation import ones_like, zeros_like
from ..elementwise.logic import array_equal
from ..manipulation import broadcast_arrays
from ..operands import as_tensor, cast, filled, given_as, given_as_array, given_as_scalar, run
from ..ordering.sorting import sort


def real(val: Any) -> Tensor:
    """The real part of `val`, a view of it; a real `val` itself.

    Example:
        >>> import tracejit as tj
        >>> tj.real([1.0 + 2.0j, 3.0])
        tensor([1., 3.])

    Semantics: ``numpy.real``.
    """
    x = as_tensor(val)
    return run("real", x) if is_complex(x.dtype) else x


def imag(val: Any) -> Tensor:
    """The imaginary part of `val`, a view of it; zeros for a real one.

    Example:
        >>> import tracejit as tj
        >>> tj.imag([1.0 + 2.0j, 3.0])
        tensor([2., 0.])

    Semantics: ``numpy.imag``.
    """
    x = as_tensor(val)
    return given_as(x, run("imag", x) if is_complex(x.dtype) else zeros_like(x, order="A"))


def conjugate(x: Any) -> Tensor:
    """The complex conjugate of `x`, a copy where that is real; bools become int8, as in NumPy.

    Example:
        >>> import tracejit as tj
        >>> tj.conjugate([1.0 + 2.0j, 3.0])
        tensor([1.-2.j, 3.-0.j])

    Semantics: ``numpy.conjugate``.
    """
    x = as_tensor(x)
    if is_complex(x.dtype):
        return run("conj", x)
    return cast(x, as_dtype("i1")) if x.dtype is BOOL else run("copy", x)


def real_if_close(x: Any, tol: float = 100) -> Tensor:
    """The real part of `x` where all imaginary parts are nearly zero, else `x`: eager only, if complex.

    Nearly zero is less than `tol` times the machine epsilon, or than `tol` itself where that is not above 1.

    Example:
        >>> import tracejit as tj
        >>> tj.real_if_close([1.0 + 1e-15j, 2.0])
        tensor([1., 2.])

    Semantics: ``numpy.real_if_close``.
    """
    tensor = as_tensor(x)
    if not is_complex(tensor.dtype):
        return given_as_array(tensor, x)
    limit = tol * float(np.finfo(tensor.dtype).eps) if tol > 1 else tol
    parts = tensor.detach()._concrete("real_if_close", "tj.real").imag
    return given_as_array(real(tensor) if bool(np.all(np.abs(parts) < limit)) else tensor, x)


def isreal(x: Any) -> Tensor:
    """Test each element for an imaginary part of zero; True for all elements of a real `x`.

    Example:
        >>> import tracejit as tj
        >>> tj.isreal([1.0 + 2.0j, 3.0])
        tensor([False,  True])

    Semantics: ``numpy.isreal``.
    """
    x = as_tensor(x)
    if is_complex(x.dtype):
        return run("eq", run("imag", x), 0.0)
    return given_as_scalar(ones_like(x, BOOL, "A"))


def iscomplex(x: Any) -> Tensor:
    """Test each element for a nonzero imaginary part; False for all elements of a real `x`.

    Example:
        >>> import tracejit as tj
        >>> tj.iscomplex([1.0 + 2.0j, 3.0])
        tensor([ True, False])

    Semantics: ``numpy.iscomplex``.
    """
    x = as_tensor(x)
    return run("ne", run("imag", x), 0.0) if is_complex(x.dtype) else filled(False, x.shape, BOOL)


def angle(z: Any, deg: bool = False) -> Tensor:
    """The angle of a number in the complex plane, in (-pi, pi], or with `deg` in degrees.

    Example:
        >>> import tracejit as tj
        >>> tj.angle([1.0, 1.0 + 1.0j, -2.0], deg=True)
        tensor([  0.,  45., 180.])

    Semantics: ``numpy.angle``.
    """
    x = as_tensor(z)
    if is_complex(x.dtype):
        radians = run("atan2", run("imag", x), run("real", x))
    else:
        x = x if is_inexact(x.dtype) else cast(x, default_dtype())
        radians = run("atan2", zeros_like(x), x)
    return run("mul", radians, 57.29577951308232) if deg else radians


def sort_complex(a: Any) -> Tensor:
    """`a` sorted along its last axis by real parts, where those are equal by imaginary ones, and complex.

    Example:
        >>> import tracejit as tj
        >>> tj.sort_complex([2.0, 1.0 - 1.0j, 1.0 - 2.0j])
        tensor([1.-2.j, 1.-1.j, 2.+0.j])

    Semantics: ``numpy.sort_complex``.
    """
    x = sort(as_tensor(a), -1)
    if is_complex(x.dtype):
        return x
    return cast(x, COMPLEX64 if x.dtype.kind in "iu" and x.dtype.itemsize <= 2 else COMPLEX128)


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
