"""The state behind ``tj.random``'s default generator, and how traced functions draw from it.

A generator is a key and a count of the draws made so far; draw k is the key ``threefry(key, k)``. A traced
function does not draw: it notes how many keys it wants (`Draws`) and takes the state as an input. A call then
claims that many draws at once, so that it gets the keys that the same function would have drawn eagerly.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from .base.process.locks import ForkLock
from .ir.ops.random import threefry_of_ints
from .tensors.tensor import Array

_WORD: Final = 1 << 64


class Generator:
    """A source of keys: reproducible from its state, safe to draw from in several threads."""

    def __init__(self, key: int = 0) -> None:
        self._key, self._drawn = key, 0
        self._lock = ForkLock()

    @property
    def state(self) -> tuple[int, int]:
        """The key, and the number of draws made."""
        with self._lock:
            return self._key, self._drawn

    @state.setter
    def state(self, state: tuple[int, int]) -> None:
        with self._lock:
            self._key, self._drawn = state

    def claim(self, count: int) -> tuple[int, int]:
        """The state, as `count` draws leave it behind."""
        with self._lock:
            state = self._key, self._drawn
            self._drawn = (self._drawn + count) % _WORD
            return state

    def draw(self) -> int:
        """The next key."""
        return threefry_of_ints(*self.claim(1))


class Draws:
    """A traced function's capture of a generator: the generator, and the number of keys each call draws from
    it."""

    def __init__(self, generator: Generator) -> None:
        self.generator = generator
        self.count = 0

    def claim(self) -> Array:
        """The generator's state for one call, u64[2], which advances it. To be called once per call."""
        return np.array(self.generator.claim(self.count), np.uint64)

    def peek(self) -> Array:
        """The generator's state as the next call will find it."""
        return np.array(self.generator.state, np.uint64)

    def __str__(self) -> str:
        return f"the default generator, {self.count} draw{'s' * (self.count != 1)} a call"


#: The default generator of the process.
DEFAULT: Final = Generator()
