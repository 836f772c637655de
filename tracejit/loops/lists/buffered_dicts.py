"""Dicts and sets of integers, or of tuples of integers, that a loop reads and changes.

Entries are in arrays, in the order in which they came, and a table leads from the hash of a key to its entry,
as in CPython's dicts. All are written in place, as the arrays of a `BufferedList`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from ...array.indexing.access import getitem
from ...array.operands import cast, filled, run
from ...base.records import record
from ...control.carry import symbol
from ...ir.dtypes import BOOL, INT64, UINT64
from ...pytree import flatten, register_pytree_node
from ...state import STATE
from ...tensors.tensor import Tensor
from ..reports import CURRENT, LoopError
from ..scalars import truth
from ..source.functions import inner_copy
from .blocks import Block, Column
from .buffers import (
    INTEGER,
    NO_ROOM,
    ItemType,
    ListLayoutError,
    checked,
    leaves_of,
    note_arrays,
    number,
    places,
    read,
    untyped,
)
from .hashing import slot_of
from .stacked_lists import StackedList, flat_list, list_of

_MISSING: Final = "MissingKeyError: the dict or set of a loop does not have the key"
_KEYS: Final = "it has a key that is no integer, or tuple of integers, in a dict that it changes"
_NO_DEFAULT: Final = object()


@record
class EntryType:
    """The type of the entries of a dict; those of a set have no values."""

    key: ItemType
    value: ItemType | None

    def joined(self, other: EntryType) -> EntryType:
        """The type of which entries of both can be. Raises LoopError where there is none."""
        value = None
        if self.value is not None and other.value is not None:
            value = self.value.joined(other.value)
        return EntryType(self.key.joined(other.key), value)


def entry_type(key: Any, value: Any = None) -> EntryType:
    """The type of an entry; without a `value` of one of a set. Raises LoopError where there can be none."""
    kind = leaves_of(key)[1]
    if any(dtype.kind not in "biu" or dtype is UINT64 for dtype, _ in kind.leaves):
        raise LoopError(_KEYS)
    return EntryType(kind, None if value is None else leaves_of(value)[1])


class Entries:
    """The entries of a dict or set."""

    def __init__(self, owner: Any, kind: EntryType | None, room: int) -> None:
        #: The type of a key that was looked for before it is known of which type entries are.
        self.asked: ItemType = INTEGER
        #: Whether the type is a guess: the first entry that comes tells it.
        self.is_guess = False
        self._owner, self._kind, self.room = id(owner), kind, room
        self._count, self._size = number(0), number(0)
        self._alive, self._table = filled(0, (room,), INT64), filled(0, (2 * room,), INT64)
        self._keys: list[Tensor] = []
        self._values: list[Tensor] = []
        if kind is not None:
            self._keys = [filled(0, (room,), INT64) for _ in kind.key.leaves]
            if kind.value is not None:
                self._values = [filled(0, (room,), dtype) for dtype, _ in kind.value.leaves]

    def copy_from(self, other: Entries) -> None:
        """Take over the entries of `other`, whose leaves adapt."""
        own = [*self._keys, *self._values, self._alive, self._table, self._count, self._size]
        theirs = [*other._keys, *other._values, other._alive, other._table, other._count, other._size]
        for array, source in zip(own[-len(theirs) :], theirs, strict=True) if other.has_type else ():
            array[...] = cast(source, array.dtype)

    def arrays(self) -> list[Tensor]:
        """The arrays that changes write."""
        return [*self._keys, *self._values, self._count, self._size, self._alive, self._table]

    @property
    def has_type(self) -> bool:
        """Whether it is known of which type the entries are."""
        return self._kind is not None

    def length(self) -> Tensor:
        """The number of entries, which is traced."""
        return read(self._size)

    def find(self, key: Any) -> tuple[Any, Any]:
        """The slot for `key`, and the place of its entry, -1 where there is none."""
        leaves, kind = leaves_of(key)
        entry_type(key)
        self.join(EntryType(kind, None if self._kind is None else self._kind.value))
        parts = tuple([cast(leaf, INT64) for leaf in leaves])
        own: Any = inner_copy(slot_of)  # type: ignore[arg-type]
        slot = own(self._table, self._alive, tuple(self._keys), parts)
        return slot, getitem(self._table, slot) - 1

    def join(self, kind: EntryType) -> None:
        """Raise ListLayoutError where there is no place for entries of the type `kind`."""
        joined = kind if self._kind is None else self._kind.joined(kind)
        if joined != self._kind:
            raise ListLayoutError(self._owner, joined, is_queue=False)

    def value(self, place: Any) -> Any:
        """The value of the entry at `place`."""
        assert self._kind is not None
        assert self._kind.value is not None
        leaves = [getitem(array, place) for array in self._values]
        weak = [weak for _, weak in self._kind.value.leaves]
        return Column(self._kind.value.structure, leaves, weak).item(leaves)

    def set(self, key: Any, value: Any = None) -> None:
        """Have an entry of `key` with this `value`."""
        self.begin_change()
        leaves, kind = leaves_of(key)[0], entry_type(key, value)
        if self.is_guess:
            raise ListLayoutError(self._owner, kind, is_queue=False)
        self.join(kind)
        assert self._kind is not None
        slot, place = self.find(key)
        is_new = place < 0
        place = run("where", is_new, read(self._count), place)
        place = checked(place, place >= self.room, NO_ROOM)
        for array, leaf in zip(self._keys, leaves, strict=True):
            array[place] = cast(leaf, INT64)
        if value is not None:
            for array, leaf in zip(self._values, leaves_of(value)[0], strict=True):
                array[place] = cast(leaf, array.dtype)
        self._table[slot] = place + 1
        self._alive[place] = 1
        self._count[...] = run("maximum", read(self._count), place + 1)
        self._size[...] = read(self._size) + cast(is_new, INT64)

    def remove(self, place: Any, error: str = "") -> None:
        """Remove the entry at `place`, if there is one; with an `error`, compiled code raises otherwise."""
        self.begin_change()
        if error:
            place = checked(place, place < 0, error)
        found, place = place >= 0, run("maximum", place, 0)
        self._alive[place] = run("where", found, 0, getitem(self._alive, place))
        self._size[...] = read(self._size) - cast(found, INT64)

    def clear(self) -> None:
        """Remove all entries."""
        self.begin_change()
        for array in (self._table, self._alive, self._count, self._size):
            array[...] = 0

    @property
    def is_iterated(self) -> bool:
        """Whether a loop goes along the entries."""
        return any(self is other for other in CURRENT.session.iterated)

    def begin_change(self) -> None:
        """Raise LoopError where a loop goes along the entries."""
        if self.is_iterated:
            raise LoopError("it changes a dict that it goes along")

    def items(self, of: str) -> StackedList:
        """The "keys", "values" or "items", in order."""
        kind = self._kind
        if kind is None:
            raise untyped()
        parts = [] if of == "values" else [(kind.key, self._keys)]
        if of != "keys" and kind.value is not None:
            parts.append((kind.value, self._values))
        leaves = [leaf for _, arrays in parts for leaf in arrays]
        weak = [weak for part, _ in parts for _, weak in part.leaves]
        structure = parts[0][0].structure
        if of == "items":
            structure = flatten(tuple([part.structure.unflatten([0] * len(own)) for part, own in parts]))[1]
        there = run("logical_and", self._alive != 0, places(self.room) < read(self._count))
        column = Column(structure, [run("copy", leaf) for leaf in leaves], weak)
        return DictView(self, Block([column], self.room, there))


class DictView(StackedList):
    """The keys, values or entries of a dict, which a loop that goes along them does not change."""

    def __init__(self, entries: Entries, block: Block) -> None:
        super().__init__((), block)
        self.entries = entries


def _refuse(name: str) -> Any:
    def method(self: Any, *arguments: Any, **options: Any) -> Any:
        raise LoopError(f"it calls {name}, which is not compiled")

    return method


class BufferedDict(dict[Any, Any]):
    """A dict whose entries are in arrays that loops write in place."""

    has_traced_length = True

    __hash__ = None

    def __init__(self, items: dict[Any, Any], kind: EntryType | None, room: int) -> None:
        """A dict of `items`, which with those to come are of the type `kind`."""
        dict.__init__(self)
        self.entries = Entries(self, kind, room)
        factory = getattr(items, "default_factory", None)
        self._default = factory() if factory is not None else 0 if isinstance(items, Counter) else _NO_DEFAULT
        self._inserts = factory is not None
        for key, value in items.items():
            self.entries.set(key, value)
        note_arrays(list(items.items()), self.entries.arrays())

    def with_type(self, kind: EntryType) -> BufferedDict:
        """A dict with the same entries, and places for those of the type `kind`."""
        result = BufferedDict({}, kind, self.entries.room)
        result.entries.copy_from(self.entries)
        result._default, result._inserts = self._default, self._inserts
        return result

    def length(self) -> Tensor:
        """The number of entries, which is traced."""
        return self.entries.length()

    def has(self, key: Any) -> Any:
        """Whether there is an entry of `key`, traced."""
        return has_key(self.entries, key)

    def __contains__(self, key: object) -> bool:
        return bool(self.has(key))

    def __len__(self) -> int:
        return int(self.length())

    def __bool__(self) -> bool:
        return bool(self.length() > 0)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keys())

    def __getitem__(self, key: Any) -> Any:
        if self._default is _NO_DEFAULT or (self._inserts and self.entries.is_iterated):
            if not self.entries.has_type:
                return _unknown()
            place = self.entries.find(key)[1]
            return self.entries.value(checked(place, place < 0, _MISSING))
        value = self.get(key, self._default)
        if self._inserts:
            self.entries.set(key, value)
        return value

    def __setitem__(self, key: Any, value: Any) -> None:
        self.entries.set(key, value)

    def __delitem__(self, key: Any) -> None:
        if self.entries.has_type:
            self.entries.remove(self.entries.find(key)[1], _MISSING)
        else:
            _unknown()

    def get(self, key: Any, default: Any = None) -> Any:
        """``dict.get``"""
        if default is None:
            raise LoopError("it calls dict.get without a default")
        self.entries.join(entry_type(key, default))
        place = self.entries.find(key)[1]
        found = place >= 0
        value = self.entries.value(run("maximum", place, 0))
        (leaves, structure), others = flatten(value), leaves_of(default)[0]
        chosen = [
            run("where", found, leaf, cast(other, leaf.dtype))
            for leaf, other in zip(leaves, others, strict=True)
        ]
        for leaf, result in zip(leaves, chosen, strict=True):
            if STATE.tracer.is_weak(leaf._data):
                STATE.tracer.mark_weak(result._data)
        return structure.unflatten(chosen)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """``dict.setdefault``"""
        value = self.get(key, default)
        self.entries.set(key, value)
        return value

    def pop(self, key: Any, default: Any = _NO_DEFAULT) -> Any:
        """``dict.pop``"""
        value = self[key] if default is _NO_DEFAULT else self.get(key, default)
        if self.entries.has_type:
            self.entries.remove(self.entries.find(key)[1])
        return value

    def update(self, *others: Any, **named: Any) -> None:
        """``dict.update``"""
        for other in others:
            for key, value in list(dict(other).items()):
                self.entries.set(key, value)
        if named:
            raise LoopError(
                "it has a key that is no integer, or tuple of integers, in a dict that it changes"
            )

    def clear(self) -> None:
        """``dict.clear``"""
        self.entries.clear()

    def keys(self) -> Any:
        """``dict.keys``, as a list."""
        return self.entries.items("keys")

    def values(self) -> Any:
        """``dict.values``, as a list."""
        return self.entries.items("values")

    def items(self) -> Any:
        """``dict.items``, as a list."""
        return self.entries.items("items")


class BufferedSet(set[Any]):
    """A set whose entries are in arrays that loops write in place. Nothing goes along them: their order is
    not that of CPython's sets."""

    has_traced_length = True

    __hash__ = None

    def __init__(self, items: Iterable[Any], kind: EntryType | None, room: int) -> None:
        """A set of `items`, which with those to come are of the type `kind`."""
        set.__init__(self)
        items = list(items)
        self.entries = Entries(self, kind, room)
        for item in items:
            self.entries.set(item)
        note_arrays(items, self.entries.arrays())

    def with_type(self, kind: EntryType) -> BufferedSet:
        """A set with the same entries, and places for those of the type `kind`."""
        result = BufferedSet((), kind, self.entries.room)
        result.entries.copy_from(self.entries)
        return result

    def length(self) -> Tensor:
        """The number of entries, which is traced."""
        return self.entries.length()

    def has(self, key: Any) -> Any:
        """Whether `key` is in the set, traced."""
        self.entries.join(entry_type(key))
        return has_key(self.entries, key)

    def __contains__(self, key: object) -> bool:
        return bool(self.has(key))

    def __len__(self) -> int:
        return int(self.length())

    def __bool__(self) -> bool:
        return bool(self.length() > 0)

    def add(self, key: Any) -> None:
        """``set.add``"""
        self.entries.set(key)

    def discard(self, key: Any) -> None:
        """``set.discard``"""
        self.entries.remove(self.entries.find(key)[1])

    def remove(self, key: Any) -> None:
        """``set.remove``"""
        self.entries.remove(self.entries.find(key)[1], _MISSING)

    def update(self, *others: Iterable[Any]) -> None:
        """``set.update``"""
        for other in others:
            for key in list(other):
                self.entries.set(key)

    def clear(self) -> None:
        """``set.clear``"""
        self.entries.clear()


for _kind, _base, _names in (
    (BufferedDict, "dict", "copy fromkeys popitem __eq__ __ne__ __or__ __ior__ __ror__ __reversed__"),
    (
        BufferedSet,
        "set",
        "copy difference difference_update intersection intersection_update isdisjoint issubset issuperset "
        "pop symmetric_difference symmetric_difference_update union __iter__ __eq__ __ne__ __and__ __iand__ "
        "__ior__ __isub__ __ixor__ __le__ __lt__ __ge__ __gt__ __or__ __rand__ __ror__ __rsub__ __rxor__ "
        "__sub__ __xor__",
    ),
):
    for _name in _names.split():
        setattr(_kind, _name, _refuse(f"{_base}.{_name}"))


def has_key(entries: Entries, key: Any) -> Any:
    """Whether `entries` have one of `key`, traced."""
    if not entries.has_type:
        entries.asked = entry_type(key).key
        _unknown()
        return filled(False, (), BOOL)
    return truth(entries.find(key)[1] >= 0)


def _unknown() -> Any:
    """A number that stands for a value while the step is searched for what is put into a dict."""
    CURRENT.session.untyped_items = untyped()
    return symbol(STATE.tracer, 0)


class DictParts:
    """The keys and values of a dict, or the keys of a set, in what a compiled call returns."""

    def __init__(self, parts: Sequence[Any]) -> None:
        self.parts = parts

    def __repr__(self) -> str:
        return f"DictParts({self.parts!r})"


def _assembled(_: Any, parts: Sequence[Any]) -> Any:
    """The dict or set of these `parts`; a container of them while they are placeholders."""
    if not all(type(part) is list for part in parts):
        return DictParts(parts)
    keys = map(_plain_key, parts[0])
    return set(keys) if len(parts) == 1 else dict(zip(keys, parts[1], strict=True))


def _plain_key(key: Any) -> Any:
    return tuple(map(_plain_key, key)) if isinstance(key, tuple) else key.item()


register_pytree_node(DictView, flat_list, list_of)
register_pytree_node(BufferedDict, lambda value: ((value.keys(), value.values()), None), _assembled)
register_pytree_node(BufferedSet, lambda value: ((value.entries.items("keys"),), None), _assembled)
register_pytree_node(DictParts, lambda value: (value.parts, None), _assembled)
