"""Padding, reversing, rolling, turning and repeating: elements of one tensor in new places."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ..base.errors import DTypeError, ShapeError
from ..base.records import record
from ..dispatch.eager_functions import EagerFunction
from ..ir.dtypes import INT64
from ..ir.registry import OPS, Attrs, Builtin
from ..ir.types import as_shape, broadcast_shapes, normalize_axes, normalize_axis
from ..provided import SIZED
from ..tape.plans import Composite
from ..tensors.python_values import is_integer
from ..tensors.tensor import Tensor, as_array
from .indexing.access import getitem
from .joining import concatenate
from .manipulation import ravel, reshape, swapaxes
from .memory_order import as_in_memory
from .operands import (
    as_tensor,
    broadcast,
    cast,
    constant_of,
    copied_from,
    given_as_array,
    reshaped,
    run,
    sliced,
    with_an_axis,
)


def flip(x: Any, axis: Any = None) -> Tensor:
    """Reversed along `axis` (an int or several), or along all axes if that is None.

    Example:
        >>> import tracejit as tj
        >>> tj.flip([1, 2, 3])
        tensor([3, 2, 1])

    Raises AxisError. Semantics: ``numpy.flip``.
    """
    x = as_tensor(x)
    if axis is not None and type(axis) is not int:
        axis = normalize_axes("flip", axis, x.ndim)
    return getitem(x, _flipped(x.ndim, axis))


@functools.lru_cache(maxsize=4096)
def _flipped(rank: int, axis: int | tuple[int, ...] | None) -> tuple[slice, ...]:
    """The index that reverses one axis, several or all."""
    axes = normalize_axes("flip", axis, rank)
    return tuple([slice(None, None, -1 if axis in axes else None) for axis in range(rank)])


def flipud(x: Any) -> Tensor:
    """Reversed along the first axis.

    Example:
        >>> import tracejit as tj
        >>> tj.flipud([[1, 2], [3, 4]])
        tensor([[3, 4],
                [1, 2]])

    Raises AxisError. Semantics: ``numpy.flipud``.
    """
    return flip(x, 0)


def fliplr(x: Any) -> Tensor:
    """Reversed along the second axis.

    Example:
        >>> import tracejit as tj
        >>> tj.fliplr([[1, 2], [3, 4]])
        tensor([[2, 1],
                [4, 3]])

    Raises AxisError. Semantics: ``numpy.fliplr``.
    """
    return flip(x, 1)


def roll(x: Any, shift: Any, axis: Any = None) -> Tensor:
    """The elements moved by `shift` along `axis`, those beyond the end coming in at the front.

    `shift` and `axis` may be tuples that broadcast together; without `axis`, `x` is rolled as raveled. A
    shift may be traced.

    Example:
        >>> import tracejit as tj
        >>> tj.roll([1, 2, 3, 4], 1)
        tensor([4, 1, 2, 3])

    Raises AxisError. Semantics: ``numpy.roll``.
    """
    x = as_tensor(x)
    if axis is None:
        return reshaped(roll(ravel(x), shift, 0), x.shape)
    for place in axis if isinstance(axis, (tuple, list)) else (axis,):
        normalize_axis("roll", place, x.ndim)
    if _is_traced(shift):
        return _rolled_by_traced(x, as_tensor(shift), np.asarray(axis))
    distances, places = np.asarray(shift), np.asarray(axis)
    if max(distances.ndim, places.ndim) > 1:
        raise ShapeError("roll: shift and axis must be integers or sequences of them")
    try:
        shifts, axes = np.broadcast_arrays(distances, places)
    except ValueError as error:
        raise ShapeError(f"roll: shift {shift!r} and axis {axis!r} must have as many integers") from error
    for distance, place in zip(shifts.ravel().tolist(), axes.ravel().tolist(), strict=True):
        x = _rolled(x, operator.index(distance), normalize_axis("roll", place, x.ndim))
    return x if shifts.size else cast(x, x.dtype, copy=True)


def _is_traced(shift: Any) -> bool:
    """Whether `shift` is, or holds, a symbol that stands for no integer of Python's."""
    if isinstance(shift, (list, tuple)):
        return any(map(_is_traced, shift))
    return isinstance(shift, Tensor) and shift.is_traced and not is_integer(shift._data)


def _rolled_by_traced(x: Tensor, shift: Tensor, axes: Any) -> Tensor:
    if shift.dtype.kind not in "iub":
        raise DTypeError(f"roll: shift must be integers, got dtype {shift.dtype.name}")
    if max(shift.ndim, axes.ndim) > 1:
        raise ShapeError("roll: shift and axis must be integers or sequences of them")
    shape = broadcast_shapes("roll", shift.shape, axes.shape)
    distances = broadcast(cast(shift, INT64), shape)
    for i, place in enumerate(np.broadcast_to(axes, shape).ravel().tolist()):
        axis = normalize_axis("roll", place, x.ndim)
        distance = distances if not shape else getitem(distances, i)
        sources = (np.arange(x.shape[axis]) - distance) % max(x.shape[axis], 1)
        x = getitem(x, (*[slice(None)] * axis, sources))
    return x if distances.size else cast(x, x.dtype, copy=True)


def _rolled(x: Tensor, shift: int, axis: int) -> Tensor:
    extent = x.shape[axis]
    shift %= max(extent, 1)
    if shift == 0:
        return cast(x, x.dtype, copy=True)
    return _ROLL.run(x, shift, axis)  # type: ignore[no-any-return]


def _rolled_in_parts(x: Tensor, shift: int, axis: int) -> Tensor:
    before = (slice(None),) * axis
    parts = [getitem(x, (*before, slice(-shift, None))), getitem(x, (*before, slice(None, -shift)))]
    return as_in_memory("roll", concatenate(parts, axis), "K", x)


def _rolled_array(x: Any, shift: int, axis: int) -> Any:
    """`x` rolled by `shift` along `axis` if it is in row-major order, otherwise None."""
    if not x.flags.c_contiguous:
        return None
    before = (slice(None),) * axis
    return np.concatenate((x[(*before, slice(-shift, None))], x[(*before, slice(None, -shift))]), axis)


@record
class _Roll:
    """A roll by less than the axis has elements, in ops."""

    shift: int
    axis: int

    def run(self, b: Any, operands: Sequence[Any]) -> Any:
        """The rolled operand, in the ops of the namespace `b`."""
        (x,) = operands
        (*before, extent), after = x.shape[: self.axis + 1], x.shape[self.axis + 1 :]
        parts = [
            b.slice(
                x,
                start=(0,) * self.axis + (start,) + (0,) * len(after),
                size=(*before, size, *after),
                step=(1,) * len(x.shape),
            )
            for start, size in ((extent - self.shift, self.shift), (0, extent - self.shift))
        ]
        return b.concat(*parts, axis=self.axis)


def _roll_back(b: Any, ct: Any, attrs: Attrs) -> Any:
    return _Roll(ct.shape[attrs["axis"]] - attrs["shift"], attrs["axis"]).run(b, [ct])


_ROLL: Final = EagerFunction(
    Composite(
        "roll",
        (OPS["slice"], OPS["concat"]),
        lambda types, attrs: _Roll(**attrs),
        Builtin(_rolled_array, ("shift", "axis")),
        _roll_back,
    ),
    _rolled_in_parts,
)


def rot90(x: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Tensor:
    """Turned by `k` right angles in the plane of `axes`, from the first towards the second.

    Example:
        >>> import tracejit as tj
        >>> tj.rot90([[1, 2], [3, 4]])
        tensor([[2, 4],
                [1, 3]])

    Raises AxisError. Semantics: ``numpy.rot90``.
    """
    x = as_tensor(x)
    first, second = (normalize_axis("rot90", axis, x.ndim) for axis in axes)
    if first == second:
        raise ShapeError(f"rot90: the axes must differ, got {axes}")
    turns = k % 4
    if turns == 0:
        return run("reshape", x, shape=x.shape)
    if turns == 2:
        return flip(x, (first, second))
    if turns == 1:
        return swapaxes(flip(x, second), first, second)
    return flip(swapaxes(x, first, second), second)


def tile(x: Any, reps: Any) -> Tensor:
    """`x` repeated as a whole, `reps` times along each axis (an int, or one per axis, the last axes last).

    Example:
        >>> import tracejit as tj
        >>> tj.tile([1, 2], (2, 2))
        tensor([[1, 2, 1, 2],
                [1, 2, 1, 2]])

    Raises ShapeError. Semantics: ``numpy.tile``.
    """
    x = as_tensor(x)
    counts = as_shape("tile", reps, "reps")
    rank = max(len(counts), x.ndim)
    counts = (1,) * (rank - len(counts)) + counts
    sizes = (1,) * (rank - x.ndim) + x.shape
    if all(count == 1 for count in counts):
        return given_as_array(cast(reshaped(x, sizes), x.dtype, copy=True))
    pairs = [extent for count, size in zip(counts, sizes, strict=True) for extent in (count, size)]
    singles = [extent for size in sizes for extent in (1, size)]
    wide = broadcast(reshaped(x, tuple(singles)), tuple(pairs))
    shape = tuple(count * size for count, size in zip(counts, sizes, strict=True))
    return copied_from(x, run("reshape", wide, shape=shape))


def repeat(
    x: Any, repeats: Any, axis: int | None = None, *, total_repeat_length: int | None = None
) -> Tensor:
    """Repeat each element of `x` `repeats` times along `axis`, or along the raveled array if that is None.

    `repeats` is an int, or one count per element; its values decide the shape. With `total_repeat_length`
    there are that many, cut off or filled with the last element; compiled code needs to know.

    Example:
        >>> import tracejit as tj
        >>> tj.repeat([1, 2], 2)
        tensor([1, 1, 2, 2])
        >>> tj.repeat([1, 2], [1, 3])
        tensor([1, 2, 2, 2])

    Raises ShapeError, and ConcretizationError for traced `repeats` without `total_repeat_length`. Semantics:
    ``numpy.repeat``; `total_repeat_length` as in ``jax.numpy.repeat``.
    """
    x = as_tensor(x)
    if axis is None:
        x, axis = ravel(x), 0
    x = with_an_axis(x, axis)
    place = normalize_axis("repeat", axis, x.ndim)
    if total_repeat_length is not None:
        sized: Any = SIZED()
        return sized.repeat(x, as_tensor(repeats), place, total_repeat_length)  # type: ignore[no-any-return]
    if isinstance(repeats, Tensor):
        repeats = repeats._concrete("repeat by a tensor", "tj.repeat(..., total_repeat_length=n)")
    counts = as_array(repeats)
    if counts.size == 0:
        counts = counts.astype(INT64)  # an empty list has no dtype of its own
    if counts.dtype.kind not in "iub" or counts.ndim > 1:
        raise DTypeError(f"repeat: repeats must be an integer or a vector of them, got {repeats!r}")
    if counts.size and counts.min() < 0:
        raise ShapeError("repeat: repeats must not be negative")
    extent = x.shape[place]
    if counts.size == 1:
        return _repeated(x, int(counts.reshape(())), place)
    if counts.shape != (extent,):
        raise ShapeError(f"repeat: {counts.size} counts for {extent} elements of axis {place}")
    origins = np.repeat(np.arange(extent), counts)
    return getitem(x, (slice(None),) * place + (constant_of(origins.astype(INT64)),))


def _repeated(x: Tensor, count: int, axis: int) -> Tensor:
    if count == 1:
        return cast(x, x.dtype, copy=True)
    before, after = x.shape[: axis + 1], x.shape[axis + 1 :]
    wide = broadcast(reshaped(x, (*before, 1, *after)), (*before, count, *after))
    return copied_from(x, run("reshape", wide, shape=(*before[:-1], before[-1] * count, *after)))


def meshgrid(
    *vectors: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[Tensor, ...]:
    """The coordinates of the grid that `vectors` span: one array each, varying along its own axis.

    With ``indexing="xy"`` the first two axes are exchanged; with `sparse` other axes have size 1.
    Without `copy` they are views, which repeat their elements and are read-only unless `sparse`.

    Example:
        >>> import tracejit as tj
        >>> tj.meshgrid([1, 2], [3, 4])[0]
        tensor([[1, 2],
                [1, 2]])

    Raises ShapeError. Semantics: ``numpy.meshgrid``.
    """
    if indexing not in ("xy", "ij"):
        raise ShapeError(f"meshgrid: indexing must be 'xy' or 'ij', got {indexing!r}")
    tensors = [ravel(vector) for vector in vectors]
    count = len(tensors)
    places: Sequence[int] = range(count)
    if indexing == "xy" and count > 1:
        places = [1, 0, *range(2, count)]
    columns = []
    for vector, place in zip(tensors, places, strict=True):
        shape = [1] * count
        shape[place] = vector.size
        columns.append(reshaped(vector, tuple(shape)))
    sizes = [0] * count
    for vector, place in zip(tensors, places, strict=True):
        sizes[place] = vector.size
    arrays = columns if sparse else [broadcast(column, tuple(sizes)) for column in columns]
    return tuple(cast(array, array.dtype, copy=bool(copy)) for array in arrays)


def resize(x: Any, new_shape: Any) -> Tensor:
    """The elements of `x`, again and again, in the shape `new_shape`; zeros where `x` has none.

    Example:
        >>> import tracejit as tj
        >>> tj.resize([1, 2, 3], (2, 2))
        tensor([[1, 2],
                [3, 1]])

    Raises ShapeError for negative sizes. Semantics: ``numpy.resize``.
    """
    shape = tuple(new_shape) if isinstance(new_shape, (tuple, list)) else (new_shape,)
    if any(size < 0 for size in shape):
        raise ShapeError(f"resize: sizes must not be negative, got {shape}")
    line = ravel(as_tensor(x))
    count = math.prod(shape)
    if line.size == 0:
        from_nothing = concatenate([line, as_tensor([0] * count)]) if count else line
        return reshape(from_nothing.astype(line.dtype), shape)
    times = -(-count // line.size)
    whole = concatenate([line] * times) if times else line
    return reshape(sliced(whole, 0, 0, count), shape)
