"""Objects that tell a guard whether state without a place of its own has changed since a trace."""

from __future__ import annotations

import functools
import gc
from itertools import islice
from typing import Any, Final

#: Number of a cache's entries that are compared. Clearing a cache removes all of them.
_COMPARED_ENTRIES: Final = 16


class CacheEntries:
    """Entries of a `functools.lru_cache` (or `functools.cache`) since the first look at it.

    A trace keeps the results that it found in the cache. They stay right while their entries stay.
    """

    __slots__ = ("_entries", "_function", "_identities", "_is_bounded", "_misses", "_seen")

    def __init__(self, function: functools._lru_cache_wrapper[Any]) -> None:
        self._function = function
        held = gc.get_referents(function)
        self._entries = next(item for item in held if type(item) is dict and item is not vars(function))
        self._is_bounded = function.cache_info().maxsize is not None
        self._misses = 0
        #: The oldest entries at the first look, which the cache's dict has in front. They are held, so that
        #: nothing else gets their identities.
        self._seen: list[tuple[Any, Any]] | None = None
        self._identities = self._oldest(0)

    @property
    def removed(self) -> bool:
        """Whether an entry that was there at the first look may have been removed or replaced."""
        if self._seen is None:
            self._seen = list(islice(self._entries.items(), _COMPARED_ENTRIES))
            self._identities = self._oldest(len(self._seen))
            self._misses = self._function.cache_info().misses
            return False
        if self._is_bounded:
            info = self._function.cache_info()
            if info.misses != self._misses and info.currsize == info.maxsize:
                return True  # a full cache reuses the objects of old entries for new ones
        return self._oldest(len(self._seen)) != self._identities

    def _oldest(self, count: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The identities of the keys and of the values of the first `count` entries."""
        entries = self._entries
        return tuple(map(id, islice(entries, count))), tuple(map(id, islice(entries.values(), count)))


class Listing:
    """Names that ``dir`` gives of an object since the first look at them."""

    __slots__ = ("_names", "_object")

    def __init__(self, listed: Any) -> None:
        self._object = listed
        self._names: list[str] | None = None

    @property
    def changed(self) -> bool:
        """Whether ``dir`` gives other names than at the first look."""
        names = dir(self._object)
        if self._names is None:
            self._names = names
        return names != self._names
