"""Binary search in sorted values."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....base.errors import DTypeError, ShapeError
from ...dtypes import INT64
from ...registry import NONDIFF, Attrs, Kind
from ...transforms.batching import all_mapped, batch_each
from ...types import TensorType
from ..define import define


def _infer(types: tuple[TensorType, ...], attrs: Attrs) -> tuple[TensorType, ...]:
    line, values = types
    if line.ndim != 1 or line.dtype is not values.dtype:
        raise ShapeError(f"searchsorted: expected a line and values of its dtype, got {line} and {values}")
    if attrs["side"] not in ("left", "right"):
        raise DTypeError(f"searchsorted: side must be 'left' or 'right', got {attrs['side']!r}")
    return (TensorType(INT64, values.shape),)


def _eval(a: Any, v: Any, side: Any) -> Any:
    return np.asarray(np.searchsorted(a, v, side=side), INT64)


def _batch(b: Any, instruction: Any, operands: Any, mapped: Any, size: int) -> Any:
    """One line for all examples: all their values at once."""
    if mapped[0]:
        return batch_each(b, instruction, operands, mapped, size)
    values = all_mapped(b, operands[1:], mapped[1:], size)
    return b.append(instruction.op, (operands[0], *values), instruction.attrs)


SEARCHSORTED = define(
    "searchsorted", Kind.SEARCH, "a v",
    doc="where v's elements go in the ascending line a: before their equals (`left`) or behind (`right`)",
    attrs={"side": (str,)}, infer=_infer, eval=_eval, vjp=NONDIFF, batch=_batch,
)  # fmt: skip
