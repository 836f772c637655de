"""Random words from the state of NumPy's bit generators, which is written in place.

Sources of the algorithms: M. O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically Good
Algorithms for Random Number Generation" (2014); M. Matsumoto and T. Nishimura, "Mersenne Twister" (1998); J.
Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3" (2011), for Philox; C. Doty-Humphrey, PractRand,
for SFC64.
"""

from __future__ import annotations

from typing import Any, Final

from ..array.elementwise import floats
from ..array.indexing.writing import replace, writes_memory
from ..control.branches import cond
from ..dispatch.dispatch import apply
from ..ir.dtypes import BY_NAME, FLOAT64, INT64
from ..ir.registry import OPS
from ..state import STATE
from ..tensors.generator_states import (
    TWISTER_DISTANCE,
    TWISTER_IS_PARTIAL,
    TWISTER_LOWER,
    TWISTER_MATRIX,
    TWISTER_POSITION,
    TWISTER_UPPER,
    TWISTER_WORDS,
)
from ..tensors.tensor import Array, Tensor, wrap

UINT64: Final = BY_NAME["u64"]
#: The low half of a word.
LOW: Final = (1 << 32) - 1


def word(value: int) -> Tensor:
    """The constant `value` as a word."""
    return wrap(STATE.tracer.scalar(value, UINT64))


def constant_words(words: Array) -> Tensor:
    """The constant `words` of a state."""
    tracer = STATE.tracer
    value = tracer.constant(data=tuple(words.tolist()), shape=words.shape, dtype=words.dtype)
    return wrap(tracer.apply(OPS["copy"], (value,), {}))


def as_word(x: Any) -> Any:
    """`x` as a word: an integer, or a truth value."""
    return apply(OPS["cast"], (x,), {"dtype": UINT64})


def as_float(x: Any) -> Any:
    """The word or integer `x` as a float64."""
    return apply(OPS["cast"], (x,), {"dtype": FLOAT64})


def as_integer(x: Any) -> Any:
    """The word `x` as a signed integer of the same bits."""
    return apply(OPS["cast"], (x,), {"dtype": INT64})


def high_product(x: Any, y: Any) -> Any:
    """The high word of x y."""
    return apply(OPS["mul_high"], (x, y), {})


def _turned_right(x: Any, count: Any) -> Any:
    return (x >> count) | (x << ((64 - count) & 63))


class BitGenerator:
    """The words of a generator's state, which draws write.

    Attributes:
        words: the tensor that holds them, of the running trace or region.
    """

    def __init__(self, words: Tensor) -> None:
        self.words = words

    def next64(self) -> Any:
        """The next word of 64 bits."""
        raise NotImplementedError

    def next32(self) -> Any:
        """The next 32 bits, as a word."""
        raise NotImplementedError

    def fraction(self) -> Any:
        """The next float64 of 53 bits in [0, 1)."""
        return as_float(self.next64() >> 11) * 2.0**-53


class _Buffered(BitGenerator):
    """A generator of words of 64 bits, the high half of one of which is kept for the next draw of 32 bits."""

    #: The place of what tells whether there is such a half, and of that half behind it.
    has_half: int

    def next32(self) -> Any:
        at, words = self.has_half, self.words
        kept, half = words[at] != 0, words[at + 1]

        def draws() -> tuple[Any, ...]:
            with_own = type(self)(own_words(words))
            value = with_own.next64()
            with_own.words[at], with_own.words[at + 1] = 1, value >> 32
            return with_own.words, value & LOW

        def keeps() -> tuple[Any, ...]:
            own = own_words(words)
            own[at] = 0
            return own, half

        changed, value = cond(kept, keeps, draws)
        overwrite(words, changed)
        return value


def overwrite(words: Tensor, new: Tensor) -> None:
    """Give `words` the value of `new`, without a copy."""
    writes_memory(words, (), "a draw")
    replace(words, new, "a draw")


def own_words(words: Tensor) -> Tensor:
    """`words` as a tensor of the region that runs, which may be written there."""
    return wrap(STATE.tracer.lift(words))


#: PCG's multipliers of 128 bits: of the plain generator, and the cheap one of DXSM.
_PCG_HIGH, _PCG_LOW, _PCG_CHEAP = 0x2360ED051FC65DA4, 0x4385DF649FCCF645, 0xDA942042E4DD58B5


class PCG64(_Buffered):
    """PCG XSL-RR 128/64."""

    has_half = 4

    def next64(self) -> Any:
        high, low = self._step(_PCG_HIGH, _PCG_LOW)
        return _turned_right(high ^ low, high >> 58)

    def _step(self, by_high: int, by_low: int) -> tuple[Any, Any]:
        """Multiply the state by the constant, and add the increment; the new halves."""
        words = self.words
        high, low, factor = words[0], words[1], word(by_low)
        product = low * factor
        carried = high_product(low, factor) + high * factor
        if by_high:
            carried = carried + low * by_high
        new_low = product + words[3]
        new_high = carried + words[2] + as_word(new_low < product)
        words[0], words[1] = new_high, new_low
        return new_high, new_low


class PCG64DXSM(PCG64):
    """PCG CM DXSM 128/64: its result is made of the state before the step."""

    def next64(self) -> Any:
        high, low = self.words[0], self.words[1]
        self._step(0, _PCG_CHEAP)
        high = (high ^ (high >> 32)) * word(_PCG_CHEAP)
        return (high ^ (high >> 48)) * (low | 1)


class SFC64(_Buffered):
    """SFC64, of three words and a counter."""

    has_half = 4

    def next64(self) -> Any:
        words = self.words
        a, b, c, counter = [words[i] for i in range(4)]
        result = a + b + counter
        words[0], words[1], words[2] = b ^ (b >> 11), c + (c << 3), _turned_right(c, word(40)) + result
        words[3] = counter + 1
        return result


_PHILOX_ROUNDS: Final = 10
_PHILOX_FACTORS: Final = 0xD2E7470EE14C6C93, 0xCA5A826395121157
_PHILOX_KEY_STEPS: Final = 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B


class Philox(_Buffered):
    """Philox4x64-10: four words of a counter of 256 bits at a time, which are kept until they are drawn."""

    has_half = 11
    _COUNTER, _KEY, _BUFFER, _POSITION = 0, 4, 6, 10

    def next64(self) -> Any:
        words = self.words

        def refilled() -> Tensor:
            own = own_words(words)
            self._refill(own)
            return own

        overwrite(words, cond(words[self._POSITION] < 4, lambda: own_words(words), refilled))
        position = as_integer(words[self._POSITION])
        words[self._POSITION] = as_word(position + 1)
        return words[position + self._BUFFER]

    def _refill(self, words: Tensor) -> None:
        carried: Any = word(1)
        counter: list[Any] = []
        for i in range(4):
            counter.append(words[i] + carried)
            words[i] = counter[-1]
            carried = as_word((counter[-1] == 0) & (carried != 0))
        keys = [words[self._KEY], words[self._KEY + 1]]
        first, second = map(word, _PHILOX_FACTORS)
        for number in range(_PHILOX_ROUNDS):
            if number:
                keys = [key + word(step) for key, step in zip(keys, _PHILOX_KEY_STEPS, strict=True)]
            counter = [
                high_product(second, counter[2]) ^ counter[1] ^ keys[0], second * counter[2],
                high_product(first, counter[0]) ^ counter[3] ^ keys[1], first * counter[0],
            ]  # fmt: skip
        for i in range(4):
            words[self._BUFFER + i] = counter[i]
        words[self._POSITION] = 0


class MT19937(BitGenerator):
    """The Mersenne Twister. NumPy twists all words of the key when they are drawn; here each word is twisted
    as it is drawn, and `generator_states` twists the rest when the state is written back."""

    def next32(self) -> Any:
        words = self.words
        ends = words[TWISTER_POSITION] == TWISTER_WORDS
        partial = ends | (words[TWISTER_IS_PARTIAL] != 0)
        at = floats.where(ends, 0, as_integer(words[TWISTER_POSITION]))
        drawn = words[at]
        following = words[_behind(at, 1)]
        mixed = (drawn & TWISTER_UPPER) | (following & TWISTER_LOWER)
        odd = (mixed & 1) * TWISTER_MATRIX
        y = floats.where(partial, words[_behind(at, TWISTER_DISTANCE)] ^ (mixed >> 1) ^ odd, drawn)
        words[at] = y
        words[TWISTER_POSITION] = as_word(at + 1)
        words[TWISTER_IS_PARTIAL] = as_word(partial)
        y = y ^ (y >> 11)
        y = y ^ ((y << 7) & 0x9D2C5680)
        y = y ^ ((y << 15) & 0xEFC60000)
        return y ^ (y >> 18)

    def next64(self) -> Any:
        high = self.next32()
        return (high << 32) | self.next32()

    def fraction(self) -> Any:
        high, low = self.next32() >> 5, self.next32() >> 6
        return as_float((high << 26) | low) * 2.0**-53


def _behind(at: Any, distance: int) -> Any:
    """The place `distance` behind `at` in the key, which is a ring."""
    place = at + distance
    return floats.where(place >= TWISTER_WORDS, place - TWISTER_WORDS, place)


#: The bit generators by the kinds of `generator_states`.
BIT_GENERATORS: Final[dict[str, type[BitGenerator]]] = {
    "PCG64": PCG64, "PCG64DXSM": PCG64DXSM, "SFC64": SFC64, "Philox": Philox, "MT19937": MT19937,
    "RandomState": MT19937,
}  # fmt: skip
