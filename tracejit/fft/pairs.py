"""Transforms of pairs along one axis, resized and scaled as the public functions want it.

Pairs are real tensors whose last axis has the real and the imaginary parts (`ir.ops.signal.fourier`); `axis`
is one of those before it.
"""

from __future__ import annotations

import math
import operator
from typing import Any, Final

from ..array.memory_order import made_like
from ..array.operands import another, as_tensor, cast, filled, permuted, run, sliced, write_out
from ..base.errors import DomainError, DTypeError
from ..ir.dtypes import FLOAT16, FLOAT32, complex_dtype, default_dtype, is_complex, is_inexact
from ..ir.registry import OPS
from ..ir.types import as_shape, normalize_axis
from ..tensors.tensor import Tensor

#: Exponents e of the factor n**e of transforms of n elements, by norm: of the forward and the inverse one.
_NORMS: Final = {"backward": (0.0, -1.0), "ortho": (-0.5, -0.5), "forward": (-1.0, 0.0)}
#: Longer transforms along another axis than the last are made along that, by code that shares them among
#: threads.
_LONGEST_BESIDE: Final = 4096


def scale_of(name: str, norm: Any, size: int, *, inverse: bool) -> float:
    """The factor of transforms of `size` elements. Raises DomainError for what is no norm of NumPy's."""
    exponents = (
        _NORMS.get("backward" if norm is None else norm) if norm is None or type(norm) is str else None
    )
    if exponents is None:
        raise DomainError(f"{name}: norm must be 'backward', 'ortho' or 'forward', got {norm!r}")
    return math.pow(size, exponents[inverse])


def opposite(norm: Any) -> Any:
    """The norm that scales as `norm` does the other way."""
    return {None: "forward", "backward": "forward", "forward": "backward"}.get(norm, norm)


def size_of(name: str, n: Any, default: int, parameter: str = "n") -> int:
    """Number of elements that are transformed: `n`, or `default` where it is None."""
    try:
        size = default if n is None else operator.index(n)
    except TypeError as error:
        raise DTypeError(f"{name}: {parameter} must be an integer, got {n!r}") from error
    if size < 1:
        raise DomainError(f"{name}: {parameter} must be at least 1, got {size} data points")
    return as_shape(name, size)[0]


def line_axis(name: str, axis: Any, rank: int) -> int:
    """`axis` of an array of `rank`."""
    return normalize_axis(name, axis, rank)


def as_inexact(x: Any) -> Tensor:
    """`x` as a tensor of floats or complex numbers; integers of any size have the default dtype."""
    x = as_tensor(x)
    if x.dtype is FLOAT16:
        return cast(x, FLOAT32)
    return x if is_inexact(x.dtype) else cast(x, default_dtype())


def as_pairs(x: Any) -> Tensor:
    """`x`, or of a real one the same with imaginary parts 0, as pairs."""
    x = as_inexact(x)
    return run("view_as_real", cast(x, complex_dtype(x.dtype)))


def result_in(name: str, out: Any, result: Tensor) -> Tensor:
    """`result`, or `out` with it written there."""
    return result if out is None else write_out(name, out, result)


def as_complex(pairs: Tensor) -> Tensor:
    """Pairs as complex numbers."""
    result = run("view_as_complex", pairs)
    return another(result) if result.is_traced else result  # the array that NumPy makes, not a view


def resized(x: Tensor, axis: int, size: int) -> Tensor:
    """The first `size` elements along `axis`, with zeros behind where there are fewer."""
    missing = size - x.shape[axis]
    if missing <= 0:
        return sliced(x, axis, 0, size)
    zeros = filled(0.0, (*x.shape[:axis], missing, *x.shape[axis + 1 :]), x.dtype)
    return run("concat", x, zeros, axis=axis)


def transform(op: str, x: Tensor, axis: int, **attrs: Any) -> Tensor:
    """The op `op` along `axis`; along the last axis where it is long."""
    rank, attrs = x.ndim - (op != "rfft"), {**OPS[op].defaults, **attrs}
    if x.shape[axis] <= _LONGEST_BESIDE or math.prod(x.shape[axis + 1 : rank]) == 1:
        return run(op, x, axis=axis, **attrs)
    order = [*range(axis), *range(axis + 1, rank), axis]
    back = [order.index(place) for place in range(rank)]
    last = permuted(x, [*order, *range(rank, x.ndim)])
    result = run(op, last, axis=rank - 1, **attrs)
    return made_like(x, permuted(result, [*back, *range(rank, result.ndim)]))


def complex_line(pairs: Tensor, axis: int, size: int, scale: float, *, inverse: bool) -> Tensor:
    """The transform of pairs along `axis`, of `size` elements."""
    return transform("fft", resized(pairs, axis, size), axis, inverse=inverse, scale=scale)


def real_line(x: Tensor, axis: int, size: int, scale: float) -> Tensor:
    """The first half of the transform of real `x` along `axis`, of `size` elements, as pairs."""
    return transform("rfft", resized(x, axis, size), axis, scale=scale)


def real_result_line(a: Any, pairs: Tensor, axis: int, size: int, scale: float) -> Tensor:
    """The `size` real numbers along `axis` of whose transform `pairs` are the first half; in float16 where
    the argument `a` is."""
    result = transform("irfft", resized(pairs, axis, size // 2 + 1), axis, n=size, scale=scale)
    return cast(result, FLOAT16) if as_tensor(a).dtype is FLOAT16 else result


def as_real(name: str, x: Any) -> Tensor:
    """`x` as a floating tensor. Raises DTypeError where it is complex."""
    x = as_tensor(x)
    if is_complex(x.dtype):
        raise DTypeError(f"{name}: a must be real, got {x.dtype.name}; take tj.real of it, or use tj.fft.fft")
    return as_inexact(x)
