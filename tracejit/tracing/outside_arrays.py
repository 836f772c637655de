"""Arrays of NumPy's that a function writes and that are no arguments of it: captured, or found in an object.

Compiled code has no place to write them, and while the function is traced they would be written once, and not
at each call. So calls that write such an array run as Python. Where the bytecode tells, that is known before
the function runs; else the arrays are compared after the trace, and what it wrote is taken back.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..base.errors import UncompilableError
from ..frontend.guards import kept_content, same_content
from ..frontend.libraries.library import may_write_arrays
from ..frontend.usage import Uses
from ..frontend.values import Source
from ..tensors.tensor import Tensor


class OutsideArrayError(UncompilableError):
    """A call that cannot run as compiled, since the function writes an array that is no argument."""

    advice = "pass the array as an argument"


class UnseenWriteError(UncompilableError):
    """A call that cannot run as compiled, since the function writes an array of NumPy's that it makes through
    a tensor that is a copy of it."""

    advice = "make the array by tj.array"


class OutsideArrays:
    """Arrays outside the arguments that the function `label` may write, and their elements now."""

    def __init__(self, label: str, uses: Uses) -> None:
        """Raises OutsideArrayError where every call writes one of them."""
        for source in uses.array_writes.values():
            raise _error(label, source)
        self._label, self._possible = label, list(uses.possible_writes.values())
        self._arrays = [places[0] for places in uses.arrays.values()]
        self._kept: list[tuple[Source, Any, Any]] = []
        if any(map(may_write_arrays, uses.codes.values())):
            for place in self._arrays:
                data = _memory(place.value)
                if data is not None and data.flags.writeable:
                    self._kept.append((place.source, data, kept_content(data)))

    def check(self, written_as_tensors: Iterable[Any] = ()) -> None:
        """Raise OutsideArrayError where the function has written one, after which they are what they were.
        It has written `written_as_tensors` in tensors of the trace, which do not reach their memory."""
        written = [
            (source, array, before) for source, array, before in self._kept if not _is_same(array, before)
        ]
        for _, array, before in written:
            np.copyto(array, before)
        for source, _, _ in written:
            raise _error(self._label, source)
        for array in written_as_tensors:
            for place in self._arrays:
                data = _memory(place.value)
                if data is not None and np.may_share_memory(array, data):
                    raise _error(self._label, place.source)
            raise UnseenWriteError(
                f"{self._label}: an array of shape {array.shape} that it makes by NumPy out of numbers alone "
                "is written through a view"
            )

    def check_possible(self) -> None:
        """Raise OutsideArrayError where the function may write one: a trace has asked for what is written."""
        for source in self._possible:
            raise _error(self._label, source)


def _error(label: str, source: Source) -> OutsideArrayError:
    return OutsideArrayError(f"{label}: {source} is written, an array that is not an argument")


def _memory(value: Any) -> Any:
    """The memory of a tensor or array outside of traces, None where there is none."""
    data = value._data if isinstance(value, Tensor) else value
    return np.asarray(data) if isinstance(data, np.ndarray) else None


def _is_same(array: Any, before: Any) -> bool:
    """Whether `array` has the very elements that `before` has: bit by bit, or as objects."""
    if array.dtype.hasobject and array.shape == before.shape:
        return all(map(operator.is_, array.flat, before.flat))
    return same_content(array, before)
