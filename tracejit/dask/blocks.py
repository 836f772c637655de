"""A jitted function on each block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..ir.dtypes import as_dtype
from ..ir.errors import ArgumentError
from ..ir.types import TensorType
from ..jitted.function import JitFunction
from ..jitted.jit import eval_shape, jit
from .library import ONE_THREAD, dask_module, is_dask_array


def map_blocks(fun: Callable[..., Any], *arrays: Any, **options: Any) -> Any:
    """The dask array of what `fun`, compiled, returns for each block of `arrays`.

    `arrays` are dask arrays whose blocks fit as for ``dask.array.map_blocks``, and others that each block
    gets whole; `fun` returns one array. `options` are those of dask's function: ``chunks`` where the
    results' shapes are not those of the blocks. Nothing is computed but the result's dtype.

    Example:
        >>> import dask.array as da
        >>> import tracejit as tj, tracejit.dask
        >>> x = da.arange(6.0, chunks=3)
        >>> tj.dask.map_blocks(lambda x: tj.sin(x) ** 2 + tj.cos(x) ** 2, x).sum().compute()
        np.float64(6.0)

    Raises ArgumentError where none of `arrays` is a dask array, TracejitError without dask. Semantics:
    ``dask.array.map_blocks``.
    """
    blocked = [array for array in arrays if is_dask_array(array)]
    if not blocked:
        raise ArgumentError("map_blocks: no argument is a dask array")
    jitted = fun if isinstance(fun, JitFunction) else jit(fun)
    result = eval_shape(jitted, *[_first_block(array) for array in arrays])
    if not isinstance(result, TensorType):
        raise ArgumentError("map_blocks: the function must return one array")
    meta = np.empty((0,) * len(result.shape), result.dtype)
    sent = dask_module("dask").delayed(jitted, pure=False, traverse=False)
    return dask_module("dask.array").map_blocks(
        _on_block, *arrays, function=sent, **{"dtype": meta.dtype, "meta": meta, **options}
    )


def blockwise(fun: Callable[..., Any], indices: Any, *pairs: Any, **options: Any) -> Any:
    """The dask array of what `fun`, compiled, returns for the blocks of arrays that have the same indices.

    `pairs` are arrays, each followed by a letter or number for each of its axes; `indices` are those of the
    result. Along others `fun` gets all blocks of an array as one. What is followed by None each block gets
    whole. `options` are those of ``dask.array.blockwise``.

    Example:
        >>> import dask.array as da
        >>> import tracejit as tj, tracejit.dask
        >>> x, y = da.ones((4, 6), chunks=(2, 3)), da.ones((6, 2), chunks=(3, 2))
        >>> product = tj.dask.blockwise(lambda x, y: tj.tanh(x @ y), "ij", x, "ik", y, "kj")
        >>> product.numblocks, product.sum().compute().round(6)
        ((2, 1), np.float64(7.999902))

    Raises ArgumentError where no array is a dask array, TracejitError without dask. Semantics:
    ``dask.array.blockwise`` with ``concatenate=True``.
    """
    arrays, axes = pairs[::2], pairs[1::2]
    if len(arrays) != len(axes) or not any(map(is_dask_array, arrays)):
        raise ArgumentError("blockwise: expected arrays, of which one is a dask array, each with its indices")
    jitted = fun if isinstance(fun, JitFunction) else jit(fun)
    kept = set(indices)
    specs = [_block_type(array, letters, kept) for array, letters in zip(arrays, axes, strict=True)]
    result = eval_shape(jitted, *specs)
    if not isinstance(result, TensorType):
        raise ArgumentError("blockwise: the function must return one array")
    meta = np.empty((0,) * len(result.shape), result.dtype)
    sent = dask_module("dask").delayed(jitted, pure=False, traverse=False)
    return dask_module("dask.array").blockwise(
        _on_block, indices, *pairs, function=sent,
        **{"dtype": meta.dtype, "meta": meta, "concatenate": True, **options},
    )  # fmt: skip


def _block_type(array: Any, letters: Any, kept: set[Any]) -> Any:
    """The type of what the function gets of an `array`: whole along axes that the result has not."""
    if letters is None or not is_dask_array(array):
        return array
    shape = [
        sizes[0] if letter in kept else sum(sizes)
        for sizes, letter in zip(array.chunks, letters, strict=True)
    ]
    return TensorType(as_dtype(array.dtype), tuple(shape))


def _first_block(array: Any) -> Any:
    if not is_dask_array(array):
        return array
    return TensorType(as_dtype(array.dtype), tuple(sizes[0] for sizes in array.chunks))


def _on_block(*blocks: Any, function: Any) -> Any:
    with ONE_THREAD:
        return np.asarray(function(*blocks))
