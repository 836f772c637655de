"""Cosine transforms of real tensors along an axis, not normalized, by Fourier transforms of their size.

With a factor `scale`, and sums over all n of N elements, in type 1 those between the first and the last one:

    1   y[k] = x[0] + (-1)^k x[N - 1] + 2 sum x[n] cos(pi k n / (N - 1))
    2   y[k] = 2 sum x[n] cos(pi k (2 n + 1) / (2 N))
    3   y[k] = x[0] + 2 sum_(n > 0) x[n] cos(pi (2 k + 1) n / (2 N))
    4   y[k] = 2 sum x[n] cos(pi (2 k + 1) (2 n + 1) / (4 N))

Source of types 2 and 3: Makhoul 1980, A fast cosine transform in one and two dimensions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...array.operands import constant_of, filled, reshaped, run, sliced
from ...fft.pairs import resized, transform
from ...tensors.tensor import Tensor


def cosines(x: Tensor, kind: int, axis: int, scale: float) -> Tensor:
    """The transform of type `kind`; of type 1 there are two elements at least."""
    return (_first, _second, _third, _fourth)[kind - 1](x, axis, scale)


def _reversed(x: Tensor, axis: int, start: int, size: int) -> Tensor:
    """`size` elements along `axis`, the one at `start` first, then those before it."""
    return sliced(x, axis, start, size, -1)


def _part(pairs: Tensor, part: int) -> Tensor:
    return reshaped(sliced(pairs, pairs.ndim - 1, part, 1), pairs.shape[:-1])


def _pairs(real: Tensor, imaginary: Tensor) -> Tensor:
    columns = [reshaped(part, (*part.shape, 1)) for part in (real, imaginary)]
    return run("concat", *columns, axis=real.ndim)


def _along(values: NDArray[np.float64], x: Tensor, axis: int) -> Tensor:
    """`values` as factors of the elements of `x` along `axis`."""
    factors = constant_of(values.astype(x.dtype))
    return reshaped(factors, tuple(values.size if place == axis else 1 for place in range(x.ndim)))


def _alternating(even: Tensor, odd: Tensor, axis: int, size: int) -> Tensor:
    """The elements of both along `axis` in turns, `size` in all."""
    odd = resized(odd, axis, even.shape[axis])
    columns = [reshaped(half, (*half.shape[: axis + 1], 1, *half.shape[axis + 1 :])) for half in (even, odd)]
    joined = run("concat", *columns, axis=axis + 1)
    shape = even.shape
    return sliced(reshaped(joined, (*shape[:axis], 2 * shape[axis], *shape[axis + 1 :])), axis, 0, size)


def _first(x: Tensor, axis: int, scale: float) -> Tensor:
    """Type 1: the Fourier transform of the even extension, which is real."""
    size = x.shape[axis]
    extended = run("concat", x, _reversed(x, axis, size - 2, size - 2), axis=axis) if size > 2 else x
    return _part(transform("rfft", extended, axis, scale=scale), 0)


def _second(x: Tensor, axis: int, scale: float) -> Tensor:
    """Type 2: from the Fourier transform V of the even elements followed by the odd ones backwards. With W[k]
    = V[k] exp(-pi i k / (2 N)), y[k] = 2 Re W[k] and y[N - k] = -2 Im W[k]."""
    size = x.shape[axis]
    even = sliced(x, axis, 0, (size + 1) // 2, 2)
    if size > 1:
        odd = _reversed(sliced(x, axis, 1, size // 2, 2), axis, size // 2 - 1, size // 2)
        even = run("concat", even, odd, axis=axis)
    spectrum = transform("rfft", even, axis, scale=2.0 * scale)
    real, imaginary = _part(spectrum, 0), _part(spectrum, 1)
    half = real.shape[axis]
    angles = np.pi * np.arange(half) / (2 * size)
    cosine, sine = (_along(function(angles), real, axis) for function in (np.cos, np.sin))
    first = run("add", run("mul", real, cosine), run("mul", imaginary, sine))
    if half == size:
        return first
    second = run("sub", run("mul", real, sine), run("mul", imaginary, cosine))
    return run("concat", first, _reversed(second, axis, size - half, size - half), axis=axis)


def _third(x: Tensor, axis: int, scale: float) -> Tensor:
    """`_second` backwards."""
    size = x.shape[axis]
    half = size // 2 + 1
    zero = filled(0.0, (*x.shape[:axis], 1, *x.shape[axis + 1 :]), x.dtype)
    here = sliced(x, axis, 0, half) if size > 1 else x
    there = run("concat", zero, _reversed(x, axis, size - 1, half - 1), axis=axis) if half > 1 else zero
    angles = np.pi * np.arange(half) / (2 * size)
    cosine, sine = (_along(function(angles), x, axis) for function in (np.cos, np.sin))
    spectrum = _pairs(
        run("add", run("mul", here, cosine), run("mul", there, sine)),
        run("sub", run("mul", here, sine), run("mul", there, cosine)),
    )
    y = transform("irfft", spectrum, axis, n=size, scale=scale)
    count = (size + 1) // 2
    if size == 1:
        return y
    return _alternating(sliced(y, axis, 0, count), _reversed(y, axis, size - 1, size // 2), axis, size)


def _fourth(x: Tensor, axis: int, scale: float) -> Tensor:
    """Type 4: from the Fourier transform of N / 2 complex numbers x[2 n] + i x[N - 1 - 2 n], with twiddle
    factors before and after. For odd N: the odd elements of type 2 of twice the size."""
    size = x.shape[axis]
    if size % 2:
        return sliced(_second(resized(x, axis, 2 * size), axis, scale), axis, 1, size, 2)
    half = size // 2
    even, odd = sliced(x, axis, 0, half, 2), sliced(x, axis, size - 1, half, -2)
    places = np.arange(half)
    real, imaginary = _turned(even, odd, np.pi * (4 * places + 1) / (4 * size), axis)
    spectrum = transform("fft", _pairs(real, imaginary), axis, inverse=False, scale=2.0 * scale)
    real, imaginary = _turned(_part(spectrum, 0), _part(spectrum, 1), np.pi * places / size, axis)
    return _alternating(real, run("neg", _reversed(imaginary, axis, half - 1, half)), axis, size)


def _turned(real: Tensor, imaginary: Tensor, angles: NDArray[np.float64], axis: int) -> tuple[Tensor, Tensor]:
    """Complex numbers times exp(-i angle)."""
    cosine, sine = (_along(function(angles), real, axis) for function in (np.cos, np.sin))
    return (
        run("add", run("mul", real, cosine), run("mul", imaginary, sine)),
        run("sub", run("mul", imaginary, cosine), run("mul", real, sine)),
    )
