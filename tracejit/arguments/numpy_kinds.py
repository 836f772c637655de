"""What parameters of NumPy's functions take that no other functions have."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ..eager.tensor import Tensor
from ..ir.errors import DTypeError
from .kinds import (
    ANYTHING,
    ARRAY,
    AXES,
    AXIS,
    DTYPE,
    INTEGER,
    NUMBER,
    SHAPE,
    ArgumentKind,
    dtype_of,
    is_array,
    is_dtype,
    is_index,
    is_number,
    is_tensor,
)

__all__ = ["kind_of_parameter"]


def _list_of(accepts: Callable[[Any], bool], words: str) -> ArgumentKind:
    def is_list(value: Any) -> bool:
        if isinstance(value, (np.ndarray, Tensor)):
            return value.ndim > 0 and is_array(value)
        return isinstance(value, (list, tuple)) and all(map(accepts, value))

    return ArgumentKind(is_list, words, DTypeError)


def _is_place(value: Any) -> bool:
    return isinstance(value, slice) or (
        is_array(value) and (np.size(value) == 0 or dtype_of(value).kind in "biu")
    )


def _is_file(value: Any) -> bool:
    return isinstance(value, (str, os.PathLike)) or hasattr(value, "read") or hasattr(value, "write")


def _are_bins(value: Any) -> bool:
    if isinstance(value, (list, tuple)) and not is_array(value):
        return all(map(_are_bins, value))
    return isinstance(value, str) or is_index(value) or (is_array(value) and np.ndim(value) > 0)


def _is_range(value: Any) -> bool:
    if not isinstance(value, (list, tuple)):
        return False
    return (len(value) == 2 and all(map(is_number, value))) or all(
        item is None or _is_range(item) for item in value
    )


OUT: Final = ArgumentKind(
    lambda value: is_tensor(value) or (isinstance(value, np.ndarray) and is_array(value)),
    "a tensor or an ndarray",
    DTypeError,
)
MASK: Final = ArgumentKind(
    lambda value: is_array(value) and dtype_of(value).kind == "b", "an array of bools", DTypeError
)
TYPED: Final = ArgumentKind(
    lambda value: (
        value is not None and not isinstance(value, (list, tuple)) and (is_array(value) or is_dtype(value))
    ),
    "an array or a dtype",
    DTypeError,
)

CASTABLE: Final = ArgumentKind(
    lambda value: isinstance(value, (Tensor, np.ndarray)) or (value is not None and is_dtype(value)),
    "an array or a dtype, no number",
    DTypeError,
)
MODES: Final = ArgumentKind(
    lambda value: isinstance(value, (str, list, tuple)), "'raise', 'wrap' or 'clip', or one for each axis"
)
_BY_NAME: Final[dict[str, ArgumentKind]] = {
    **dict.fromkeys(
        ["kind", "named", "options", "order", "places", "otypes", "excluded", "cov", "mode"], ANYTHING
    ),
    **dict.fromkeys(["arrays_and_dtypes", "from_"], TYPED),
    **dict.fromkeys(
        ["condlist", "choicelist", "choices", "multi_index"], _list_of(is_array, "a list of arrays")
    ),
    **dict.fromkeys(["dims", "new_shape"], SHAPE),
    "dimensions": AXES,
    **dict.fromkeys(["arg1", "arg2", "to"], DTYPE),
    **dict.fromkeys(["initial", "period"], NUMBER),
    "bins": ArgumentKind(_are_bins, "a number of bins, the name of a rule, or edges"),
    "buffer": ArgumentKind(
        lambda value: isinstance(value, (bytes, bytearray, memoryview)), "a buffer of bytes"
    ),
    "dst": OUT,
    "file": ArgumentKind(_is_file, "a path or a file"),
    "funclist": _list_of(lambda value: callable(value) or is_array(value), "a list of functions and numbers"),
    "iter": ArgumentKind(lambda value: hasattr(value, "__next__"), "an iterator of numbers"),
    "obj": ArgumentKind(_is_place, "an integer, several, a slice, or a mask", DTypeError),
    "out": OUT,
    "range": ArgumentKind(_is_range, "a pair of numbers, or one for each dimension"),
    "requirements": ArgumentKind(
        lambda value: isinstance(value, (list, tuple)) and all(isinstance(name, str) for name in value),
        "a list of strings",
    ),
    "where": MASK,
}
_IN_FUNCTION: Final[dict[str, dict[str, ArgumentKind]]] = {
    "can_cast": {"from_": CASTABLE, "to": CASTABLE},
    "digitize": {"bins": ARRAY},
    "ix_": {"args": ARRAY},
    "mask_indices": {"k": INTEGER, "n": INTEGER},
    "ravel_multi_index": {"mode": MODES},
    "trim_zeros": {"axis": AXIS},
    **{name: {"x": OUT} for name in ("fill_diagonal", "place", "put", "put_along_axis", "putmask")},
}


def kind_of_parameter(function: str, parameter: str) -> ArgumentKind | None:
    """The kind of `parameter` of `function`; None where it is one that others have, too."""
    own = _IN_FUNCTION.get(function, {})
    return own.get(parameter) or _BY_NAME.get(parameter)
