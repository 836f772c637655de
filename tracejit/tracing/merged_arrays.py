"""Arrays that are one of several, as a traced condition says: ``r = x if t else y``.

In Python `r` is `x` or `y` itself. A region has a copy of the elements, which is the same until one of the
arrays is written: then the region raises, and Python runs the code.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Final

from ..base.errors import TraceError
from ..ir.graph import Value
from ..tape.views import views_of
from ..tensors.tensor import Tensor

_WRITTEN: Final = "an array that is one of several, by a traced condition, is written in place"
OUTDATED: Final = "an array is written in place that has another name, by a traced condition"


class MergedArrays:
    """The merged arrays of one region."""

    def __init__(self) -> None:
        self._sources: dict[Value, frozenset[Value]] = {}
        self._results: dict[Value, list[weakref.ref[Tensor]]] = {}

    def add(self, result: Tensor, sources: Iterable[Value]) -> None:
        """Note that `result` is in Python one of the arrays whose memory has the values `sources`."""
        self._sources[result._data] = frozenset(sources)
        for source in self._sources[result._data]:
            self._results.setdefault(source, []).append(weakref.ref(result))

    def sources_of(self, value: Value) -> frozenset[Value] | None:
        """The values of the arrays of which `value` is one; None if it is no merged array."""
        return self._sources.get(value)

    def outdated_by(self, value: Value) -> list[Value]:
        """The values that are outdated where the memory that has `value` is written. Raises TraceError if
        that is a merged array itself."""
        if value in self._sources:
            raise TraceError(_WRITTEN)
        outdated: list[Value] = []
        pending = [value]
        for source in pending:  # which grows
            for reference in self._results.pop(source, ()):
                result = reference()
                if result is not None:
                    outdated += [tensor._data for tensor in (result, *views_of(result))]
                    pending.append(result._data)
        return outdated
