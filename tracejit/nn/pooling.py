"""Pooling: the maximum or the mean of each window, folded over strided slices of the padded input."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..array.assembly.padding import pad
from ..array.operands import as_tensor, constant_of, copied_from, floating, reshaped, run
from ..base.errors import DomainError, DTypeError, ShapeError
from ..ir.dtypes import BOOL
from ..tensors.tensor import Tensor
from .convolution import batched, numbers, tap

Pair = tuple[int, int]


def max_pool2d(
    x: Any,
    kernel_size: int | Pair,
    stride: int | Pair | None = None,
    padding: int | Pair = 0,
    dilation: int | Pair = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """The largest element of each window of `kernel_size`, NaN if any is NaN.

    The first of several largest has the gradient. `x` is (N, C, H, W) or (C, H, W). Windows are `stride` (by
    default `kernel_size`) apart; `padding` of at most half a window never wins. `ceil_mode` adds windows that
    begin inside but reach beyond the end.

    Example:
        >>> import tracejit as tj
        >>> tj.nn.max_pool2d([[[1.0, 2.0, 5.0], [4.0, 3.0, 0.0]]], (2, 2), stride=1)
        tensor([[[4., 5.]]])

    Raises ShapeError for a window larger than the padded input, DomainError for other arguments out of range,
    DTypeError for bools. Semantics: ``torch.nn.functional.max_pool2d``.
    """
    x = as_tensor(x)
    if x.dtype is BOOL:
        raise DTypeError("max_pool2d: expected numbers, got bools; convert with x.astype(tj.float32)")
    images = batched("max_pool2d", x, 2, "(N, C, H, W)")
    plan = _Windows("max_pool2d", images, kernel_size, stride, padding, dilation, ceil_mode=ceil_mode)
    lowest: Any = -math.inf if x.dtype.kind == "f" else int(np.iinfo(x.dtype).min)
    padded = plan.padded(images, lowest)
    first, *others = plan.taps(padded)
    for other in others:
        better = run("gt", other, first)
        if x.dtype.kind == "f":
            better = run("logical_or", better, run("isnan", other))
        first = run("where", better, other, first)
    return copied_from(x, first if x.ndim == 4 else reshaped(first, first.shape[1:]))


def avg_pool2d(
    x: Any,
    kernel_size: int | Pair,
    stride: int | Pair | None = None,
    padding: int | Pair = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window of `kernel_size`; integers give floats.

    Shapes and windows as in ``max_pool2d``. The zeros of `padding` count as elements unless
    `count_include_pad` is false; what `ceil_mode` reaches beyond them never does. `divisor_override` divides
    the sums in place of the counts.

    Example:
        >>> import tracejit as tj
        >>> tj.nn.avg_pool2d([[[1.0, 2.0, 5.0], [4.0, 3.0, 0.0]]], (2, 2), stride=1)
        tensor([[[2.5, 2.5]]])

    Raises ShapeError and DomainError as ``max_pool2d``. Semantics: ``torch.nn.functional.avg_pool2d``.
    """
    x = floating(x)
    images = batched("avg_pool2d", x, 2, "(N, C, H, W)")
    plan = _Windows("avg_pool2d", images, kernel_size, stride, padding, 1, ceil_mode=ceil_mode)
    if divisor_override is not None and (not isinstance(divisor_override, int) or divisor_override == 0):
        raise DomainError(
            f"avg_pool2d: divisor_override must be an int other than 0, got {divisor_override!r}"
        )
    total = _added_in_pairs(list(plan.taps(plan.padded(images, 0))))
    if divisor_override is not None:
        result = run("div", total, float(divisor_override))
    else:
        counts = plan.counts(include_padding=count_include_pad)
        same = counts.size and bool((counts == counts.flat[0]).all())
        divisor = float(counts.flat[0]) if same else constant_of(counts.astype(x.dtype))
        result = run("div", total, divisor)
    return result if x.ndim == 4 else reshaped(result, result.shape[1:])


def _added_in_pairs(terms: list[Tensor]) -> Tensor:
    """The sum of `terms`: of each half, added. Rounding grows with the depth of that."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return run("add", _added_in_pairs(terms[:half]), _added_in_pairs(terms[half:]))


class _Windows:
    """The windows of a pool over the last two axes."""

    def __init__(
        self, name: str, x: Tensor, kernel: Any, stride: Any, padding: Any, dilation: Any, *, ceil_mode: bool
    ) -> None:
        self.kernel = numbers(name, "kernel_size", kernel, 2, 1)
        self.stride = self.kernel if stride is None else numbers(name, "stride", stride, 2, 1)
        self.padding = numbers(name, "padding", padding, 2, 0)
        self.dilation = numbers(name, "dilation", dilation, 2, 1)
        self.sizes = x.shape[2:]
        self.extents = [gap * (size - 1) + 1 for gap, size in zip(self.dilation, self.kernel, strict=True)]
        if any(2 * width > extent for width, extent in zip(self.padding, self.extents, strict=True)):
            raise DomainError(
                f"{name}: padding must be at most half of the window of {self.extents} elements, got "
                f"{self.padding}"
            )
        self.result = tuple(self._count(axis, ceil_mode) for axis in range(2))
        if min(self.result) < 1:
            raise ShapeError(
                f"{name}: the window of {self.extents} elements is larger than the input of "
                f"{list(self.sizes)} padded by {self.padding}; use a smaller kernel_size"
            )

    def _count(self, axis: int, ceil_mode: bool) -> int:
        size, width, step = self.sizes[axis], self.padding[axis], self.stride[axis]
        room = size + 2 * width - self.extents[axis]
        if not ceil_mode:
            return room // step + 1
        count = -(-room // step) + 1
        # the last window must begin inside the input or the padding before it
        return count - 1 if (count - 1) * step >= size + width else count

    def padded(self, x: Tensor, value: Any) -> Tensor:
        """`x` with `value` around, as far as the windows reach."""
        both = []
        for axis in range(2):
            reach = (self.result[axis] - 1) * self.stride[axis] + self.extents[axis]
            both.append((self.padding[axis], max(reach - self.sizes[axis] - self.padding[axis], 0)))
        return pad(x, [(0, 0), (0, 0), *both], constant_values=value) if any(map(any, both)) else x

    def taps(self, padded: Tensor) -> list[Tensor]:
        """Elements of all windows at each place in the window, row by row."""
        rows, columns = self.kernel
        return [
            tap(padded, (i * self.dilation[0], j * self.dilation[1]), self.result, self.stride)  # type: ignore[arg-type]
            for i in range(rows)
            for j in range(columns)
        ]

    def counts(self, *, include_padding: bool) -> Any:
        """Number of elements in each window."""
        lines = []
        for axis in range(2):
            size, width = self.sizes[axis], self.padding[axis]
            begin = np.arange(self.result[axis]) * self.stride[axis] - width
            end = np.minimum(begin + self.extents[axis], size + width)
            if not include_padding:
                begin, end = np.maximum(begin, 0), np.minimum(end, size)
            lines.append(end - begin)
        return np.multiply.outer(*lines)
