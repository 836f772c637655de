"""Code that asks for values of what is traced: Python decides there, or makes arrays that cannot hold it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .libraries.library import (
    TELLING,
    asks_for_values,
    handles_state,
    makes_array,
    may_be_traced,
    may_write_arrays,
    takes_list,
)
from .trail import Trail
from .usage import Uses
from .values import TRACED, Group, options


class Asking:
    """Notes the code that is followed in `uses.asking`, where it may ask for values."""

    def __init__(self, uses: Uses, trail: Trail) -> None:
        self.uses, self.trail = uses, trail
        #: Code that may have what a traced mask selects, by identity.
        self._selecting: set[int] = set()

    def note_key(self, key: Any) -> None:
        """Note that the code that is followed reads or writes items by `key`, if that is traced."""
        parts = key.items if isinstance(key, Group) else (key,)
        if any(option is TRACED for part in parts for option in options(part)):
            self.uses.asking.add(id(self.trail.running[-1]))

    def note_selecting(self, key: Any = TRACED) -> None:
        """Note that the code that is followed may have what a mask selects, if `key` may be traced: Python's
        ``len`` would ask for a number there."""
        if self.trail.running and may_be_traced(key):
            self._selecting.add(id(self.trail.running[-1]))

    def note_length(self) -> None:
        """Note that the code that is followed asks for the length of what is traced."""
        if self.trail.running and id(self.trail.running[-1]) in self._selecting:
            self.uses.asking.add(id(self.trail.running[-1]))

    def note_asking(self, function: Any, arguments: Sequence[Any]) -> None:
        """Note that the code that is followed uses `function`, if that asks for the values of `arguments`, or
        makes an array that cannot hold what the code writes to it."""
        code = self.trail.running[-1] if self.trail.running else None
        if code is None or id(code) in self.uses.asking:
            return
        if takes_list(function, arguments) or handles_state(function):
            self.uses.asking.add(id(code))
        elif asks_for_values(function):
            about_one = any(function is each for each in TELLING)
            if any(map(may_be_traced, arguments[:1] if about_one else arguments)):
                self.uses.asking.add(id(code))
        if makes_array(function) and may_write_arrays(code):
            self.uses.asking.add(id(code))
