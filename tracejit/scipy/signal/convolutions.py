"""Convolutions: sums of products where they are few, by Fourier transforms where they are many."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from ...array.numerical.reals import conj
from ...array.operands import as_tensor, cast, floating, promoted_arrays, reshaped, run, sliced
from ...array.rearranging import flip
from ...base.errors import DomainError, ShapeError
from ...fft.several_axes import fftn, ifftn, irfftn, rfftn
from ...ir.dtypes import BOOL, is_complex, is_inexact
from ...ir.types import Shape, normalize_axis
from ...tensors.tensor import Tensor
from ..fft.sizes import next_fast_len

_MODES: Final = ("full", "valid", "same")
_METHODS: Final = ("auto", "direct", "fft")
#: The cost of one step of a transform per element, in multiply-adds of a direct sum; see
#: `_is_cheaper_by_transforms`.
_STEP: Final = 3.0
#: Direct convolutions are of lines and of images.
_MAX_AXES: Final = 2


def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Tensor:
    """The convolution of two arrays of the same rank along `axes`, or all axes, by Fourier transforms.

    With `mode` ``full`` it has all elements in which the arrays overlap, with ``same`` as many as `in1` of
    those in the middle, with ``valid`` those in which one array lies within the other. Axes that are not
    convolved have equal sizes, or size 1.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.signal.fftconvolve([1.0, 2.0, 3.0], [0.0, 1.0, 0.5]).round(6) + 0.0
        tensor([0. , 1. , 2.5, 4. , 1.5])

    Raises ShapeError where the arrays do not fit, DomainError for another mode. Semantics:
    ``scipy.signal.fftconvolve``.
    """
    name = "scipy.signal.fftconvolve"
    x, y = (floating(operand) for operand in promoted_arrays(in1, in2))
    _check(name, x, y, mode)
    if x.ndim == 0:
        return run("mul", x, y)
    if axes is None:
        places = tuple(range(x.ndim))
    else:
        entries = axes if isinstance(axes, (tuple, list)) else [axes]
        places = tuple(sorted({normalize_axis(name, axis, x.ndim) for axis in entries}))
    if not places:
        raise DomainError(f"{name}: axes must not be empty")
    for axis in set(range(x.ndim)) - set(places):
        if x.shape[axis] != y.shape[axis] and 1 not in (x.shape[axis], y.shape[axis]):
            raise ShapeError(f"{name}: shapes {x.shape} and {y.shape} differ along axis {axis}, not in axes")
    if mode == "valid":
        x, y = _ordered(name, x, y, places)
    return _cut(_by_transforms(x, y, places), x.shape, y.shape, places, mode)


def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Tensor:
    """The convolution of two arrays of the same rank, by `method` ``direct``, ``fft``, or with ``auto`` by
    what is faster.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.signal.convolve([1.0, 2.0, 3.0], [0.0, 1.0, 0.5], mode="same")
        tensor([1. , 2.5, 4. ])

    Modes are those of ``fftconvolve``. Integers stay integers. Raises ShapeError where the arrays do not fit,
    DomainError for another mode or method. Semantics: ``scipy.signal.convolve``.
    """
    return _convolved("scipy.signal.convolve", in1, in2, mode, method)


def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Tensor:
    """The sums of in1[n + k] conj(in2[n]) over n, for every k that `mode` names as in ``convolve``.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.signal.correlate([1.0, 2.0, 3.0], [0.0, 1.0, 0.5])
        tensor([0.5, 2. , 3.5, 3. , 0. ])

    Arguments and errors are those of ``convolve``. Semantics: ``scipy.signal.correlate``.
    """
    y = as_tensor(in2)
    y = conj(y) if is_complex(y.dtype) else y
    return _convolved("scipy.signal.correlate", in1, flip(y) if y.ndim else y, mode, method)


def choose_conv_method(in1: Any, in2: Any, mode: str = "full") -> str:
    """The method that ``convolve`` uses by itself: ``direct`` or ``fft``.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.signal.choose_conv_method(tj.ones(10), tj.ones(3))
        'direct'

    Semantics: ``scipy.signal.choose_conv_method``, with costs of the code here.
    """
    x, y = promoted_arrays(in1, in2)
    _check("scipy.signal.choose_conv_method", x, y, mode)
    return "fft" if _is_cheaper_by_transforms(x, y, mode) else "direct"


def _convolved(name: str, in1: Any, in2: Any, mode: Any, method: Any) -> Tensor:
    x, y = promoted_arrays(in1, in2)
    _check(name, x, y, mode)
    if method not in _METHODS:
        raise DomainError(f"{name}: method must be 'auto', 'direct' or 'fft', got {method!r}")
    if x.ndim == 0:
        return run("mul", x, y)
    axes = tuple(range(x.ndim))
    if mode == "valid":
        x, y = _ordered(name, x, y, axes)
    if method == "auto":
        method = "fft" if _is_cheaper_by_transforms(x, y, mode) else "direct"
    if method == "direct" and x.ndim <= _MAX_AXES:
        return _direct(x, y, mode)
    dtype = x.dtype
    result = _cut(_by_transforms(floating(x), floating(y), axes), x.shape, y.shape, axes, mode)
    return result if is_inexact(dtype) else cast(run("rint", result), dtype)


def _check(name: str, x: Tensor, y: Tensor, mode: Any) -> None:
    if mode not in _MODES:
        raise DomainError(f"{name}: mode must be 'full', 'valid' or 'same', got {mode!r}")
    if x.ndim != y.ndim:
        raise ShapeError(f"{name}: in1 and in2 must have the same rank, got shapes {x.shape} and {y.shape}")
    if 0 in x.shape or 0 in y.shape:
        raise ShapeError(f"{name}: in1 and in2 must have elements, got shapes {x.shape} and {y.shape}")


def _ordered(name: str, x: Tensor, y: Tensor, axes: Sequence[int]) -> tuple[Tensor, Tensor]:
    """The two, the larger one first. Raises ShapeError where neither lies within the other."""
    if all(x.shape[axis] >= y.shape[axis] for axis in axes):
        return x, y
    if all(x.shape[axis] <= y.shape[axis] for axis in axes):
        return y, x
    raise ShapeError(
        f"{name}: with mode 'valid' one array must be as large as the other along every axis, got shapes "
        f"{x.shape} and {y.shape}"
    )


def _is_cheaper_by_transforms(x: Tensor, y: Tensor, mode: str) -> bool:
    """Whether three transforms take less time than all products. Integers are exact by products alone."""
    if x.ndim > _MAX_AXES:
        return True
    if not is_inexact(x.dtype):
        return False
    full = [a + b - 1 for a, b in zip(x.shape, y.shape, strict=True)]
    sizes = {
        "full": full,
        "same": x.shape,
        "valid": [abs(a - b) + 1 for a, b in zip(x.shape, y.shape, strict=True)],
    }
    products = math.prod(sizes[mode]) * min(math.prod(x.shape), math.prod(y.shape))
    elements = math.prod(full)
    return products > _STEP * 3 * elements * math.log2(elements + 1)


def _direct(x: Tensor, y: Tensor, mode: str) -> Tensor:
    """Sums of products, of lines or of images."""
    dtype, shape = x.dtype, x.shape
    if dtype is BOOL:
        x, y = run("cast", x, dtype=as_tensor(0).dtype), run("cast", y, dtype=as_tensor(0).dtype)
    image = reshaped(x, (1, 1, *(1,) * (2 - x.ndim), *x.shape))
    kernel = reshaped(flip(y), (1, 1, *(1,) * (2 - y.ndim), *y.shape))
    reach = kernel.shape[2:]
    before = {"full": [size - 1 for size in reach], "same": [size // 2 for size in reach], "valid": [0, 0]}[
        mode
    ]
    behind = {
        "full": [size - 1 for size in reach], "same": [(size - 1) // 2 for size in reach], "valid": [0, 0],
    }[mode]  # fmt: skip
    padding = (before[0], behind[0], before[1], behind[1])
    sums = run("convolve", image, kernel, stride=(1, 1), padding=padding, dilation=(1, 1))
    return cast(reshaped(sums, sums.shape[4 - len(shape) :]), dtype)


def _by_transforms(x: Tensor, y: Tensor, axes: Sequence[int]) -> Tensor:
    """The full convolution along `axes`."""
    sizes = [x.shape[axis] + y.shape[axis] - 1 for axis in axes]
    if is_complex(x.dtype):
        fast = [next_fast_len(size) for size in sizes]
        whole = ifftn(run("mul", fftn(x, fast, axes), fftn(y, fast, axes)), fast, axes)
    else:
        fast = [next_fast_len(size, real=True) for size in sizes]
        whole = irfftn(run("mul", rfftn(x, fast, axes), rfftn(y, fast, axes)), fast, axes)
    for axis, size in zip(axes, sizes, strict=True):
        whole = sliced(whole, axis, 0, size)
    return whole


def _cut(full: Tensor, first: Shape, second: Shape, axes: Sequence[int], mode: str) -> Tensor:
    """The middle of a full convolution of arrays of two shapes."""
    for axis in axes if mode != "full" else ():
        size = first[axis] if mode == "same" else first[axis] - second[axis] + 1
        full = sliced(full, axis, (full.shape[axis] - size) // 2, size)
    return full
