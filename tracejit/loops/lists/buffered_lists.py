"""Lists that a loop reads and changes: arrays with room for more items than there are, and a count.

A list that steps only append to is stacked (`appends`). Any other use in the loop, ``pop``, ``items[-1]``,
``while items``, makes it a `BufferedList`: its arrays and its count are written in place, and so loops and
branches carry them as they carry arrays of the user's. The room is a number that the trace knows. Compiled
code that needs more ends with a `ListRoomError`, and the call is traced again with more room.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, Final

from ...array.elementwise.floats import where as where_of
from ...array.indexing.access import getitem
from ...array.operands import cast, filled, given_as_scalar, run
from ...base.records import record
from ...control.carry import is_weak, symbol
from ...ir.dtypes import INT64, DType
from ...pytree import TreeDef, containers_in, flatten, register_pytree_node
from ...state import STATE
from ...tensors.tensor import Tensor, wrap
from ..reports import CURRENT, LoopError, Session
from ..variables import Variables, is_array
from .blocks import Block, Column, common_dtype
from .stacked_lists import OUTSIDE, StackedList, flat_list, item_content, list_of

_NUMBER: Final = flatten(0)[1]
_NUMBERS: Final = (bool, int, float, complex)
_NO_ROOM: Final = "ListRoomError: a list of a loop has more items than there is room for"
_POPPED: Final = "pop from empty list"


class ChangesListError(LoopError):
    """A loop reads or changes lists for which it was not traced."""

    def __init__(self, message: str, *identities: int) -> None:
        super().__init__(message)
        #: The identities of the lists: a reference would count as another name.
        self.identities = identities


class UntypedItemsError(LoopError):
    """A loop reads an item of an empty list, before it is known what is appended."""


class ListLayoutError(LoopError):
    """A list gets an item for whose type it has no place, or loses its first one, as queues do."""

    def __init__(self, identity: int, kind: ItemType | None, *, is_queue: bool) -> None:
        super().__init__("it appends items of several types to a list that it reads")
        self.identity, self.kind, self.is_queue = identity, kind, is_queue


def is_searched(error: Exception) -> bool:
    """Whether a step is only searched for what it appends, so that what has ended with `error` can be left
    out."""
    is_followed = isinstance(error, (ChangesListError, ListLayoutError)) or hasattr(error, "tensor")
    return CURRENT.session.untyped_items is not None and not is_followed


@record
class ItemType:
    """The type of the items of a list: their structure, and of each leaf the dtype and whether it is a Python
    number."""

    structure: TreeDef
    leaves: tuple[tuple[DType, bool], ...]

    def joined(self, other: ItemType) -> ItemType:
        """The type of which items of both can be. Raises LoopError where there is none."""
        same = self.structure == other.structure
        dtypes = [common_dtype(pair) for pair in zip(self.leaves, other.leaves, strict=same)]
        if not same or any(dtype is None for dtype in dtypes):
            raise LoopError("it appends items of several types to a list that it reads")
        leaves = [
            (dtype, a[1] and b[1])
            for dtype, a, b in zip(dtypes, self.leaves, other.leaves, strict=True)
            if dtype is not None
        ]
        return ItemType(self.structure, tuple(leaves))


class _Prefix(Block):
    """The first `count` items of arrays."""

    def __init__(self, column: Column, room: int, count: Tensor) -> None:
        super().__init__([column], room, run("lt", _places(room), count))
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
        self._count = self._number(len(items))
        self._first = self._number(0) if is_queue else None
        self._buffers: list[Tensor] | None = []
        for place, (dtype, _) in enumerate(kind.leaves if kind is not None else ()):
            buffer = filled(0, (room,), dtype)
            for position, item in enumerate(items):
                buffer[position] = cast(_leaves_of(item)[0][place], dtype)
            self._buffers.append(buffer)
        if all(isinstance(leaf, _NUMBERS) for item in items for leaf in flatten(item)[0]):
            CURRENT.session.number_arrays.update({id(array): array for array in self._arrays()})

    def _arrays(self) -> list[Tensor]:
        """The arrays that changes of the list write, its numbers among them."""
        return [*self._own_buffers(), self._count, *([] if self._first is None else [self._first])]

    def with_layout(self, kind: ItemType | None, *, is_queue: bool) -> BufferedList:
        """A list of the same items, with places for those of the type `kind`."""
        result = type(self)((), kind, self._room, is_queue=is_queue or self._first is not None)
        for buffer, own in zip(result._buffers or (), self._buffers or (), strict=False):
            buffer[...] = cast(own, buffer.dtype)
        result._count[...] = self._count
        if self._first is not None and result._first is not None:
            result._first[...] = self._first
        numbers = CURRENT.session.number_arrays
        if id(self._count) not in numbers:
            for array in result._arrays():
                numbers.pop(id(array), None)
        return result

    def _number(self, value: int) -> Tensor:
        """An integer that loops write in place."""
        number = filled(value, (), INT64)
        self._tracer.note_array(number)
        return number

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
            raise _untyped()
        leaves = [wrap(buffer._data) for buffer in self._buffers]
        if self._first is not None:
            places = run("minimum", run("add", _places(self._room), self._first), self._room - 1)
            leaves = [getitem(leaf, places) for leaf in leaves]
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
        return list.__len__(self) if self._buffers is None else _read(self._count)

    def _place(self, index: Any, error: str = OUTSIDE) -> Any:
        """The place of the item at `index`. Compiled code raises where there is none."""
        count = self.length()
        if type(index) is int and index < 0:
            position = count + index
            return self._at(_checked(position, position < 0, error))
        position = index + 0 * count if type(index) is int else where_of(index < 0, index + count, index)
        fails = position >= count
        if type(index) is not int:
            fails = run("logical_or", position < 0, fails)
        return self._at(_checked(position, fails, error))

    def _at(self, position: Any) -> Any:
        """The place of what stands at `position` in the list."""
        return position if self._first is None else position + _read(self._first)

    def _item(self, place: Any) -> Any:
        if self._kind is None:  # a number stands for it while the step is searched for what it appends
            CURRENT.session.untyped_items = _untyped()
            return symbol(STATE.tracer, 0)
        leaves = [getitem(buffer, place) for buffer in self._own_buffers()]
        return Column(self._kind.structure, leaves, self._weak).item(leaves)

    def _write(self, place: Any, item: Any) -> None:
        leaves, kind = _leaves_of(item)
        joined = kind if self._kind is None else self._kind.joined(kind)
        if joined != self._kind:
            raise ListLayoutError(id(self), joined, is_queue=self._first is not None)
        for buffer, leaf, (dtype, _) in zip(self._own_buffers(), leaves, joined.leaves, strict=True):
            buffer[place] = cast(leaf, dtype)

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
        return _checked(place, place >= self._room, _NO_ROOM)

    def _set_end(self, place: Any) -> None:
        """Have the items end before `place`. What is checked of that is checked of the count: a program that
        needs no items, as a gradient may, still ends where there is no room for them."""
        self._count[...] = place if self._first is None else place - _read(self._first)

    def insert(self, index: Any, item: Any) -> None:
        """``list.insert``"""
        if not self._begin_change():
            list.insert(self, index, item)
            return
        count, behind = self.length(), self._new_place()
        position = run("clip", where_of(index < 0, index + count, index), 0, count)
        place, places = self._at(position), _places(self._room)
        kept = run("logical_or", run("le", places, place), run("gt", places, behind))
        self._move(run("where", kept, places, places - 1))
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
        place = self._place(index, _POPPED if is_first or is_last else "pop index out of range")
        item = self._item(place)
        if is_first and self._first is not None:
            self._first[...] = _read(self._first) + 1
        elif not is_last:
            places = _places(self._room)
            self._move(run("minimum", places + run("ge", places, place).astype(INT64), self._room - 1))
        self._count[...] = self.length() - 1
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
            self._write(self._place(index), item)


class BufferedDeque(BufferedList):
    """A ``collections.deque`` without a maximum length, which loses items in front and behind."""

    def popleft(self) -> Any:
        """``deque.popleft``"""
        return self.pop(0)


def _places(room: int) -> Tensor:
    return run("iota", shape=(room,), axis=0, dtype=INT64)


def _read(number: Tensor) -> Tensor:
    """The value of an integer that loops write in place, as Python's number."""
    value = given_as_scalar(run("copy", number))
    STATE.tracer.mark_weak(value._data)
    return value


def _checked(place: Any, fails: Any, error: str) -> Tensor:
    tracer = STATE.tracer
    return wrap(tracer.checked(tracer.lift(place), tracer.lift(fails), error))


def _untyped() -> UntypedItemsError:
    return UntypedItemsError("it reads items of a list that is empty before, and does not tell their type")


def _leaves_of(item: Any) -> tuple[list[Any], ItemType]:
    """The leaves of an `item`, and its type. Raises LoopError where it is, or holds, what code may change
    elsewhere."""
    content, weak = item_content("a list", item, lambda leaf: is_weak(STATE.tracer, leaf))
    if any(map(is_array, content.leaves)) or any(True for _ in containers_in(item)):
        raise LoopError("it appends an array or a container to a list that it also reads")
    assert content.structure is not None
    dtypes = [leaf.dtype for leaf in content.leaves]
    return content.leaves, ItemType(content.structure, tuple(zip(dtypes, weak, strict=True)))


register_pytree_node(BufferedList, flat_list, list_of)


class Conversions:
    """The lists that one loop reads and changes, as far as its attempts have found them."""

    def __init__(self, variables: Variables, session: Session) -> None:
        self._variables, self._session = variables, session
        #: The lists that were there, by the variable.
        self._before: dict[str, Any] = {}
        #: The last errors of attempts by which they were to have another layout.
        self._layouts: dict[str, ListLayoutError] = {}

    def follow(self, error: Exception) -> bool:
        """Whether another attempt may do after one that has ended with `error`: the lists have become other
        ones."""
        if self._session.growth.refusal:
            return False
        if isinstance(error, ChangesListError):
            identities = set(map(self._before_step, error.identities))
            names = [name for name in self._variables.names() if self._is_own(name, identities)]
        elif isinstance(error, UntypedItemsError):
            names = [name for name in self._before if not self._variables.get(name).has_type]
            number = ListLayoutError(0, ItemType(_NUMBER, ((INT64, True),)), is_queue=False)
            self._layouts.update(dict.fromkeys(names, number))
        elif isinstance(error, ListLayoutError):
            names = [name for name in self._variables.names() if self._is_own(name, {error.identity})]
            self._layouts.update(dict.fromkeys(names, error))
        else:
            return False
        return bool(names) and all(map(self._convert, names))

    def undo(self) -> None:
        """Give the variables their lists back."""
        self._variables.update(self._before)

    def _before_step(self, identity: int) -> int:
        """The identity of the list of which that with this `identity` is what steps begin with."""
        copies = self._session.list_copies
        while identity in copies:
            identity = copies[identity][1]
        return identity

    def _is_own(self, name: str, identities: set[int]) -> bool:
        """Whether the variable `name` is all that refers to one of the lists, which code here has made."""
        is_exclusive = self._variables.is_exclusive(name)
        value = self._variables.get(name)
        is_list = isinstance(value, (list, deque)) and getattr(value, "maxlen", None) is None
        if id(value) not in identities or not is_list or not is_exclusive:
            return False
        session = self._session
        return not (session.attempts or session.sides) or session.is_fresh(value)

    def _convert(self, name: str) -> bool:
        items, layout = self._before.setdefault(name, self._variables.get(name)), self._layouts.get(name)
        kind = None if layout is None else layout.kind
        growth = self._session.growth
        growth.happens = True
        if isinstance(items, BufferedList) and items.is_buffered and layout is not None:
            self._set(name, items.with_layout(kind, is_queue=layout.is_queue))
            return True
        try:
            for item in items:
                own = _leaves_of(item)[1]
                kind = own if kind is None else kind.joined(own)
        except LoopError:
            return False
        room, is_deque = max(growth.room, 2 * len(items)), isinstance(items, deque)
        is_queue = is_deque or (layout is not None and layout.is_queue)
        self._set(name, (BufferedDeque if is_deque else BufferedList)(items, kind, room, is_queue=is_queue))
        return True

    def _set(self, name: str, value: BufferedList) -> None:
        self._session.note_fresh(value)
        self._variables.set(name, value)
