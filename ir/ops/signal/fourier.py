"""Discrete Fourier transforms along one axis.

Complex numbers are pairs: an array of them has a last axis of size 2, the real and the imaginary parts. With
``w = exp(-2 pi i / n)`` for an axis of n elements, and nothing scaled but by the attribute `scale`,

    fft     y[k] = scale sum_j x[j] w^(j k), with w^-(j k) if `inverse`
    rfft    the same of real x, for k = 0 ... n // 2; the others are their conjugates
    irfft   y[j] = scale sum_k x[k] w^-(j k) over all k, from those of k = 0 ... n // 2

`irfft` takes the first element, and for even n the last one, as real numbers, whatever their imaginary parts.
All others stand for two: the attribute `interior` multiplies those of the result of `rfft`, and those of the
operand of `irfft`. As maps of pairs all are linear, and so the gradients are transforms: the transpose of
`fft` is the other direction, those of `rfft` and `irfft` are each other, with another `interior`.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ....base.errors import DTypeError, ShapeError
from ...dtypes import FLOAT32, FLOAT64
from ...graph import Instruction
from ...registry import Attrs, Kind
from ...transforms.batching import batch_axes
from ...types import Shape, TensorType, normalize_axis
from ..define import define

#: Lines of fewer complex elements, or of other numbers of them than a multiple of 4, are computed several at
#: a time; longer ones in steps.
_MIN_ELEMENTS: Final = 32
_MAX_ELEMENTS: Final = 4096


def _axis_of(name: str, operand: TensorType, attrs: Attrs, *, pairs: bool) -> int:
    """The axis that is transformed, checked, of an `operand` of real numbers or of `pairs`."""
    if operand.dtype not in (FLOAT32, FLOAT64):
        raise DTypeError(f"{name}: expected an operand of float32 or float64, got {operand}")
    if pairs and operand.shape[-1:] != (2,):
        raise ShapeError(f"{name}: expected pairs, with a last axis of size 2, got {operand}")
    axis = normalize_axis(name, attrs["axis"], operand.ndim - pairs)
    if operand.shape[axis] == 0:
        raise ShapeError(f"{name}: axis {axis} of {operand} is empty")
    return axis


def _resized(shape: tuple[int, ...], axis: int, size: int) -> tuple[int, ...]:
    return (*shape[:axis], size, *shape[axis + 1 :])


def _fft_infer(types: tuple[TensorType, ...], attrs: Attrs) -> tuple[TensorType, ...]:
    _axis_of("fft", types[0], attrs, pairs=True)
    return (types[0],)


def _rfft_infer(types: tuple[TensorType, ...], attrs: Attrs) -> tuple[TensorType, ...]:
    axis = _axis_of("rfft", types[0], attrs, pairs=False)
    shape = types[0].shape
    return (types[0].with_shape((*_resized(shape, axis, shape[axis] // 2 + 1), 2)),)


def _irfft_infer(types: tuple[TensorType, ...], attrs: Attrs) -> tuple[TensorType, ...]:
    axis, n = _axis_of("irfft", types[0], attrs, pairs=True), attrs["n"]
    shape = types[0].shape[:-1]
    if n < 1 or n // 2 + 1 != shape[axis]:
        raise ShapeError(f"irfft: axis {axis} of {types[0]} must have n // 2 + 1 elements, of n = {n}")
    return (types[0].with_shape(_resized(shape, axis, n)),)


# -- lines ----------------------------------------------------------------------------------------


def batch_of_lines(transform: Instruction) -> Shape | None:
    """The shape of the batch of lines along the last axis that a transform works on; None where code for one
    line at a time is not at its best, or there is no more than one."""
    (x,), attrs, result = transform.operands, transform.attrs, transform.result
    is_complex = "inverse" in attrs
    shape = result.shape if "n" in attrs else x.shape[:-1] if is_complex else x.shape
    batch, size = shape[:-1], shape[-1]
    if attrs["axis"] != len(batch) or 0 in shape or all(count == 1 for count in batch):
        return None
    complex_size = size if is_complex or size % 2 else size // 2
    suits = complex_size >= _MIN_ELEMENTS and complex_size % 4 == 0 and size <= _MAX_ELEMENTS
    return batch if suits else None


# -- the NumPy meaning ----------------------------------------------------------------------------


def has_pairs(instruction: Instruction) -> bool:
    """Whether `instruction` is a transform of complex numbers, each a pair along the operand's last axis."""
    return instruction.op is FFT or instruction.op is IRFFT


def _complex(pairs: Any) -> Any:
    """`pairs` as complex numbers."""
    pairs = np.ascontiguousarray(pairs)
    return pairs.view(np.complex64 if pairs.dtype.itemsize == 4 else np.complex128)[..., 0]


def _pairs(values: Any, like: Any, scale: float) -> Any:
    """Complex `values` as pairs of the dtype of `like`."""
    scaled = values if scale == 1.0 else values * values.real.dtype.type(scale)
    return np.stack([scaled.real, scaled.imag], axis=-1).astype(like.dtype, copy=False)


def _fft_eval(x: Any, axis: int, inverse: bool, scale: float) -> Any:
    if x.size == 0:
        return np.zeros(x.shape, x.dtype)
    values = _complex(x)
    transformed = np.fft.ifft(values, axis=axis, norm="forward") if inverse else np.fft.fft(values, axis=axis)
    return _pairs(transformed, x, scale)


def _weighted(values: Any, axis: int, n: int, interior: float) -> Any:
    """Complex `values` times `interior`, but for those that stand for themselves alone: the first one, and
    for even n the last one."""
    if interior == 1.0:
        return values
    weights = np.ones(_resized((1,) * values.ndim, axis, n // 2 + 1), values.real.dtype)
    np.moveaxis(weights, axis, 0)[1 : (n + 1) // 2] = interior
    return values * weights


def _rfft_eval(x: Any, axis: int, scale: float, interior: float) -> Any:
    n = x.shape[axis]
    if x.size == 0:
        return np.zeros((*_resized(x.shape, axis, n // 2 + 1), 2), x.dtype)
    return _pairs(_weighted(np.fft.rfft(x, axis=axis), axis, n, interior), x, scale)


def _irfft_eval(x: Any, axis: int, n: int, scale: float, interior: float) -> Any:
    if x.size == 0:
        return np.zeros(_resized(x.shape[:-1], axis, n), x.dtype)
    values = np.fft.irfft(_weighted(_complex(x), axis, n, interior), n, axis=axis, norm="forward")
    return (values * x.dtype.type(scale)).astype(x.dtype, copy=False)


# -- gradients ------------------------------------------------------------------------------------


def _rfft_rule(b: Any, ct: Any, x_type: TensorType, axis: int, scale: float, interior: float) -> Any:
    return b.irfft(ct, axis=axis, n=x_type.shape[axis], scale=scale, interior=0.5 * interior)


def _irfft_rule(b: Any, ct: Any, axis: int, n: int, scale: float, interior: float) -> Any:
    return b.rfft(ct, axis=axis, scale=scale, interior=2.0 * interior)


_PLAIN: Final = {"interior": 1.0}

FFT = define(
    "fft", Kind.FOURIER, "x",
    doc="`scale` times the discrete Fourier transform of pairs along `axis`, with exp(+2 pi i j k / n) if "
    "`inverse`",
    attrs={"axis": (int,), "inverse": (bool,), "scale": (float,)}, infer=_fft_infer, eval=_fft_eval,
    vjp={"x": lambda b, ct, axis, inverse, scale: b.fft(ct, axis=axis, inverse=not inverse, scale=scale)},
    batch=batch_axes,
)  # fmt: skip
RFFT = define(
    "rfft", Kind.FOURIER, "x",
    doc="`scale` times the first n // 2 + 1 elements, as pairs, of the discrete Fourier transform of real "
    "numbers along `axis`; those that stand for two times `interior`",
    attrs={"axis": (int,), "scale": (float,), "interior": (float,)}, defaults=_PLAIN, infer=_rfft_infer,
    eval=_rfft_eval, vjp={"x": _rfft_rule}, batch=batch_axes,
)  # fmt: skip
IRFFT = define(
    "irfft", Kind.FOURIER, "x",
    doc="`scale` times the n real numbers that the discrete Fourier transform with exp(+2 pi i j k / n) "
    "makes of pairs along `axis`, the first n // 2 + 1 of which are there; those that stand for two times "
    "`interior`",
    attrs={"axis": (int,), "n": (int,), "scale": (float,), "interior": (float,)}, defaults=_PLAIN,
    infer=_irfft_infer, eval=_irfft_eval, vjp={"x": _irfft_rule}, batch=batch_axes,
)  # fmt: skip
