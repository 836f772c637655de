"""Containers of variables that become ones whose arrays a loop writes in place."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable
from typing import Any, Final

from ..reports import LoopError, Session
from ..variables import Variables
from .buffered_dicts import BufferedDict, BufferedSet, EntryType, entry_type
from .buffered_lists import BufferedDeque, BufferedList
from .buffers import GUESSES, ChangesListError, ListLayoutError, UntypedItemsError, leaves_of

#: Makers of the values of a ``defaultdict`` that can be carried.
_FACTORIES: Final = (int, float, bool)


class Conversions:
    """The lists that one loop reads and changes, as far as its attempts have found them."""

    def __init__(self, variables: Variables, session: Session) -> None:
        self._variables, self._session = variables, session
        #: The lists that were there, by the variable.
        self._before: dict[str, Any] = {}
        #: The last errors of attempts by which they were to have another layout.
        self._layouts: dict[str, ListLayoutError] = {}
        #: The number of guesses at the type of items, by the variable.
        self._guesses: dict[str, int] = {}

    def follow(self, error: Exception) -> bool:
        """Whether another attempt may do after one that has ended with `error`: the lists have become other
        ones."""
        session = self._session
        if session.growth.refusal or (session.unrolled and not (session.attempts or session.sides)):
            return False
        if isinstance(error, ChangesListError):
            identities = set(map(self._before_step, error.identities))
            names = [name for name in self._variables.names() if self._is_own(name, identities)]
        elif isinstance(error, UntypedItemsError):
            names = [name for name in self._before if not _state(self._variables.get(name)).has_type]
            self._guess(names)
        elif isinstance(error, ListLayoutError):
            names = [name for name in self._variables.names() if self._is_own(name, {error.identity})]
            self._layouts.update(dict.fromkeys(names, error))
        else:
            names = [name for name in self._before if _state(self._variables.get(name)).is_guess]
            if any(self._guesses[name] == len(GUESSES) for name in names):
                return False
            self._guess(names)
        return bool(names) and all(map(self._convert, names))

    def _guess(self, names: Iterable[str]) -> None:
        """Have places for items of the next type that may be that of the items of `names`: nothing that was
        seen tells it."""
        for name in names:
            value: Any = self._variables.get(name)
            place = self._guesses.get(name, 0)
            self._guesses[name] = place + 1
            kind: Any = GUESSES[place]
            if isinstance(value, BufferedDict):
                kind = EntryType(value.entries.asked, kind)
            self._layouts[name] = ListLayoutError(0, kind, is_queue=False, is_guess=True)

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
        if id(value) not in identities or not _can_be_carried(value) or not is_exclusive:
            return False
        session = self._session
        return not (session.attempts or session.sides) or session.is_fresh(value)

    def _convert(self, name: str) -> bool:
        container = self._before.setdefault(name, self._variables.get(name))
        self._session.growth.happens = True
        try:
            carried = _carried(container, self._layouts.get(name), self._session.growth.room)
        except LoopError:
            return False
        layout = self._layouts.get(name)
        _state(carried).is_guess = layout is not None and layout.is_guess
        self._session.note_fresh(carried)
        self._variables.set(name, carried)
        return True


def _can_be_carried(value: Any) -> bool:
    if isinstance(value, (deque, defaultdict)):
        return getattr(value, "maxlen", None) is None and getattr(value, "default_factory", int) in _FACTORIES
    return isinstance(value, (list, dict, set))


def _carried(container: Any, layout: ListLayoutError | None, room: int) -> Any:
    """The `container` with its items in arrays that have places for those that `layout` tells of. Raises
    LoopError where its items are of several types."""
    kind: Any = None if layout is None else layout.kind
    is_queue = layout is not None and layout.is_queue
    if isinstance(container, (BufferedDict, BufferedSet)):
        return container.with_type(kind)
    if isinstance(container, BufferedList) and container.is_buffered:
        return container.with_layout(kind, is_queue=is_queue)
    if isinstance(container, dict):
        types: Any = [entry_type(key, value) for key, value in container.items()]
    elif isinstance(container, set):
        types = [entry_type(key) for key in container]
    else:
        types = [leaves_of(item)[1] for item in container]
    for own in types:
        kind = own if kind is None else kind.joined(own)
    room = max(room, 1 << (2 * len(container)).bit_length())
    if isinstance(container, dict):
        return BufferedDict(container, kind, room)
    if isinstance(container, set):
        return BufferedSet(container, kind, room)
    if isinstance(container, deque):
        return BufferedDeque(container, kind, room, is_queue=True)
    return BufferedList(container, kind, room, is_queue=is_queue)


def _state(container: Any) -> Any:
    """The object that knows of which type the items of `container` are."""
    return getattr(container, "entries", container)
