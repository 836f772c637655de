"""Shapes, sizes and kinds of arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...ir.dtypes import is_complex
from ...ir.types import Shape, normalize_axes
from ...tensors.tensor import Tensor
from ..operands import as_tensor


def shape(x: Any) -> Shape:
    """The sizes of the dimensions of `x`.

    Example:
        >>> import tracejit as tj
        >>> tj.shape([[1, 2, 3]])
        (1, 3)

    Semantics: ``numpy.shape``.
    """
    return as_tensor(x).shape


def ndim(x: Any) -> int:
    """The number of dimensions of `x`.

    Example:
        >>> import tracejit as tj
        >>> tj.ndim([[1, 2, 3]])
        2

    Semantics: ``numpy.ndim``.
    """
    return as_tensor(x).ndim


def size(x: Any, axis: Any = None) -> int:
    """The number of elements of `x`, along `axis` where that is given.

    Example:
        >>> import tracejit as tj
        >>> tj.size([[1, 2, 3]]), tj.size([[1, 2, 3]], 0)
        (3, 1)

    Raises AxisError. Semantics: ``numpy.size``.
    """
    x = as_tensor(x)
    return math.prod(x.shape[place] for place in normalize_axes("size", axis, x.ndim))


def isscalar(element: Any) -> bool:
    """Whether `element` is a number or a string, and no array; a tensor of rank 0 is an array.

    Example:
        >>> import tracejit as tj
        >>> tj.isscalar(2.0), tj.isscalar(tj.tensor(2.0))
        (True, False)

    Semantics: ``numpy.isscalar``.
    """
    return bool(np.isscalar(element))


def iterable(y: Any) -> bool:
    """Whether ``iter(y)`` works: not for a tensor of rank 0.

    Example:
        >>> import tracejit as tj
        >>> tj.iterable(tj.ones(2)), tj.iterable(tj.tensor(2.0))
        (True, False)

    Semantics: ``numpy.iterable``.
    """
    return y.ndim > 0 if isinstance(y, Tensor) else bool(np.iterable(y))


def iscomplexobj(x: Any) -> bool:
    """Whether `x` has a complex dtype.

    Example:
        >>> import tracejit as tj
        >>> tj.iscomplexobj([1.0])
        False

    Semantics: ``numpy.iscomplexobj``.
    """
    return is_complex(x.dtype) if isinstance(x, Tensor) else bool(np.iscomplexobj(x))


def isrealobj(x: Any) -> bool:
    """Whether `x` has a dtype that is not complex.

    Example:
        >>> import tracejit as tj
        >>> tj.isrealobj([1.0])
        True

    Semantics: ``numpy.isrealobj``.
    """
    return not iscomplexobj(x)
