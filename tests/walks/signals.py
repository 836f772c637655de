"""Cases of convolutions and Fourier transforms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .drawing import Case, Draw


def convolution(draw: Draw) -> Case:
    """Convolutions of images and of lines, and pools."""
    dtype = draw.dtype("f")
    form = draw.choose(("conv2d", "conv2d", "conv2d", "pool", "convolve", "correlate"))
    if form in ("convolve", "correlate"):
        long = draw.shape(1, 4000)
        draw.operand(long, dtype)
        draw.operand((draw.size(80),), dtype)
        mode = draw.choose(("full", "same", "valid"))
        return draw.case(
            "convolutions", f"{form} {mode}", lambda xp, x, y: getattr(xp, form)(x, y, mode=mode)
        )
    height, width = draw.size(65), draw.size(130)
    batch, groups = draw.choose((1, 1, 2, 3, draw.size(9))), draw.choose((1, 1, 1, 2, 3))
    channels, outputs = draw.choose((1, 2, 3, 5, 8, 16, 17)), draw.choose((1, 2, 4, 7, 8, 16, 33))
    while batch * channels * groups * height * width > 60_000:
        batch, height = (batch + 1) // 2, (height + 1) // 2
        channels = max(1, channels // 2)
    if form == "pool":
        size, step = draw.choose((1, 2, 3)), draw.choose((1, 2, 3))
        size = min(size, height, width)
        draw.operand((batch, channels, height, width), dtype)
        return draw.case(
            "convolutions", f"max_pool {size}/{step}", lambda xp, x: xp.nn.max_pool2d(x, size, step)
        )
    kernel = (min(height, draw.choose((1, 2, 3, 3, 5))), min(width, draw.choose((1, 2, 3, 3, 5, 7))))
    stride = (draw.choose((1, 1, 1, 2, 3)), draw.choose((1, 1, 1, 2, 3)))
    padding = (draw.choose((0, 0, 1, 2)), draw.choose((0, 0, 1, 3)))
    dilation = (1, 1)
    if draw.chance(0.25) and height > 9 and width > 13:
        dilation = (2, draw.choose((1, 2)))
    draw.operand((batch, channels * groups, height, width), dtype)
    draw.operand((outputs * groups, channels, *kernel), dtype)
    text = f"conv2d stride {stride} padding {padding} dilation {dilation} groups {groups}"

    def convolved(xp: Any, x: Any, w: Any) -> Any:
        return xp.nn.conv2d(x, w, None, stride, padding, dilation, groups)

    return draw.case("convolutions", text, convolved)


def fourier(draw: Draw) -> Case:
    """Transforms along one axis or two, cut or padded, there and back."""
    rank = draw.choose((1, 1, 2, 2, 3))
    shape, axis = draw.shape(rank, 20_000), draw.choose(range(rank))
    real = draw.chance(0.5)
    dtype = draw.choose(("f4", "f8") if real else ("c8", "c16"))
    draw.operand(shape, dtype)
    form = draw.choose(("fft", "ifft", "fft", "rfft" if real else "irfft", "fft2", "cut"))
    eps, n = float(np.finfo(dtype).eps), shape[axis]
    if form == "fft2" and rank > 1:
        n = shape[-1] * shape[-2]

        def run(xp: Any, x: Any) -> Any:
            return xp.fft.fft2(x)
    elif form == "cut":
        size = n = draw.size(max(1, 400_000 * n // math.prod(shape)))

        def run(xp: Any, x: Any) -> Any:
            return xp.fft.fft(x, size, axis=axis)
    elif form == "irfft" and n > 1:
        n = 2 * n

        def run(xp: Any, x: Any) -> Any:
            return xp.fft.irfft(x, axis=axis)
    else:
        name = "fft" if form in ("fft2", "irfft") else form

        def run(xp: Any, x: Any) -> Any:
            return getattr(xp.fft, name)(x, axis=axis)

    # Each of log2 n levels rounds values no larger than the norm of the line, of elements up to 3 * sqrt(2);
    # Bluestein's algorithm is three transforms of up to four times the size.
    norm = 4.3 * np.sqrt(n) * (1 / n if form in ("ifft", "irfft") else 1)
    return draw.case("transforms", f"{form} along {axis}", run, 24 * eps * (2 + np.log2(n)) * norm)
