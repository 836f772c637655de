"""Powers, with NumPy's fast paths for squares and square roots."""

from __future__ import annotations

from typing import Any

from ...arguments.errors import checks_itself, explain
from ...dispatch.dispatch import elementwise
from ...dispatch.eager_functions import EagerFunction
from ...ir.dtypes import is_inexact
from ...ir.registry import OPS
from ...provided import NUMPY_OPTIONS
from ...state import STATE
from ...tensors.tensor import Tensor
from ..operands import as_tensor
from .making import add_ufunc_methods
from .ufuncs import sqrt, square

_pow: Any = elementwise(OPS["pow"])
_pow.__name__ = "power"
#: NumPy's powers: gradient rules compute with the op itself.
_POWER = EagerFunction(OPS["pow"], _pow.eager.python)


@checks_itself
def _raised(x: Any, y: Any, /) -> Tensor:
    """``power`` without options."""
    # NumPy's fast paths, several times faster than the general function. The square is the same number; the
    # square root is another one at -0.0 and -inf, and traced code has to say so
    if type(y) is int:
        if y == 2 and STATE.tracer is None and type(x) is Tensor and is_inexact(x._data.dtype):
            return square.eager.run(x)  # type: ignore[attr-defined,no-any-return]
    elif type(y) is float and y == 0.5 and STATE.tracer is not None:
        x = as_tensor(x)
        if is_inexact(x.dtype) and not STATE.tracer.is_weak(x._data):
            return sqrt(x)
    return _POWER.run(x, y)  # type: ignore[no-any-return]


@checks_itself
def power(
    x: Any,
    y: Any,
    /,
    out: Any = None,
    where: Any = True,
    dtype: Any = None,
    casting: Any = None,
    order: Any = "K",
    subok: Any = True,
) -> Any:
    """x to the power y. Integers to negative integer powers raise TracejitError.

    The slope in x at y = 0 is 0; the slope in y at x = 0 is 0 for y >= 0. The second derivative in x and y at
    x = 0, whose limit for y > 1 is 0, is 0 also for y = 1 and y = 0, where it grows without bounds, in both
    orders.

    Example:
        >>> import tracejit as tj
        >>> tj.power([1.0, 2.0, 3.0], 2)
        tensor([1., 4., 9.])

    Semantics: ``numpy.power``.
    """
    if out is None and where is True and dtype is None and casting is None:
        return _raised(x, y)
    try:
        options = NUMPY_OPTIONS()
        return options.call_elementwise(power, (x, y), out, where, dtype, casting)
    except Exception as error:
        keywords = {"out": out, "where": where, "dtype": dtype, "casting": casting}
        explain("power", power, (x, y), keywords, error)
        raise


_raised.__name__ = "power"
_POWER.method, power.eager = _raised, _POWER  # type: ignore[attr-defined]
add_ufunc_methods(power, "power")


pow = power
