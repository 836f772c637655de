"""Transforms along one axis."""

from __future__ import annotations

from typing import Any

from ..array.numerical.reals import conj
from ..array.operands import as_tensor, run
from ..ir.dtypes import is_complex
from ..tensors.tensor import Tensor
from .pairs import (
    as_complex,
    as_pairs,
    as_real,
    complex_line,
    line_axis,
    opposite,
    real_line,
    real_result_line,
    result_in,
    scale_of,
    size_of,
)


def _complex(name: str, a: Any, n: Any, axis: Any, norm: Any, *, inverse: bool) -> Tensor:
    pairs = as_pairs(a)
    place = line_axis(name, axis, pairs.ndim - 1)
    size = size_of(name, n, pairs.shape[place])
    return as_complex(
        complex_line(pairs, place, size, scale_of(name, norm, size, inverse=inverse), inverse=inverse)
    )


def fft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None, out: Any = None) -> Tensor:
    """The discrete Fourier transform ``sum_j a[j] exp(-2 pi i j k / n)`` along `axis`.

    With `n`, of the first n elements, or with zeros behind them. `norm` divides by n where it is ``forward``,
    by its root where it is ``ortho``. The result is complex64 for float32 and complex64, else complex128.

    Example:
        >>> import tracejit as tj
        >>> tj.fft.fft([1.0, 0.0, -1.0, 0.0])
        tensor([0.+0.j, 2.+0.j, 0.+0.j, 2.+0.j])

    Raises DomainError for a norm or a size that there is not, AxisError for such an axis. Semantics:
    ``numpy.fft.fft``.
    """
    return result_in("fft.fft", out, _complex("fft.fft", a, n, axis, norm, inverse=False))


def ifft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None, out: Any = None) -> Tensor:
    """The inverse of ``fft``: ``sum_k a[k] exp(2 pi i j k / n) / n`` along `axis`.

    Example:
        >>> import tracejit as tj
        >>> tj.fft.ifft([0.0, 2.0, 0.0, 2.0])
        tensor([ 1.+0.j,  0.+0.j, -1.+0.j,  0.+0.j])

    Arguments and errors are those of ``fft``. Semantics: ``numpy.fft.ifft``.
    """
    return result_in("fft.ifft", out, _complex("fft.ifft", a, n, axis, norm, inverse=True))


def rfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None, out: Any = None) -> Tensor:
    """The first n // 2 + 1 elements of the transform of real `a` along `axis`; the others are their
    conjugates.

    Example:
        >>> import tracejit as tj
        >>> tj.fft.rfft([1.0, 0.0, -1.0, 0.0])
        tensor([0.+0.j, 2.+0.j, 0.+0.j])

    Raises DTypeError for complex `a`, else as ``fft``. Semantics: ``numpy.fft.rfft``.
    """
    x = as_real("fft.rfft", a)
    place = line_axis("fft.rfft", axis, x.ndim)
    size = size_of("fft.rfft", n, x.shape[place])
    return result_in(
        "fft.rfft",
        out,
        as_complex(real_line(x, place, size, scale_of("fft.rfft", norm, size, inverse=False))),
    )


def _real_result(name: str, a: Any, n: Any, axis: Any, norm: Any) -> Tensor:
    pairs = as_pairs(a)
    place = line_axis(name, axis, pairs.ndim - 1)
    size = size_of(name, n, 2 * (pairs.shape[place] - 1))
    return real_result_line(a, pairs, place, size, scale_of(name, norm, size, inverse=True))


def irfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None, out: Any = None) -> Tensor:
    """The inverse of ``rfft``: `n` real numbers along `axis`, without `n` twice as many as intervals in `a`.

    The imaginary parts of the first element, and for even `n` of the last one, count as 0.

    Example:
        >>> import tracejit as tj
        >>> tj.fft.irfft([0.0, 2.0, 0.0])
        tensor([ 1.,  0., -1.,  0.])

    Arguments and errors are those of ``fft``. Semantics: ``numpy.fft.irfft``.
    """
    return result_in("fft.irfft", out, _real_result("fft.irfft", a, n, axis, norm))


def hfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None, out: Any = None) -> Tensor:
    """The transform, which is real, of a signal whose second half mirrors its first, `a`, in conjugates.

    Example:
        >>> import tracejit as tj
        >>> tj.fft.hfft([1.0, 2.0, 3.0])
        tensor([ 8., -2.,  0., -2.])

    Arguments and errors are those of ``fft``. Semantics: ``numpy.fft.hfft``.
    """
    x = as_tensor(a)
    return result_in(
        "fft.hfft",
        out,
        _real_result("fft.hfft", conj(x) if is_complex(x.dtype) else x, n, axis, opposite(norm)),
    )


def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None, out: Any = None) -> Tensor:
    """The inverse of ``hfft``: the first half of the inverse transform of real `a`.

    Example:
        >>> import tracejit as tj
        >>> tj.fft.ihfft([8.0, -2.0, 0.0, -2.0])
        tensor([1.-0.j, 2.-0.j, 3.-0.j])

    Raises DTypeError for complex `a`, else as ``fft``. Semantics: ``numpy.fft.ihfft``.
    """
    x = as_real("fft.ihfft", a)
    place = line_axis("fft.ihfft", axis, x.ndim)
    size = size_of("fft.ihfft", n, x.shape[place])
    scale = scale_of("fft.ihfft", opposite(norm), size, inverse=False)
    return result_in("fft.ihfft", out, run("conj", as_complex(real_line(x, place, size, scale))))
