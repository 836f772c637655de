"""Functions that arrive in a process again, as joblib sends them with each batch: the one that came before is
called in their place, which is traced and has its native code.

It is taken where both are made of the same: equal code, which reads equal values. What was changed since, or
has parts that cannot be compared, is another function.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final

import numpy as np

from .base.process.locks import ForkLock
from .base.records import record
from .tensors.tensor import Tensor

#: Most functions that are kept, and the bytes that each of them may read.
_MAX_KEPT: Final = 32
_MAX_BYTES: Final = 1 << 23
_KEPT: Final[OrderedDict[Any, Any]] = OrderedDict()
_LOCK: Final = ForkLock()
#: Types whose values equal only equal values of the same type, or only themselves.
_PLAIN: Final = (
    bool, int, str, bytes, type(None), type(...), type, ModuleType, BuiltinFunctionType, np.ufunc,
)  # fmt: skip


class _UnknownPartError(Exception):
    """A part that cannot be compared."""


@record(eq=False)
class _Content:
    """The parts of a function: its `arrays`, and a `key` that compares everything but their elements."""

    key: Any
    arrays: tuple[np.ndarray[Any, Any], ...]

    def equals(self, other: _Content) -> bool:
        """Whether both are equal: keys, and arrays bit for bit."""
        return self.key == other.key and all(
            x.data == y.data for x, y in zip(self.arrays, other.arrays, strict=True)
        )


def arrived(function: Any, parts: tuple[tuple[Any, ...], dict[str, Any]]) -> Any:
    """The function that arrived before and is made of the same as `function`, which is made of `parts`; else
    `function`, which is kept for the next time."""
    try:
        content = _content(function, parts)
    except _UnknownPartError:
        return function
    with _LOCK:
        kept = _KEPT.get(content.key)
    if kept is not None:
        try:
            if _content(kept, kept._making()).equals(content):
                return kept
        except _UnknownPartError:
            pass  # it was changed to something that cannot be compared, and is another function now
    with _LOCK:
        _KEPT[content.key] = function
        _KEPT.move_to_end(content.key)
        while len(_KEPT) > _MAX_KEPT:
            _KEPT.popitem(last=False)
    return function


def _content(function: Any, parts: Any) -> _Content:
    reader = _Reader()
    reader.seen[id(function)] = 0
    key = (type(function), reader.key(parts))
    return _Content(key, tuple(reader.arrays))


class _Reader:
    """Reads what something is made of."""

    def __init__(self) -> None:
        #: Numbers by id, of what may refer to itself.
        self.seen: dict[int, int] = {}
        self.arrays: list[np.ndarray[Any, Any]] = []
        self.bytes = 0

    def key(self, value: Any) -> Any:
        """A hashable value, equal for equal ones. Raises _UnknownPartError."""
        kind = type(value)
        if kind in _PLAIN or isinstance(value, (type, np.dtype)):
            return kind, value
        if kind is float:
            return kind, value.hex()
        if kind is complex:
            return kind, value.real.hex(), value.imag.hex()
        if kind in (tuple, list):
            return (kind, *[self.key(item) for item in value])
        if kind is dict:
            return (kind, *[(self.key(name), self.key(item)) for name, item in value.items()])
        if kind is np.ndarray or isinstance(value, np.generic):
            return self._array(np.asarray(value), kind)
        if kind is Tensor:
            return self._array(np.asarray(value.detach()), kind), value.requires_grad
        if id(value) in self.seen:
            return "seen", self.seen[id(value)]
        self.seen[id(value)] = len(self.seen)
        if kind is FunctionType:
            return self._function(value)
        if kind is functools.partial:
            return kind, self.key(value.func), self.key(value.args), self.key(value.keywords)
        if kind is MethodType:
            return kind, self.key(value.__func__), self.key(value.__self__)
        making = getattr(value, "_making", None)
        if making is None or not value.__dict__:
            raise _UnknownPartError
        return kind, self.key(making())

    def _array(self, array: np.ndarray[Any, Any], kind: type) -> Any:
        self.bytes += array.nbytes
        if array.dtype.hasobject or self.bytes > _MAX_BYTES:
            raise _UnknownPartError
        self.arrays.append(np.ascontiguousarray(array).reshape(-1).view(np.uint8))
        return kind, array.dtype, array.shape

    def _function(self, function: FunctionType) -> Any:
        """The code of a function, and all that it reads."""
        names = sorted(_names(function.__code__) & set(function.__globals__))
        cells = [cell.cell_contents if _is_set(cell) else "not set" for cell in function.__closure__ or ()]
        return (
            function.__code__,
            self.key(function.__defaults__),
            self.key(function.__kwdefaults__),
            self.key(cells),
            *[(name, self.key(function.__globals__[name])) for name in names],
        )


def _names(code: CodeType) -> set[str]:
    """The names that a function's code, and that of the functions in it, may read from its globals."""
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*map(_names, inner))


def _is_set(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True
