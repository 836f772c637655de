"""Python's numbers and nested lists of them, as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from .ir.dtypes import default_dtype
from .ir.errors import ConcretizationError, DTypeError, ShapeError

Array = np.ndarray[Any, Any]


def from_python(value: Any) -> Array:
    """The ndarray of a number or a nesting of them; Python floats take the default dtype."""
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ShapeError(
            f"expected a rectangular nesting of numbers, got {_short(value)}: {error}"
        ) from error
    except ConcretizationError:
        raise
    except OverflowError as error:
        raise DTypeError(f"an integer does not fit 64 bits in {_short(value)}") from error
    if array.dtype.kind == "f" and not isinstance(value, np.generic) and not hasattr(value, "__array__"):
        return array.astype(default_dtype())
    if array.dtype.kind in "OUSV":
        raise DTypeError(f"expected numbers, got {_short(value)}, which has dtype {array.dtype}")
    return array


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
