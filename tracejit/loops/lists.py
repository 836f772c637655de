"""Lists that a loop only appends to: items are stacked, and the list is read from the stack."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from ..array.joining import stack
from ..base.records import record
from ..pytree import TreeDef, containers_in, flatten, register_pytree_node
from ..state import STATE
from ..tensors.tensor import Tensor, wrap
from ..tracing.tracer import Tracer
from .origins import ContainerOrigins, Origin, is_new
from .reports import CURRENT, LoopError
from .variables import Content, Variables, called, content_of, is_traced


@record(eq=False)
class Column:
    """The items that the steps of a loop append at one place: the structure of an item, and its leaves,
    stacked. `weak` tells for each leaf whether it is a Python number."""

    structure: TreeDef
    leaves: list[Any]
    weak: list[bool]


@record(eq=False)
class Block:
    """The items that the `steps` of a loop append, in each step one of each of the `columns`."""

    columns: list[Column]
    steps: int

    def __len__(self) -> int:
        return self.steps * len(self.columns)

    def item(self, position: int) -> Any:
        """The item at `position`."""
        step, place = divmod(position, len(self.columns))
        column = self.columns[place]
        leaves = [leaf[step] for leaf in column.leaves]
        for leaf, weak in zip(leaves, column.weak, strict=True):
            if weak and STATE.tracer is not None:
                STATE.tracer.mark_weak(leaf._data)
        item = column.structure.unflatten(leaves)
        for container in containers_in(item):
            STATE.tracer.merged_containers.add(container, ())
        return item

    @property
    def has_containers(self) -> bool:
        """Whether items are lists or dicts, or have such in them: each must be the same at every reading."""
        return any(_has_containers(column.structure.shape) for column in self.columns)

    def stacked(self) -> Tensor | None:
        """All items as one tensor, None where they are not tensors of one type."""
        if not all(column.structure.is_leaf for column in self.columns):
            return None
        leaves = [column.leaves[0] for column in self.columns]
        if len(leaves) == 1:
            return leaves[0]  # type: ignore[no-any-return]
        if any(leaf.type != leaves[0].type for leaf in leaves):
            return None
        shape = (len(self), *leaves[0].shape[1:])
        return stack(leaves, axis=1).reshape(shape)


def _has_containers(shape: Any) -> bool:
    """Whether trees of the structure `shape` have containers that can be changed."""
    if shape is None or shape[0] in ("none", "static"):
        return False
    return shape[0] not in ("tuple", "namedtuple") or any(map(_has_containers, shape[2]))


def _of_items(name: str) -> Callable[..., Any]:
    """The method `name` of lists, of a list of all items."""
    method = getattr(list, name)

    @functools.wraps(method)
    def call(self: StackedList, *arguments: Any, **options: Any) -> Any:
        return method(self._filled(changes=name in _CHANGING), *arguments, **options)

    return call


class StackedList(list[Any]):
    """A list whose items were appended by a loop. It takes them from the stack when it is changed, or when
    items are asked for otherwise than by an index; in a region of the trace, whose values end with it, a list
    of them takes its place."""

    __hash__ = None

    def __init__(self, start: Iterable[Any], block: Block) -> None:
        """The items of `start`, and after them those of `block`."""
        super().__init__(start)
        self._block: Block | None = block
        self._tracer = STATE.tracer

    def stacked(self) -> Tensor | None:
        """All items as one tensor, where the loop appended all of them and they are of one type."""
        return None if self._block is None or super().__len__() else self._block.stacked()

    def _filled(self, *, changes: bool = False) -> list[Any]:
        """A list of all items; the list itself where it can take them, which it must where that `changes`."""
        if self._block is None:
            return self
        items = [*super().__iter__(), *map(self._block.item, range(len(self._block)))]
        if STATE.tracer is self._tracer:
            self._block = None
            super().__setitem__(slice(None), items)
            return self
        if changes:
            raise LoopError("it changes a list that was created outside of it")
        if self._block.has_containers:
            raise LoopError("it reads lists or dicts from a list that another loop made")
        return items

    def __len__(self) -> int:
        return super().__len__() + (0 if self._block is None else len(self._block))

    def __getitem__(self, index: Any) -> Any:
        if self._block is not None and type(index) is int:
            position = index + len(self) if index < 0 else index
            in_block = super().__len__() <= position < len(self)
            if in_block and not self._block.has_containers:
                return self._block.item(position - super().__len__())
        return list.__getitem__(self._filled(), index)

    def __radd__(self, other: Any) -> Any:
        return other + list(self._filled())


_CHANGING: Final = frozenset(
    ("__delitem__", "__iadd__", "__imul__", "__setitem__", "append", "clear", "extend", "insert", "pop",
     "remove", "reverse", "sort")
)  # fmt: skip
for _name in (
    "__add__", "__contains__", "__eq__", "__ge__", "__gt__", "__iter__", "__le__", "__lt__", "__mul__",
    "__ne__", "__repr__", "__reversed__", "__rmul__", "copy", "count", "index", *_CHANGING,
):  # fmt: skip
    setattr(StackedList, _name, _of_items(_name))
register_pytree_node(StackedList, lambda stacked: (list(stacked), None), lambda _, items: list(items))


class Recorder:
    """Takes the place of a list while a step is traced, and keeps what the step appends."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self.items: list[Any] = []

    def append(self, item: Any) -> None:
        """``list.append``"""
        self._check()
        self.items.append(item)

    def extend(self, block: Block) -> None:
        """Append the items of an inner loop."""
        self._check()
        self.items.append(block)

    def _check(self) -> None:
        if STATE.tracer is not self._tracer:
            raise LoopError(
                "it appends to a list in a branch, so that the list's length would depend on values"
            )


class Appends:
    """The lists that one loop only appends to."""

    def __init__(self, names: Iterable[str], variables: Variables) -> None:
        self._variables = variables
        self._before: dict[str, Any] = {}
        #: Items that a step appends to each list, each with the weak flags of its leaves.
        self._contents: dict[str, list[tuple[Content, list[bool]]]] = {}
        self._blocks: dict[str, Block | None] = {}
        session = CURRENT.session
        for name in names:
            exclusive = variables.is_exclusive(name)
            value = variables.get(name)
            if not isinstance(value, (list, StackedList, Recorder)):
                continue
            if not exclusive and not isinstance(value, Recorder):
                raise LoopError(f"it appends to {name}, a list that another name refers to")
            if session.attempts > 1 and not isinstance(value, Recorder) and not session.is_fresh(value):
                raise LoopError(f"it appends to {name}, a list that an enclosing loop or branch also reads")
            self._before[name] = value

    def __bool__(self) -> bool:
        return bool(self._before)

    def enter(self) -> None:
        """Replace the lists by recorders of the running region."""
        for name in self._before:
            self._variables.set(name, Recorder(STATE.tracer))

    def restore(self) -> None:
        """Restore the lists."""
        self._variables.update(self._before)

    def leave(self, is_weak: Any) -> list[tuple[str, Any]]:
        """The leaves of what the step has appended, each with the name of its list."""
        leaves: list[tuple[str, Any]] = []
        for name in self._before:
            items = self._variables.get(name).items
            block = items[0] if len(items) == 1 and isinstance(items[0], Block) else None
            if block is not None:
                contents = [
                    (Content(None, column.leaves, column.structure), column.weak) for column in block.columns
                ]
            else:
                contents = [_content(name, item, is_weak) for item in _expanded(items)]
            self._contents[name], self._blocks[name] = contents, block
            leaves += [(name, leaf) for content, _ in contents for leaf in content.leaves]
        return leaves

    def check_apart(self, carried: Iterable[frozenset[Origin]]) -> None:
        """Raise LoopError where a list or dict that the step has appended has another name: the items of the
        stack are new ones. `carried` are the origins of those that variables have where the step ends."""
        origins, other_names = ContainerOrigins(), set[Origin]().union(*carried)
        for name, contents in self._contents.items():
            for content, _ in contents:
                for container in containers_in(content.value):
                    own = origins.of(container)
                    if not is_new(own) or other_names & own:
                        kind = list if isinstance(container, StackedList) else type(container)
                        raise LoopError(f"it appends a {kind.__name__} to {name} that another name refers to")
                    other_names |= own

    def finish(self, stacks: list[Tensor], steps: int) -> None:
        """Append the items of all `steps` to the lists; their leaves are `stacks`."""
        remaining = iter(stacks)
        for name, before in self._before.items():
            inner = self._blocks[name]
            columns = []
            for content, weak in self._contents[name]:
                leaves = [next(remaining) for _ in content.leaves]
                if inner is not None:
                    leaves = [leaf.reshape((steps * inner.steps, *leaf.shape[2:])) for leaf in leaves]
                assert content.structure is not None
                columns.append(Column(content.structure, leaves, weak))
            if not columns:
                continue
            block = Block(columns, steps if inner is None else steps * inner.steps)
            if isinstance(before, Recorder):
                before.extend(block)
            else:
                stacked = StackedList(before, block)
                CURRENT.session.note_fresh(stacked)
                self._variables.set(name, stacked)


def _expanded(items: list[Any]) -> Iterator[Any]:
    for item in items:
        if isinstance(item, Block):
            yield from map(item.item, range(len(item)))
        else:
            yield item


def _content(name: str, item: Any, is_weak: Any) -> tuple[Content, list[bool]]:
    content = content_of(item)
    if content.structure is None:
        raise LoopError(f"it appends a {type(item).__name__} to {name}, which is no number or array")
    leaves = [leaf if isinstance(leaf, Tensor) else wrap(STATE.tracer.lift(leaf)) for leaf in content.leaves]
    return Content(item, leaves, content.structure), [is_weak(leaf) for leaf in content.leaves]


def check_containers(name: str, value: Any) -> None:
    """Raise LoopError where the variable `name` gets a list or dict from outside of all loops, in `value`: a
    loop hands copies on, and such a one has other names."""
    if isinstance(value, StackedList):
        return
    if isinstance(value, (list, dict)) and not CURRENT.session.is_fresh(value):
        leaves = flatten(value, static_strings=True)[0]
        if leaves and not any(map(_is_of_a_region, leaves)):
            raise LoopError(f"{called(name)} becomes another name of a {type(value).__name__}")
    if isinstance(value, (tuple, list)):
        for item in value:
            check_containers(name, item)
    elif isinstance(value, dict):
        for item in value.values():
            check_containers(name, item)


def _is_of_a_region(leaf: Any) -> bool:
    """Whether the running loops and branches have made `leaf`."""
    tracer = STATE.tracer
    while is_traced(leaf) and tracer.is_region:
        if tracer.owns(leaf._data):
            return True
        tracer = tracer.parent
    return False
