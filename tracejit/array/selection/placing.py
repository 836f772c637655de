"""Elements written where masks and indices say: in place, as NumPy's functions of these names do."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.errors import DomainError, DTypeError, OutOfBoundsError, ShapeError
from ...ir.dtypes import BOOL, INT64
from ...ir.types import normalize_axis
from ...tensors.tensor import Tensor
from .. import cumulative
from ..indexing import inplace
from ..indexing.access import index_update
from ..indexing.taking import take
from ..manipulation import broadcast_to, ravel
from ..numpy_calls.protocol import as_arrays
from ..operands import as_tensor, cast, choice, is_everywhere, reshaped, run


def _is_array(name: str, x: Any) -> bool:
    """Whether `x` is an ndarray, which NumPy's own function writes to."""
    if not isinstance(x, (Tensor, np.ndarray)):
        raise DTypeError(f"{name}: the array that is written must be a tensor, got {type(x).__name__}")
    return isinstance(x, np.ndarray)


def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """Write `src`, broadcast, to the tensor `dst` where `where` is true.

    Example:
        >>> import tracejit as tj
        >>> x = tj.zeros(3)
        >>> tj.copyto(x, [1.0, 2.0, 3.0], where=[True, False, True])
        >>> x
        tensor([1., 0., 3.])

    Raises DTypeError where `src` does not fit `casting`, and ShapeError. Semantics: ``numpy.copyto``.
    """
    if _is_array("copyto", dst):
        np.copyto(dst, *as_arrays((src, casting, where)))
        return
    value = as_tensor(src)
    is_number = type(src) in (bool, int, float, complex)
    if not np.can_cast(np.min_scalar_type(src) if is_number else value.dtype, dst.dtype, casting):  # type: ignore[arg-type]
        raise DTypeError(
            f"copyto: cannot cast {value.dtype.name} to {dst.dtype.name} by the rule {casting!r}"
        )
    value = broadcast_to(cast(value, dst.dtype), dst.shape)
    if is_everywhere(where):
        inplace.write(dst, "copyto", (value,), lambda old, new: new)
        return
    mask = as_tensor(where)
    if mask.dtype is not BOOL:
        raise DTypeError(f"copyto: where must be an array of bools, got dtype {mask.dtype.name}")
    inplace.write(dst, "copyto", (value,), lambda old, new: choice(broadcast_to(mask, old.shape), new, old))


def putmask(x: Any, mask: Any, values: Any) -> None:
    """Write to each element of the tensor `x` for which `mask` is true that of `values`, again and again.

    Example:
        >>> import tracejit as tj
        >>> x = tj.arange(4)
        >>> tj.putmask(x, x > 1, [10, 20, 30, 40])
        >>> x
        tensor([ 0,  1, 30, 40])

    Raises ShapeError unless `mask` has the shape of `x`. Semantics: ``numpy.putmask``.
    """
    if _is_array("putmask", x):
        np.putmask(x, *as_arrays((mask, values)))
        return
    chosen = cast(as_tensor(mask), BOOL)
    if chosen.shape != x.shape:
        raise ShapeError(f"putmask: mask must have the shape of x, {x.shape}, got {chosen.shape}")
    line = cast(ravel(as_tensor(values)), x.dtype)
    if line.size == 0:
        return
    repeated = reshaped(take(line, np.arange(x.size) % line.size), x.shape)
    inplace.write(x, "putmask", (repeated,), lambda old, new: choice(chosen, new, old))


def place(x: Any, mask: Any, vals: Any) -> None:
    """Write the first of `vals` to the first element of `x` for which `mask` is true, and so on.

    Example:
        >>> import tracejit as tj
        >>> x = tj.arange(4)
        >>> tj.place(x, x > 1, [10, 20])
        >>> x
        tensor([ 0,  1, 10, 20])

    Raises ShapeError for masks of another size, and for no `vals`. Semantics: ``numpy.place``.
    """
    if _is_array("place", x):
        np.place(x, *as_arrays((mask, vals)))
        return
    chosen = cast(as_tensor(mask), BOOL)
    if chosen.size != x.size:
        raise ShapeError(f"place: mask must have as many elements as x, {x.size}, got {chosen.size}")
    line = cast(ravel(as_tensor(vals)), x.dtype)
    if line.size == 0:
        if chosen.is_traced or bool(chosen.any()):
            raise ShapeError("place: vals must not be empty")
        return
    chosen = reshaped(chosen, x.shape)
    numbers = run("sub", cumulative.cumsum(cast(ravel(chosen), INT64)), 1)
    spread = reshaped(take(line, run("remainder", numbers, line.size)), x.shape)
    inplace.write(x, "place", (spread,), lambda old, new: choice(chosen, new, old))


def put(x: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """Write `v`, again and again, to the elements at the places `ind` of the raveled tensor `x`.

    `mode` for places outside: ``raise`` (OutOfBoundsError, eagerly), ``wrap`` around or ``clip`` to the ends.

    Example:
        >>> import tracejit as tj
        >>> x = tj.arange(5)
        >>> tj.put(x, [0, 2], [-44, -55])
        >>> x
        tensor([-44,   1, -55,   3,   4])

    Raises OutOfBoundsError and DTypeError. Semantics: ``numpy.put``.
    """
    if _is_array("put", x):
        np.put(x, *as_arrays((ind, v, mode)))
        return
    places = ravel(as_tensor(ind))
    if places.dtype.kind not in "iub":
        raise DTypeError(f"put: ind must be integers, got dtype {places.dtype.name}")
    places = cast(places, INT64)
    line = cast(ravel(as_tensor(v)), x.dtype)
    if not (places.size and line.size):
        return
    if x.size == 0:
        raise OutOfBoundsError("put: x has no elements")
    if mode == "wrap":
        places = run("remainder", places, x.size)
    elif mode == "clip":
        places = run("clip", places, 0, x.size - 1)
    elif mode != "raise":
        raise DomainError(f"put: mode must be 'raise', 'wrap' or 'clip', got {mode!r}")
    values = take(line, np.arange(places.size) % line.size)
    inplace.write(
        x, "put", (values,), lambda old, new: reshaped(index_update(ravel(old), places, new), old.shape)
    )


def put_along_axis(x: Any, indices: Any, values: Any, axis: int | None) -> None:
    """Write `values` to the elements of the tensor `x` that ``take_along_axis(x, indices, axis)`` gives.

    Example:
        >>> import tracejit as tj
        >>> x = tj.tensor([[10, 30, 20], [60, 40, 50]])
        >>> tj.put_along_axis(x, tj.argmax(x, axis=1, keepdims=True), 99, axis=1)
        >>> x
        tensor([[10, 99, 20],
                [99, 40, 50]])

    Raises AxisError, ShapeError and OutOfBoundsError. Semantics: ``numpy.put_along_axis``.
    """
    if _is_array("put_along_axis", x):
        np.put_along_axis(x, *as_arrays((indices, values, axis)))
        return
    places = as_tensor(indices)
    if axis is None:
        put(x, places, values)
        return
    if places.ndim != x.ndim:
        raise ShapeError(f"put_along_axis: {x.shape} and indices {places.shape} must have one rank")
    along = normalize_axis("put_along_axis", axis, x.ndim)
    shape = tuple(places.shape[d] if d == along else x.shape[d] for d in range(x.ndim))
    key = tuple(
        broadcast_to(places, shape)
        if dimension == along
        else np.arange(size).reshape([-1 if d == dimension else 1 for d in range(x.ndim)])
        for dimension, size in enumerate(x.shape)
    )
    value = broadcast_to(cast(as_tensor(values), x.dtype), shape)
    inplace.write(x, "put_along_axis", (value,), lambda old, new: index_update(old, key, new))
