"""Arrays that are one of several, as traced values say: ``r = x if t else y``, or what a loop leaves behind.

In Python `r` is `x` or `y` itself. A trace has a copy of the elements, which is the same until one of the
arrays is written: then the trace raises, and Python runs the loop, or the function.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Final

from ..base.errors import TraceError
from ..ir.graph import Value
from ..tape.views import views_of
from ..tensors.tensor import Tensor

WRITTEN: Final = "an array that is one of several, by a traced condition, is written in place"
OUTDATED: Final = "an array is written in place that has another name, by a traced condition"

TOLD_APART: Final = (
    "objects are compared by identity, and a loop or a traced condition gives one several names"
)


class MergedArrayError(TraceError):
    """An array that is one of several is written in place, or one is written and another one is read."""


class Merges:
    """Objects that loops and branches of one trace have merged; `around` has those of the trace around it."""

    def __init__(self, around: Merges | None) -> None:
        self._around = around
        #: Whether anything in this trace, or in one inside it, may have several names.
        self.is_any = False

    def note_several_names(self) -> None:
        """Note that something may have several names in Python, and is several objects here."""
        merges: Merges | None = self
        while merges is not None:
            merges.is_any, merges = True, merges._around


class MergedArrays(Merges):
    """The merged arrays of one trace."""

    def __init__(self, around: MergedArrays | None) -> None:
        super().__init__(around)
        self._sources: dict[Value, frozenset[Value]] = {}
        self._results: dict[Value, list[weakref.ref[Tensor]]] = {}
        #: The number of steps of the loop of each result that is another array only if there were none.
        self._steps: dict[Value, Tensor] = {}

    def add(self, result: Tensor, sources: Iterable[Value], steps: Tensor | None = None) -> None:
        """Note that `result` is in Python one of the arrays whose memory has the values `sources`; if there
        are `steps`, only where their number is 0."""
        every = set(sources)
        every.update(*[self._sources.get(source, ()) for source in every])
        if every:
            self.note_several_names()
        self._sources[result._data] = frozenset(every)
        for source in every:
            self._results.setdefault(source, []).append(weakref.ref(result))
        if steps is not None:
            self._steps[result._data] = steps

    def sources_of(self, value: Value) -> frozenset[Value] | None:
        """The values of the arrays of which `value` is one; None if it is no merged array."""
        return self._sources.get(value)

    def forbids_writing(self, value: Value, has: Callable[[Tensor], bool]) -> bool:
        """Whether the memory that has `value` is a merged array's, which may not be written. `has` is asked
        whether a loop had steps."""
        steps = self._steps.pop(value, None)
        if steps is not None and has(steps):
            del self._sources[value]
        return value in self._sources

    def outdated_by(self, value: Value) -> dict[Value, Tensor | None]:
        """The values that are outdated where the memory that has `value` is written; for those that are only
        if a loop had no steps, the number of its steps."""
        outdated: dict[Value, Tensor | None] = {}
        pending = [value]
        for source in pending:  # which grows
            for reference in self._results.pop(source, ()):
                result = reference()
                if result is not None and result._data in self._sources:
                    steps = self._steps.get(result._data) if source is value else None
                    outdated |= {tensor._data: steps for tensor in (result, *views_of(result))}
                    pending.append(result._data)
        return outdated
