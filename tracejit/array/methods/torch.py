"""Methods of Tensor under PyTorch's names, where NumPy has none or another one.

There is one device; integers and floats of all widths but 16 bits and complex numbers exist.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from ...base.errors import ArgumentError, DomainError, DTypeError, ShapeError
from ...ir.dtypes import FLOAT16, FLOAT32, FLOAT64, DType, as_dtype, is_real_floating
from ...ir.types import normalize_axis
from ...tape.views import lies_in_order
from ...tensors.tensor import Tensor
from .. import contraction, creation, joining, manipulation, rearranging
from ..copying import in_order
from ..elementwise import floats
from ..indexing.taking import take, take_along_axis
from ..operands import as_tensor, cast, sliced
from ..ordering import sorting

_DEVICES: Final = ("cpu", "cuda", "mps", "xpu")


class TopK(NamedTuple):
    """The result of `topk`."""

    values: Tensor
    indices: Tensor


def topk(x: Any, k: int, axis: int = -1, largest: bool = True, sorted: bool = True) -> TopK:
    """The `k` largest elements along `axis`, the largest first, and where they are; or the smallest.

    Of equal elements the first ones count; NaN is larger than numbers. They are in order whatever `sorted`
    says.

    Example:
        >>> import tracejit as tj
        >>> tj.topk([3.0, 9.0, 1.0, 5.0], 2)
        TopK(values=tensor([9., 5.]), indices=tensor([1, 3]))

    Raises AxisError, and DomainError for a `k` that the axis does not have. Semantics: ``torch.topk``.
    """
    x = as_tensor(x)
    along = normalize_axis("topk", axis, x.ndim)
    if not isinstance(k, (int, np.integer)) or not 0 <= k <= x.shape[along]:
        raise DomainError(f"topk: k must be 0 to {x.shape[along]}, the size of axis {axis}; got {k!r}")
    order = sliced(sorting.argsort(x, along, descending=bool(largest)), along, 0, int(k))
    return TopK(take_along_axis(x, order, along), order)


def bmm(x: Any, y: Any) -> Tensor:
    """The products of the matrices of two stacks of rank 3.

    Example:
        >>> import tracejit as tj
        >>> tj.bmm(tj.ones((4, 2, 3)), tj.ones((4, 3, 5))).shape
        (4, 2, 5)

    Raises ShapeError. Semantics: ``torch.bmm``.
    """
    x, y = as_tensor(x), as_tensor(y)
    if x.ndim != 3 or y.ndim != 3 or x.shape[0] != y.shape[0]:
        raise ShapeError(f"bmm: expected shapes (b, m, k) and (b, k, n), got {x.shape} and {y.shape}")
    return contraction.matmul(x, y)


def _mm(x: Tensor, y: Any) -> Tensor:
    """The product of two matrices."""
    y = as_tensor(y)
    if x.ndim != 2 or y.ndim != 2:
        raise ShapeError(f"mm: expected two matrices, got shapes {x.shape} and {y.shape}")
    return contraction.matmul(x, y)


def _to(
    x: Tensor,
    target: Any = None,
    dtype: Any = None,
    *,
    device: Any = None,
    copy: bool = False,
    non_blocking: bool = False,
) -> Tensor:
    """`x` in another dtype: ``to(dtype)``, ``to(device)``, ``to(device, dtype)`` or ``to(other)``."""
    for name, place in (("target", target), ("device", device)):
        if isinstance(place, str) and place.split(":")[0] in _DEVICES:
            if place.split(":")[0] != "cpu":
                raise DomainError(f"to: {name} must be 'cpu', the only device there is; got {place!r}")
        elif place is not None and name == "device":
            raise ArgumentError(f"to: device must be 'cpu', got {place!r}")
        elif place is not None:
            dtype = place.dtype if isinstance(place, Tensor) else place
    try:
        chosen = x.dtype if dtype is None else as_dtype(dtype)
    except DTypeError as error:
        raise DTypeError(f"to: target must be a dtype, a device or a tensor: {error}") from error
    return cast(x, chosen, copy=bool(copy))


def _as(dtype: DType) -> Callable[[Tensor], Tensor]:
    def convert(x: Tensor) -> Tensor:
        return cast(x, dtype)

    convert.__doc__ = f"The elements in {dtype.name}."
    return convert


def _same(x: Tensor) -> Tensor:
    """`x`, which is on the only device there is."""
    return x


def _expand(x: Tensor, *sizes: Any) -> Tensor:
    """`x` repeated along new axes and those of size 1; -1 keeps a size."""
    shape = list(sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes)
    fresh = len(shape) - x.ndim
    for place, size in enumerate(shape):
        if size == -1 and place >= fresh:
            shape[place] = x.shape[place - fresh]
    result: Tensor = manipulation.broadcast_to(x, tuple(shape))
    return result


def _masked_fill(x: Tensor, mask: Any, value: Any) -> Tensor:
    """`x` with `value` where `mask` is true."""
    result: Tensor = floats.where(mask, cast(as_tensor(value), x.dtype), x)
    return result


def _gather(x: Tensor, axis: int, index: Any) -> Tensor:
    """The elements of `x` at `index` along `axis`: ``take_along_axis``."""
    return take_along_axis(x, index, axis)


def _index_select(x: Tensor, axis: int, index: Any) -> Tensor:
    """The slices of `x` at `index` along `axis`."""
    return take(x, index, axis)


def _narrow(x: Tensor, axis: int, start: int, length: int) -> Tensor:
    """`length` elements along `axis` from `start` on."""
    along = normalize_axis("narrow", axis, x.ndim)
    begin = start + x.shape[along] if start < 0 else start
    if not (begin >= 0 and length >= 0 and begin + length <= x.shape[along]):
        raise DomainError(
            f"narrow: {length} elements from {start} on are not within axis {axis} of shape {x.shape}"
        )
    return sliced(x, along, begin, length)


def _chunk(x: Tensor, chunks: int, axis: int = 0) -> list[Tensor]:
    """`x` in at most `chunks` parts along `axis`, all of one size but the last."""
    if not isinstance(chunks, (int, np.integer)) or chunks < 1:
        raise DomainError(f"chunk: chunks must be a positive integer, got {chunks!r}")
    along = normalize_axis("chunk", axis, x.ndim)
    return _split(x, max(1, -(-x.shape[along] // int(chunks))), along)


def _split(x: Tensor, split_size: Any, axis: int = 0) -> list[Tensor]:
    """`x` in parts of `split_size` along `axis`, or of the sizes that it lists; ``tj.split`` is NumPy's."""
    along = normalize_axis("split", axis, x.ndim)
    extent = x.shape[along]
    if isinstance(split_size, (tuple, list)):
        sizes = [int(size) for size in split_size]
        if sum(sizes) != extent or min(sizes, default=0) < 0:
            raise DomainError(f"split: sizes {sizes} do not add up to {extent}, the size of axis {axis}")
    elif isinstance(split_size, (int, np.integer)) and split_size > 0:
        starts = range(0, max(extent, 1), int(split_size))
        sizes = [min(int(split_size), extent - start) for start in starts]
    else:
        raise DomainError(f"split: split_size must be a positive integer or sizes, got {split_size!r}")
    parts, start = [], 0
    for size in sizes:
        parts.append(sliced(x, along, start, size))
        start += size
    return parts


def _like(make: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def new(x: Tensor, *size: Any, dtype: Any = None) -> Tensor:
        shape = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
        return make(tuple(shape), dtype=x.dtype if dtype is None else dtype)

    return new


def _new_full(x: Tensor, shape: Any, fill_value: Any, dtype: Any = None) -> Tensor:
    """A tensor of `shape` with `fill_value` everywhere, in the dtype of `x` unless `dtype` says."""
    return creation.full(shape, fill_value, dtype=x.dtype if dtype is None else dtype)


def _contiguous(x: Tensor) -> Tensor:
    """`x`, or a copy in C order where it does not lie so in memory."""
    return in_order(x)


def _is_contiguous(x: Tensor) -> bool:
    """Whether the elements lie in C order in memory."""
    return lies_in_order(x)


def _element_size(x: Tensor) -> int:
    """The bytes of an element."""
    return x.dtype.itemsize


def _is_floating_point(x: Tensor) -> bool:
    """Whether the dtype is a floating one."""
    return is_real_floating(x.dtype)


def _type_as(x: Tensor, other: Tensor) -> Tensor:
    """`x` in the dtype of `other`."""
    return cast(x, other.dtype)


METHODS: Final[dict[str, Callable[..., Any]]] = {
    "masked_fill": _masked_fill,
    "mm": _mm, "bmm": bmm, "outer": contraction.outer, "topk": topk, "flip": rearranging.flip,
    "tile": rearranging.tile, "roll": rearranging.roll, "moveaxis": manipulation.moveaxis,
    "unbind": joining.unstack, "expand": _expand, "gather": _gather, "index_select": _index_select,
    "narrow": _narrow, "chunk": _chunk, "split": _split,
    "to": _to, "float": _as(FLOAT32), "double": _as(FLOAT64), "half": _as(FLOAT16),
    "int": _as(as_dtype("int32")), "long": _as(as_dtype("int64")),
    "bool": _as(as_dtype("bool")), "cpu": _same, "type_as": _type_as,
    "contiguous": _contiguous, "is_contiguous": _is_contiguous, "element_size": _element_size,
    "is_floating_point": _is_floating_point,
    "new_zeros": _like(creation.zeros), "new_ones": _like(creation.ones), "new_full": _new_full,
}  # fmt: skip
