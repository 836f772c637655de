"""Transforms along several axes, one after the other."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, TypeAlias

from ..base.errors import ArgumentError, DomainError
from ..ir.types import Shape
from ..tensors.tensor import Tensor
from .pairs import (
    as_complex,
    as_pairs,
    as_real,
    complex_line,
    line_axis,
    real_line,
    real_result_line,
    result_in,
    scale_of,
    size_of,
)

#: An axis, and how many elements are transformed along it.
_Line: TypeAlias = tuple[int, int]


def _lines(name: str, shape: Shape, s: Any, axes: Any, *, to_real: bool = False) -> list[_Line]:
    """The axes to transform, with sizes; -1 is the size that there is. Without `s`, the last axis of a
    transform `to_real` has twice as many elements as there are intervals."""
    sizes = [] if s is None else [_integer(name, "s", size) for size in _sequence(name, "s", s)]
    if axes is not None:
        places = [line_axis(name, axis, len(shape)) for axis in _sequence(name, "axes", axes)]
    elif s is None:
        places = list(range(len(shape)))
    else:
        places = [line_axis(name, axis, len(shape)) for axis in range(-len(sizes), 0)]
    if s is None:
        sizes = [shape[place] for place in places]
        if to_real and places:
            sizes[-1] = 2 * (shape[places[-1]] - 1)
    if len(sizes) != len(places):
        raise DomainError(f"{name}: s and axes must have the same length, got {len(sizes)} and {len(places)}")
    lines = []
    for place, size in zip(places, sizes, strict=True):
        lines.append((place, size_of(name, None if size == -1 else size, shape[place], "s")))
    return lines


def _sequence(name: str, parameter: str, values: Any) -> Sequence[Any]:
    try:
        return [operator.index(values)]
    except TypeError:
        pass
    try:
        return list(values)
    except TypeError as error:
        raise ArgumentError(f"{name}: {parameter} must be integers, got {values!r}") from error


def _integer(name: str, parameter: str, value: Any) -> int:
    """A size; None is the one that there is."""
    try:
        return -1 if value is None else operator.index(value)
    except TypeError as error:
        raise ArgumentError(f"{name}: {parameter} must be integers, got {value!r}") from error


def _along(name: str, pairs: Tensor, lines: Sequence[_Line], norm: Any, *, inverse: bool) -> Tensor:
    """Complex transforms along all `lines`, the last one first."""
    for place, size in reversed(lines):
        pairs = complex_line(pairs, place, size, scale_of(name, norm, size, inverse=inverse), inverse=inverse)
    return pairs


def _complex(name: str, a: Any, s: Any, axes: Any, norm: Any, *, inverse: bool) -> Tensor:
    pairs = as_pairs(a)
    lines = _lines(name, pairs.shape[:-1], s, axes)
    scale_of(name, norm, 1, inverse=inverse)  # complains where there are no axes, too
    return as_complex(_along(name, pairs, lines, norm, inverse=inverse))


def _from_real(name: str, a: Any, s: Any, axes: Any, norm: Any) -> Tensor:
    x = as_real(name, a)
    lines = _lines(name, x.shape, s, axes)
    if not lines:
        raise DomainError(f"{name}: expected at least one axis")
    place, size = lines[-1]
    pairs = real_line(x, place, size, scale_of(name, norm, size, inverse=False))
    return as_complex(_along(name, pairs, lines[:-1], norm, inverse=False))


def _to_real(name: str, a: Any, s: Any, axes: Any, norm: Any) -> Tensor:
    pairs = as_pairs(a)
    lines = _lines(name, pairs.shape[:-1], s, axes, to_real=True)
    if not lines:
        raise DomainError(f"{name}: expected at least one axis")
    place, size = lines[-1]
    pairs = _along(name, pairs, lines[:-1], norm, inverse=True)
    return real_result_line(a, pairs, place, size, scale_of(name, norm, size, inverse=True))


def fftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None, out: Any = None) -> Tensor:
    """The transform along `axes`; without them along all axes, or the last ones where `s` has their sizes.

    Example:
        >>> import tracejit as tj
        >>> tj.fft.fftn([[1.0, 2.0], [3.0, 4.0]])
        tensor([[10.+0.j, -2.+0.j],
                [-4.+0.j,  0.+0.j]])

    Sizes -1 are those that there are. Other arguments and errors are those of ``fft``. Semantics:
    ``numpy.fft.fftn``.
    """
    return result_in("fft.fftn", out, _complex("fft.fftn", a, s, axes, norm, inverse=False))


def ifftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None, out: Any = None) -> Tensor:
    """The inverse of ``fftn``.

    Example:
        >>> import tracejit as tj
        >>> tj.fft.ifftn([[10.0, -2.0], [-4.0, 0.0]])
        tensor([[1.+0.j, 2.+0.j],
                [3.+0.j, 4.+0.j]])

    Arguments and errors are those of ``fftn``. Semantics: ``numpy.fft.ifftn``.
    """
    return result_in("fft.ifftn", out, _complex("fft.ifftn", a, s, axes, norm, inverse=True))


def fft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None, out: Any = None) -> Tensor:
    """The transform along two axes, the last two.

    Example:
        >>> import tracejit as tj
        >>> tj.fft.fft2([[1.0, 2.0], [3.0, 4.0]])
        tensor([[10.+0.j, -2.+0.j],
                [-4.+0.j,  0.+0.j]])

    Arguments and errors are those of ``fftn``. Semantics: ``numpy.fft.fft2``.
    """
    return result_in("fft.fft2", out, _complex("fft.fft2", a, s, axes, norm, inverse=False))


def ifft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None, out: Any = None) -> Tensor:
    """The inverse of ``fft2``.

    Example:
        >>> import tracejit as tj
        >>> tj.fft.ifft2([[10.0, -2.0], [-4.0, 0.0]])
        tensor([[1.+0.j, 2.+0.j],
                [3.+0.j, 4.+0.j]])

    Arguments and errors are those of ``fftn``. Semantics: ``numpy.fft.ifft2``.
    """
    return result_in("fft.ifft2", out, _complex("fft.ifft2", a, s, axes, norm, inverse=True))


def rfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None, out: Any = None) -> Tensor:
    """The transform of real `a` along all `axes`, of which the last one has the first half of its elements.

    Example:
        >>> import tracejit as tj
        >>> tj.fft.rfftn([[1.0, 2.0], [3.0, 4.0]])
        tensor([[10.+0.j, -2.+0.j],
                [-4.+0.j,  0.+0.j]])

    Raises DTypeError for complex `a`, else as ``fftn``. Semantics: ``numpy.fft.rfftn``.
    """
    return result_in("fft.rfftn", out, _from_real("fft.rfftn", a, s, axes, norm))


def irfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None, out: Any = None) -> Tensor:
    """The inverse of ``rfftn``, of which `s` has the sizes of the result.

    Example:
        >>> import tracejit as tj
        >>> tj.fft.irfftn([[10.0, -2.0], [-4.0, 0.0]])
        tensor([[1., 2.],
                [3., 4.]])

    Arguments and errors are those of ``fftn``. Semantics: ``numpy.fft.irfftn``.
    """
    return result_in("fft.irfftn", out, _to_real("fft.irfftn", a, s, axes, norm))


def rfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None, out: Any = None) -> Tensor:
    """The transform of real `a` along two axes, the last two.

    Example:
        >>> import tracejit as tj
        >>> tj.fft.rfft2([[1.0, 2.0], [3.0, 4.0]])
        tensor([[10.+0.j, -2.+0.j],
                [-4.+0.j,  0.+0.j]])

    Arguments and errors are those of ``rfftn``. Semantics: ``numpy.fft.rfft2``.
    """
    return result_in("fft.rfft2", out, _from_real("fft.rfft2", a, s, axes, norm))


def irfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None, out: Any = None) -> Tensor:
    """The inverse of ``rfft2``.

    Example:
        >>> import tracejit as tj
        >>> tj.fft.irfft2([[10.0, -2.0], [-4.0, 0.0]])
        tensor([[1., 2.],
                [3., 4.]])

    Arguments and errors are those of ``irfftn``. Semantics: ``numpy.fft.irfft2``.
    """
    return result_in("fft.irfft2", out, _to_real("fft.irfft2", a, s, axes, norm))
