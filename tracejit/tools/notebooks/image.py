"""A matrix as a picture."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any, Final

import numpy as np

Array = np.ndarray[Any, Any]

#: Rows and columns of pixels at the most; each is the mean of what falls on it.
PIXELS: Final = 64
#: Where the eye puts low, middle and high values, as red, green and blue; NaN is none of these.
_COLORS: Final = np.array([[33, 60, 120], [225, 225, 215], [170, 50, 30]], np.float64)
_NAN: Final = np.array([255, 0, 255], np.uint8)


def picture(matrix: Array) -> str:
    """An ``img`` element of a real matrix: from its least to its greatest finite value, blue over white to
    red."""
    means = _shrunk(_shrunk(np.asarray(matrix, np.float64)).T).T
    finite = np.isfinite(means)
    low, high = (means[finite].min(), means[finite].max()) if finite.any() else (0.0, 0.0)
    places = np.clip((np.where(finite, means, low) - low) / ((high - low) or 1.0), 0.0, 1.0)
    steps = np.linspace(0.0, 1.0, len(_COLORS))
    pixels = np.stack([np.interp(places, steps, channel) for channel in _COLORS.T], axis=-1).astype(np.uint8)
    pixels[np.isnan(means)] = _NAN
    pixels[np.isposinf(means)] = _COLORS[-1]
    height, width = means.shape
    scale = max(1, 128 // max(height, width))
    data = base64.b64encode(_png(pixels)).decode()
    return (
        f'<img src="data:image/png;base64,{data}" width="{width * scale}" height="{height * scale}" '
        f'style="image-rendering:pixelated" alt="{matrix.shape[0]} by {matrix.shape[1]} values as colours">'
    )


def _shrunk(matrix: Array) -> Array:
    """Means of neighbouring rows, so that there are at most `PIXELS`."""
    rows = len(matrix)
    if rows <= PIXELS:
        return matrix
    starts = np.arange(PIXELS) * rows // PIXELS
    counts = np.diff(np.append(starts, rows))
    with np.errstate(invalid="ignore", over="ignore"):  # infinities of both signs
        means: Array = np.add.reduceat(matrix, starts, axis=0) / counts[:, None]
    return means


def _png(pixels: Array) -> bytes:
    """`pixels`, bytes of shape (height, width, 3), as a file in the PNG format (RFC 2083)."""
    height, width, _ = pixels.shape
    rows = np.zeros((height, 1 + 3 * width), np.uint8)  # each begins with the filter 0
    rows[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes())), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        [struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
         for kind, data in parts]
    )  # fmt: skip
