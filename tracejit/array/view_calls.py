"""NumPy's functions that show an array another way, each as a native call of the op that it is: the record
(`registry.Builtin`) says which function of NumPy's does it, and what its arguments are in attributes.

The functions that users call are in `manipulation`; here are the Python functions behind them, which serve
traces and what NumPy refuses, with errors in the users' words.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ..arguments.errors import named
from ..base.errors import AxisError, ShapeError
from ..dispatch.eager_functions import EagerFunction
from ..ir.registry import OPS, Attrs, Builtin
from ..ir.types import (
    Shape,
    as_shape,
    broadcastable,
    normalize_axes,
    normalize_axis,
    remove_axes,
    resolve_reshape,
)
from ..tape.plans import Composite, Written
from ..tape.views import lies_in_order, note_copy
from ..tensors.tensor import Tensor
from .operands import as_tensor, given_as_array, run, tensor_argument


@named("reshape")
def _reshape(x: Any, shape: Any) -> Tensor:
    x = as_tensor(x)
    return run("reshape", x, shape=resolve_reshape("reshape", x.shape, shape))


@named("transpose")
def _transpose(x: Any, axes: Any) -> Tensor:
    x = as_tensor(x)
    if axes is None:
        return run("transpose", x, perm=tuple(range(x.ndim))[::-1])
    perm = tuple(
        normalize_axis("transpose", axis, x.ndim) for axis in (axes if hasattr(axes, "__iter__") else (axes,))
    )
    if sorted(perm) != list(range(x.ndim)):
        hint = f"; PyTorch's transpose of two axes is swapaxes{axes}" if len(perm) == 2 else ""
        raise AxisError(f"transpose: axes {axes} are no permutation of the {x.ndim} axes of {x.shape}{hint}")
    return run("transpose", x, perm=perm)


def _reversed(x: Any) -> Tensor:
    return _transpose(x, None)


@named("swapaxes")
def _swapaxes(x: Any, axis1: Any, axis2: Any) -> Tensor:
    x = tensor_argument("swapaxes", x)
    first, second = (normalize_axis("swapaxes", axis, x.ndim) for axis in (axis1, axis2))
    return run("transpose", x, **_swapped(x.shape, first, second))


@functools.lru_cache(maxsize=4096)
def _swapped(shape: Shape, axis1: int, axis2: int) -> Attrs:
    perm = list(range(len(shape)))
    perm[axis1], perm[axis2] = perm[axis2], perm[axis1]
    return {"perm": tuple(perm)}


@named("matrix_transpose")
def _matrix_transpose(x: Any) -> Tensor:
    x = as_tensor(x)
    if x.ndim < 2:
        raise ShapeError(f"matrix_transpose: expected rank 2 or more, got shape {x.shape}")
    return run("transpose", x, **_swapped(x.shape, -1, -2))


@named("squeeze")
def _squeeze(x: Any) -> Tensor:
    x = tensor_argument("squeeze", x)
    return run("reshape", x, **_without_units(x.shape))


def _without_units(shape: Shape) -> Attrs:
    return {"shape": tuple([size for size in shape if size != 1])}


@named("squeeze")
def _squeeze_axes(x: Any, axis: Any) -> Tensor:
    x = tensor_argument("squeeze", x)
    if x.ndim == 0 and type(axis) is int and axis in (0, -1):
        axis = ()  # as NumPy has it
    axes = normalize_axes("squeeze", axis, x.ndim)
    if any(x.shape[axis] != 1 for axis in axes):
        raise ShapeError(f"squeeze: cannot remove axis {axis} of {x.shape}: its size is not 1")
    return run("reshape", x, shape=remove_axes(x.shape, axes))


@functools.lru_cache(maxsize=4096)
def _without_axes(shape: Shape, axis: Any) -> Attrs:
    return {"shape": remove_axes(shape, normalize_axes("squeeze", axis, len(shape)))}


def _all(x: Tensor) -> Tensor:
    return run("reshape", x, shape=x.shape)


@named("broadcast_to")
def _broadcast_to(x: Any, shape: Any) -> Tensor:
    x = as_tensor(x)
    target = as_shape("broadcast_to", shape)
    if not broadcastable(x.shape, target):
        raise ShapeError(f"broadcast_to: {x.shape} does not broadcast to {target}")
    return given_as_array(run("broadcast", x, shape=target))


def _ravel(x: Any, order: str) -> Tensor:
    flat: Tensor = RESHAPE.run(x, -1)
    return flat if lies_in_order(flat) else note_copy(flat, run("copy", flat))


def _written_flat(types: Sequence[Any], attrs: Attrs) -> Written:
    """All elements in a row as a reshape."""
    flat = (math.prod(types[0][0]),)
    return Written(OPS["reshape"], {"shape": flat}, flat, flat)


_TRANSPOSE_OP: Final = OPS["transpose"]
_RESHAPE_OP: Final = OPS["reshape"]
RESHAPE: Final = EagerFunction(_RESHAPE_OP, _reshape)
TRANSPOSE: Final = EagerFunction(_TRANSPOSE_OP, _transpose)
#: NumPy's other names of a transpose and of a reshape, each with what it is in attributes.
REVERSED: Final = EagerFunction(
    _TRANSPOSE_OP,
    _reversed,
    Builtin(np.ndarray.transpose, (), lambda shape: {"perm": tuple(range(len(shape)))[::-1]}),
)
SWAPAXES: Final = EagerFunction(
    _TRANSPOSE_OP, _swapaxes, Builtin(np.ndarray.swapaxes, ("axis1", "axis2"), _swapped, second="ints")
)
MATRIX_TRANSPOSE: Final = EagerFunction(
    _TRANSPOSE_OP,
    _matrix_transpose,
    Builtin(operator.attrgetter("mT"), (), lambda shape: _swapped(shape, -1, -2)),
)
SQUEEZE: Final = EagerFunction(_RESHAPE_OP, _squeeze, Builtin(np.ndarray.squeeze, (), _without_units))
SQUEEZE_AXES: Final = EagerFunction(
    _RESHAPE_OP, _squeeze_axes, Builtin(np.ndarray.squeeze, ("axis",), _without_axes, second="axis")
)
#: All of an array, as a view.
ALL: Final = EagerFunction(_RESHAPE_OP, _all, Builtin(np.ndarray.view, (), lambda shape: {"shape": shape}))
BROADCAST: Final = EagerFunction(
    OPS["broadcast"],
    _broadcast_to,
    Builtin(np.broadcast_to, ("shape",), lambda shape, to: {"shape": as_shape("", to)}, second="shape"),
)
_FLAT: Final = Composite("reshape", (OPS["reshape"],), _written_flat, Builtin(np.ndarray.ravel, ("order",)))
RAVEL: Final = EagerFunction(_FLAT, _ravel)
