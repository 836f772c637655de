"""Changes that a jitted function makes to the containers among its arguments: ``params["w"] = new``.

A traced function gets dicts, lists and dataclass instances of its own. What it has done to them when it is
over, each call does to the caller's, with new tensors where there are such.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final

import numpy as np

from ..base.errors import TracejitError
from ..base.records import record
from ..ir.graph import Value
from ..pytree import TreeDef, count_leaves, flatten, key_value
from ..state import STATE
from ..tensors.tensor import Tensor

#: Kinds of step from a container to its contents.
_ITEM, _ATTRIBUTE = "item", "attribute"
_Path = tuple[tuple[str, Any], ...]
_MISSING: Final = object()


@record(eq=False)
class _Container:
    """A container that the traced function was given: where it is in the arguments, and what was in it."""

    path: _Path
    kind: str
    container: Any
    #: The content by key, position or name; for a registered node, its leaves.
    content: dict[Any, Any]
    #: The position of its first leaf.
    first: int
    #: The structure of a registered node.
    structure: TreeDef | None = None

    def name(self, name_of_leaf: Callable[[int], str]) -> str:
        """The user's name of the container: ``params['layers']``."""
        argument = (
            re.split(r"[\[.]", name_of_leaf(self.first), maxsplit=1)[0] if self.content else "an argument"
        )
        steps = [f".{key}" if how == _ATTRIBUTE else f"[{key!r}]" for how, key in self.path[2:]]
        return argument + "".join(steps)


@record(eq=False)
class _Part:
    """A value that a call puts into a container: a tree with the leaves `sources`, each a kind and a value.
    The kinds are an ``argument`` by its position, a ``result`` by its number, a result as a Python
    ``number``, and a ``constant``. Without a structure it is the caller's container at `path`."""

    structure: TreeDef | None
    sources: Sequence[tuple[str, Any]] = ()
    path: _Path = ()


@record(eq=False)
class ContainerWrite:
    """The change of a call to the container at `path`, which the user calls `name`: it removes the items at
    `removed`, and sets `parts`."""

    name: str
    path: _Path
    kind: str
    removed: Sequence[Any]
    parts: Sequence[tuple[Any, _Part]]


class ContainerRecorder:
    """The containers in the arguments of a function that is being traced."""

    def __init__(self, structure: TreeDef, arguments: Any, donated: Collection[int]) -> None:
        """Watch ``arguments = (positional, named)``, without those whose leaves are all `donated`."""
        self._containers: list[_Container] = []
        first = 0
        for group, shape in enumerate(structure.shape[2]):
            keys = shape[1][1] if shape[0] == "dict" else range(len(shape[2]))
            for key, child in zip(keys, shape[2], strict=True):
                behind = first + count_leaves(child)
                if first == behind or not all(leaf in donated for leaf in range(first, behind)):
                    self._watch(child, arguments[group][key], ((_ITEM, group), (_ITEM, key)), first)
                first = behind

    def _watch(self, shape: Any, container: Any, path: _Path, first: int) -> None:
        if shape is None or shape[0] in ("none", "static"):
            return
        kind, meta, children = shape
        if kind == "node":
            leaves, structure = flatten(container)
            content = dict(enumerate(leaves))
            self._containers.append(_Container(path, kind, container, content, first, structure))
            return
        keys = meta[1] if kind in ("dict", "dataclass") else range(len(children))
        if kind in ("dict", "list", "dataclass"):
            self._containers.append(_Container(path, kind, container, _content(kind, container, keys), first))
        step = _ATTRIBUTE if kind == "dataclass" else _ITEM
        for key, child in zip(keys, children, strict=True):
            inside = getattr(container, key) if step is _ATTRIBUTE else container[key]
            self._watch(child, inside, (*path, (step, key)), first)
            first += count_leaves(child)

    def paths(self) -> list[_Path]:
        """The paths to the containers."""
        return [container.path for container in self._containers]

    def is_changed(self) -> bool:
        """Whether the function has changed a container so far."""
        return any(
            _differ(_content(container.kind, container.container, container.content), container.content)
            for container in self._containers
            if container.kind != "node"
        )

    def writes(
        self, label: str, name: Callable[[int], str], symbols: Sequence[Tensor], results: list[Any]
    ) -> list[ContainerWrite]:
        """The writes of the function to the containers. New tensors that it put there are appended to
        `results`, unless they are among them.

        Raises TracejitError for registered nodes, which cannot be written from outside.
        """
        writes = []
        for container in self._containers:
            if container.kind == "node":
                leaves, structure = flatten(container.container)
                if structure != container.structure or _differ(dict(enumerate(leaves)), container.content):
                    raise TracejitError(
                        f"{label}: argument {name(container.first)} is in a "
                        f"{type(container.container).__name__}, which the function "
                        "changes; under jit it changes a copy. Return the new one instead"
                    )
                continue
            now = _content(container.kind, container.container, container.content)
            if not _differ(now, container.content):
                continue
            changed = (
                now
                if container.kind == "list"
                else {
                    key: value
                    for key, value in now.items()
                    if container.content.get(key, _MISSING) is not value
                }
            )
            parts = [(key_value(key), self._part(value, symbols, results)) for key, value in changed.items()]
            removed = [key for key in container.content if key not in now]
            writes.append(
                ContainerWrite(container.name(name), container.path, container.kind, removed, parts)
            )
        return writes

    def _part(self, value: Any, symbols: Sequence[Tensor], results: list[Any]) -> _Part:
        for container in self._containers:
            if container.container is value:
                return _Part(None, (), container.path)
        leaves, structure = flatten(value)
        return _Part(structure, [_source(leaf, symbols, results) for leaf in leaves])


def _content(kind: str, container: Any, names: Any) -> dict[Any, Any]:
    if kind == "dataclass":
        return {name: getattr(container, name) for name in names}
    return dict(container) if kind == "dict" else dict(enumerate(container))


def _differ(now: dict[Any, Any], before: dict[Any, Any]) -> bool:
    return now.keys() != before.keys() or any(now[key] is not before[key] for key in now)


def _source(leaf: Any, symbols: Sequence[Tensor], results: list[Any]) -> tuple[str, Any]:
    if not isinstance(leaf, (Tensor, np.ndarray, np.generic)):
        return "constant", leaf
    for position, symbol in enumerate(symbols):
        if symbol is leaf:
            return "argument", position
    kind = "number" if _is_number(leaf) else "result"
    for position, other in enumerate(results):
        if other is leaf:
            return kind, position
    results.append(leaf)
    return kind, len(results) - 1


def _is_number(leaf: Any) -> bool:
    """Whether `leaf` is what Python's arithmetic made of Python numbers among the arguments."""
    tracer = STATE.tracer
    symbolic = isinstance(leaf, Tensor) and isinstance(leaf._data, Value)
    return symbolic and tracer is not None and bool(tracer.is_weak(leaf._data))


def write_containers(
    writes: Sequence[ContainerWrite], arguments: Any, leaves: Sequence[Any], results: Sequence[Tensor]
) -> None:
    """Do to ``arguments = (positional, named)``, whose leaves are `leaves`, what the function did."""
    containers = [container_at(arguments, write.path) for write in writes]
    contents = [
        [(key, _built(part, arguments, leaves, results)) for key, part in write.parts] for write in writes
    ]
    for write, container, content in zip(writes, containers, contents, strict=True):
        if write.kind == "list":
            container[:] = [value for _, value in content]
            continue
        for key in write.removed:
            del container[key]
        for key, value in content:
            if write.kind == "dict":
                container[key] = value
            else:
                setattr(container, key, value)


def container_at(arguments: Any, path: _Path) -> Any:
    """The object at `path` in ``arguments = (positional, named)``."""
    for how, key in path:
        arguments = getattr(arguments, key) if how == _ATTRIBUTE else arguments[key]
    return arguments


def _built(part: _Part, arguments: Any, leaves: Sequence[Any], results: Sequence[Tensor]) -> Any:
    if part.structure is None:
        return container_at(arguments, part.path)

    def values() -> Iterator[Any]:
        for kind, value in part.sources:
            if kind == "argument":
                yield leaves[value]
            elif kind == "number":
                yield results[value].item()
            else:
                yield results[value] if kind == "result" else value

    return part.structure.unflatten(values())
