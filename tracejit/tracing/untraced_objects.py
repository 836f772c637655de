"""Arrays of NumPy's, lists, dicts, sets and objects that are there while code is traced once for many steps.

What is traced is in the graph. A step that writes one of these objects would do so once, while it is traced,
and not in each step: by ``np.add(t, 1, out=t)`` of an array that is made of numbers alone, by
``list.append(items, k)``. So they are compared behind the trace, and what a step has changed is taken back.
"""

from __future__ import annotations

import operator
import types
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final

import numpy as np

from ..frontend.guards import kept_content, same_content
from ..frontend.libraries.origins import is_own
from ..ir.dtypes import NUMBERS
from ..tensors.tensor import Tensor

#: The number of objects that are looked at.
MAX_OBJECTS: Final = 1 << 16
_PLAIN: Final = (*NUMBERS, bool, str, bytes, type(None), type, types.ModuleType, Tensor, np.generic, np.ufunc)


class UntracedObjects:
    """The state of all that can be written in `values`, and in what they hold, as it is now."""

    def __init__(self, values: Iterable[Any]) -> None:
        #: Each object, what it holds, and how it gets that back.
        self._kept: list[tuple[Any, Any, Callable[[Any, Any], None]]] = []
        self._references: Counter[int] = Counter()
        seen: dict[int, Any] = {}
        stack = list(values)
        while stack and len(seen) < MAX_OBJECTS:
            value = stack.pop()
            if isinstance(value, _PLAIN) or id(value) in seen or is_own(type(value).__module__):
                continue  # ours hold tensors
            seen[id(value)] = value
            self._keep(value)
            stack += _parts(value)
        for value, held, _ in self._kept:
            self._references[id(value)] += 1
            if not isinstance(held, np.ndarray):
                self._references.update(map(id, held.values() if isinstance(held, dict) else held))

    def _keep(self, value: Any) -> None:
        if isinstance(value, np.ndarray):
            if value.flags.writeable and value.dtype.kind in "biufc":
                self._kept.append((value, kept_content(value), np.copyto))
        elif isinstance(value, (list, deque)):
            self._kept.append((value, list(value), _set_items))
        elif isinstance(value, (dict, set)):
            held: Any = dict(value) if isinstance(value, dict) else list(value)
            self._kept.append((value, held, _set_entries))

    def references(self, value: Any) -> int:
        """Number of references to `value` that are here."""
        return self._references[id(value)]

    def restore(self) -> bool:
        """Give the objects back what they had; whether one of them had been changed."""
        changed = [each for each in self._kept if not _is_same(each[0], each[1])]
        for value, held, give in changed:
            give(value, held)
        return bool(changed)


def _parts(value: Any) -> Iterator[Any]:
    """The objects that `value` holds."""
    if isinstance(value, np.ndarray):
        yield value.base
    elif isinstance(value, (list, tuple, deque, set, frozenset)):
        yield from value
    elif isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, types.FunctionType):
        yield from value.__defaults__ or ()
        for cell in value.__closure__ or ():
            try:
                yield cell.cell_contents
            except ValueError:  # it has no value yet
                continue
    elif isinstance(value, types.MethodType):
        yield from (value.__self__, value.__func__)
    elif isinstance(value, partial):
        yield from (value.func, *value.args, *value.keywords.values())
    elif type(fields := getattr(value, "__dict__", None)) is dict:
        yield fields


def _set_items(value: Any, held: list[Any]) -> None:
    value.clear()
    value.extend(held)


def _set_entries(value: Any, held: Any) -> None:
    value.clear()
    value.update(held)


def _is_same(value: Any, held: Any) -> bool:
    if isinstance(value, np.ndarray):
        return same_content(value, held)
    if len(value) != len(held):
        return False
    if isinstance(value, set):
        return value == set(held)
    if isinstance(value, dict):
        return all(map(operator.is_, value, held)) and all(map(operator.is_, value.values(), held.values()))
    return all(map(operator.is_, value, held))
