"""Origins of the arrays and containers that a loop leaves behind: those from outside, or of one another.

A step may give a variable an array that is there already, or a part of one: ``best = x[i:]``. Steps hand on
copies, so the result of such a variable is noted as a merged array (`tracing.merged_arrays`), and a list or
dict as a merged container (`tracing.merged_containers`). Its origins follow from those where a step ends, and
from those before the loop: what no steps leave.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from ..ir.graph import Value
from ..state import STATE
from ..tape.views import base_of
from ..tensors.tensor import Tensor
from ..tracing.regions import RegionTracer
from .reports import CURRENT
from .variables import WrittenTensors, is_array, is_traced


class Container:
    """A list, dict or object with fields, by its identity."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Container) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


#: Memory that an array may be in: an integer for that of a carried leaf where the step begins, a Value for
#: that of an array outside of the loop, ("written", k) for that of a tensor which the loop writes, and
#: ("new", identity) for that of an array which the step makes. Likewise the container that one may be: an
#: integer for one that is carried, a Container for one outside, and ("new", identity).
Origin: TypeAlias = "int | Value | Container | tuple[str, int]"


class StepOrigins:
    """Origins of arrays where a step of the running region ends."""

    def __init__(
        self,
        symbols: Sequence[Tensor],
        params: Sequence[Value],
        memory: WrittenTensors,
        items: Mapping[Value, frozenset[Origin]],
    ) -> None:
        """`symbols` are those of the carried leaves, whose values were `params` where the step began; `items`
        are the parts of arrays that the step gets, with the memory of each."""
        self._tracer: RegionTracer = STATE.tracer
        self._memory, self._items = memory, items
        self._symbols = {id(symbol): i for i, symbol in enumerate(symbols)}
        self._values: dict[Value, Origin] = {param: i for i, param in enumerate(params)}
        self._values |= {symbol._data: i for i, symbol in enumerate(symbols)}
        self._values |= {base._data: ("written", k) for k, base in enumerate(memory.bases)}

    def of(self, leaf: Any) -> frozenset[Origin]:
        """The memory that `leaf` may be in; empty if it is no array."""
        if not is_array(leaf):
            return frozenset()
        if not isinstance(leaf, Tensor) or not is_traced(base := base_of(leaf)):
            return frozenset([self._origin(self._tracer.lift(leaf))])
        if leaf._data in self._memory.snapshots:
            return frozenset([("written", self._memory.snapshots[leaf._data])])
        if id(base) in self._symbols:
            return frozenset([self._symbols[id(base)]])
        if base._data in self._items:
            return self._items[base._data]
        merged = self._tracer.merged_arrays.sources_of(base._data) or ()
        origins = [self._items.get(value) or [self._origin(value)] for value in (base._data, *merged)]
        return frozenset(itertools.chain.from_iterable(origins))

    def _origin(self, value: Value) -> Origin:
        origin = self._values.get(value)
        if origin is not None:
            return origin
        captured = next((outer for outer, inner in self._tracer.captured.items() if inner is value), None)
        if captured is not None:
            return captured
        return ("new", id(value)) if self._tracer.owns(value) else value


class ContainerOrigins:
    """Origins of containers where a step ends, or a side of a branch, in the running region."""

    def __init__(self, carried: Sequence[Any] = ()) -> None:
        """`carried` are the containers of variables where the step began."""
        self._carried = {id(container): i for i, container in enumerate(carried)}
        self._merged = STATE.tracer.merged_containers

    def of(self, container: Any) -> frozenset[Origin]:
        """The containers that `container` may be."""
        if (position := self._carried.get(id(container))) is not None:
            return frozenset([position])
        sources = self._merged.sources_of(container)
        if sources is not None:
            new: Origin = "new", id(container)
            return frozenset([new]).union(*map(self.of, sources))
        if CURRENT.session.is_fresh(container):
            return frozenset([("new", id(container))])
        return frozenset([Container(container)])


def is_new(origins: Iterable[Origin]) -> bool:
    """Whether all `origins` are new ones."""
    return all(isinstance(origin, tuple) and origin[0] == "new" for origin in origins)


def containers_before(container: Any, *, is_alone: bool) -> frozenset[Origin]:
    """The containers that `container`, of a variable before a loop, may be; none where it `is_alone`, since
    no other name leads to it."""
    merged = STATE.tracer.merged_containers
    if is_alone and (not merged.holds(container) or merged.is_apart(container)):
        return frozenset()
    return frozenset(map(Container, (container, *(merged.sources_of(container) or ()))))


def origins_before(leaf: Any) -> frozenset[Origin]:
    """The memory that `leaf`, the value of a variable before a loop, may be in."""
    if not is_array(leaf):
        return frozenset()
    tracer = STATE.tracer
    if not isinstance(leaf, Tensor) or not is_traced(base := base_of(leaf)):
        return frozenset([tracer.lift(leaf)])
    return frozenset([base._data, *(tracer.merged_arrays.sources_of(base._data) or ())])


class LoopOrigins:
    """Origins of the results of a loop."""

    def __init__(self, before: Sequence[frozenset[Origin]], ends: Sequence[frozenset[Origin]]) -> None:
        """`before` has those of the carried leaves before the loop; `ends` those of each result where a step
        ends, of the carried leaves and then of others."""
        self._before, self._ends = list(before), list(ends)
        self._carried = [set(origins) for origins in before]  # at the start of any step
        is_growing = True
        while is_growing:
            is_growing = False
            for carried, end in zip(self._carried, self._ends, strict=False):
                more = self._resolved(end) - carried
                is_growing |= bool(more)
                carried |= more
        self._pairs = self._together()

    def _resolved(self, end: frozenset[Origin]) -> set[Origin]:
        """`end` with the origins of carried leaves in their place, and without new arrays."""
        resolved: set[Origin] = set()
        for origin in end:
            if isinstance(origin, int):
                resolved |= self._carried[origin]
            elif not (isinstance(origin, tuple) and origin[0] == "new"):
                resolved.add(origin)
        return resolved

    def _together(self) -> set[tuple[int, int]]:
        """Pairs of results that may be in the same memory behind the last of some steps."""
        count = len(self._before)
        before = {(i, j) for i in range(count) for j in range(i) if self._before[i] & self._before[j]}
        pairs: set[tuple[int, int]] = set()
        is_growing = True
        while is_growing:
            known = before | pairs
            more = {
                (i, j)
                for i, end in enumerate(self._ends)
                for j in range(i)
                if (i, j) not in pairs and self._meet(end, self._ends[j], known)
            }
            pairs |= more
            is_growing = bool(more)
        return pairs

    def _meet(self, first: frozenset[Origin], second: frozenset[Origin], pairs: set[tuple[int, int]]) -> bool:
        """Whether arrays of two origins may be in the same memory."""
        return not first.isdisjoint(second) or any(
            (max(a, b), min(a, b)) in pairs
            if isinstance(a, int) and isinstance(b, int)
            else (isinstance(a, int) and b in self._carried[a])
            or (isinstance(b, int) and a in self._carried[b])
            for a in first
            for b in second
        )

    def of(self, position: int) -> set[Origin]:
        """The memory outside of the loop that a result may be in behind the last of some steps."""
        return self._resolved(self._ends[position])

    def together_with(self, position: int) -> set[int]:
        """The results that may be in the memory of the one at `position`."""
        return {other for pair in self._pairs if position in pair for other in pair} - {position}
