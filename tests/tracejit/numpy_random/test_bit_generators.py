"""Words and fractions of NumPy's bit generators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.numpy_random.bit_generators import BIT_GENERATORS
from tracejit.tensors.generator_states import GeneratorState, kind_of

from ...rotation import SEED
from .programs import state_of

KINDS = ("PCG64", "PCG64DXSM", "SFC64", "Philox", "MT19937")
#: More than a twist of all words of a Mersenne Twister.
COUNT = 1500


def generator_of(kind: str, seed: int, change: Any) -> np.random.Generator:
    """A generator whose state `change`, where it is given, has changed."""
    generator = np.random.Generator(getattr(np.random, kind)(seed))
    if change is not None:
        state = generator.bit_generator.state
        change(state)
        generator.bit_generator.state = state
    return generator


def drawn(kind: str, seed: int, change: Any = None) -> tuple[np.ndarray, np.ndarray, str]:
    """Words of 64 and of 32 bits that compiled code draws in turns, and the state behind."""
    generator = generator_of(kind, seed, change)
    known = kind_of(generator)
    assert known == kind
    state = GeneratorState(generator, kind)

    @tj.jit
    def draw(words: Any, long: Any, short: Any) -> int:
        bits = BIT_GENERATORS[kind](words)
        for i in range(len(long)):
            long[i] = bits.next64()
            short[2 * i] = bits.next32()
            short[2 * i + 1] = bits.next32()
            if i % 3 == 0:
                short[2 * i] = bits.next32()
        return 0

    words, long, short = state.peek(), np.zeros(COUNT, np.uint64), np.zeros(2 * COUNT, np.uint64)
    draw(words, long, short)
    state.write(words)
    return long, short, state_of(generator)


def expected(kind: str, seed: int, change: Any = None) -> tuple[np.ndarray, np.ndarray, str]:
    generator = generator_of(kind, seed, change)
    long, short = np.zeros(COUNT, np.uint64), np.zeros(2 * COUNT, np.uint64)
    for i in range(COUNT):
        long[i] = generator.integers(0, 2**64, dtype=np.uint64)
        short[2 * i] = generator.integers(0, 2**32, dtype=np.uint32)
        short[2 * i + 1] = generator.integers(0, 2**32, dtype=np.uint32)
        if i % 3 == 0:
            short[2 * i] = generator.integers(0, 2**32, dtype=np.uint32)
    return long, short, state_of(generator)


def ones(state: Any) -> None:
    """Let the words of a state be such that sums carry."""
    inner, full = state["state"], 2**64 - 1
    if state["bit_generator"] == "Philox":
        inner["counter"] = np.array([full, full, full, 7], np.uint64)
    elif state["bit_generator"] == "SFC64":
        inner["state"] = np.array([full, full, full, full], np.uint64)
    elif state["bit_generator"] == "MT19937":
        inner["key"] = np.full(624, 2**32 - 1, np.uint32)
        inner["pos"] = 0
    else:
        inner["state"], inner["inc"] = 2**128 - 1, 2**128 - 1


@pytest.mark.parametrize("change", [None, ones], ids=["seeded", "ones"])
@pytest.mark.parametrize("kind", KINDS)
def test_words_are_numpys(kind: str, change: Any) -> None:
    print(f"seed {SEED}")
    (long, short, state), (words, halves, end) = drawn(kind, SEED, change), expected(kind, SEED, change)
    np.testing.assert_array_equal(long, words)
    np.testing.assert_array_equal(short, halves)
    assert state == end


@pytest.mark.parametrize("position", [0, 1, 226, 227, 396, 397, 453, 454, 622, 623, 624])
def test_a_mersenne_twister_at_any_position(position: int) -> None:
    def change(state: Any) -> None:
        state["state"]["pos"] = position

    (long, _, state), (words, _, end) = drawn("MT19937", SEED, change), expected("MT19937", SEED, change)
    np.testing.assert_array_equal(long, words)
    assert state == end
