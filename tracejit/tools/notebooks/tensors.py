"""A tensor as a table of its elements, with its dtype, shape, statistics, and a picture of a matrix."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .reports import table

if TYPE_CHECKING:
    from ...tensors.tensor import Tensor

#: Rows and columns of pixels at the most; each is the mean of what falls on it.
PIXELS: Final = 64
#: Colours of low, middle and high values, as red, green and blue; NaN has a colour of its own.
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


Array = np.ndarray[Any, Any]

#: Rows and columns that are shown of a larger array, half of them from its end.
SHOWN: Final = 10
#: Statistics of more elements are those of an even sample.
SAMPLED: Final = 10_000_000


def tensor_html(tensor: Tensor) -> str:
    """The table of a tensor that has a value."""
    data = tensor.detach().numpy()
    notes = [f"{data.dtype.name}[{', '.join(map(str, data.shape))}]"]
    if tensor.grad_fn is not None:
        notes.append(f"grad_fn {tensor.grad_fn.name()}")
    elif tensor.requires_grad:
        notes.append("requires_grad")
    head = f"<div><b>tensor</b> {', '.join(notes)}</div>"
    plane = data[(0,) * (data.ndim - 2)] if data.ndim > 2 and data.size else data
    if plane is not data:
        head += f"<div>shown: [{'0, ' * (data.ndim - 2)}:, :]</div>"
    statistics = _statistics(data)
    shown = table(_cells(plane), head=False) if plane.size else ""
    image = ""
    if plane.ndim == 2 and min(plane.shape) > 2 and plane.dtype.kind in "fiu":
        image = f'<div style="margin:4px 0 4px 16px">{picture(plane)}</div>'
    body = f'<div style="display:flex;flex-wrap:wrap;align-items:flex-start">{shown}{image}</div>'
    return f"<div>{head}<div>{statistics}</div>{body}</div>"


def _statistics(data: Array) -> str:
    """Least, greatest and mean value, and what is not finite."""
    if data.dtype.kind not in "fiub" or data.size < 2:
        return ""
    sample, of_what = data.reshape(-1), ""
    if sample.size > SAMPLED:
        step = -(-sample.size // SAMPLED)
        sample, of_what = sample[::step], f" (of every {step}th element)"
    if data.dtype.kind == "b":
        return f"{np.count_nonzero(sample)} of {sample.size} true{of_what}"
    numbers = sample.astype(np.float64)
    finite = numbers[np.isfinite(numbers)]
    parts = []
    if finite.size:
        parts += [
            f"min {finite.min():.6g}", f"max {finite.max():.6g}",
            f"mean {finite.mean():.6g}", f"std {finite.std():.6g}",
        ]  # fmt: skip
    strange = {"NaN": np.isnan(numbers), "infinite": np.isinf(numbers)}
    parts += [f"{np.count_nonzero(mask)} {name}" for name, mask in strange.items() if mask.any()]
    return ", ".join(parts) + of_what


def _cells(plane: Array) -> list[list[str]]:
    """The elements of an array of at most two axes, with dots for those in the middle of many."""
    rows = plane.reshape(1, -1) if plane.ndim < 2 else plane
    return [
        [_text(rows[i, j]) if i is not None and j is not None else "⋯" for j in _places(rows.shape[1])]
        for i in _places(rows.shape[0])
    ]


def _places(size: int) -> list[int | None]:
    """The places along an axis that are shown; None is for all that are left out."""
    if size <= SHOWN:
        return list(range(size))
    half = SHOWN // 2
    return [*range(half), None, *range(size - half, size)]


def _text(element: Any) -> str:
    return f"{element:.6g}" if isinstance(element, np.inexact) else str(element)
