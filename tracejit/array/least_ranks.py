"""Arrays with new axes of size 1, up to a rank."""

from __future__ import annotations

from typing import Any

from ..eager.tensor import Tensor
from .operands import as_tensor, reshaped

__all__ = ["atleast_1d", "atleast_2d", "atleast_3d"]


def _each(convert: Any, arrays: tuple[Any, ...]) -> Any:
    results = tuple(convert(as_tensor(array)) for array in arrays)
    return results[0] if len(results) == 1 else results


def atleast_1d(*arrays: Any) -> Any:
    """Each array with rank 1 or more; a tuple for several.

    Example:
        >>> import tracejit as tj
        >>> tj.atleast_1d(1.5)
        tensor([1.5])

    Semantics: ``numpy.atleast_1d``.
    """
    return _each(lambda x: reshaped(x, x.shape or (1,)), arrays)


def atleast_2d(*arrays: Any) -> Any:
    """Each array with rank 2 or more, new axes first; a tuple for several.

    Example:
        >>> import tracejit as tj
        >>> tj.atleast_2d([1, 2])
        tensor([[1, 2]])

    Semantics: ``numpy.atleast_2d``.
    """
    return _each(lambda x: reshaped(x, (1,) * (2 - x.ndim) + x.shape), arrays)


def atleast_3d(*arrays: Any) -> Any:
    """Each array with rank 3 or more: (n,) becomes (1, n, 1), and (m, n) becomes (m, n, 1).

    Example:
        >>> import tracejit as tj
        >>> tj.atleast_3d([1, 2]).shape
        (1, 2, 1)

    Semantics: ``numpy.atleast_3d``.
    """

    def deepen(x: Tensor) -> Tensor:
        if x.ndim < 2:
            return reshaped(x, (1, x.size, 1))
        return reshaped(x, (*x.shape, 1)) if x.ndim == 2 else x

    return _each(deepen, arrays)
