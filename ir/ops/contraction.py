"""Contraction: products of matrices on the last two axes."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from ...base.errors import ShapeError
from ..dtypes import FLOAT16, FLOAT32
from ..registry import Attrs, Builtin, Kind
from ..transforms.batching import batch_matmul
from ..types import Types
from .define import define


def _matmul_infer(types: Types, attrs: Attrs) -> Types:
    x, y = types
    fits = x.ndim == y.ndim >= 2 and x.shape[:-2] == y.shape[:-2] and x.shape[-1] == y.shape[-2]
    if not fits or x.dtype is not y.dtype:
        raise ShapeError(f"matmul: expected (..., m, k) and (..., k, n) of one dtype, got {x} and {y}")
    return (x.with_shape((*x.shape[:-1], y.shape[-1])),)


def swap_last(b: Any, x: Any) -> Any:
    """The last two axes exchanged."""
    rank = len(x.shape)
    return b.transpose(x, perm=(*range(rank - 2), rank - 1, rank - 2))


#: Terms of a product's sums that are copied at a time where they are repeated, and elements of a copy.
_COPIED: Final = 1 << 10
_MAX_COPIED: Final = 1 << 20


def _matmul_eval(x: Any, y: Any) -> Any:
    """NumPy adds up repeated elements one by one, so that the error grows with their number: not copies of
    some at a time; and float16 without BLAS. Repeated rows of `x` and columns of `y` make the result repeat.
    """
    if x.dtype is FLOAT16:
        return _matmul_eval(x.astype(FLOAT32), y.astype(FLOAT32)).astype(FLOAT16)
    shape = (*x.shape[:-1], y.shape[-1])
    if not x.strides[-2]:
        x = x[..., :1, :]
    if not y.strides[-1]:
        y = y[..., :1]
    result = _by_copies(x, y) if 0 in (x.strides[-1], y.strides[-2]) else np.matmul(x, y)
    return result if result.shape == shape else np.array(np.broadcast_to(result, shape))


def _by_copies(x: Any, y: Any) -> Any:
    """The product by copies of some terms at a time. Where these would be large, so many rows, columns or
    matrices of the result as well."""
    shape = (*x.shape[:-1], y.shape[-1])
    terms = min(max(x.shape[-1], 1), _COPIED)
    longest = max(range(len(shape)), key=shape.__getitem__)
    size = shape[longest]
    if size > 1 and terms * max(math.prod(shape[:-1]), math.prod(shape[:-2]) * shape[-1]) > _MAX_COPIED:
        halves = []
        for half in (slice(size // 2), slice(size // 2, size)):
            where = (slice(None),) * longest + (half,)
            rows = x if longest == len(shape) - 1 else x[where]
            columns = y if longest == len(shape) - 2 else y[where]
            halves.append(_by_copies(rows, columns))
        return np.concatenate(halves, axis=longest)
    result = None
    for at in range(0, max(x.shape[-1], 1), _COPIED):
        pair = x[..., at : at + _COPIED], y[..., at : at + _COPIED, :]
        product = np.matmul(*[np.array(z, order="C") for z in pair])
        result = product if result is None else np.add(result, product, out=result)
    return result


MATMUL = define(
    "matmul", Kind.CONTRACTION, "x y", doc="matrix product over the last two axes, batched over the others",
    infer=_matmul_infer, eval=_matmul_eval, batch=batch_matmul,
    builtin=Builtin(np.matmul, second="matrix"),
    vjp={
        "x": lambda b, ct, y: b.matmul(ct, swap_last(b, y)),
        "y": lambda b, ct, x: b.matmul(swap_last(b, x), ct),
    },
)  # fmt: skip
