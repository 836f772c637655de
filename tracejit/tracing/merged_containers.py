"""Lists, dicts and objects with fields that have other names, as a loop or a branch leaves them behind.

In Python two variables may name one list. Loops and branches hand on leaves, and put lists together anew, one
for each variable. That is the same until one of them is changed, or they are compared by ``is``: then the
trace raises, and Python runs the loop, or the function.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

from ..base.records import record
from ..pytree import flatten
from ..tensors.tensor import Tensor
from .merged_arrays import MergedArrayError, Merges

CHANGED: Final = "a list, dict or object is changed that has another name, by a loop or a traced condition"


@record(eq=False, frozen=False)
class _Group:
    """Containers that may be one in Python, each with its contents when they were put together; if there are
    `steps`, only where their number is 0."""

    containers: Sequence[tuple[Any, Sequence[Any]]]
    steps: Tensor | None
    is_written: bool = False

    def is_changed(self) -> bool:
        try:
            return self.is_written or any(
                not _are_same(contents, _contents(container)) for container, contents in self.containers
            )
        except AttributeError:  # an object that has lost a field
            return True


class MergedContainers(Merges):
    """The containers of one trace that loops and branches have put together."""

    def __init__(self, around: MergedContainers | None) -> None:
        super().__init__(around)
        #: Each container with those that it may be in Python, beside a new one; by its identity.
        self._sources: dict[int, tuple[Any, Sequence[Any]]] = {}
        self.groups: list[_Group] = []

    def add(self, container: Any, sources: Collection[Any], steps: Tensor | None = None) -> None:
        """Note that `container` was put together, and is in Python one of `sources`, or a new one. If there
        are `steps`, it is one of them only where their number is 0."""
        self._sources[id(container)] = container, (*(self.sources_of(container) or ()), *sources)
        if sources:
            self.note_several_names()
            group = [(each, _contents(each)) for each in (container, *sources)]
            self.groups.append(_Group(group, steps))

    def holds(self, container: Any) -> bool:
        """Whether `container` was put together."""
        return id(container) in self._sources

    def is_apart(self, container: Any) -> bool:
        """Whether `container` was put together, and is no other one."""
        return self.holds(container) and not self._sources[id(container)][1]

    def sources_of(self, container: Any) -> Sequence[Any] | None:
        """The containers that `container` may be; None where it was not put together."""
        noted = self._sources.get(id(container))
        return None if noted is None else noted[1]

    def write(self, container: Any) -> None:
        """Note that `container` is about to be changed."""
        for group in self.groups:
            group.is_written |= any(each is container for each, _ in group.containers)

    def note_changes(self) -> None:
        """Note which containers are changed now, which a function may undo."""
        for group in self.groups:
            group.is_written = group.is_changed()

    def check(self, has: Callable[[Tensor], bool]) -> None:
        """Raise MergedArrayError where a container was changed that has another name. `has` is asked whether
        a loop had steps."""
        for group in self.groups:
            if group.is_changed() and (group.steps is None or not has(group.steps)):
                raise MergedArrayError(CHANGED)


def _contents(container: Any) -> Sequence[Any]:
    keys = tuple(container) if isinstance(container, dict) else ()
    return (*keys, *flatten(container, is_leaf=lambda value: value is not container)[0])


def _are_same(first: Sequence[Any], second: Sequence[Any]) -> bool:
    return len(first) == len(second) and all(a is b for a, b in zip(first, second, strict=True))
