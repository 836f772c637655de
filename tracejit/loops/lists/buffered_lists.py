"""Lists that a loop reads and changes: arrays with room for more items than there are, and a count.

A list that steps only append to is stacked (`appends`). Any other use in the loop, ``pop``, ``items[-1]``,
``while items``, makes it a `BufferedList`: its arrays and its count are written in place, and so loops and
branches carry them as they carry arrays of the user's. The room is a number that the trace knows. Compiled
code that needs more ends with a `ListRoomError`, and the call is traced again with more room.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from ...array.elementwise.floats import where as where_of
from ...array.indexing.access import getitem
from ...array.indexing.writing import before
from ...array.operands import cast, filled, run
from ...control.carry import fitted, symbol
from ...ir.dtypes import INT64
from ...pytree import flatten, register_pytree_node
from ...state import STATE
from ...tensors.tensor import Tensor
from ..reports import CURRENT, LoopError
from ..variables import is_traced
from .blocks import Block, Column
from .buffers import (
    NO_ROOM,
    ItemType,
    ListLayoutError,
    checked,
    leaves_of,
    line_of,
    note_arrays,
    number,
    places,
    read,
    untyped,
)
from .stacked_lists import OUTSIDE, StackedList, flat_list, list_of

#: Methods of deques that lists do not have, and that are not compiled.
_OF_DEQUES: Final = ("extendleft", "maxlen", "rotate")
_POPPED: Final = "pop from empty list"


class _Prefix(Block):
    """The first `count` items of arrays."""

    def __init__(self, column: Column, room: int, count: Tensor) -> None:
        super().__init__([column], room, run("lt", places(room), count))
        self._compacted = count, column.leaves


class BufferedList(StackedList):
    """A list whose items are in arrays that loops write in place."""

    def __init__(self, items: Iterable[Any], kind: ItemType | None, room: int, *, is_queue: bool) -> None:
        """A list of `items`, which with those to come are of the type `kind`; None where that is not known
        yet. Of a queue, the first item may go."""
        list.__init__(self)
        items = list(items)
        self._tracer = STATE.tracer
        self._kind, self._room = kind, room
        #: Whether the type is a guess: the first item that comes tells it.
        self.is_guess = False
        first = self._start() if is_queue else 0
        self._count = number(len(items))
        self._first = number(first) if is_queue else None
        self._buffers: list[Tensor] | None = []
        for place, (dtype, _) in enumerate(kind.leaves if kind is not None else ()):
            buffer = filled(0, (room,), dtype)
            if items:
                buffer[first : first + len(items)] = line_of(
                    [flatten(item)[0][place] for item in items], dtype
                )
            self._buffers.append(buffer)
        note_arrays(items, self._arrays())

    def _start(self) -> int:
        """The place of the first item of a queue."""
        return 0

    def _items_room(self) -> int:
        """The number of items for which there is room on one side."""
        return self._room

    def _arrays(self) -> list[Tensor]:
        """The arrays that changes of the list write, its numbers among them."""
        return [*self._own_buffers(), self._count, *([] if self._first is None else [self._first])]

    def with_layout(self, kind: ItemType | None, *, is_queue: bool) -> BufferedList:
        """A list of the same items, with places for those of the type `kind`."""
        result = type(self)((), kind, self._items_room(), is_queue=is_queue or self._first is not None)
        for buffer, own in zip(result._buffers or (), self._buffers or (), strict=False):
            buffer[...] = own if own.dtype is buffer.dtype else fitted(own, buffer.dtype)
        result._count[...] = self._count
        if self._first is not None and result._first is not None:
            result._first[...] = self._first
        numbers = CURRENT.session.number_arrays
        if id(self._count) not in numbers:
            for array in result._arrays():
                numbers.pop(id(array), None)
        return result

    @property
    def has_type(self) -> bool:
        """Whether it is known of which type the items are."""
        return self._kind is not None

    @property
    def is_buffered(self) -> bool:
        """Whether the items are in arrays, and not in the list's own memory."""
        return self._buffers is not None

    @property
    def _block(self) -> Block | None:
        if self._buffers is None:
            return None
        if self._kind is None:
            raise untyped()
        leaves = [before(buffer, keep=False) for buffer in self._buffers]
        if self._first is not None:
            here = run("minimum", run("add", places(self._room), self._first), self._room - 1)
            leaves = [getitem(leaf, here) for leaf in leaves]
        return _Prefix(Column(self._kind.structure, leaves, self._weak), self._room, self.length())

    @_block.setter
    def _block(self, block: Block | None) -> None:
        if block is None:
            self._buffers = None

    @property
    def _weak(self) -> list[bool]:
        assert self._kind is not None
        return [weak for _, weak in self._kind.leaves]

    def length(self) -> Any:
        """The number of items, which is traced."""
        return list.__len__(self) if self._buffers is None else read(self._count)

    def _place(self, index: Any, error: str = OUTSIDE) -> Any:
        """The place of the item at `index`. Compiled code raises where there is none."""
        count = self.length()
        if type(index) is int and index < 0:
            position = count + index
            return self._at(checked(position, position < 0, error))
        position = index + 0 * count if type(index) is int else where_of(index < 0, index + count, index)
        fails = position >= count
        if type(index) is not int:
            fails = run("logical_or", position < 0, fails)
        return self._at(checked(position, fails, error))

    def _at(self, position: Any) -> Any:
        """The place of what stands at `position` in the list."""
        return position if self._first is None else position + read(self._first)

    def _item(self, place: Any) -> Any:
        if self._kind is None:  # a number stands for it while the step is searched for what it appends
            CURRENT.session.untyped_items = untyped()
            return symbol(STATE.tracer, 0)
        leaves = [getitem(buffer, place) for buffer in self._own_buffers()]
        return Column(self._kind.structure, leaves, self._weak).item(leaves)

    def _write(self, place: Any, item: Any) -> None:
        leaves, kind = leaves_of(item)
        joined = kind if self._kind is None or self.is_guess else self._kind.joined(kind)
        if joined != self._kind or self.is_guess:
            raise ListLayoutError(id(self), joined, is_queue=self._first is not None)
        for buffer, leaf, (dtype, _) in zip(self._own_buffers(), leaves, joined.leaves, strict=True):
            buffer[place] = fitted(leaf, dtype) if is_traced(leaf) else cast(leaf, dtype)

    def _own_buffers(self) -> list[Tensor]:
        assert self._buffers is not None
        return self._buffers

    def _begin_change(self) -> bool:
        """Whether a change that begins is one of the arrays. Raises LoopError where a loop goes along
        them."""
        if any(self is other for other in CURRENT.session.iterated):
            raise LoopError("it changes a list that it goes along")
        return self._buffers is not None

    def append(self, item: Any) -> None:
        """``list.append``"""
        if not self._begin_change():
            super().append(item)
            return
        place = self._new_place()
        self._write(place, item)
        self._set_end(place + 1)

    def _new_place(self) -> Any:
        """The place behind all items. Compiled code raises where there is none."""
        place = self._at(self.length())
        return checked(place, place >= self._room, NO_ROOM)

    def _set_end(self, place: Any) -> None:
        """Have the items end before `place`. What is checked of that is checked of the count: a program that
        needs no items, as a gradient may, still ends where there is no room for them."""
        self._count[...] = place if self._first is None else place - read(self._first)

    def insert(self, index: Any, item: Any) -> None:
        """``list.insert``"""
        if not self._begin_change():
            list.insert(self, index, item)
            return
        count, behind = self.length(), self._new_place()
        position = run("clip", where_of(index < 0, index + count, index), 0, count)
        place, all_places = self._at(position), places(self._room)
        kept = run("logical_or", run("le", all_places, place), run("gt", all_places, behind))
        self._move(run("where", kept, all_places, all_places - 1))
        self._write(place, item)
        self._set_end(behind + 1)

    def _move(self, sources: Tensor) -> None:
        """Have at each place what is at that of `sources`."""
        for buffer in self._own_buffers():
            buffer[...] = getitem(buffer, sources)

    def extend(self, items: Iterable[Any]) -> None:
        """``list.extend``"""
        if not self._begin_change():
            list.extend(self, items)
            return
        for item in list(items):
            self.append(item)

    def __iadd__(self, items: Iterable[Any]) -> BufferedList:  # type: ignore[misc]
        self.extend(items)
        return self

    def pop(self, index: Any = -1) -> Any:
        """``list.pop``"""
        if not self._begin_change():
            return list.pop(self, index)
        is_first, is_last = (type(index) is int and index == end for end in (0, -1))
        if is_first and self._first is None:
            raise ListLayoutError(id(self), self._kind, is_queue=True)
        error = _POPPED if is_first or is_last else "pop index out of range"
        place = self._place(index, error)
        item = self._item(place)
        if is_first and self._first is not None:
            self._first[...] = place + 1
        elif not is_last:
            here = places(self._room)
            self._move(run("minimum", here + run("ge", here, place).astype(INT64), self._room - 1))
        # checked too: nothing may use the item, nor the first place
        count = self.length() - 1
        self._count[...] = checked(count, count < 0, error)
        return item

    def clear(self) -> None:
        """``list.clear``"""
        if self._begin_change():
            self._count[...] = 0
        else:
            list.clear(self)

    def __getitem__(self, index: Any) -> Any:
        if self._buffers is None or isinstance(index, slice):
            return super().__getitem__(index)
        return self._item(self._place(index))

    def __setitem__(self, index: Any, item: Any) -> None:
        if isinstance(index, slice) or not self._begin_change():
            list.__setitem__(self.with_items(), index, item)
        else:
            self._write(self._place(index, "list assignment index out of range"), item)


class BufferedDeque(BufferedList):
    """A ``collections.deque`` without a maximum length. There is room on both sides of its first item."""

    def __init__(self, items: Iterable[Any], kind: ItemType | None, room: int, *, is_queue: bool) -> None:
        super().__init__(items, kind, 2 * room, is_queue=is_queue)

    def _start(self) -> int:
        return self._room // 2

    def _items_room(self) -> int:
        return self._room // 2

    def __getattr__(self, name: str) -> Any:
        if name in _OF_DEQUES:
            raise LoopError(f"it calls deque.{name}, which is not compiled")
        raise AttributeError(name)

    def appendleft(self, item: Any) -> None:
        """``deque.appendleft``"""
        if not self._begin_change():
            list.insert(self, 0, item)
            return
        assert self._first is not None
        place = read(self._first) - 1
        place = checked(place, place < 0, NO_ROOM)
        self._write(place, item)
        self._first[...] = place
        self._count[...] = self.length() + 1

    def popleft(self) -> Any:
        """``deque.popleft``"""
        return self.pop(0)


register_pytree_node(BufferedList, flat_list, list_of)
