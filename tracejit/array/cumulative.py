"""Running sums, products, maxima and minima along an axis."""

from __future__ import annotations

from typing import Any

from ..ir.types import normalize_axis
from ..tensors.tensor import Tensor
from .operands import as_tensor, reshaped, run, with_an_axis, write_out
from .reducing import accumulated


def _running(name: str, x: Tensor, axis: Any, reverse: bool) -> Tensor:
    if axis is None:
        return run(name, reshaped(x, (x.size,)), axis=0, reverse=reverse)
    x = with_an_axis(x, axis)
    return run(name, x, axis=normalize_axis(name, axis, x.ndim), reverse=reverse)


def cumsum(x: Any, axis: Any = None, dtype: Any = None, out: Any = None, *, reverse: bool = False) -> Tensor:
    """Running sums along `axis`, or of the raveled array if `axis` is None; from the end if `reverse`.

    Example:
        >>> import tracejit as tj
        >>> tj.cumsum([1, 2, 3])
        tensor([1, 3, 6])

    Raises AxisError. Semantics: ``numpy.cumsum``; `reverse` as in ``jax.lax.cumsum``.
    """
    result = _running("cumsum", accumulated(as_tensor(x), dtype), axis, reverse)
    return result if out is None else write_out("cumsum", out, result)


def cumprod(x: Any, axis: Any = None, dtype: Any = None, out: Any = None, *, reverse: bool = False) -> Tensor:
    """Running products along `axis`, or of the raveled array if `axis` is None; from the end if `reverse`.

    Its gradient is right where there are zeros, to any order.

    Example:
        >>> import tracejit as tj
        >>> tj.cumprod([1, 2, 4])
        tensor([1, 2, 8])

    Raises AxisError. Semantics: ``numpy.cumprod``; `reverse` as in ``jax.lax.cumprod``.
    """
    result = _running("cumprod", accumulated(as_tensor(x), dtype), axis, reverse)
    return result if out is None else write_out("cumprod", out, result)


def cummax(x: Any, axis: Any = None, *, reverse: bool = False) -> Tensor:
    """The largest element so far along `axis`, or of the raveled array if `axis` is None; from the end if
    `reverse`. NaN from the first NaN on.

    The gradient goes to the element that is the maximum, of equal ones to the last so far.

    Example:
        >>> import tracejit as tj
        >>> tj.cummax([1, 3, 2, 5])
        tensor([1, 3, 3, 5])

    Raises AxisError. Semantics: ``numpy.maximum.accumulate``, ``jax.lax.cummax``; the gradient is that of
    ``torch.cummax``, which returns indices, too.
    """
    return _running("cummax", as_tensor(x), axis, reverse)


def cummin(x: Any, axis: Any = None, *, reverse: bool = False) -> Tensor:
    """The smallest element so far along `axis`, or of the raveled array if `axis` is None; from the end if
    `reverse`. NaN from the first NaN on.

    The gradient goes to the element that is the minimum, of equal ones to the last so far.

    Example:
        >>> import tracejit as tj
        >>> tj.cummin([4, 6, 3, 5])
        tensor([4, 4, 3, 3])

    Raises AxisError. Semantics: ``numpy.minimum.accumulate``, ``jax.lax.cummin``; the gradient is that of
    ``torch.cummin``, which returns indices, too.
    """
    return _running("cummin", as_tensor(x), axis, reverse)
