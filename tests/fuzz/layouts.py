"""Copies of an array with different layouts in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

LAYOUTS = (
    "fortran", "strided", "reversed", "misaligned", "readonly", "repeated", "moved", "offset", "all reversed",
)  # fmt: skip


def laid_out(array: NDArray[Any], layout: str) -> NDArray[Any]:
    """The elements of `array` in another layout; `array` itself where its rank or shape does not have it."""
    shape, dtype = array.shape, array.dtype
    if layout == "fortran":  # asfortranarray would give rank 0 an axis
        return np.array(array, order="F")
    if layout == "strided" and array.ndim:
        wide = np.zeros((*shape[:-1], 2 * shape[-1] + 1), dtype)
        wide[..., 1::2] = array
        return wide[..., 1::2]
    if layout == "reversed" and array.ndim:
        return array[..., ::-1].copy()[..., ::-1]
    if layout == "all reversed":
        return np.flip(np.flip(array).copy())
    if layout == "misaligned":
        raw = np.zeros(array.nbytes + 1, np.uint8)
        view: NDArray[Any] = np.ndarray(shape, dtype, raw.data, 1)
        view[...] = array
        return view
    if layout == "readonly":
        copy = array.copy()
        copy.flags.writeable = False
        return copy
    if layout == "repeated" and array.ndim and shape[0] > 1:
        return np.broadcast_to(array[:1].copy(), shape)
    if layout == "moved" and array.ndim > 1:
        return np.moveaxis(np.moveaxis(array, -1, 0).copy(), 0, -1)
    if layout == "offset" and array.ndim:
        larger = np.zeros((shape[0] + 3, *shape[1:]), dtype)
        larger[2:-1] = array
        return larger[2:-1]
    return array


def copied(array: NDArray[Any]) -> NDArray[Any]:
    """A copy that lies in memory alike, between what is not its own; what is read-only itself, whose elements
    may be one number."""
    if not array.flags.writeable or array.size == 0:
        return array.copy("K") if array.flags.writeable else array
    low, high = np.lib.array_utils.byte_bounds(array)
    memory = np.zeros(high - low, np.uint8)
    copy: NDArray[Any] = np.ndarray(
        array.shape, array.dtype, memory.data, array.ctypes.data - low, array.strides
    )
    copy[...] = array
    return copy
