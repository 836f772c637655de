"""Dtypes: what they hold, what they promote to, and what can be cast to what."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir.dtypes import DType, as_dtype, default_dtype
from ...tensors.tensor import Tensor
from ..operands import as_tensor, kind_of


def _kind(value: Any) -> Any:
    """`value` for NumPy's promotion: a dtype, or a Python number that is weak."""
    if not isinstance(value, Tensor):
        return value
    kind = kind_of(value)
    return kind if isinstance(kind, np.dtype) else kind(0)


def _dtype(value: Any) -> Any:
    return value.dtype if isinstance(value, (Tensor, np.ndarray)) else value


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype that operations on all of `arrays_and_dtypes` give; Python numbers are weak.

    Example:
        >>> import tracejit as tj
        >>> tj.result_type(tj.ones(2, "float32"), tj.int16, 1.5)
        dtype('float32')

    Semantics: ``numpy.result_type``.
    """
    return np.result_type(*map(_kind, arrays_and_dtypes))


def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    """Whether the array or dtype `from_` can be cast to the dtype `to` by the rule `casting`.

    Example:
        >>> import tracejit as tj
        >>> tj.can_cast(tj.int32, tj.float64), tj.can_cast(tj.ones(2), "int64")
        (True, False)

    Semantics: ``numpy.can_cast``.
    """
    return bool(np.can_cast(_dtype(from_), _dtype(to), casting))  # type: ignore[arg-type]


def common_type(*arrays: Any) -> Any:
    """The floating type that all `arrays` convert to; float64 of integers.

    Example:
        >>> import tracejit as tj
        >>> tj.common_type(tj.ones(2, "float32"), tj.arange(2)).__name__
        'float64'

    Semantics: ``numpy.common_type``.
    """
    return np.common_type(*[np.empty(0, as_tensor(array).dtype) for array in arrays])


def min_scalar_type(x: Any) -> DType:
    """The dtype of an array, or the smallest dtype that can hold the number `x`.

    Example:
        >>> import tracejit as tj
        >>> tj.min_scalar_type(200)
        dtype('uint8')

    Semantics: ``numpy.min_scalar_type``.
    """
    if not isinstance(x, Tensor):
        return np.min_scalar_type(x)
    return x.dtype if x.ndim else np.min_scalar_type(x.detach().numpy())


def issubdtype(arg1: Any, arg2: Any) -> bool:
    """Whether the dtype `arg1` is of the kind `arg2`, as in ``issubdtype(x.dtype, np.floating)``.

    Example:
        >>> import tracejit as tj
        >>> tj.issubdtype(tj.float32, "float32")
        True

    Semantics: ``numpy.issubdtype``.
    """
    return bool(np.issubdtype(_dtype(arg1), _dtype(arg2)))


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether `dtype` is of `kind`: a dtype, a name such as ``"real floating"``, or a tuple of these.

    Example:
        >>> import tracejit as tj
        >>> tj.isdtype(tj.float32, "real floating")
        True

    Semantics: ``numpy.isdtype``, the Array API.
    """
    return bool(np.isdtype(_dtype(dtype), kind))


def finfo(dtype: Any) -> Any:
    """Limits of a floating dtype, or of that of a tensor: ``eps``, ``max``, ``tiny`` and others.

    Example:
        >>> import tracejit as tj
        >>> tj.finfo("float32").bits
        32

    Semantics: ``numpy.finfo``.
    """
    return np.finfo(default_dtype() if dtype is float else as_dtype(_dtype(dtype)))


def iinfo(dtype: Any) -> Any:
    """Limits of an integer dtype, or of that of a tensor: ``min``, ``max`` and ``bits``.

    Example:
        >>> import tracejit as tj
        >>> tj.iinfo("int8").max
        127

    Semantics: ``numpy.iinfo``.
    """
    return np.iinfo(as_dtype(_dtype(dtype)))
