"""Bits packed into bytes, and bytes taken apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.errors import DomainError, DTypeError
from ...ir.dtypes import BOOL, as_dtype
from ...ir.types import normalize_axis
from ...tensors.tensor import Tensor
from ..joining import concatenate
from ..manipulation import moveaxis, ravel, reshape
from ..operands import as_tensor, cast, constant_of, filled, run, sliced
from ..reductions import sum

_UINT8 = as_dtype("u1")


def _weights(name: str, bitorder: str) -> Any:
    if bitorder not in ("big", "little"):
        raise DomainError(f"{name}: bitorder must be 'big' or 'little', got {bitorder!r}")
    places = np.arange(8, dtype=np.uint8)
    return places[::-1].copy() if bitorder == "big" else places


def packbits(x: Any, axis: int | None = None, bitorder: str = "big") -> Tensor:
    """Bytes of whose bits each is one element of `x`, and set where that is not zero; the last ones may be 0.

    Example:
        >>> import tracejit as tj
        >>> tj.packbits([1, 0, 1, 0, 0, 0, 0, 0, 1])
        tensor([160, 128], dtype=uint8)

    Raises DTypeError for floats. Semantics: ``numpy.packbits``.
    """
    x = as_tensor(x)
    if x.dtype.kind not in "iub":
        raise DTypeError(f"packbits: x must hold bools or integers, got {x.dtype.name}")
    if axis is None:
        x, axis = ravel(x), 0
    place = normalize_axis("packbits", axis, x.ndim)
    bits = moveaxis(cast(cast(x, BOOL), _UINT8), place, -1)
    extent = bits.shape[-1]
    if extra := -extent % 8:
        bits = concatenate([bits, filled(0, (*bits.shape[:-1], extra), _UINT8)], -1)
    groups = reshape(bits, (*bits.shape[:-1], bits.shape[-1] // 8, 8))
    shifted = run("shift_left", groups, constant_of(_weights("packbits", bitorder)))
    return moveaxis(cast(sum(shifted, -1), _UINT8), -1, place)


def unpackbits(x: Any, axis: int | None = None, count: int | None = None, bitorder: str = "big") -> Tensor:
    """The bits of bytes, as zeros and ones in uint8: `count` of them, or all but the last -`count`.

    Example:
        >>> import tracejit as tj
        >>> tj.unpackbits(tj.asarray([2], "uint8"))
        tensor([0, 0, 0, 0, 0, 0, 1, 0], dtype=uint8)

    Raises DTypeError unless `x` has dtype uint8. Semantics: ``numpy.unpackbits``.
    """
    x = as_tensor(x)
    if x.dtype != _UINT8:
        raise DTypeError(f"unpackbits: x must have dtype uint8, got {x.dtype.name}")
    if axis is None:
        x, axis = ravel(x), 0
    place = normalize_axis("unpackbits", axis, x.ndim)
    data = moveaxis(x, place, -1)
    spread = reshape(data, (*data.shape, 1))
    bits = run("bitwise_and", run("shift_right", spread, constant_of(_weights("unpackbits", bitorder))), 1)
    line = reshape(bits, (*data.shape[:-1], data.shape[-1] * 8))
    whole = line.shape[-1]
    if count is not None:
        size = count if count >= 0 else whole + count
        if size < 0:
            raise DomainError(f"unpackbits: count {count} is more than the {whole} bits that there are")
        if size > whole:
            line = concatenate([line, filled(0, (*line.shape[:-1], size - whole), _UINT8)], -1)
        line = sliced(line, line.ndim - 1, 0, size)
    return moveaxis(line, -1, place)
