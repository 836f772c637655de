"""Indices of the elements that are not zero."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ...base.errors import ShapeError
from ...ir.graph import Value
from ...provided import MASKED_SELECTION, SIZED
from ...state import STATE
from ...tensors.tensor import Tensor, wrap
from ..operands import (
    as_tensor,
    reshaped,
    run,
    sliced,
)


def nonzero(x: Any, *, size: int | None = None, fill_value: Any = 0) -> tuple[Tensor, ...]:
    """The indices of the elements that are not zero, one array per axis.

    Their number depends on values. With `size` it is that: the first ones, and behind them `fill_value`, a
    number or a tuple of one per axis. Without, what a trace does with them is that with ``x[mask]``.

    Example:
        >>> import tracejit as tj
        >>> tj.nonzero([0, 7, 0, 8])
        (tensor([1, 3]),)
        >>> tj.jit(lambda x: tj.nonzero(x, size=3, fill_value=-1))(tj.tensor([0, 7, 0, 8]))
        (tensor([ 1,  3, -1]),)

    Raises ShapeError at rank 0. Semantics: ``numpy.nonzero``; `size` as in ``jax.numpy.nonzero``.
    """
    return indices_of_nonzero("nonzero", as_tensor(x), size, fill_value)


def indices_of_nonzero(name: str, x: Tensor, size: Any, fill_value: Any) -> tuple[Tensor, ...]:
    """``nonzero`` on behalf of the function `name`."""
    if x.ndim == 0:
        raise ShapeError(f"{name}: expected rank 1 or more; use atleast_1d")
    if size is not None:
        return _sized().nonzero(name, x, size, fill_value)  # type: ignore[no-any-return]
    data = x._data
    if isinstance(data, Value) and STATE.tracer is not None:
        selection = MASKED_SELECTION()
        return selection.places(x)
    if STATE.tracer is not None or type(data) is not np.ndarray:
        data = x._concrete(f"{name}(x)", _WITH_SIZE.format(name))
    return tuple(wrap(array) for array in np.nonzero(data))


_WITH_SIZE: Final = "{}(x, size=n), which gives n indices, or tj.where(condition, a, b)"


def _sized() -> Any:
    return SIZED()


def argwhere(x: Any, *, size: int | None = None, fill_value: Any = 0) -> Tensor:
    """The indices of the elements that are not zero, one row each; see ``nonzero`` for `size`.

    Example:
        >>> import tracejit as tj
        >>> tj.argwhere([0, 7, 0, 8])
        tensor([[1],
                [3]])

    Raises ConcretizationError at rank 0 under a trace without `size`. Semantics: ``numpy.argwhere``; `size`
    as in ``jax.numpy.argwhere``.
    """
    x = as_tensor(x)
    if size is None and x.is_traced and x.ndim:
        return MASKED_SELECTION().rows_of_places(x)  # type: ignore[no-any-return]
    if size is None:
        return wrap(np.argwhere(x._concrete("argwhere(x)", _WITH_SIZE.format("argwhere"))))
    columns = _sized().nonzero("argwhere", x if x.ndim else reshaped(x, (1,)), size, fill_value)
    rows = run("concat", *[reshaped(column, (column.size, 1)) for column in columns], axis=1)
    return sliced(rows, 1, 0, x.ndim)
