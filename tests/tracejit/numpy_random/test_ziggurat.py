"""Tables of ziggurat methods: what NumPy draws at the ends of strips says what its own are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tracejit.numpy_random import ziggurat

_INVERSE = pow(0x2360ED051FC65DA44385DF649FCCF645, -1, 1 << 128)


def next_is(word: int) -> np.random.Generator:
    """A generator whose next word is `word`."""
    generator = np.random.default_rng(0)
    state: Any = generator.bit_generator.state
    state["state"] = {"state": (word - 1) * _INVERSE % (1 << 128), "inc": 1}
    generator.bit_generator.state = state
    return generator


def is_drawn_at_once(word: int, draw: str) -> tuple[bool, float]:
    """Whether NumPy takes one word for a number, and the number."""
    generator = next_is(word)
    number = getattr(generator, draw)()
    state: Any = generator.bit_generator.state
    return state["state"]["state"] == word, number


@pytest.mark.parametrize(
    ("draw", "tables", "shift"),
    [("standard_normal", ziggurat.normal, 9), ("standard_exponential", ziggurat.exponential, 8)],
)
def test_strips_end_where_numpys_do(draw: str, tables: Any, shift: int) -> None:
    table = tables()
    low = 3 if draw == "standard_exponential" else 0
    for strip in range(ziggurat.STRIPS):
        limit = int(table.inside[strip])
        for place, inside in ((limit - 1, True), (limit, False)):
            if place < 0:
                continue
            at_once, number = is_drawn_at_once((place << shift | strip) << low, draw)
            assert at_once == inside, (strip, place)
            if inside:
                assert number == place * table.widths[strip]


def test_heights_are_those_of_the_curves() -> None:
    normal, exponential = ziggurat.normal(), ziggurat.exponential()
    ends = normal.widths * 2.0**ziggurat.NORMAL_BITS
    assert ends[255] == ziggurat.NORMAL_TAIL
    np.testing.assert_allclose(normal.heights[1:], np.exp(-0.5 * ends[1:] ** 2), rtol=1e-15)
    ends = exponential.widths * 2.0**ziggurat.EXPONENTIAL_BITS
    assert ends[255] == ziggurat.EXPONENTIAL_TAIL
    np.testing.assert_allclose(exponential.heights[1:], np.exp(-ends[1:]), rtol=1e-14)
    assert normal.heights[0] == exponential.heights[0] == math.exp(0.0)
