"""Results of ops along a line that repeats one element.

argsort(c, c, ...)  =  0, 1, ...
sort(c, c, ...)     =  c, c, ...           and cummax, cummin
cumsum(c, c, ...)   =  c, 2 c, 3 c, ...
cumprod(c, c, ...)  =  c, c^2, c^3, ...
fft(c, c, ...)      =  n c, 0, 0, ...      of n elements, and rfft
irfft(c, c, ...)    =  Re c irfft(1, 1, ...) + Im c irfft(i, i, ...)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from ....builder import Builder
from ....dtypes import FLOAT64, INT64
from ....graph import Instruction, Value
from ....types import Shape

#: ``rule(b, attrs, value, shape, axis)``: the result, where `value`, with one element along `axis`, is
#: repeated to `shape`; None where it does not follow.
_Rule = Callable[[Any, Mapping[str, Any], Value, Shape, int], Any]


def along_constant_line(
    b: Builder, instruction: Instruction, value: Value, shape: Shape, axis: int
) -> Value | None:
    """The result of `instruction`, whose operand is `value` repeated to `shape` along `axis` and others; None
    where it does not follow from the element."""
    rule = _RULES.get(instruction.op.name)
    return rule(b, instruction.attrs, value, shape, axis) if rule is not None else None


def _counts(b: Any, attrs: Mapping[str, Any], shape: Shape, axis: int) -> Value:
    """The number of elements of each running fold."""
    count = b.iota(shape=shape, axis=axis, dtype=INT64)
    result: Value = b.sub(shape[axis], count) if attrs["reverse"] else b.add(count, 1)
    return result


def _argsort(b: Any, attrs: Mapping[str, Any], value: Value, shape: Shape, axis: int) -> Any:
    return b.iota(shape=shape, axis=axis, dtype=INT64)


def _same(b: Any, attrs: Mapping[str, Any], value: Value, shape: Shape, axis: int) -> Any:
    return b.broadcast_to(value, shape)


def _cumsum(b: Any, attrs: Mapping[str, Any], value: Value, shape: Shape, axis: int) -> Any:
    if value.dtype.kind == "b":
        return None
    return b.mul(b.broadcast_to(value, shape), b.cast(_counts(b, attrs, shape, axis), dtype=value.dtype))


def _cumprod(b: Any, attrs: Mapping[str, Any], value: Value, shape: Shape, axis: int) -> Any:
    """Powers. Those of floating numbers are taken in float64, which has all counts: a rounded one may be even
    where it was odd. Those of integers are products of squares of squares, which overflow as they do."""
    counts, dtype = _counts(b, attrs, shape, axis), value.dtype
    if dtype.kind == "f":
        base = b.broadcast_to(b.cast(value, dtype=FLOAT64), shape)
        return b.cast(b.pow(base, b.cast(counts, dtype=FLOAT64)), dtype=dtype)
    if dtype.kind not in "iu":
        return None
    power = b.broadcast_to(b.scalar(1, dtype), shape)
    for bit in range(shape[axis].bit_length()):
        has_bit = b.ne(b.bitwise_and(counts, 1 << bit), 0)
        power = b.where(has_bit, b.mul(power, b.broadcast_to(value, shape)), power)
        value = b.mul(value, value)
    return power


def _fft(b: Any, attrs: Mapping[str, Any], value: Value, shape: Shape, axis: int) -> Any:
    """The sum in the first place; elsewhere 0, but of infinities and NaN, which make all of it NaN."""
    first, rest = _spectrum(b, value, shape[axis] * attrs["scale"])
    return _followed(b, first, rest, axis, shape[axis])


def _rfft(b: Any, attrs: Mapping[str, Any], value: Value, shape: Shape, axis: int) -> Any:
    first, rest = _spectrum(b, b.reshape(value, shape=(*value.shape, 1)), shape[axis] * attrs["scale"])
    pair = b.concat(first, rest, axis=len(shape))
    return _followed(b, pair, b.broadcast_to(rest, pair.shape), axis, shape[axis] // 2 + 1)


def _irfft(b: Any, attrs: Mapping[str, Any], value: Value, shape: Shape, axis: int) -> Any:
    """The real and the imaginary part times what is made of lines of 1 and of i."""
    result = (*shape[:axis], attrs["n"], *shape[axis + 1 : -1])
    along = tuple([size if place == axis else 1 for place, size in enumerate(result)])
    terms = []
    for part in range(2):
        halves = [
            b.full(value=float(part == place), shape=(shape[axis], 1), dtype=value.dtype)
            for place in range(2)
        ]
        unit = b.irfft(b.concat(*halves, axis=1), **{**attrs, "axis": 0})
        size = (*value.shape[:-1], 1)
        start = (*[0] * (len(size) - 1), part)
        own = b.slice(value, start=start, size=size, step=(1,) * len(size))
        factors = b.reshape(own, shape=value.shape[:-1]), b.reshape(unit, shape=along)
        terms.append(b.mul(*[b.broadcast_to(factor, result) for factor in factors]))
    return b.add(*terms)


def _spectrum(b: Any, value: Value, scale: float) -> tuple[Value, Value]:
    """`scale` times `value`, and 0 times it."""
    return b.mul(value, b.scalar(scale, value.dtype)), b.mul(value, b.scalar(0.0, value.dtype))


def _followed(b: Any, first: Value, rest: Value, axis: int, size: int) -> Any:
    """`size` elements along `axis`: `first`, and the others `rest`."""
    shape = (*rest.shape[:axis], size - 1, *rest.shape[axis + 1 :])
    return b.concat(first, b.broadcast_to(rest, shape), axis=axis)


_RULES: Final[Mapping[str, _Rule]] = {
    "argsort": _argsort, "sort": _same, "cummax": _same, "cummin": _same, "cumsum": _cumsum,
    "cumprod": _cumprod, "fft": _fft, "rfft": _rfft, "irfft": _irfft,
}  # fmt: skip
