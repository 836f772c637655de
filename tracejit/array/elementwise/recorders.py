"""What native forms of eager functions (`native_ops.NativeCall`) tell the graph: a function each, called with
the arguments and the result where an operand requires a gradient; and the steps of the views that they
make."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final

from ...eager.tensor import Tensor
from ...eager.views import UNRECORDED, ViewStep
from ...ir.registry import OPS, Attrs
from ...ir.types import Shape, normalize_axes, remove_axes, resolve_reshape
from ...tape.plans import Composite, Written
from ...tape.recording import recorder

_RESHAPE: Final = OPS["reshape"]
_TRANSPOSE: Final = OPS["transpose"]
_reshaped = recorder(_RESHAPE, 1)
_transposed = recorder(_TRANSPOSE, 1)
_cast = recorder(OPS["cast"], 1)

of_copy = recorder(OPS["copy"], 1)
of_matmul = recorder(OPS["matmul"], 2)
of_gather = recorder(OPS["gather"], 2)
of_where = recorder(OPS["where"], 3)

#: Axes by what the user calls them, and the rank.
_AXES: dict[tuple[Any, int], Shape] = {}


def _axes(name: str, axis: Any, rank: int) -> Shape:
    found = _AXES.get((axis, rank))
    if found is None:
        found = _AXES[axis, rank] = normalize_axes(name, axis, rank)
    return found


def of_reduction(name: str) -> Callable[..., None]:
    """Of a reduction with the arguments of ``numpy.ufunc.reduce``, of which dtype and out are None."""
    op = OPS[name]

    def written(types: Sequence[Any], attrs: Attrs) -> Written:
        (shape, _), axes = types[0], attrs["axes"]
        return Written(op, attrs, remove_axes(shape, axes), remove_axes(shape, axes, keepdims=True))

    put, put_kept = recorder(op, 1), recorder(Composite(name, (op,), written), 1)

    def remember(x: Tensor, axis: Any, _dtype: None, _out: None, keepdims: bool, result: Tensor) -> None:
        attrs = {"axes": _axes(name, axis, x._data.ndim)}
        (put_kept if keepdims else put)(x, result, attrs)

    return remember


def unrecorded(view: Tensor) -> None:
    """Mark a view that was made while nothing was recorded, of a tensor that requires grad."""
    if type(view._aliases) is tuple:
        view._aliases = (*view._aliases, UNRECORDED)


def of_reshape(x: Tensor, shape: Any, result: Tensor) -> None:
    """Of ``ndarray.reshape``."""
    if not _reshaped(x, result, {"shape": result._data.shape}):
        unrecorded(result)


def reshaping(shape: Any, before: Shape) -> ViewStep:
    """The step of a view that ``ndarray.reshape`` made of an array of the shape `before`."""
    return ViewStep(_RESHAPE, {"shape": resolve_reshape("reshape", before, shape)})


def of_transpose(x: Tensor, perm: Any, result: Tensor) -> None:
    """Of ``ndarray.transpose``, whose axes are a tuple, or None."""
    if not _transposed(x, result, {"perm": _perm(perm, x._data.ndim)}):
        unrecorded(result)


def transposing(perm: Any, before: Shape) -> ViewStep:
    """The step of a view that ``ndarray.transpose`` made of an array of the shape `before`."""
    return ViewStep(_TRANSPOSE, {"perm": _perm(perm, len(before))})


def _perm(axes: Any, rank: int) -> Shape:
    """The axes of a transpose, counted from the front."""
    found = _PERMS.get((axes, rank))
    if found is None:
        found = tuple(range(rank))[::-1] if axes is None else tuple([axis % rank for axis in axes])
        _PERMS[axes, rank] = found
    return found


#: Orders of axes by what the user gave, and the rank.
_PERMS: dict[tuple[Any, int], Shape] = {}


def of_cast(x: Tensor, dtype: Any, result: Tensor) -> None:
    """Of a conversion to `dtype`."""
    _cast(x, result, {"dtype": dtype})


@functools.cache
def new_axis(axis: int) -> tuple[Any, ...]:
    """The index that makes a new axis at the place `axis`."""
    return (*[slice(None)] * axis, None, Ellipsis)
