"""States of NumPy's generators as words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tracejit.tensors.generator_states import LAYOUTS, GeneratorState, kind_of, twist_rest

from ..numpy_random.programs import state_of


class OwnGenerator(np.random.Generator):
    """A class of the user's."""


class OwnBits(np.random.PCG64):
    """A class of the user's."""


def generators() -> dict[str, Any]:
    made = {
        name: np.random.Generator(getattr(np.random, name)(5)) for name in LAYOUTS if name != "RandomState"
    }
    return {**made, "RandomState": np.random.RandomState(5)}


@pytest.mark.parametrize("kind", LAYOUTS)
def test_a_state_that_is_written_back_is_what_it_was(kind: str) -> None:
    generator = generators()[kind]
    for _ in range(3):  # a kept half of a word, a kept normal number
        generator.normal()
        if kind != "RandomState":
            generator.integers(0, 5, dtype=np.int32)
    assert kind_of(generator) == kind
    state, before = GeneratorState(generator, kind), state_of(generator)
    words = state.peek()
    assert words.dtype == np.uint64
    assert words.shape == (LAYOUTS[kind].size,)
    generator.normal(size=700)
    assert state_of(generator) != before
    state.write(words)
    assert state_of(generator) == before


def test_other_objects_have_no_kind() -> None:
    others = [
        OwnGenerator(np.random.PCG64(1)), np.random.Generator(OwnBits(1)), np.random.PCG64(1),
        np.random.RandomState(np.random.PCG64(1)), np.random, 1.0, None,
    ]  # fmt: skip
    assert [kind_of(other) for other in others] == [None] * len(others)


@pytest.mark.parametrize("position", [0, 1, 226, 227, 228, 453, 454, 600, 623, 624])
def test_the_rest_of_a_twist(position: int) -> None:
    generator = np.random.RandomState(7)
    generator.random_sample(312)
    state: Any = generator.get_state(legacy=False)
    assert state["state"]["pos"] == 624
    before = state["state"]["key"].copy()
    generator.random_sample()
    twisted = generator.get_state(legacy=False)["state"]["key"]  # type: ignore[index,call-overload]
    key = np.concatenate([twisted[:position], before[position:]])
    twist_rest(key, position)
    np.testing.assert_array_equal(key, twisted)
