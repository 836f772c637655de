"""Cosine and sine transforms of types 1 to 4, and their inverses."""

from __future__ import annotations

import math
import operator
from typing import Any, Final

import numpy as np

from ...array.operands import constant_of, reshaped, run, sliced
from ...base.errors import DomainError
from ...fft.pairs import as_complex, as_inexact, line_axis, resized, scale_of, size_of, transform
from ...ir.dtypes import is_complex
from ...tensors.tensor import Tensor
from .cosines import cosines

#: The type of the transform back.
_INVERSE: Final = {1: 1, 2: 3, 3: 2, 4: 4}


def dct(
    x: Any,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    *,
    orthogonalize: bool | None = None,
) -> Tensor:
    """The cosine transform of `type` 1 to 4 along `axis`, of `n` elements.

    With ``norm="ortho"``, and unless `orthogonalize` is False, its matrix is orthogonal.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.fft.dct([1.0, 1.0, 1.0], norm="ortho").round(6) + 0.0
        tensor([1.732051, 0.      , 0.      ])

    Raises DomainError for a type, a norm or a size that there is not. Semantics: ``scipy.fft.dct``.
    """
    return _transform("scipy.fft.dct", x, type, n, axis, norm, orthogonalize, sine=False, inverse=False)


def idct(
    x: Any,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    *,
    orthogonalize: bool | None = None,
) -> Tensor:
    """The inverse of ``dct``.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.fft.idct(tj.scipy.fft.dct([1.0, 2.0, 4.0])).round(6)
        tensor([1., 2., 4.])

    Arguments and errors are those of ``dct``. Semantics: ``scipy.fft.idct``.
    """
    return _transform("scipy.fft.idct", x, type, n, axis, norm, orthogonalize, sine=False, inverse=True)


def dst(
    x: Any,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    *,
    orthogonalize: bool | None = None,
) -> Tensor:
    """The sine transform of `type` 1 to 4 along `axis`, of `n` elements.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.fft.dst([1.0, 0.0], type=1).round(6)
        tensor([1.732051, 1.732051])

    Arguments and errors are those of ``dct``. Semantics: ``scipy.fft.dst``.
    """
    return _transform("scipy.fft.dst", x, type, n, axis, norm, orthogonalize, sine=True, inverse=False)


def idst(
    x: Any,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    *,
    orthogonalize: bool | None = None,
) -> Tensor:
    """The inverse of ``dst``.

    Example:
        >>> import tracejit as tj
        >>> tj.scipy.fft.idst(tj.scipy.fft.dst([1.0, 2.0, 4.0])).round(6)
        tensor([1., 2., 4.])

    Arguments and errors are those of ``dct``. Semantics: ``scipy.fft.idst``.
    """
    return _transform("scipy.fft.idst", x, type, n, axis, norm, orthogonalize, sine=True, inverse=True)


def _transform(
    name: str, x: Any, kind: Any, n: Any, axis: Any, norm: Any, orthogonalize: bool | None, *,
    sine: bool, inverse: bool,
) -> Tensor:  # fmt: skip
    kind = operator.index(kind)
    if kind not in _INVERSE:
        raise DomainError(f"{name}: type must be 1, 2, 3 or 4, got {kind}")
    kind = _INVERSE[kind] if inverse else kind
    x = as_inexact(x)
    place = line_axis(name, axis, x.ndim)
    size = size_of(name, n, x.shape[place])
    if kind == 1 and not sine and size < 2:
        raise DomainError(f"{name}: type 1 needs at least 2 elements, got {size}")
    # type 1 is a Fourier transform of that many elements, and the others of as many
    period = 2 * (size + (0 if kind != 1 else 1 if sine else -1))
    scale = scale_of(name, norm, period, inverse=inverse)
    x = resized(x, place, size)
    parts = run("view_as_real", x) if is_complex(x.dtype) else x
    orthogonal = norm == "ortho" if orthogonalize is None else orthogonalize
    y = (_sines if sine else _cosines)(parts, kind, place, scale, orthogonal)
    return as_complex(y) if is_complex(x.dtype) else y


def _cosines(x: Tensor, kind: int, axis: int, scale: float, orthogonal: bool) -> Tensor:
    ends = {1: (0, -1), 2: (0,), 3: (0,), 4: ()}[kind]
    if orthogonal and kind != 2:
        x = _scaled(x, axis, ends, math.sqrt(2.0))
    y = cosines(x, kind, axis, scale)
    return _scaled(y, axis, ends, math.sqrt(0.5)) if orthogonal and kind != 3 else y


def _sines(x: Tensor, kind: int, axis: int, scale: float, orthogonal: bool) -> Tensor:
    """Types 2 to 4 are cosine transforms of elements in reverse order, or with alternating signs."""
    size = x.shape[axis]
    if orthogonal and kind == 3:
        x = _scaled(x, axis, (-1,), math.sqrt(2.0))
    if kind == 1:
        y = _first(x, axis, scale)
    elif kind == 2:
        y = sliced(cosines(_alternated(x, axis), 2, axis, scale), axis, size - 1, size, -1)
    else:
        y = _alternated(cosines(sliced(x, axis, size - 1, size, -1), kind, axis, scale), axis)
    return _scaled(y, axis, (-1,), math.sqrt(0.5)) if orthogonal and kind == 2 else y


def _first(x: Tensor, axis: int, scale: float) -> Tensor:
    """Type 1: the Fourier transform of the odd extension, which is imaginary."""
    size = x.shape[axis]
    zero = run("full", value=0.0, shape=(*x.shape[:axis], 1, *x.shape[axis + 1 :]), dtype=x.dtype)
    mirrored = run("neg", sliced(x, axis, size - 1, size, -1))
    extended = run("concat", zero, x, zero, mirrored, axis=axis)
    spectrum = sliced(transform("rfft", extended, axis, scale=-scale), axis, 1, size)
    return reshaped(sliced(spectrum, x.ndim, 1, 1), x.shape)


def _alternated(x: Tensor, axis: int) -> Tensor:
    """`x` with the signs of odd elements along `axis` changed."""
    signs = np.where(np.arange(x.shape[axis]) % 2, -1.0, 1.0)
    return _times(x, axis, signs)


def _scaled(x: Tensor, axis: int, places: tuple[int, ...], factor: float) -> Tensor:
    """`x` with elements at some `places` along `axis` times `factor`."""
    factors = np.ones(x.shape[axis])
    factors[list(places)] = factor
    return _times(x, axis, factors) if places else x


def _times(x: Tensor, axis: int, factors: Any) -> Tensor:
    shape = tuple(len(factors) if place == axis else 1 for place in range(x.ndim))
    return run("mul", x, reshaped(constant_of(factors.astype(x.dtype)), shape))
