"""Arrays cut along their second, first and third axis."""

from __future__ import annotations

from typing import Any

from ...base.errors import ShapeError
from ...tensors.tensor import Tensor
from ..joining import split
from ..operands import as_tensor


def _split(name: str, x: Any, indices_or_sections: Any, axis: int, rank: int) -> list[Tensor]:
    x = as_tensor(x)
    if x.ndim < rank:
        raise ShapeError(f"{name}: expected an array of rank {rank} or more, got shape {x.shape}")
    return split(x, indices_or_sections, axis)


def hsplit(x: Any, indices_or_sections: Any) -> list[Tensor]:
    """Views of `x` cut along the second axis; of a line along its only one.

    Example:
        >>> import tracejit as tj
        >>> tj.hsplit([[1, 2], [3, 4]], 2)
        [tensor([[1],
                [3]]), tensor([[2],
                [4]])]

    Raises ShapeError. Semantics: ``numpy.hsplit``.
    """
    x = as_tensor(x)
    return _split("hsplit", x, indices_or_sections, 1 if x.ndim > 1 else 0, 1)


def vsplit(x: Any, indices_or_sections: Any) -> list[Tensor]:
    """Views of `x`, of rank 2 or more, cut along the first axis.

    Example:
        >>> import tracejit as tj
        >>> tj.vsplit([[1, 2], [3, 4]], 2)
        [tensor([[1, 2]]), tensor([[3, 4]])]

    Raises ShapeError. Semantics: ``numpy.vsplit``.
    """
    return _split("vsplit", x, indices_or_sections, 0, 2)


def dsplit(x: Any, indices_or_sections: Any) -> list[Tensor]:
    """Views of `x`, of rank 3 or more, cut along the third axis.

    Example:
        >>> import tracejit as tj
        >>> tj.dsplit([[[1, 2], [3, 4]]], 2)
        [tensor([[[1],
                 [3]]]), tensor([[[2],
                 [4]]])]

    Raises ShapeError. Semantics: ``numpy.dsplit``.
    """
    return _split("dsplit", x, indices_or_sections, 2, 3)
