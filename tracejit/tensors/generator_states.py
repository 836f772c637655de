"""States of NumPy's generators of random numbers as words of 64 bits, which compiled code computes with.

The words of a generator are what its `state` says, in a fixed order: see `LAYOUTS`. A call of a compiled
function reads them when it begins and writes them back when it ends, while it holds the generator's lock.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ..base.loading import Loaded
from ..base.records import record
from .tensor import Array

_WORD: Final = (1 << 64) - 1
_GENERATOR: Final = Loaded("numpy.random:Generator")
_RANDOM_STATE: Final = Loaded("numpy.random:RandomState")
#: The number of words of a Mersenne Twister, and how far behind a word the one is that it is mixed with.
TWISTER_WORDS: Final = 624
TWISTER_DISTANCE: Final = 397
#: The masks of a word's upper bit and of the others, and the matrix of the twist.
TWISTER_UPPER, TWISTER_LOWER, TWISTER_MATRIX = 0x80000000, 0x7FFFFFFF, 0x9908B0DF
#: The places in a twister's words, behind its key: how many words of it are drawn; whether words are twisted
#: as they are drawn, since the last twist of all of them; and the second number of a pair of normal ones.
TWISTER_POSITION, TWISTER_IS_PARTIAL, HAS_GAUSS, GAUSS = range(TWISTER_WORDS, TWISTER_WORDS + 4)


def _pcg_words(state: Any) -> list[int]:
    numbers = state["state"]
    halves = [half for name in ("state", "inc") for half in divmod(numbers[name], 1 << 64)]
    return [*halves, *_buffered(state)]


def _pcg_state(words: Array, state: Any) -> None:
    high, low, inc_high, inc_low, *buffered = words.tolist()
    state["state"] = {"state": high << 64 | low, "inc": inc_high << 64 | inc_low}
    _buffer(state, buffered)


def _philox_words(state: Any) -> list[int]:
    inner = state["state"]
    return [
        *map(int, (*inner["counter"], *inner["key"], *state["buffer"])), state["buffer_pos"],
        *_buffered(state),
    ]  # fmt: skip


def _philox_state(words: Array, state: Any) -> None:
    state["state"] = {"counter": words[:4].copy(), "key": words[4:6].copy()}
    state["buffer"], state["buffer_pos"] = words[6:10].copy(), int(words[10])
    _buffer(state, words[11:].tolist())


def _sfc_words(state: Any) -> list[int]:
    return [*map(int, state["state"]["state"]), *_buffered(state)]


def _sfc_state(words: Array, state: Any) -> None:
    state["state"] = {"state": words[:4].copy()}
    _buffer(state, words[4:].tolist())


def _buffered(state: Any) -> tuple[int, int]:
    """Whether half of a word is kept for the next draw of 32 bits, and that half."""
    return state["has_uint32"], state["uinteger"]


def _buffer(state: Any, words: list[int]) -> None:
    state["has_uint32"], state["uinteger"] = words


def _twister_words(state: Any) -> Array:
    words = np.zeros(GAUSS + 1, np.uint64)
    words[:TWISTER_WORDS], words[TWISTER_POSITION] = state["state"]["key"], state["state"]["pos"]
    words[HAS_GAUSS] = state.get("has_gauss", 0)
    words[GAUSS:].view(np.float64)[0] = state.get("gauss", 0.0)
    return words


def _twister_state(words: Array, state: Any) -> None:
    key, position = words[:TWISTER_WORDS].astype(np.uint32), int(words[TWISTER_POSITION])
    if words[TWISTER_IS_PARTIAL]:
        twist_rest(key, position)
    state["state"] = {"key": key, "pos": position}
    if "has_gauss" in state:
        state["has_gauss"] = int(words[HAS_GAUSS])
        state["gauss"] = float(words[GAUSS:].view(np.float64)[0])


def twist_rest(key: Array, position: int) -> None:
    """Twist the words of a Mersenne Twister's `key` from `position` on; those before are twisted already."""
    reach = TWISTER_WORDS - TWISTER_DISTANCE  # so many words do not depend on one another
    while position < TWISTER_WORDS:
        stop = min(TWISTER_WORDS, (position // reach + 1) * reach)
        at = np.arange(position, stop)
        following = key[(at + 1) % TWISTER_WORDS]
        mixed = (key[at] & np.uint32(TWISTER_UPPER)) | (following & np.uint32(TWISTER_LOWER))
        odd = np.where(mixed & np.uint32(1), np.uint32(TWISTER_MATRIX), np.uint32(0))
        key[at] = key[(at + TWISTER_DISTANCE) % TWISTER_WORDS] ^ (mixed >> np.uint32(1)) ^ odd
        position = stop


@record
class Layout:
    """The words of one kind of generator.

    Attributes:
        size: their number.
        words: gives them for what the generator says of its state.
        fill: puts words into that.
    """

    size: int
    words: Callable[[Any], Any]
    fill: Callable[[Array, Any], None]


#: The layouts by the class of the bit generator; that of the state behind ``np.random`` is `RandomState`.
LAYOUTS: Final[dict[str, Layout]] = {
    "PCG64": Layout(6, _pcg_words, _pcg_state),
    "PCG64DXSM": Layout(6, _pcg_words, _pcg_state),
    "Philox": Layout(13, _philox_words, _philox_state),
    "SFC64": Layout(6, _sfc_words, _sfc_state),
    "MT19937": Layout(TWISTER_WORDS + 4, _twister_words, _twister_state),
    "RandomState": Layout(TWISTER_WORDS + 4, _twister_words, _twister_state),
}


def kind_of(value: Any) -> str | None:
    """The key in `LAYOUTS` of a generator; None of anything else, and of the user's own classes."""
    if type(value) in _GENERATOR():
        bits, name = value.bit_generator, type(value.bit_generator).__name__
    elif type(value) in _RANDOM_STATE():
        bits, name = value._bit_generator, "RandomState"
        if type(bits).__name__ != "MT19937":
            return None
    else:
        return None
    return name if name in LAYOUTS and type(bits).__module__.startswith("numpy.random.") else None


class GeneratorState:
    """The state of a generator of NumPy's: what a call reads and writes, and a trace captures.

    Attributes:
        generator: a ``Generator`` or ``RandomState``.
        kind: its key in `LAYOUTS`.
    """

    def __init__(self, generator: Any, kind: str) -> None:
        self.generator, self.kind = generator, kind

    @property
    def bits(self) -> Any:
        """The bit generator, which several generators may share."""
        generator = self.generator
        return generator._bit_generator if self.kind == "RandomState" else generator.bit_generator

    @property
    def lock(self) -> Any:
        """The lock to hold between `peek` and `write`."""
        return self.bits.lock

    def peek(self) -> Array:
        """The words of the state as it is now."""
        return np.asarray(LAYOUTS[self.kind].words(self._state()), np.uint64)

    def write(self, words: Array) -> None:
        """Give the generator the state with these `words`."""
        state = self._state()
        LAYOUTS[self.kind].fill(words, state)
        if self.kind == "RandomState":
            self.generator.set_state(state)
        else:
            self.bits.state = state

    def _state(self) -> Any:
        if self.kind == "RandomState":
            return self.generator.get_state(legacy=False)
        return self.bits.state

    def __str__(self) -> str:
        return f"the state of a {'RandomState' if self.kind == 'RandomState' else f'Generator({self.kind})'}"
