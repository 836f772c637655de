"""Lists to which a loop has appended: they are read from the stack of their items."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np

from ...array.elementwise.floats import where as where_of
from ...array.indexing.access import getitem
from ...array.joining import unstack
from ...array.operands import run
from ...array.selection.masked_selection import Selection
from ...control.carry import is_weak, symbol
from ...ir.dtypes import NUMBERS
from ...pytree import TreeDef, containers_in, flatten, register_pytree_node
from ...state import STATE
from ...tensors.tensor import Tensor, wrap
from ..optional_values import check_present
from ..reports import CURRENT, LoopError
from ..variables import Content, called, content_of, is_array, is_integer, is_traced
from .blocks import Block, Column, joined


def _of_items(name: str) -> Callable[..., Any]:
    """The method `name` of lists, of a list of all items."""
    method = getattr(list, name)

    @functools.wraps(method)
    def call(self: StackedList, *arguments: Any, **options: Any) -> Any:
        items = self._filled(changes=name in _CHANGING)
        # another such list, whose own memory the methods of lists would read
        arguments = tuple([list(x) if isinstance(x, StackedList) else x for x in arguments])
        return method(items, *arguments, **options)

    return call


class StackedList(list[Any]):
    """A list whose items were appended by a loop. It takes them from the stack when it is changed, or when
    items are asked for otherwise than by an index; in a region of the trace, whose values end with it, a list
    of them takes its place."""

    __hash__ = None

    def __init__(self, start: Iterable[Any], block: Block) -> None:
        """The items of `start`, and after them those of `block`. Raises LoopError where some have flags, and
        not all are of one type."""
        before = start._block if isinstance(start, StackedList) else None
        if block.flags is not None or (before is not None and before.flags is not None):
            plain = list.__iter__(start) if isinstance(start, list) else start
            blocks = [_block_of(item) for item in plain]
            block = joined([*blocks, *([] if before is None else [before]), block])
            start = ()
        super().__init__(start)
        self._block: Block | None = block
        self._tracer = STATE.tracer

    @property
    def block(self) -> Block | None:
        """The stack of all items, None where there is none or items stand before it."""
        return None if super().__len__() else self._block

    def stacked(self) -> Any:
        """All items as one tensor or selection, where the loop appended all of them and they are of one
        type."""
        return None if self.block is None else self.block.stacked()

    def selection(self) -> Selection | None:
        """All items as a selection, where conditions decided which the loop appended and they are numbers or
        arrays."""
        block = self.block
        is_line = block is not None and block.flags is not None and block.columns[0].structure.is_leaf
        return block.selections()[0] if is_line and block is not None else None

    def with_items(self) -> list[Any]:
        """The list itself, with all items in its own memory."""
        return self._filled(changes=True)

    @property
    def has_single_leaves(self) -> bool:
        """Whether each item of the stack is a number or an array."""
        return self.block is not None and all(c.structure.is_leaf for c in self.block.columns)

    @property
    def has_numbers(self) -> bool:
        """Whether the items are Python numbers, where conditions decided which the loop appended."""
        return self.block is not None and all(self.block.columns[0].weak)

    def length(self) -> Any:
        """The number of items, which may be traced."""
        block = self.block
        return len(self) if block is None or block.flags is None else block.compacted()[0]

    def __bool__(self) -> bool:
        return bool(self.length() > 0)

    def __contains__(self, item: Any) -> bool:
        selection = self.selection()
        if selection is None or selection.ndim > 1:
            return list.__contains__(self._filled(), item)
        return bool((selection == item).any())

    def append(self, item: Any) -> None:
        """``list.append``"""
        block = self.block
        is_selected = block is not None and block.flags is not None and STATE.tracer is self._tracer
        if is_selected and block is not None:
            try:
                self._block = joined([block, _block_of(item)])
                return
            except LoopError:  # an item of another type
                self._settled()
        self._filled(changes=True)
        super().append(item)

    def _settled(self) -> Block | None:
        """The block, of a known number of items, for which the running code asks."""
        block = self._block
        if block is None or block.flags is None:
            return block
        settled = block.of_known_length()
        if STATE.tracer is self._tracer:
            self._block = settled
        return settled

    def _filled(self, *, changes: bool = False) -> list[Any]:
        """A list of all items; the list itself where it can take them, which it must where that `changes`."""
        block = self._settled()
        if block is None:
            return self
        items = [*super().__iter__(), *map(block.item, range(len(block)))]
        if STATE.tracer is self._tracer:
            self._block = None
            super().__setitem__(slice(None), items)
            return self
        if changes:
            raise LoopError("it changes a list that was created outside of it")
        if block.has_containers:
            raise LoopError("it reads lists or dicts from a list that another loop made")
        return items

    def __len__(self) -> int:
        block = self._settled()
        return super().__len__() + (0 if block is None else len(block))

    def __getitem__(self, index: Any) -> Any:
        block = self.block
        is_selected = block is not None and block.flags is not None and not block.can_be_changed
        if is_selected and block is not None and is_integer(index):
            return _selected_item(block, index)
        if self._block is not None and type(index) is int:
            position = index + len(self) if index < 0 else index
            in_block = super().__len__() <= position < len(self)
            if in_block and not self._block.has_containers:
                return self._block.item(position - super().__len__())
        return list.__getitem__(self._filled(), index)

    def __radd__(self, other: Any) -> Any:
        return other + list(self._filled())


_CHANGING: Final = frozenset(
    ("__delitem__", "__iadd__", "__imul__", "__setitem__", "clear", "extend", "insert", "pop",
     "remove", "reverse", "sort")
)  # fmt: skip
for _name in (
    "__add__", "__eq__", "__ge__", "__gt__", "__iter__", "__le__", "__lt__", "__mul__",
    "__ne__", "__repr__", "__reversed__", "__rmul__", "copy", "count", "index", *_CHANGING,
):  # fmt: skip
    setattr(StackedList, _name, _of_items(_name))


def as_tested(value: Any) -> Any:
    """`value` as a loop tests it: of a list, whether there are items."""
    if isinstance(value, StackedList):
        return value.length() > 0
    if isinstance(value, (dict, set)) and getattr(type(value), "has_traced_length", False) is True:
        carried: Any = value
        return carried.length() > 0
    return bool(value) if type(value) in (list, deque, dict, set) else value


class SelectedItems:
    """The items of a list, of which each of `parts` holds a leaf: selections while they are traced, and what
    is in their place in results."""

    def __init__(self, structure: TreeDef, weak: tuple[bool, ...], parts: Sequence[Any]) -> None:
        self.structure, self.weak, self.parts = structure, weak, parts

    def __repr__(self) -> str:
        return f"SelectedItems({self.structure.stars()!r}, {self.parts!r})"


def flat_list(items: StackedList) -> tuple[Sequence[Any], bool]:
    """The parts of a list as a container, and whether they are selected items."""
    block = items.block
    if block is None or block.flags is None:
        return list(items), False
    (column,) = block.columns
    return [SelectedItems(column.structure, tuple(column.weak), block.selections())], True


def list_of(is_selected: bool, parts: Sequence[Any]) -> Any:
    """The list whose `parts` are as `flat_list` gives them."""
    return parts[0] if is_selected else list(parts)


def _selected_list(aux: tuple[TreeDef, tuple[bool, ...]], parts: Sequence[Any]) -> Any:
    """The list of the items whose leaves are `parts`; a container of these while they are placeholders."""
    structure, weak = aux
    first = parts[0]
    if isinstance(first, Selection):
        leaves = [part._whole for part in parts]
        return StackedList((), Block([Column(structure, leaves, list(weak))], len(leaves[0]), first._mask))
    if not all(isinstance(part, (Tensor, np.ndarray)) for part in parts):
        return SelectedItems(structure, weak, parts)
    return [structure.unflatten(leaves) for leaves in zip(*map(_elements, parts), strict=True)]


def _elements(part: Tensor | np.ndarray) -> Sequence[Any]:
    """The elements of `part` along its first axis, each as a tensor or array."""
    if isinstance(part, np.ndarray):
        return [np.asarray(element) for element in part]
    if part._requires_grad or is_traced(part):
        return unstack(part)
    return [wrap(np.asarray(element)) for element in part._data]


register_pytree_node(StackedList, flat_list, list_of)
register_pytree_node(
    SelectedItems, lambda items: (items.parts, (items.structure, items.weak)), _selected_list
)


def _block_of(item: Any) -> Block:
    """A block of one `item`. Raises LoopError where that is no number, which code may change elsewhere."""
    if any(map(is_array, flatten(item)[0])) or any(True for _ in containers_in(item)):
        raise LoopError("an array or a container stands in a list beside what a condition decides")
    content, weak = item_content("it", item, lambda leaf: is_weak(STATE.tracer, leaf))
    assert content.structure is not None
    leaves = [leaf.reshape((1, *leaf.shape)) for leaf in content.leaves]
    return Block([Column(content.structure, leaves, weak)], 1)


def _selected_item(block: Block, index: Any) -> Any:
    """The item at `index` of a `block` with flags. Compiled code raises where there is none."""
    (count, leaves), (column,), tracer = block.compacted(), block.columns, STATE.tracer
    if type(index) is int:
        position = index + count if index < 0 else index + 0 * count
    else:
        position = where_of(index < 0, index + count, index)
    fails = run("logical_or", position < 0, position >= count)
    place = wrap(tracer.checked(tracer.lift(position), tracer.lift(fails), OUTSIDE))
    return column.item([getitem(leaf, place) for leaf in leaves])


#: The error of an index where there is no item.
OUTSIDE: Final = "list index out of range"


def item_content(name: str, item: Any, is_weak: Any) -> tuple[Content, list[bool]]:
    """The leaves and the structure of an `item` that is appended to the list `name`, and which leaves are
    Python numbers. Raises LoopError where it is no number or array."""
    content = content_of(item)
    check_present(item)
    if content.structure is None:
        raise LoopError(f"it appends a {type(item).__name__} to {name}, which is no number or array")
    tracer = STATE.tracer
    leaves = [
        symbol(tracer, leaf) if isinstance(leaf, Tensor) or type(leaf) in NUMBERS else wrap(tracer.lift(leaf))
        for leaf in content.leaves
    ]
    return Content(item, leaves, content.structure), [is_weak(leaf) for leaf in content.leaves]


def check_containers(name: str, value: Any) -> None:
    """Raise LoopError where the variable `name` gets a list or dict from outside of all loops, in `value`: a
    loop hands copies on, and such a one has other names; or elements that a step selects."""
    if isinstance(value, StackedList):
        return
    if isinstance(value, Selection) and _is_of_a_region(value._mask):
        raise LoopError(f"{called(name)} becomes elements whose number is not known")
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
