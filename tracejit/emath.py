"""Functions that give complex results where real ones do not exist, under the names of NumPy's ``emath``.

Values decide the dtype: under ``jit`` a call with real numbers asks for them, and each answer is a path of
its own, as for an ``if`` on values. Complex numbers are taken as they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .arguments.errors import check_public as _check_public
from .array.creation import asarray as _asarray
from .array.elementwise import powers as _powers
from .array.elementwise import ufuncs as _ufuncs
from .array.reductions import any as _any
from .ir.dtypes import is_complex
from .tensors.tensor import Tensor

__all__ = ["arccos", "arcsin", "arctanh", "log", "log2", "log10", "logn", "power", "sqrt"]


def _as_complex(x: Any) -> Any:
    """`x` in the complex dtype that NumPy takes for its own."""
    single = np.can_cast(x.dtype, np.float32, "safe")
    return x.astype(np.complex64 if single else np.complex128)


def _complex_below_zero(x: Any) -> Any:
    """`x`, complex if any element is negative."""
    x = _asarray(x)
    return x if is_complex(x.dtype) or not bool(_any(x < 0)) else _as_complex(x)


def _complex_beyond_one(x: Any) -> Any:
    """`x`, complex if any element is beyond 1 or -1."""
    x = _asarray(x)
    return x if is_complex(x.dtype) or not bool(_any(abs(x) > 1)) else _as_complex(x)


def sqrt(x: Any) -> Tensor:
    """The square root; imaginary for negative numbers.

    Example:
        >>> import tracejit as tj
        >>> tj.emath.sqrt([4.0, -4.0])
        tensor([2.+0.j, 0.+2.j])

    Semantics: ``numpy.emath.sqrt``.
    """
    result: Tensor = _ufuncs.sqrt(_complex_below_zero(x))
    return result


def log(x: Any) -> Tensor:
    """The natural logarithm; that of negative numbers has the imaginary part pi.

    Example:
        >>> import tracejit as tj
        >>> tj.emath.log(-1.0)
        tensor(0.+3.14159265j)

    Semantics: ``numpy.emath.log``.
    """
    return _ufuncs.log(_complex_below_zero(x))


def log10(x: Any) -> Tensor:
    """The logarithm to base 10.

    Example:
        >>> import tracejit as tj
        >>> tj.emath.log10(100.0)
        tensor(2.)

    Semantics: ``numpy.emath.log10``.
    """
    return _ufuncs.log10(_complex_below_zero(x))


def log2(x: Any) -> Tensor:
    """The logarithm to base 2.

    Example:
        >>> import tracejit as tj
        >>> tj.emath.log2(8.0)
        tensor(3.)

    Semantics: ``numpy.emath.log2``.
    """
    return _ufuncs.log2(_complex_below_zero(x))


def logn(n: Any, x: Any) -> Tensor:
    """The logarithm of `x` to base `n`.

    Example:
        >>> import tracejit as tj
        >>> tj.emath.logn(4.0, 16.0)
        tensor(2.)

    Semantics: ``numpy.emath.logn``.
    """
    return _ufuncs.log(_complex_below_zero(x)) / _ufuncs.log(_complex_below_zero(n))


def power(x: Any, p: Any) -> Tensor:
    """`x` to the power `p`; complex if any `x` is negative, floating if any integer `p` is.

    Example:
        >>> import tracejit as tj
        >>> tj.emath.power([2, 4], -2)
        tensor([0.25  , 0.0625])

    Semantics: ``numpy.emath.power``.
    """
    x, p = _complex_below_zero(x), _asarray(p)
    if p.dtype.kind in "biu" and bool(_any(p < 0)):
        p = p * 1.0
    result: Tensor = _powers.power(x, p)
    return result


def arccos(x: Any) -> Tensor:
    """The inverse cosine; complex beyond 1 and -1.

    Example:
        >>> import tracejit as tj
        >>> tj.emath.arccos(1.0)
        tensor(0.)

    Semantics: ``numpy.emath.arccos``.
    """
    return _ufuncs.arccos(_complex_beyond_one(x))


def arcsin(x: Any) -> Tensor:
    """The inverse sine; complex beyond 1 and -1.

    Example:
        >>> import tracejit as tj
        >>> tj.emath.arcsin(0.0)
        tensor(0.)

    Semantics: ``numpy.emath.arcsin``.
    """
    return _ufuncs.arcsin(_complex_beyond_one(x))


def arctanh(x: Any) -> Tensor:
    """The inverse hyperbolic tangent; complex beyond 1 and -1.

    Example:
        >>> import tracejit as tj
        >>> tj.emath.arctanh(0.5)
        tensor(0.54930614)

    Semantics: ``numpy.emath.arctanh``.
    """
    return _ufuncs.arctanh(_complex_beyond_one(x))


_check_public(globals(), __all__, "emath.")
