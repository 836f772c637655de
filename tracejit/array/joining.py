"""Joining tensors along an axis, taking them apart again, and new axes of size 1."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from typing import Any, Final

from ..arguments.errors import checks_itself, named
from ..base.errors import ShapeError
from ..dispatch.eager_functions import EagerFunction
from ..ir.dtypes import as_dtype
from ..ir.ops.shape import concatenated
from ..ir.registry import OPS, Attrs, Builtin
from ..ir.types import normalize_axis
from ..tape.plans import Composite, Written
from ..tensors.tensor import Tensor
from .indexing.access import getitem
from .manipulation import expand_dims, ravel
from .operands import (
    as_tensor,
    cast,
    cast_by,
    given_as_scalar,
    new_axis,
    promoted_arrays,
    reshaped,
    run,
    sliced,
    write_out,
)


def _each(convert: Any, arrays: tuple[Any, ...]) -> Any:
    if len(arrays) == 1:
        return convert(as_tensor(arrays[0]))
    return tuple([convert(as_tensor(array)) for array in arrays])


def atleast_1d(*arrays: Any) -> Any:
    """Each array with rank 1 or more; a tuple for several.

    Example:
        >>> import tracejit as tj
        >>> tj.atleast_1d(1.5)
        tensor([1.5])

    Semantics: ``numpy.atleast_1d``.
    """
    return _each(lambda x: reshaped(x, x.shape or (1,)), arrays)


def atleast_2d(*arrays: Any) -> Any:
    """Each array with rank 2 or more, new axes first; a tuple for several.

    Example:
        >>> import tracejit as tj
        >>> tj.atleast_2d([1, 2])
        tensor([[1, 2]])

    Semantics: ``numpy.atleast_2d``.
    """
    return _each(lambda x: reshaped(x, (1,) * (2 - x.ndim) + x.shape), arrays)


def atleast_3d(*arrays: Any) -> Any:
    """Each array with rank 3 or more: (n,) becomes (1, n, 1), and (m, n) becomes (m, n, 1).

    Example:
        >>> import tracejit as tj
        >>> tj.atleast_3d([1, 2]).shape
        (1, 2, 1)

    Semantics: ``numpy.atleast_3d``.
    """

    def deepen(x: Tensor) -> Tensor:
        if x.ndim < 2:
            return reshaped(x, (1, x.size, 1))
        return reshaped(x, (*x.shape, 1)) if x.ndim == 2 else x

    return _each(deepen, arrays)


def _parts(name: str, arrays: Any) -> list[Tensor]:
    parts = list(arrays)
    if not parts:
        raise ShapeError(f"{name}: expected at least one array")
    return promoted_arrays(*parts)


def _written_stack(types: Sequence[Any], attrs: Attrs) -> Written:
    """``stack`` as a concat of its parts with the new axis."""
    axis, (shape, _) = attrs["axis"], types[0]
    before, after = shape[:axis], shape[axis:]
    result = (*before, len(types), *after)
    return Written(_CONCAT_OP, attrs, result, result, [(*before, 1, *after)] * len(types))


def _stacked(axis: int, *arrays: Any) -> Any:
    """NumPy's stack of arrays of one dtype, None of others."""
    rank = arrays[0].ndim + 1
    if not -rank <= axis < rank:
        return None
    axis %= rank
    key = new_axis(axis)
    return concatenated(axis, *[array[key] for array in arrays])


_CONCAT_OP: Final = OPS["concat"]
_STACK_OP: Final = Composite("stack", (_CONCAT_OP,), _written_stack, Builtin(_stacked, ("axis",)))


@named("concatenate")
def _concatenate(arrays: Any, axis: Any, dtype: Any = None, casting: str = "same_kind") -> Tensor:
    parts = _parts("concatenate", arrays)
    if dtype is not None:
        result_dtype = as_dtype(dtype)
        parts = [cast_by("concatenate", part, result_dtype, casting) for part in parts]
    if axis is None:
        parts, axis = [ravel(part) for part in parts], 0
    rank = parts[0].ndim
    if rank == 0:
        raise ShapeError("concatenate: tensors of rank 0 cannot be joined; use stack")
    place = normalize_axis("concatenate", axis, rank)
    rest = [part.shape[:place] + part.shape[place + 1 :] for part in parts]
    if any(part.ndim != rank for part in parts) or any(items != rest[0] for items in rest):
        shapes = ", ".join(str(part.shape) for part in parts)
        raise ShapeError(f"concatenate: shapes must agree except along axis {place}, got {shapes}")
    return run("concat", *parts, axis=place)


_CONCAT: Final = EagerFunction(_CONCAT_OP, _concatenate)


@checks_itself
def concatenate(
    arrays: Any,
    axis: int | None = 0,
    out: Any = None,
    dtype: Any = None,
    casting: str = "same_kind",
    dim: int | None = None,
) -> Tensor:
    """`arrays` joined along the existing `axis`, or raveled and joined if that is None.

    The dtype is their common one unless given, to which `casting` must lead. `out` takes the result. `dim` is
    PyTorch's name of `axis`.

    Example:
        >>> import tracejit as tj
        >>> tj.concatenate([[1, 2], [3]])
        tensor([1, 2, 3])

    Raises ShapeError where other sizes differ. Semantics: ``numpy.concatenate``.
    """
    if dtype is None and out is None and dim is None:
        return _CONCAT.run(arrays, axis)  # type: ignore[no-any-return]
    axis = axis if dim is None else dim
    return _written("concatenate", out, _concatenate(arrays, axis, dtype, casting), casting)


def _written(name: str, out: Any, result: Tensor, casting: str) -> Tensor:
    """`result`, written to `out` where that is not None."""
    if out is None:
        return result
    if casting == "unsafe":
        result = cast(result, as_dtype(out.dtype))
    return write_out(name, out, result)


@checks_itself
def stack(
    arrays: Any,
    axis: int = 0,
    out: Any = None,
    dtype: Any = None,
    casting: str = "same_kind",
    dim: int | None = None,
) -> Tensor:
    """`arrays` of one shape joined along the new `axis`; other arguments as ``concatenate``'s.

    Example:
        >>> import tracejit as tj
        >>> tj.stack([[1, 2], [3, 4]], axis=1)
        tensor([[1, 3],
                [2, 4]])

    Raises ShapeError where shapes differ. Semantics: ``numpy.stack``.
    """
    if dtype is None and out is None and dim is None:
        return _STACK.run(arrays, axis)  # type: ignore[no-any-return]
    axis = axis if dim is None else dim
    return _written("stack", out, _stack(arrays, axis, dtype, casting), casting)


@named("stack")
def _stack(arrays: Any, axis: Any, dtype: Any = None, casting: str = "same_kind") -> Tensor:
    parts = _parts("stack", arrays)
    if any(part.shape != parts[0].shape for part in parts):
        shapes = ", ".join(str(part.shape) for part in parts)
        raise ShapeError(f"stack: shapes must be equal, got {shapes}")
    place = normalize_axis("stack", axis, parts[0].ndim + 1)
    lines = [expand_dims(part, place) for part in parts]
    return concatenate(lines, place, dtype=dtype, casting=casting)


_STACK: Final = EagerFunction(_STACK_OP, _stack)


def vstack(arrays: Any, *, dtype: Any = None, casting: str = "same_kind") -> Tensor:
    """`arrays` joined along the first axis; vectors count as rows.

    Example:
        >>> import tracejit as tj
        >>> tj.vstack([[1, 2], [3, 4]])
        tensor([[1, 2],
                [3, 4]])

    Raises ShapeError. Semantics: ``numpy.vstack``.
    """
    return concatenate([atleast_2d(array) for array in arrays], 0, dtype=dtype, casting=casting)


def hstack(arrays: Any, *, dtype: Any = None, casting: str = "same_kind") -> Tensor:
    """`arrays` joined along the second axis; vectors along their only one.

    Example:
        >>> import tracejit as tj
        >>> tj.hstack([[1, 2], [3]])
        tensor([1, 2, 3])

    Raises ShapeError. Semantics: ``numpy.hstack``.
    """
    parts = [atleast_1d(array) for array in arrays]
    axis = 0 if parts and parts[0].ndim == 1 else 1
    return concatenate(parts, axis, dtype=dtype, casting=casting)


def _cut(x: Tensor, axis: int, bounds: Sequence[int]) -> list[Tensor]:
    """The pieces between consecutive `bounds`, counted and clamped as slices do."""
    before = (slice(None),) * axis
    return [getitem(x, (*before, slice(low, high))) for low, high in itertools.pairwise(bounds)]


#: More sections than elements make empty parts, each of which takes memory.
_MAX_EMPTY_PARTS: Final = 1 << 20


def array_split(x: Any, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    """Views of `x` cut along `axis`: at the given indices, or into as many parts of nearly equal size.

    Example:
        >>> import tracejit as tj
        >>> [part.tolist() for part in tj.array_split(tj.arange(5), 2)]
        [[0, 1, 2], [3, 4]]

    Raises ShapeError. Semantics: ``numpy.array_split``.
    """
    x = as_tensor(x)
    place = normalize_axis("array_split", axis, x.ndim)
    extent = x.shape[place]
    try:
        sections = operator.index(indices_or_sections)
    except TypeError:
        inner = [operator.index(section) for section in indices_or_sections]
        return _cut(x, place, [0, *inner, extent])
    most = extent + _MAX_EMPTY_PARTS
    if not 0 < sections <= most:
        raise ShapeError(
            f"array_split: indices_or_sections must be from 1 to {most} for an axis of size {extent}, "
            f"got {sections}"
        )
    each, more = divmod(extent, sections)
    bounds = [part * each + min(part, more) for part in range(sections + 1)]
    return _cut(x, place, bounds)


def split(x: Any, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    """Split `x` along `axis`, as ``array_split`` does; a number of parts must give equal sizes.

    Example:
        >>> import tracejit as tj
        >>> [part.tolist() for part in tj.split(tj.arange(6), 3)]
        [[0, 1], [2, 3], [4, 5]]

    Raises ShapeError where they have not. Semantics: ``numpy.split``.
    """
    x = as_tensor(x)
    place = normalize_axis("split", axis, x.ndim)
    if (
        isinstance(indices_or_sections, int)
        and indices_or_sections > 0
        and x.shape[place] % indices_or_sections
    ):
        raise ShapeError(
            f"split: axis {place} of size {x.shape[place]} does not divide into "
            f"{indices_or_sections} equal parts; use array_split"
        )
    return array_split(x, indices_or_sections, place)


def unstack(x: Any, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices of `x` along `axis`, which they lack.

    Example:
        >>> import tracejit as tj
        >>> a, b = tj.unstack([[1, 2], [3, 4]])
        >>> b
        tensor([3, 4])

    Raises AxisError. Semantics: ``numpy.unstack``.
    """
    x = as_tensor(x)
    place = normalize_axis("unstack", axis, x.ndim)
    shape = x.shape[:place] + x.shape[place + 1 :]
    rows = (sliced(x, place, row, 1) for row in range(x.shape[place]))
    return tuple(given_as_scalar(run("reshape", row, shape=shape)) for row in rows)


# The Array API's name.
concat = concatenate
