"""Convolution of images in groups: an op whose gradients are convolutions again.

    y[n, g, o, r, q] = sum over c, i, j of x[n, g, c, r s + i d - p, q s' + j d' - p'] w[g, o, c, i, j]

with stride s, dilation d and padding p per axis, and zeros outside of x. Groups are an axis of their own, so
that exchanging axes of the operands is all that the gradients need; without that axis there is one group.
Where a kernel is infinite or NaN, whether it meets the zeros outside is open: native code passes over rows of
a kernel that see nothing else. The gradients:

- to w: the images are what was summed over and the other way round; stride and dilation change places.
- to x: the kernels turned around, over the cotangent. With a stride, the elements of x are read by different
  elements of the kernels, by their place modulo the stride (their *phase*): one convolution for each phase.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, TypeAlias

import numpy as np

from ....base.errors import ShapeError
from ...registry import Attrs, Kind
from ...types import TensorType, Types
from ..define import define, in_float32

Pair: TypeAlias = tuple[int, int]


def _spatial(x: tuple[int, ...], w: tuple[int, ...], attrs: Attrs) -> tuple[int, ...]:
    """The sizes of the result's last two axes; 0 or less where a kernel is larger than the padded image."""
    return tuple(
        (size + sum(_around(attrs["padding"], axis)) - apart * (extent - 1) - 1) // step + 1
        for axis, (size, extent, step, apart) in enumerate(
            zip(x[-2:], w[-2:], attrs["stride"], attrs["dilation"], strict=True)
        )
    )


def _around(padding: tuple[int, ...], axis: int) -> Pair:
    return padding[2 * axis], padding[2 * axis + 1]


def _convolve_infer(types: Types, attrs: Attrs) -> Types:
    x, w = types
    stride, padding, dilation = attrs["stride"], attrs["padding"], attrs["dilation"]
    fits = x.ndim == w.ndim in (4, 5) and x.shape[1:-3] == w.shape[:-4] and x.shape[-3] == w.shape[-3]
    if not fits or 0 in w.shape[-3:] or x.dtype is not w.dtype:
        raise ShapeError(
            "convolve: expected x (images, [groups,] channels, rows, columns) and w ([groups,] outputs, "
            f"channels, kernel rows, kernel columns) of one dtype, got {x} and {w}"
        )
    if not (len(stride) == len(dilation) == 2 and len(padding) == 4 and min(*stride, *dilation) >= 1):
        raise ShapeError(
            "convolve: stride and dilation must be two positive integers and padding four, got "
            f"stride={stride}, padding={padding}, dilation={dilation}"
        )
    size = _spatial(x.shape, w.shape, attrs)
    if min(size) < 1:
        raise ShapeError(f"convolve: the kernels of {w} are larger than the padded images of {x}")
    return (x.with_shape((*x.shape[:-3], w.shape[-4], *size)),)


def _padded(x: Any, padding: tuple[int, ...]) -> Any:
    """`x` with zeros around its last two axes, or without what lies there where a padding is negative."""
    if not any(padding):
        return x
    sizes = [size + sum(_around(padding, axis)) for axis, size in enumerate(x.shape[-2:])]
    result: Any = np.zeros((*x.shape[:-2], *sizes), x.dtype)
    kept: list[slice] = []
    place: list[slice] = []
    for axis, (size, whole) in enumerate(zip(x.shape[-2:], sizes, strict=True)):
        before = padding[2 * axis]
        first, last = max(0, -before), max(0, -before, min(size, whole - before))
        kept.append(slice(first, last))
        place.append(slice(first + before, last + before))
    result[(..., *place)] = x[(..., *kept)]
    return result


@in_float32
def _convolve_eval(x: Any, w: Any, stride: Pair, padding: tuple[int, ...], dilation: Pair) -> Any:
    """A matrix product for each element of the kernels or, where these are large, for each of the result."""
    if x.ndim == 4:
        return _convolve_eval(x[:, None], w[None], stride, padding, dilation)[:, 0]
    attrs = {"stride": stride, "padding": padding, "dilation": dilation}
    images, groups, channels = x.shape[:3]
    outputs, kernel, size = w.shape[1], w.shape[3:], _spatial(x.shape, w.shape, attrs)
    x = _padded(x, padding)
    result = np.zeros((images, groups, outputs, *size), x.dtype)
    if 0 in result.shape:
        return result
    if math.prod(kernel) <= math.prod(size):
        flat = result.reshape(images, groups, outputs, -1)
        for i, j in np.ndindex(*kernel):
            view = x[(..., *_every((i, j), dilation, size, stride))]
            flat += np.matmul(w[..., i, j], view.reshape(images, groups, channels, -1))
        return result
    factors = w.reshape(groups, outputs, -1).swapaxes(1, 2)
    for r, q in np.ndindex(*size):
        view = x[(..., *_every((r, q), stride, kernel, dilation))]
        rows = view.swapaxes(0, 1).reshape(groups, images, -1)
        result[..., r, q] = np.matmul(rows, factors).swapaxes(0, 1)
    return result


def _every(at: Pair, step: Pair, count: tuple[int, ...], by: Pair) -> tuple[slice, ...]:
    """Slices of `count` elements `by` apart, from `at` steps on."""
    starts = [number * far for number, far in zip(at, step, strict=True)]
    return tuple(
        slice(start, start + (size - 1) * apart + 1, apart)
        for start, size, apart in zip(starts, count, by, strict=True)
    )


# -- gradients ------------------------------------------------------------------------------------


def _zeros(b: Any, like: TensorType) -> Any:
    return b.full(value=0.0, shape=like.shape, dtype=like.dtype)


def _exchanged(b: Any, x: Any, perm: tuple[int, ...]) -> Any:
    """`x` with its axes but the last two permuted: `perm` is for three of them, images or groups among them;
    without groups there are two, which change places."""
    return b.transpose(x, perm=(*perm, 3, 4) if len(x.shape) == 5 else (1, 0, 2, 3))


def w_rule(
    b: Any, ct: Any, x: Any, w_type: TensorType, stride: Pair, padding: tuple[int, ...], dilation: Pair
) -> Any:
    """The gradient to the kernels."""
    if 0 in (*ct.shape, *w_type.shape):
        return _zeros(b, w_type)
    around: list[int] = []
    for axis in (0, 1):
        before = padding[2 * axis]
        # as far as the kernels reach, and no farther: what a stride leaves over takes no part
        reach = (ct.shape[axis - 2] - 1) * stride[axis] + (w_type.shape[axis - 2] - 1) * dilation[axis] + 1
        around += [before, reach - x.shape[axis - 2] - before]
    images, kernels = _exchanged(b, x, (2, 1, 0)), _exchanged(b, ct, (1, 2, 0))
    result = b.convolve(images, kernels, stride=dilation, padding=tuple(around), dilation=stride)
    return _exchanged(b, result, (1, 2, 0))


class _Phase:
    """The elements of an axis of x from `start` on, a stride apart: which elements of the kernels, the first
    and how far apart, reach them, and how far apart the cotangents are that those bring."""

    def __init__(self, start: int, size: int, kernel: int, step: int, apart: int, before: int) -> None:
        common = math.gcd(apart, step)
        self.every, self.dilation = step // common, apart // common
        self.size = len(range(start, size, step))
        at = start + before
        first = next((i for i in range(self.every) if (i * apart - at) % step == 0), kernel)
        self.first, self.count = first, len(range(first, kernel, self.every))
        self.lead = (first * apart - at) // step + (self.count - 1) * self.dilation

    def around(self, cotangents: int) -> Pair:
        """The padding with which the cotangents give the elements."""
        return self.lead, self.size - cotangents - self.lead + (self.count - 1) * self.dilation


def x_rule(
    b: Any, ct: Any, w: Any, x_type: TensorType, stride: Pair, padding: tuple[int, ...], dilation: Pair
) -> Any:
    """The gradient to the images."""
    if 0 in (*ct.shape, *w.shape, *x_type.shape):
        return _zeros(b, x_type)
    phases = [
        [
            _Phase(start, x_type.shape[axis - 2], w.shape[axis - 2], step, apart, padding[2 * axis])
            for start in range(step)
        ]
        for axis, (step, apart) in enumerate(zip(stride, dilation, strict=True))
    ]
    if stride == (1, 1):
        return _of_phase(b, ct, w, (phases[0][0], phases[1][0]))
    whole = _zeros(b, x_type)
    for (r, down), (q, right) in itertools.product(*map(enumerate, phases)):
        if 0 not in (down.count, down.size, right.count, right.size):
            part = _of_phase(b, ct, w, (down, right))
            lead = len(x_type.shape) - 2
            whole = b.update(whole, part, start=(0,) * lead + (r, q), step=(1,) * lead + stride)
    return whole


def _of_phase(b: Any, ct: Any, w: Any, phase: tuple[_Phase, _Phase]) -> Any:
    """The gradient to the elements of x of one phase."""
    lead = w.shape[:-2]
    turned = b.slice(
        w,
        start=(*(0 for _ in lead), *(taps.first + (taps.count - 1) * taps.every for taps in phase)),
        size=(*lead, *(taps.count for taps in phase)),
        step=(*(1 for _ in lead), *(-taps.every for taps in phase)),
    )
    kernels = _exchanged(b, turned, (0, 2, 1))
    around = tuple(number for axis in (0, 1) for number in phase[axis].around(ct.shape[axis - 2]))
    by = tuple(taps.dilation for taps in phase)
    return b.convolve(ct, kernels, stride=(1, 1), padding=around, dilation=by)


# -- batching -------------------------------------------------------------------------------------


def _convolve_batch(b: Any, instruction: Any, operands: Any, mapped: Any, size: int) -> Any:
    """Examples are more images, more outputs where the kernels alone differ, and groups where both do."""
    x, w = operands
    op, attrs = instruction.op, instruction.attrs
    shape = instruction.result.shape
    if not mapped[1]:
        result = b.apply(op, (b.reshape(x, shape=(size * x.shape[1], *x.shape[2:])), w), attrs)
        return [b.reshape(result, shape=(size, *shape))]
    if not mapped[0]:
        *groups, outputs, channels, rows, columns = w.shape[1:]
        w = b.transpose(w, perm=(1, 0, *range(2, len(w.shape)))) if groups else w
        w = b.reshape(w, shape=(*groups, size * outputs, channels, rows, columns))
        result = b.reshape(b.apply(op, (x, w), attrs), shape=(*shape[:-3], size, *shape[-3:]))
        lead = len(shape) - 3
        perm = (lead, *range(lead), *range(lead + 1, len(shape) + 1))
        return [b.transpose(result, perm=perm)]
    images, *groups, channels, rows, columns = x.shape[1:]
    many = size * math.prod(groups)
    x = b.transpose(x, perm=(1, 0, *range(2, len(x.shape))))
    x = b.reshape(x, shape=(images, many, channels, rows, columns))
    w = b.reshape(w, shape=(many, *w.shape[-4:]))
    result = b.reshape(b.apply(op, (x, w), attrs), shape=(images, size, *shape[1:]))
    return [b.transpose(result, perm=(1, 0, *range(2, len(shape) + 1)))]


CONVOLVE = define(
    "convolve", Kind.CONVOLUTION, "x w",
    doc="cross-correlation of images x (n, [groups,] channels, h, w) with kernels w ([groups,] outputs, "
    "channels, kh, kw); `padding` counts zeros above, below, left and right, and negative ones cut",
    attrs={"stride": (tuple,), "padding": (tuple,), "dilation": (tuple,)},
    infer=_convolve_infer, eval=_convolve_eval, vjp={"x": x_rule, "w": w_rule}, batch=_convolve_batch,
)  # fmt: skip
