"""Fourier transforms of many sizes, batches and dtypes, and deconvolutions made of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from ..libraries import Library
from ..workload import Function, Workload
from .inputs import generator

SIZES: Final = (64, 256, 1000, 1024, 1009, 4096)
#: Dtypes of operands, with their bytes and the largest difference.
_DTYPES: Final = {
    "c128": (np.complex128, 16, 1e-12),
    "c64": (np.complex64, 8, 1e-5),
    "f64": (np.float64, 8, 1e-12),
    "f32": (np.float32, 4, 1e-5),
}
_STEPS: Final = 10


def _lines(lib: Library, dtype: str, *shape: int) -> Function:
    return lib.np.fft.fft if dtype[0] == "c" else lib.np.fft.rfft  # type: ignore[no-any-return]


def _images(lib: Library, dtype: str, *shape: int) -> Function:
    return lib.np.fft.fft2 if dtype[0] == "c" else lib.np.fft.rfft2  # type: ignore[no-any-return]


def _operand(dtype: str, *shape: int) -> tuple[Any, ...]:
    kind, rng = _DTYPES[dtype][0], generator()
    real = rng.standard_normal(shape)
    return ((real + 1j * rng.standard_normal(shape) if dtype[0] == "c" else real).astype(kind),)


def _transform(dtype: str, shape: tuple[int, ...], *, images: bool = False) -> Workload:
    sizes = "x".join(map(str, shape))
    axes = "2-d transform" if images else "transforms along the last axis"
    _, nbytes, tolerance = _DTYPES[dtype]
    transformed = math.prod(shape) if images else shape[-1]
    return Workload(
        f"{'fft2' if images else 'fft'}-{dtype}-{sizes}",
        f"{axes} of {sizes} {dtype}",
        _images if images else _lines,
        _operand,
        sizes=(dtype, *shape),
        tiny=(dtype, *[min(size, 6) for size in shape]),
        tolerance=tolerance,
        traffic=lambda dtype, *shape: 2 * nbytes * math.prod(shape),
        work=lambda dtype, *shape: (
            (5.0 if dtype[0] == "c" else 2.5) * math.prod(shape) * math.log2(transformed)
        ),
        unit="f64" if dtype in ("c128", "f64") else "f32",
        goal=1.5 if max(shape) > SIZES[-1] else 1.0,
    )


def _all_transforms() -> Iterator[Workload]:
    for dtype in _DTYPES:
        for size in SIZES:
            for count in (1, 256):
                yield _transform(dtype, (count, size))
        yield _transform(dtype, (1, 1 << 20))
        yield _transform(dtype, (512, 512), images=True)


# -- deconvolution --------------------------------------------------------------------------------


def _wiener(lib: Library, size: int) -> Function:
    """Sum of squared errors of an image restored by Wiener's filter: the inverse of a blur where that is not
    noise."""
    fft = lib.np.fft

    def loss(blur: Any, image: Any, truth: Any) -> Any:
        response = fft.rfft2(blur)
        power = lib.np.abs(response) ** 2
        restored = fft.irfft2(fft.rfft2(image) * lib.np.conj(response) / (power + 0.01))
        return ((restored - truth) ** 2).sum()

    return loss


def _richardson_lucy(lib: Library, size: int) -> Function:
    """Some steps of Richardson and Lucy's iteration, and how far they come."""
    fft = lib.np.fft

    def loss(blur: Any, image: Any, truth: Any) -> Any:
        response = fft.rfft2(blur)
        estimate = image * 0.0 + 0.5
        for _ in range(_STEPS):
            blurred = fft.irfft2(fft.rfft2(estimate) * response)
            estimate = estimate * fft.irfft2(fft.rfft2(image / (blurred + 0.01)) * lib.np.conj(response))
        return ((estimate - truth) ** 2).sum()

    return loss


def _blurred(size: int) -> tuple[Any, ...]:
    """A blur around the first pixel, a blurred image, and the image."""
    rng = generator()
    truth = rng.random((size, size))
    distance = np.minimum(np.arange(size), size - np.arange(size))
    blur = np.exp(-0.5 * (distance[:, None] ** 2 + distance[None] ** 2) / 4.0)
    blur /= blur.sum()
    image = np.fft.irfft2(np.fft.rfft2(truth) * np.fft.rfft2(blur), s=(size, size))
    return blur, image, truth


WORKLOADS: Final = (
    *_all_transforms(),
    Workload(
        "wiener-grad",
        "Wiener deconvolution of 512x512 f64: value, and gradient by the blur",
        _wiener,
        _blurred,
        sizes=(512,),
        tiny=(8,),
        gradient=(0,),
        tolerance=1e-9,
        goal=2.0,
    ),
    Workload(
        "richardson-lucy-grad",
        f"{_STEPS} steps of Richardson-Lucy deconvolution of 512x512 f64: value, and gradient by the blur",
        _richardson_lucy,
        _blurred,
        sizes=(512,),
        tiny=(8,),
        gradient=(0,),
        tolerance=1e-9,
        goal=2.0,
    ),
)
