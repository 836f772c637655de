"""The search in the table of a dict or set that loops change. It is Python: loops take it in as they take a
user's helpers."""

from __future__ import annotations

from typing import Any, Final

#: The odd number next to 2^64 over the golden ratio, whose multiples are spread, as a signed integer.
_SPREAD: Final = 0x9E3779B97F4A7C15 - (1 << 64)


def _hashed(key: Any, state: Any) -> Any:
    """A number for a `key`, a tuple of integers; `state` is that of its first parts."""
    if len(key) == 0:
        return state ^ (state >> 32)
    mixed = (state ^ key[0]) * _SPREAD
    return _hashed(key[1:], mixed ^ (mixed >> 29))


def _has_key(columns: Any, place: Any, key: Any) -> Any:
    """Whether the entry at `place` has this `key`, whose parts are in `columns`."""
    if len(key) == 0:
        return True
    return (columns[0][place] == key[0]) & _has_key(columns[1:], place, key[1:])


def slot_of(table: Any, alive: Any, columns: Any, key: Any) -> Any:
    """The slot of `table` that leads to the entry with `key`, or the free one where such an entry belongs. A
    slot has the place of its entry and 1, or 0; entries that are not `alive` were removed."""
    last = len(table) - 1
    slot = _hashed(key, 0) & last
    place = table[slot] - 1
    while place >= 0 and not ((alive[place] != 0) & _has_key(columns, place, key)):
        slot = (slot + 1) & last
        place = table[slot] - 1
    return slot
