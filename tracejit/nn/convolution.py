"""Convolutions (cross-correlations, as in all of deep learning): PyTorch's arguments for the op ``convolve``.

Where each channel is a group of its own there is no sum over channels to share what is read: these are sums
of products of shifted views, which fusion makes one loop nest of.
"""

from __future__ import annotations

import operator
from typing import Any

from ..array.assembly.padding import pad
from ..array.operands import promoted, reshaped, run, sliced
from ..base.errors import DomainError, ShapeError, TracejitError
from ..tensors.tensor import Tensor


def numbers(name: str, what: str, value: Any, count: int, least: int) -> tuple[int, ...]:
    """`value`, an int or one for each of `count` axes, as ints of at least `least`."""
    each = value if isinstance(value, (tuple, list)) else (value,)
    try:
        result = tuple(operator.index(number) for number in each)
    except TracejitError:
        raise  # a traced integer says itself what is wrong
    except TypeError as error:
        raise DomainError(f"{name}: {what} must be integers, got {value!r}") from error
    result = result * count if len(result) == 1 else result
    if len(result) != count or min(result) < least:
        raise DomainError(
            f"{name}: {what} must be an int or {count} ints, of at least {least}, got {value!r}"
        )
    return result


def batched(name: str, x: Tensor, count: int, layout: str) -> Tensor:
    """`x` with a batch axis of 1 where it has none. It must have channels and `count` spatial axes."""
    if x.ndim == count + 1:
        return run("reshape", x, shape=(1, *x.shape))
    if x.ndim != count + 2:
        raise ShapeError(
            f"{name}: expected x of shape {layout}, with or without the batch axis, got {x.shape}"
        )
    return x


def tap(x: Tensor, start: tuple[int, int], size: tuple[int, int], step: tuple[int, int]) -> Tensor:
    """`size` elements of the last two axes from `start`, `step` apart."""
    lead = x.ndim - 2
    if start == (0, 0) and step == (1, 1) and size == x.shape[lead:]:
        return x
    # the start of nothing must be inside all the same
    begin = start if size[0] and size[1] else (0, 0)
    return run("slice", x, start=(0,) * lead + begin, size=x.shape[:lead] + size, step=(1,) * lead + step)


Pair = tuple[int, int]


def conv2d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: int | Pair = 1,
    padding: int | Pair | str = 0,
    dilation: int | Pair = 1,
    groups: int = 1,
) -> Tensor:
    """The cross-correlation of images `x` with the kernels `weight`, plus a `bias` per output channel.

    `x` is (N, C, H, W) or (C, H, W), `weight` (O, C / groups, kh, kw), `bias` (O,); the result (N, O, H', W')
    with H' = floor((H + 2 padding - dilation (kh - 1) - 1) / stride) + 1. `padding` adds zeros on both sides:
    an int, a pair, ``valid`` for none, or ``same`` for H' = H, which needs stride 1 (the larger part of an
    odd number comes last). `groups` splits input and output channels into independent parts.

    Example:
        >>> import tracejit as tj
        >>> tj.nn.conv2d(tj.ones((1, 1, 3, 3)), tj.ones((1, 1, 2, 2)))
        tensor([[[[4., 4.],
                  [4., 4.]]]])

    Whether an infinite or NaN kernel meets the zeros of the padding, and makes NaN of them, is open.

    Raises ShapeError for shapes that do not fit or a kernel larger than the padded input, DomainError for
    other arguments out of range. Semantics: ``torch.nn.functional.conv2d``.
    """
    return _convolution("conv2d", 2, x, weight, bias, stride, padding, dilation, groups)


def conv1d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: int = 1,
    padding: int | str = 0,
    dilation: int = 1,
    groups: int = 1,
) -> Tensor:
    """``conv2d`` over one axis: `x` is (N, C, L) or (C, L), `weight` (O, C / groups, k).

    Example:
        >>> import tracejit as tj
        >>> tj.nn.conv1d([[1.0, 2.0, 4.0]], [[[-1.0, 1.0]]])
        tensor([[1., 2.]])

    Errors as in ``conv2d``. Semantics: ``torch.nn.functional.conv1d``.
    """
    return _convolution("conv1d", 1, x, weight, bias, stride, padding, dilation, groups)


def _convolution(
    name: str,
    rank: int,
    x: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Tensor:
    x, weight, *rest = promoted(x, weight) if bias is None else promoted(x, weight, bias)
    single = x.ndim == rank + 1
    x = batched(name, x, rank, "(N, C, H, W)" if rank == 2 else "(N, C, L)")
    _check_channels(name, rank, x, weight, groups)
    if rest and rest[0].shape != weight.shape[:1]:
        raise ShapeError(f"{name}: expected a bias of shape {weight.shape[:1]}, got {rest[0].shape}")
    steps = numbers(name, "stride", stride, rank, 1)
    apart = numbers(name, "dilation", dilation, rank, 1)
    extents = [step * (size - 1) + 1 for step, size in zip(apart, weight.shape[2:], strict=True)]
    widths = _widths(name, padding, steps, extents)
    for size, extent, (before, after) in zip(x.shape[2:], extents, widths, strict=True):
        if size + before + after < extent:
            raise ShapeError(
                f"{name}: the kernel covers {extents} elements, more than the input of {list(x.shape[2:])} "
                f"padded by {widths}; use a larger padding or a smaller kernel"
            )
    # a step beyond the last place makes one window, as does one to it
    steps = tuple(
        min(step, size + sum(both)) for step, size, both in zip(steps, x.shape[2:], widths, strict=True)
    )
    if rank == 1:
        x, weight = (
            run("reshape", array, shape=(*array.shape[:2], 1, array.shape[2])) for array in (x, weight)
        )
        steps, apart, widths = (1, *steps), (1, *apart), [(0, 0), *widths]
    result = _images(x, weight, steps, apart, widths, groups)
    if rest:
        result = run("add", result, reshaped(rest[0], (rest[0].size, 1, 1)))
    if rank == 1:
        result = reshaped(result, (*result.shape[:2], result.shape[3]))
    return reshaped(result, result.shape[1:]) if single else result


def _check_channels(name: str, rank: int, x: Tensor, weight: Tensor, groups: int) -> None:
    kernel = "(O, C / groups, kh, kw)" if rank == 2 else "(O, C / groups, k)"
    if weight.ndim != rank + 2 or 0 in weight.shape[1:]:
        raise ShapeError(f"{name}: expected a weight of shape {kernel}, got {weight.shape}")
    channels, outputs = x.shape[1], weight.shape[0]
    if not isinstance(groups, int) or groups < 1:
        raise DomainError(f"{name}: groups must be a positive int, got {groups!r}")
    if channels % groups or outputs % groups:
        raise ShapeError(
            f"{name}: groups={groups} must divide the {channels} channels of x and the "
            f"{outputs} of the weight"
        )
    if weight.shape[1] * groups != channels:
        raise ShapeError(
            f"{name}: x has {channels} channels, so with groups={groups} the weight {kernel} must have "
            f"{channels // groups} in axis 1, got {weight.shape}"
        )


def _widths(name: str, padding: Any, steps: tuple[int, ...], extents: list[int]) -> list[Pair]:
    """Numbers of zeros before and after each spatial axis."""
    if padding == "valid":
        padding = 0
    if padding == "same":
        if any(step != 1 for step in steps):
            raise DomainError(f"{name}: padding 'same' needs stride 1, got stride {steps}")
        return [((extent - 1) // 2, extent // 2) for extent in extents]
    if isinstance(padding, str):
        raise DomainError(f"{name}: padding must be integers, 'same' or 'valid', got {padding!r}")
    return [(number, number) for number in numbers(name, "padding", padding, len(extents), 0)]


def _images(
    x: Tensor,
    weight: Tensor,
    steps: tuple[int, ...],
    apart: tuple[int, ...],
    widths: list[Pair],
    groups: int,
) -> Tensor:
    """The convolution of (N, C, H, W) with (O, C / groups, kh, kw)."""
    batch, channels = x.shape[:2]
    outputs, _, *kernel = weight.shape
    size = tuple(
        (extent + sum(both) - (count - 1) * gap - 1) // step + 1
        for extent, both, count, gap, step in zip(x.shape[2:], widths, kernel, apart, steps, strict=True)
    )
    if groups > 1 and groups == channels:
        taps = [(i * apart[0], j * apart[1]) for i in range(kernel[0]) for j in range(kernel[1])]
        padded = pad(x, [(0, 0), (0, 0), *widths]) if any(map(any, widths)) else x
        return _one_by_one(padded, weight, taps, size, steps)  # type: ignore[arg-type]
    around = (*widths[0], *widths[1])
    if groups == 1:
        return run("convolve", x, weight, stride=steps, padding=around, dilation=apart)
    images = reshaped(x, (batch, groups, channels // groups, *x.shape[2:]))
    kernels = reshaped(weight, (groups, outputs // groups, *weight.shape[1:]))
    result = run("convolve", images, kernels, stride=steps, padding=around, dilation=apart)
    return reshaped(result, (batch, outputs, *size))


def _one_by_one(x: Tensor, weight: Tensor, taps: list[Pair], size: Pair, steps: tuple[int, ...]) -> Tensor:
    """Depthwise convolution as a sum of products over taps, since matrices of one row do not pay."""
    batch, channels = x.shape[:2]
    outputs = weight.shape[0]
    each = outputs // channels
    factors = reshaped(weight, (1, channels, each, len(taps), 1, 1))
    total: Tensor | None = None
    for number, start in enumerate(taps):
        image = reshaped(tap(x, start, size, steps), (batch, channels, 1, *size))  # type: ignore[arg-type]
        factor = reshaped(sliced(factors, 3, number, 1), (1, channels, each, 1, 1))
        product = run("mul", image, factor)
        total = product if total is None else run("add", total, product)
    assert total is not None
    return reshaped(total, (batch, outputs, *size))
