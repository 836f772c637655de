"""Views, concatenation and slice update.

Views (reshape, transpose, broadcast, slice) are affine index maps where `access` says so: codegen reads
through them without copying. Everything NumPy offers beyond these (roll, tile, pad, split, einsum, ...)
is composed from them in ``tracejit.array``.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ...base.errors import DTypeError, ShapeError
from ..registry import Access, Attrs, Builtin, Kind
from ..transforms.batching import (
    batch_shaped,
    batch_sliced,
    shifted,
)
from ..types import Shape, TensorType, Types, broadcastable, normalize_axis, resolve_reshape
from .define import define

# -- views ----------------------------------------------------------------------------------------


def _reshape_infer(types: Types, attrs: Attrs) -> Types:
    shape = attrs["shape"]
    if math.prod(shape) != types[0].size or any(size < 0 for size in shape):
        raise ShapeError(f"reshape: cannot reshape {types[0].shape} to {shape}")
    return (types[0].with_shape(shape),)


def _reshape_access(source: TensorType, result: TensorType, attrs: Attrs) -> Access | None:
    """Affine only where the reshape inserts or drops dimensions of size 1."""
    wide = [axis for axis, size in enumerate(result.shape) if size != 1]
    if [size for size in source.shape if size != 1] != [result.shape[axis] for axis in wide]:
        return None
    following = iter(wide)
    return Access(tuple((None, 0, 0) if size == 1 else (next(following), 1, 0) for size in source.shape))


@functools.lru_cache(maxsize=4096)
def _reshape_attrs(before: Shape, shape: Any) -> Attrs:
    return {"shape": resolve_reshape("reshape", before, shape)}


RESHAPE = define(
    "reshape", Kind.VIEW, "x", doc="the same elements in row-major order, in another shape",
    attrs={"shape": (tuple,)}, infer=_reshape_infer, eval=lambda x, shape: np.asarray(x).reshape(shape),
    vjp={"x": lambda b, ct, x_type: b.reshape(ct, shape=x_type.shape)}, access=_reshape_access,
    put=lambda b, x, new, shape: b.reshape(new, shape=x.shape), batch=batch_shaped("shape"),
    builtin=Builtin(np.ndarray.reshape, ("shape",), _reshape_attrs, second="shape"),
)  # fmt: skip


def _transpose_infer(types: Types, attrs: Attrs) -> Types:
    perm, shape = attrs["perm"], types[0].shape
    if sorted(perm) != list(range(len(shape))):
        raise ShapeError(f"transpose: {perm} is not a permutation of the {len(shape)} axes")
    return (types[0].with_shape(tuple(shape[axis] for axis in perm)),)


def inverse(perm: tuple[int, ...]) -> tuple[int, ...]:
    """The permutation that undoes `perm`."""
    result = [0] * len(perm)
    for position, axis in enumerate(perm):
        result[axis] = position
    return tuple(result)


def _transpose_batch(b: Any, instruction: Any, operands: Any, mapped: Any, size: int) -> Any:
    perm = instruction.attrs["perm"]
    return [b.transpose(operands[0], perm=(0, *shifted(perm, len(perm))))]


@functools.lru_cache(maxsize=4096)
def _transpose_attrs(shape: Shape, axes: Any) -> Attrs:
    rank = len(shape)
    if axes is None:
        return {"perm": tuple(range(rank))[::-1]}
    return {"perm": tuple([axis % rank for axis in (axes if isinstance(axes, tuple) else (axes,))])}


TRANSPOSE = define(
    "transpose", Kind.VIEW, "x", doc="axes permuted: result axis i is operand axis perm[i]",
    attrs={"perm": (tuple,)}, infer=_transpose_infer, eval=lambda x, perm: np.asarray(x).transpose(perm),
    vjp={"x": lambda b, ct, perm: b.transpose(ct, perm=inverse(perm))},
    access=lambda source, result, attrs: Access(tuple((i, 1, 0) for i in inverse(attrs["perm"]))),
    put=lambda b, x, new, perm: b.transpose(new, perm=inverse(perm)), batch=_transpose_batch,
    builtin=Builtin(np.ndarray.transpose, ("axes",), _transpose_attrs, second="axis"),
)  # fmt: skip


def _broadcast_infer(types: Types, attrs: Attrs) -> Types:
    if not broadcastable(types[0].shape, attrs["shape"]):
        raise ShapeError(f"broadcast: {types[0].shape} does not broadcast to {attrs['shape']}")
    return (types[0].with_shape(attrs["shape"]),)


def sum_to(b: Any, x: Any, shape: tuple[int, ...]) -> Any:
    """`x` summed over the axes along which `shape` was broadcast to it: the transpose of broadcast."""
    if x.shape == shape:
        return x
    lead = len(x.shape) - len(shape)
    axes = tuple(
        axis for axis, size in enumerate(x.shape) if axis < lead or (shape[axis - lead] == 1 and size != 1)
    )
    reduced = b.sum(x, axes=axes) if axes else x
    return reduced if reduced.shape == shape else b.reshape(reduced, shape=shape)


def _broadcast_access(source: TensorType, result: TensorType, attrs: Attrs) -> Access:
    lead = result.ndim - source.ndim
    return Access(
        tuple((None, 0, 0) if size == 1 else (axis + lead, 1, 0) for axis, size in enumerate(source.shape))
    )


def _broadcast_batch(b: Any, instruction: Any, operands: Any, mapped: Any, size: int) -> Any:
    # new axes come after the batch axis
    inner, shape = instruction.operands[0].shape, instruction.attrs["shape"]
    aligned = b.reshape(operands[0], shape=(size, *[1] * (len(shape) - len(inner)), *inner))
    return [b.broadcast(aligned, shape=(size, *shape))]


BROADCAST = define(
    "broadcast", Kind.VIEW, "x", doc="repeated along new leading axes and axes of size 1",
    attrs={"shape": (tuple,)}, infer=_broadcast_infer, eval=lambda x, shape: np.broadcast_to(x, shape),
    vjp={"x": lambda b, ct, x_type: sum_to(b, ct, x_type.shape)}, access=_broadcast_access,
    batch=_broadcast_batch,
)  # fmt: skip

_SLICE_ATTRS = {"start": (tuple,), "size": (tuple,), "step": (tuple,)}


def check_slice(name: str, shape: tuple[int, ...], start: Any, size: Any, step: Any) -> None:
    """Raise ShapeError unless every element of the slice lies inside `shape`."""
    if not len(start) == len(size) == len(step) == len(shape):
        raise ShapeError(f"{name}: start, size and step must have an entry for each axis of {shape}")
    for axis, extent in enumerate(shape):
        if size[axis] < 0 or step[axis] == 0:
            raise ShapeError(f"{name}: size must not be negative nor step zero, at axis {axis}")
        last = start[axis] + step[axis] * (size[axis] - 1)
        if size[axis] and not (0 <= start[axis] < extent and 0 <= last < extent):
            raise ShapeError(f"{name}: elements {start[axis]} to {last} lie outside axis {axis} of {shape}")


def _slice_infer(types: Types, attrs: Attrs) -> Types:
    check_slice("slice", types[0].shape, attrs["start"], attrs["size"], attrs["step"])
    return (types[0].with_shape(attrs["size"]),)


def as_slices(start: Any, size: Any, step: Any) -> tuple[slice, ...]:
    """NumPy slices for start, size and step."""
    result = []
    for first, count, stride in zip(start, size, step, strict=True):
        stop = first + stride * count
        result.append(slice(first, stop if stop >= 0 else None, stride) if count else slice(0, 0))
    return tuple(result)


def _zeros(b: Any, like: TensorType) -> Any:
    return b.full(value=0.0, shape=like.shape, dtype=like.dtype)


SLICE = define(
    "slice", Kind.VIEW, "x", doc="elements start + step i for i < size, per axis; steps may be negative",
    attrs=_SLICE_ATTRS, infer=_slice_infer,
    eval=lambda x, start, size, step: x[as_slices(start, size, step)],
    vjp={
        "x": lambda b, ct, x_type, start, step: b.update(_zeros(b, x_type), ct, start=start, step=step)
    },
    access=lambda source, result, attrs: Access(
        tuple(
            (axis, step, start)
            for axis, (start, step) in enumerate(zip(attrs["start"], attrs["step"], strict=True))
        )
    ),
    put=lambda b, x, new, start, size, step: b.update(x, new, start=start, step=step), batch=batch_sliced,
)  # fmt: skip

# -- copies ---------------------------------------------------------------------------------------


def _concat_infer(types: Types, attrs: Attrs) -> Types:
    if not types:
        raise ShapeError("concat: expected at least one operand")
    axis = normalize_axis("concat", attrs["axis"], types[0].ndim)
    first = types[0]
    total = 0
    for type_ in types:
        rest, expected = list(type_.shape), list(first.shape)
        if type_.dtype is not first.dtype or len(rest) != len(expected):
            raise ShapeError(f"concat: operands differ in dtype or rank: {', '.join(map(str, types))}")
        total += rest.pop(axis)
        expected.pop(axis)
        if rest != expected:
            raise ShapeError(f"concat: operands differ beside axis {axis}: {', '.join(map(str, types))}")
    shape = list(first.shape)
    shape[axis] = total
    return (first.with_shape(tuple(shape)),)


def _concat_rule(b: Any, ct: Any, index: int, xs_types: Types, axis: int) -> Any:
    start = [0] * len(ct.shape)
    start[axis] = sum(type_.shape[axis] for type_ in xs_types[:index])
    return b.slice(ct, start=tuple(start), size=tuple(xs_types[index].shape), step=(1,) * len(start))


def _concat_joint(b: Any, ct: Any, inputs: Any, out: Any, types: Types, attrs: Attrs) -> list[Any]:
    """The cotangents of all operands of ``concat``, in time linear in their number."""
    axis, start, step = attrs["axis"], [0] * len(ct.shape), (1,) * len(ct.shape)
    parts = []
    for type_ in types:
        parts.append(b.slice(ct, start=tuple(start), size=type_.shape, step=step))
        start[axis] += type_.shape[axis]
    return parts


def concatenated(axis: int, *arrays: Any) -> Any:
    """NumPy's concatenation of arrays of one dtype, None of others."""
    dtype = arrays[0].dtype
    for array in arrays:
        if array.dtype is not dtype:
            return None
    return np.concatenate(arrays, axis)


CONCAT = define(
    "concat", Kind.CONCAT, "*xs", doc="joined along `axis`", attrs={"axis": (int,)}, joint=_concat_joint,
    infer=_concat_infer, eval=lambda *xs, axis: np.concatenate(xs, axis=axis), vjp={"*xs": _concat_rule},
    builtin=Builtin(concatenated, ("axis",)),
)  # fmt: skip


def _update_infer(types: Types, attrs: Attrs) -> Types:
    operand, value = types
    if operand.dtype is not value.dtype:
        raise DTypeError(f"update: operand and value differ in dtype: {operand}, {value}")
    check_slice("update", operand.shape, attrs["start"], value.shape, attrs["step"])
    return (operand,)


def _update_eval(x: Any, v: Any, start: Any, step: Any) -> Any:
    result = np.array(x)
    result[as_slices(start, v.shape, step)] = v
    return result


def _update_x_rule(b: Any, ct: Any, v_type: TensorType, start: Any, step: Any) -> Any:
    return b.update(ct, _zeros(b, v_type), start=start, step=step)


UPDATE = define(
    "update", Kind.UPDATE, "x v", doc="x with the slice at start, step replaced by v",
    attrs={"start": (tuple,), "step": (tuple,)}, infer=_update_infer, eval=_update_eval,
    vjp={
        "x": _update_x_rule,
        "v": lambda b, ct, v_type, start, step: b.slice(ct, start=start, size=v_type.shape, step=step),
    },
)  # fmt: skip


# -- contraction ----------------------------------------------------------------------------------


# -- creation -------------------------------------------------------------------------------------
