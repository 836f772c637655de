"""Kinds of parameters of public functions and of NumPy's: a test of the argument, and the words for it.

Read only when a call has failed: see `wrong_arguments`.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ..base.errors import ArgumentError, AxisKindError, DTypeError, SizeKindError, TracejitError
from ..base.records import record
from ..ir.dtypes import as_dtype, is_differentiable
from ..ir.graph import Value
from ..ir.types import TensorType
from ..pytree import flatten
from ..state import STATE
from ..tensors.tensor import Tensor, as_array


@record
class ArgumentKind:
    """A kind of parameter: the test of an argument, the words for it, and the error for one that fails."""

    accepts: Callable[[Any], bool]
    words: str
    raises: type[TracejitError] = ArgumentError


def _is_traced(value: Any, kinds: str) -> bool:
    return (
        isinstance(value, Tensor)
        and value.is_traced
        and value.dtype.kind in kinds
        and not _has_outlived(value)
    )


def fits(value: Any) -> bool:
    """Whether an integer fits 64 bits."""
    return bool(-(2**63) <= value < 2**64)


def is_index(value: Any) -> bool:
    """Whether `value` is an integer that fits 64 bits, or a traced one."""
    try:
        return _is_traced(value, "iu") or fits(operator.index(value))
    except (TypeError, TracejitError):
        return False


def is_number(value: Any) -> bool:
    """Whether `value` is a number, or a traced one."""
    if isinstance(value, (str, bytes)) or (isinstance(value, int) and not fits(value)):
        return False
    try:
        return _is_traced(value, "fiub") or float(value) is not None
    except (TypeError, ValueError, OverflowError, TracejitError):
        return False


def _is_truth(value: Any) -> bool:
    if isinstance(value, (Tensor, np.ndarray)):
        return value.shape == () and value.dtype.kind in "fiub"
    return isinstance(value, (bool, np.bool_)) or (isinstance(value, int) and value in (0, 1))


def is_array(value: Any) -> bool:
    """Whether `value` is an array of numbers, or what ``asarray`` makes one of."""
    if isinstance(value, Tensor):
        return not _has_outlived(value)
    if isinstance(value, (list, tuple)) and any(isinstance(item, (Tensor, list, tuple)) for item in value):
        return all(map(is_array, value)) and len(set(map(_extent, value))) == 1
    try:
        as_array(value)
    except (TracejitError, RecursionError):
        return False
    return True


def _extent(value: Any) -> int | None:
    shape = np.shape(value) if not isinstance(value, (list, tuple)) else (len(value),)
    return shape[0] if shape else None


def _has_outlived(value: Tensor) -> bool:
    """Whether `value` belongs to a trace that is over."""
    data, tracer = getattr(value, "_data", None), STATE.tracer
    while tracer is not None and isinstance(data, Value):
        if data in tracer._owned:
            return False
        tracer = tracer.parent
    return isinstance(data, Value)


def is_dtype(value: Any) -> bool:
    """Whether `value` names a dtype."""
    try:
        as_dtype(value)
    except DTypeError:
        return False
    return True


def _integers(value: Any) -> bool:
    if isinstance(value, (Tensor, np.ndarray)):
        return value.dtype.kind in "iub" and value.ndim < 2
    return is_index(value) or (isinstance(value, (list, tuple)) and all(map(is_index, value)))


def _nested_integers(value: Any) -> bool:
    return _integers(value) or (isinstance(value, (list, tuple)) and all(map(_nested_integers, value)))


def _indices(value: Any) -> bool:
    return is_array(value) and dtype_of(value).kind in "iu"


def _arrays(value: Any) -> bool:
    if isinstance(value, (Tensor, np.ndarray)):
        return is_array(value) and value.ndim > 0
    return isinstance(value, (list, tuple)) and len(value) > 0 and all(map(is_array, value))


def _is_key(value: Any) -> bool:
    return isinstance(value, (Tensor, np.ndarray)) and value.dtype == np.uint64 and value.shape == ()


def is_tensor(value: Any) -> bool:
    """Whether `value` is a tensor whose trace, if any, still runs."""
    return isinstance(value, Tensor) and not _has_outlived(value)


def _tensors(value: Any) -> bool:
    return is_tensor(value) or (isinstance(value, (list, tuple)) and all(map(is_tensor, value)))


def _is_tree(value: Any) -> bool:
    return all(map(is_array, flatten(value)[0]))


def dtype_of(value: Any) -> Any:
    """The dtype of an array, or of what ``asarray`` makes one of."""
    return (value if isinstance(value, Tensor) else as_array(value)).dtype


def _is_floating_tree(value: Any) -> bool:
    return all(is_array(leaf) and is_differentiable(dtype_of(leaf)) for leaf in flatten(value)[0])


def _is_spec(value: Any) -> bool:
    return all(isinstance(leaf, TensorType) or is_array(leaf) for leaf in flatten(value)[0])


def _is_place(value: Any) -> bool:
    """Whether `value` can stand in ``x[value]``."""
    if isinstance(value, tuple):
        return all(map(_is_place, value))
    if value is None or value is Ellipsis or isinstance(value, slice):
        return True
    if isinstance(value, list) and value == []:
        return True
    return is_array(value) and dtype_of(value).kind in "iub"


def _anything(value: Any) -> bool:
    return not isinstance(value, Tensor) or not _has_outlived(value)


INTEGER: Final = ArgumentKind(is_index, "an integer")
NUMBER: Final = ArgumentKind(is_number, "a number")
TRUTH: Final = ArgumentKind(_is_truth, "True or False")
TEXT: Final = ArgumentKind(lambda value: isinstance(value, str), "a string")
FUNCTION: Final = ArgumentKind(callable, "a function")
ARRAY: Final = ArgumentKind(is_array, "an array of numbers, or what tj.asarray makes one of", DTypeError)
ARRAYS: Final = ArgumentKind(_arrays, "a list or tuple of arrays", DTypeError)
TENSOR: Final = ArgumentKind(is_tensor, "a tensor", DTypeError)
TENSORS: Final = ArgumentKind(_tensors, "a tensor or a list of them", DTypeError)
DTYPE: Final = ArgumentKind(is_dtype, "a dtype such as 'float64'", DTypeError)
AXIS: Final = ArgumentKind(_integers, "an integer or a tuple of integers", AxisKindError)
PAIR: Final = ArgumentKind(
    lambda value: isinstance(value, (list, tuple)) and len(value) == 2, "a pair, a list or tuple of two"
)
COUNTS: Final = ArgumentKind(
    lambda value: isinstance(value, (list, tuple)) and len(value) == 2 and all(map(is_index, value)),
    "a pair of integers",
)
ORDER: Final = ArgumentKind(
    lambda value: isinstance(value, str) or is_number(value), "a number, or the name of a norm"
)
AXES: Final = ArgumentKind(
    lambda value: isinstance(value, (list, tuple)) and _integers(value), "a tuple of integers", AxisKindError
)
INTEGERS: Final = ArgumentKind(_integers, "an integer or a sequence of integers")
NESTED: Final = ArgumentKind(_nested_integers, "an integer, or a sequence of integers or of pairs")
INDICES: Final = ArgumentKind(_indices, "an array of integers", DTypeError)
SHAPE: Final = ArgumentKind(_integers, "an integer or a tuple of integers", SizeKindError)
KEY: Final = ArgumentKind(_is_key, "a key, as tj.random.key(0) makes it", DTypeError)
FLOATS: Final = ArgumentKind(_is_floating_tree, "a floating tensor, or a container of such", DTypeError)
SPEC: Final = ArgumentKind(_is_spec, "a tj.TensorType, an array, or a container of such", DTypeError)
TREE: Final = ArgumentKind(_is_tree, "a tensor, or a container of tensors", DTypeError)
PLACE: Final = ArgumentKind(
    _is_place, "an integer, a slice, None, an array of integers or bools, or a tuple of these", DTypeError
)
SEQUENCE: Final = ArgumentKind(lambda value: isinstance(value, (Sequence, np.ndarray)), "a sequence")
MAPPING: Final = ArgumentKind(lambda value: isinstance(value, Mapping), "a dict")
ANYTHING: Final = ArgumentKind(_anything, "anything but a traced tensor whose trace is over")


__all__ = ["kind_of_parameter"]


def _list_of(accepts: Callable[[Any], bool], words: str) -> ArgumentKind:
    def is_list(value: Any) -> bool:
        if isinstance(value, (np.ndarray, Tensor)):
            return value.ndim > 0 and is_array(value)
        return isinstance(value, (list, tuple)) and all(map(accepts, value))

    return ArgumentKind(is_list, words, DTypeError)


def _is_position(value: Any) -> bool:
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
    "obj": ArgumentKind(_is_position, "an integer, several, a slice, or a mask", DTypeError),
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
