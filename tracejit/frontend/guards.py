"""Guards: what must still hold of a place for a compiled function to be right."""

from __future__ import annotations

import math
from collections import OrderedDict, deque
from typing import Any, Final

import numpy as np

from ..base.records import record
from ..ir.graph import Value
from ..runtime.repeats import distinct, large_repeats
from ..tensors.tensor import Tensor
from .rewritten import original
from .values import MISSING, Source

#: Immutable values that are compared by value.
CONSTANTS: Final = (
    bool, int, float, complex, str, bytes, type(None), type(Ellipsis), range, slice, np.generic, np.dtype,
)  # fmt: skip
_SEQUENCES: Final = (list, tuple, deque)


def is_constant(value: Any) -> bool:
    """Whether a trace takes `value` for a constant: immutable, and told from others by its value."""
    return isinstance(value, CONSTANTS)


def same_constant(value: Any, expected: Any) -> bool:
    """Whether two constants are one to any program: of the same type, 0.0 is not -0.0, NaN is itself."""
    if value is expected:
        return True
    if type(value) is not type(expected):
        return False
    if isinstance(value, float):
        if math.isnan(value) or math.isnan(expected):
            return math.isnan(value) and math.isnan(expected)
        return value == expected and math.copysign(1, value) == math.copysign(1, expected)
    if isinstance(value, (complex, np.generic, range, slice)):
        return repr(value) == repr(expected)
    return bool(value == expected)


@record(eq=False)
class Guard:
    """A place that must still hold the very same object."""

    source: Source
    expected: Any

    def holds(self) -> bool:
        """Whether nothing that the trace saw has changed there."""
        value = self.source.read()
        return value is self.expected or original(value) is self.expected

    def shown(self) -> tuple[str, str]:
        """The value when the function was traced, and the value now, as text."""
        value = self.source.read()
        return repr(self.expected), "nothing" if value is MISSING else repr(value)

    def text(self) -> str:
        """The value when the function was traced, in a few words."""
        shown = self.shown()[0]
        return shown if len(shown) <= 40 else f"{type(self.expected).__name__} ..."


class ConstantGuard(Guard):
    """A place that must still hold an equal constant of the same type."""

    __slots__ = ()

    def holds(self) -> bool:
        return same_constant(self.source.read(), self.expected)


class MissingGuard(Guard):
    """A place where there must still be nothing."""

    __slots__ = ()

    def holds(self) -> bool:
        return self.source.read() is MISSING

    def shown(self) -> tuple[str, str]:
        return "nothing", repr(self.source.read())


class LengthGuard(Guard):
    """A sequence that must still have the same type and length; `expected` is (type, length)."""

    __slots__ = ()

    def holds(self) -> bool:
        value = self.source.read()
        return type(value) is self.expected[0] and length_of(value) == self.expected[1]

    def shown(self) -> tuple[str, str]:
        value = self.source.read()
        length = f"{len(value)} items" if isinstance(value, _SEQUENCES) else type(value).__name__
        return f"{self.expected[1]} items", length


class ChangedGuard(Guard):
    """Guard on a value that the function reads and itself changes while it is traced. It never holds, so that
    each call is traced."""

    __slots__ = ()

    def holds(self) -> bool:
        return False


class KeysGuard(Guard):
    """A dict that must still have the same type and keys, in order; `expected` is (type, keys)."""

    __slots__ = ()

    def holds(self) -> bool:
        value = self.source.read()
        if type(value) is not self.expected[0]:
            return False
        keys = keys_of(value)
        return len(keys) == len(self.expected[1]) and all(
            type(key) is type(other) and (key is other or key == other)
            for key, other in zip(keys, self.expected[1], strict=True)
        )

    def shown(self) -> tuple[str, str]:
        value = self.source.read()
        keys = repr(list(value)) if isinstance(value, dict) else type(value).__name__
        return f"keys {list(self.expected[1])!r}", keys


class ElementsGuard(Guard):
    """A set that must still have the same elements; `expected` is (type, elements)."""

    __slots__ = ()

    def holds(self) -> bool:
        value = self.source.read()
        return type(value) is self.expected[0] and elements_of(value) == self.expected[1]


class ArrayTypeGuard(Guard):
    """A tensor or array that must still have its dtype and shape; `expected` is (class, dtype, shape)."""

    __slots__ = ()

    def holds(self) -> bool:
        value = self.source.read()
        return isinstance(value, (Tensor, np.ndarray)) and array_type(value) == self.expected

    def shown(self) -> tuple[str, str]:
        value = self.source.read()
        now = array_type(value)[1:] if isinstance(value, (Tensor, np.ndarray)) else repr(value)
        return str(self.expected[1:]), str(now)


class ContentGuard(Guard):
    """A tensor or array that must still have the same elements, bit by bit; `expected` is a copy of them."""

    __slots__ = ()

    def holds(self) -> bool:
        value = self.source.read()
        data = value._data if isinstance(value, Tensor) else value
        return isinstance(data, np.ndarray) and same_content(data, self.expected)

    def shown(self) -> tuple[str, str]:
        return "its elements", "others"


def keys_of(mapping: Any) -> list[Any]:
    """The keys of a mapping in order, whatever a class of the user's says of them."""
    kinds = (OrderedDict, dict)
    kind = next((kind for kind in kinds if isinstance(mapping, kind)), None)
    return list(mapping if kind is None else kind.keys(mapping))


def length_of(sequence: Any) -> int:
    """The number of items that a sequence has, whatever a class of the user's says of it."""
    return next(kind for kind in _SEQUENCES if isinstance(sequence, kind)).__len__(sequence)


def elements_of(values: Any) -> frozenset[Any]:
    """The key of a set by its elements; 1 differs from True, and 0.0 from -0.0."""
    return frozenset(
        [(type(value), repr(value) if is_constant(value) else id(value)) for value in _own_elements(values)]
    )


def _own_elements(values: Any) -> Any:
    kind: Any = set if isinstance(values, set) else frozenset
    return kind.__iter__(values)


def array_type(value: Any) -> Any:
    """The properties of a tensor or array that a trace relies on when it does not look at elements."""
    return isinstance(value, Tensor), value.dtype, value.shape


def same_content(array: Any, expected: Any) -> bool:
    """Whether two arrays have the same type, shape and bits."""
    if array.dtype != expected.dtype or array.shape != expected.shape:
        return False
    if array.dtype.hasobject:
        return bool(np.array_equal(array, expected))
    axes = set(large_repeats(array)).intersection(large_repeats(expected))
    array, expected = distinct(array, axes), distinct(expected, axes)
    return not array.nbytes or bool(np.array_equal(_bytes_of(array), _bytes_of(expected)))


def _bytes_of(array: Any) -> Any:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def copied_content(value: Any) -> Any:
    """The elements of a tensor or array, None where they are symbols of a trace."""
    data = value._data if isinstance(value, Tensor) else value
    return None if isinstance(data, Value) else kept_content(data)


def kept_content(array: Any) -> Any:
    """A copy of the elements of an array; of a large one that repeats them, as NumPy's broadcasts do, what is
    repeated."""
    axes = large_repeats(array)
    copy = np.array(distinct(array, axes), order="C")
    return np.broadcast_to(copy, array.shape) if axes else copy
