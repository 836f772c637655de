"""Arrays of other libraries, such as pandas, xarray, PyTorch and JAX, as ndarrays.

None of these libraries is imported: an array is known by ``__array__`` or ``__dlpack__`` of its class.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any, Final

import numpy as np

from ..base.errors import DTypeError, NotNumbersError, SubclassError, TracejitError

Array = np.ndarray[Any, Any]

_OF_PYTHON: Final = frozenset({float, int, bool, list, tuple})


def is_foreign(value: Any) -> bool:
    """Whether `value`, which is no Tensor, is an array of another library than NumPy."""
    kind = type(value)
    if kind in _OF_PYTHON or issubclass(kind, (np.ndarray, np.generic)):
        return False
    return hasattr(kind, "__array__") or hasattr(kind, "__dlpack__")


def check_class(what: str, value: Any) -> None:
    """Raise SubclassError where `value`, which messages call `what`, is an array of a subclass whose
    operations may not be those of ndarray, such as a masked array or a matrix."""
    if isinstance(value, np.ndarray) and not is_like_ndarray(value):
        raise SubclassError(f"{what} is a {_name(type(value))}, whose operations are not ndarray's")


def is_like_ndarray(array: Array) -> bool:
    """Whether the operations of the class of `array` are those of ndarray."""
    kind: Any = type(array)
    return kind is np.ndarray or _has_operations_of_ndarray(kind)


@functools.lru_cache(maxsize=256)
def _has_operations_of_ndarray(kind: type) -> bool:
    """Whether a subclass of ndarray defines none of its operations, but how it is made and stored."""
    own = itertools.takewhile(lambda cls: cls is not np.ndarray, kind.__mro__)
    names = {name for cls in own if cls is not np.memmap for name in vars(cls)}
    return not any(hasattr(np.ndarray, name) for name in names - _OF_OBJECTS)


#: Names that classes define beside operations.
_OF_OBJECTS: Final = frozenset(
    ("__array_finalize__", "__dict__", "__doc__", "__init__", "__module__", "__new__", "__reduce__",
     "__repr__", "__setstate__", "__str__", "__weakref__", "__annotations__", "__slots__", "__firstlineno__",
     "__static_attributes__", "__del__", "__init_subclass__")
)  # fmt: skip


def read_foreign(value: Any) -> Array:
    """The elements of `value`, in its own memory where its library allows that.

    Raises DTypeError with the library's reason where it gives none: of a tensor of PyTorch that requires
    gradients, or that lies on another device.
    """
    kind = type(value)
    try:
        array = np.asarray(value) if hasattr(kind, "__array__") else np.from_dlpack(value)
    except TracejitError:  # of what is no array while tracing
        raise
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise DTypeError(f"a {_name(kind)} cannot be read as an array: {error}") from error
    if array.dtype.kind not in "biufc":
        raise NotNumbersError(f"expected numbers, got a {_name(kind)} of dtype {array.dtype}")
    return array


def _name(kind: type) -> str:
    return f"{kind.__module__.partition('.')[0]}.{kind.__qualname__}"
