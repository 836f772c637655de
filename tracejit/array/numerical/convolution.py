"""Convolutions and correlations of lines."""

from __future__ import annotations

from typing import Any

from ...base.errors import DomainError, ShapeError
from ...ir.dtypes import BOOL, INT64
from ...tensors.tensor import Tensor
from ..operands import cast, conjugated, promoted_arrays, reshaped, run
from ..rearranging import flip


def _padding(name: str, mode: Any, kernel: int) -> tuple[int, int]:
    """Zeros before and behind the longer line of what NumPy calls `mode`."""
    if mode in ("full", 2):
        return kernel - 1, kernel - 1
    if mode in ("same", 1):
        return kernel // 2, kernel - 1 - kernel // 2
    if mode in ("valid", 0):
        return 0, 0
    raise DomainError(f"{name}: mode must be 'full', 'same' or 'valid', got {mode!r}")


def _correlated(name: str, x: Tensor, w: Tensor, mode: Any) -> Tensor:
    """The sums of `x` moved along the line `w`, which is not longer."""
    padding = _padding(name, mode, w.shape[0])
    dtype = x.dtype
    if dtype is BOOL:
        x, w = cast(x, INT64), cast(w, INT64)
    images, kernels = reshaped(x, (1, 1, 1, x.shape[0])), reshaped(w, (1, 1, 1, w.shape[0]))
    sums = run("convolve", images, kernels, stride=(1, 1), padding=(0, 0, *padding), dilation=(1, 1))
    return cast(reshaped(sums, (sums.shape[-1],)), dtype)


def _lines(name: str, x: Any, y: Any) -> list[Tensor]:
    lines = promoted_arrays(x, y)
    lines = [reshaped(line, (1,)) if line.ndim == 0 else line for line in lines]
    for line in lines:
        if line.ndim != 1:
            raise ShapeError(f"{name}: expected lines of rank 1, got shape {line.shape}")
        if line.shape[0] == 0:
            raise ShapeError(f"{name}: a line is empty")
    return lines


def convolve(x: Any, y: Any, mode: str = "full") -> Tensor:
    """The sums of x[i] y[k - i] over i, for every k: all of them with `mode` ``full``, as many as the longer
    line has elements with ``same``, and only those where the lines overlap altogether with ``valid``.

    Example:
        >>> import tracejit as tj
        >>> tj.convolve([1, 2, 3], [0, 1, 0.5])
        tensor([0. , 1. , 2.5, 4. , 1.5])

    Raises ShapeError unless both are lines with elements. Semantics: ``numpy.convolve``.
    """
    long, short = _lines("convolve", x, y)
    if long.shape[0] < short.shape[0]:
        long, short = short, long
    return _correlated("convolve", long, flip(short), mode)


def correlate(x: Any, y: Any, mode: str = "valid") -> Tensor:
    """The sums of x[i + k] y[i] over i, or its conjugate, for every k that `mode` names as in ``convolve``.

    Example:
        >>> import tracejit as tj
        >>> tj.correlate([1, 2, 3], [0, 1, 0.5], "full")
        tensor([0.5, 2. , 3.5, 3. , 0. ])

    Raises ShapeError unless both are lines with elements. Semantics: ``numpy.correlate``.
    """
    first, second = _lines("correlate", x, y)
    second = conjugated(second)
    if first.shape[0] >= second.shape[0]:
        return _correlated("correlate", first, second, mode)
    return flip(_correlated("correlate", second, first, mode))
