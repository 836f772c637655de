"""Checks of indices in loops of scalar code: none where an index is known to lie inside, an error where it
is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj


def _recurrence(x: Any) -> Any:
    y = np.zeros(len(x))
    for i in range(1, len(x)):
        y[i] = 0.5 * y[i - 1] * x[i] + y[i // 2] + y[(i * 7) % 5]
    return y


def _taken(x: Any, places: Any) -> Any:
    y = 1.0
    for i in range(len(places)):
        y = 0.5 * y + x[places[i]] * y
    return y


def _beyond(x: Any) -> Any:
    y = 1.0
    for i in range(len(x)):
        y = 0.5 * y + x[i + 1] * y
    return y


def _until(x: Any, n: Any) -> Any:
    y, i = 0.0, 0
    while i < n:
        y = 0.5 * y + x[i] * y + x[i]
        i += 1
    return y


def _checks(function: Any, *arguments: Any) -> int:
    """Number of messages about indices in the compiled function."""
    return sum("out of bounds" in text for text in _messages(tj.jit(function).lower(*arguments)))


def _messages(lowered: Any) -> list[str]:
    return [text for kernel in lowered.module.kernels for text in kernel.errors]


def test_known_indices_are_not_checked() -> None:
    x = np.random.default_rng(0).random(40)
    assert _checks(_recurrence, x) == 0
    np.testing.assert_allclose(np.asarray(tj.jit(_recurrence)(x)), _recurrence(x), rtol=1e-12)


@pytest.mark.parametrize("place", [-41, 40, 1000, -(2**62)])
def test_what_arrays_say_is_checked(place: int) -> None:
    x, places = np.random.default_rng(0).random(40), np.arange(-20, 20)
    assert _checks(_taken, x, places) == 1
    f = tj.jit(_taken)
    np.testing.assert_allclose(float(f(x, places)), _taken(x, places), rtol=1e-12)
    places[30] = place
    with pytest.raises(IndexError, match=r"test_index_ranges\.py"):
        f(x, places)


def test_an_index_beyond_the_end_is_an_error() -> None:
    with pytest.raises(IndexError, match="out of bounds for axis 0 with size 40"):
        tj.jit(_beyond)(np.ones(40))


def test_a_bound_that_is_an_argument_is_checked() -> None:
    x = np.random.default_rng(0).random(40)
    f = tj.jit(_until)
    np.testing.assert_allclose(float(f(x, 40)), _until(x, 40), rtol=1e-12)
    assert float(f(x, -3)) == 0.0
    with pytest.raises(IndexError, match="out of bounds"):
        f(x, 41)


def test_counters_that_go_down_and_end_elements() -> None:
    def backwards(x: Any) -> Any:
        y = 0.25
        for i in range(len(x) - 1, -1, -1):
            y = 0.5 * y * x[i] + x[-1 - i] + x[-40]
        return y

    x = np.random.default_rng(0).random(40)
    assert _checks(backwards, x) == 0
    np.testing.assert_allclose(float(tj.jit(backwards)(x)), backwards(x), rtol=1e-12)


def test_a_place_that_steps_choose() -> None:
    def chosen(x: Any) -> Any:
        place, y = 3, 0.0
        for i in range(len(x)):
            if x[i] > y:
                place = i
            y = 0.5 * y + x[place] * 0.25
        return y

    x = np.random.default_rng(0).random(40)
    assert _checks(chosen, x) == 0
    np.testing.assert_allclose(float(tj.jit(chosen)(x)), chosen(x), rtol=1e-12)


def test_a_place_that_grows_without_bound_is_checked() -> None:
    def grown(x: Any) -> Any:
        place, y = 0, 0.0
        for i in range(len(x)):
            if x[i] > 0.5:
                place += 2
            y = 0.5 * y + x[place] * 0.25
        return y

    x = np.zeros(40)
    x[:10] = 1.0
    assert _checks(grown, x) == 1
    np.testing.assert_allclose(float(tj.jit(grown)(x)), grown(x), rtol=1e-12)
    with pytest.raises(IndexError):
        tj.jit(grown)(np.ones(40))


def _strided(x: Any, start: Any, step: Any, count: Any) -> Any:
    y, s = x.copy(), 0.0
    for k in range(count):
        s = 0.5 * s + y[start + step * k]
        y[start + step * k] = s
    return y, s


@pytest.mark.parametrize(
    ("start", "step", "count"),
    [
        (0, 1, 40), (39, -1, 40), (3, 7, 5), (0, 0, 9), (5, 3, 0), (5, 3, -2), (0, 13, 4),
        (-40, 1, 40), (-3, 1, 6), (39, -2, 25), (2, -1, 12),
    ],
)  # fmt: skip
def test_indices_that_grow_evenly(start: int, step: int, count: int) -> None:
    """Indices that begin or end behind the last element, or in front of the first one, as Python counts, are
    among them."""
    x = np.random.default_rng(0).random(40)
    f = tj.jit(_strided)
    for result, value in zip(f(x, start, step, count), _strided(x, start, step, count), strict=True):
        np.testing.assert_allclose(np.asarray(result), value, rtol=1e-12)


@pytest.mark.parametrize(
    ("start", "step", "count"),
    [
        (0, 1, 41), (0, 8, 6), (39, -1, 81), (40, 0, 1), (-41, 1, 3),
        # first and last lie inside, those between wrap around on 64 bits
        (0, 2**62, 5), (8, 2**63 - 1, 3), (0, 2**61, 9),
    ],
)  # fmt: skip
def test_indices_that_grow_beyond_the_end(start: int, step: int, count: int) -> None:
    x = np.random.default_rng(0).random(40)
    with pytest.raises(IndexError, match="out of bounds for axis 0 with size 40"):
        np.asarray(tj.jit(_strided)(x, start, step, count)[0])


def test_a_branch_in_a_counted_loop() -> None:
    def relaxed(x: Any, w: Any, n: Any) -> Any:
        y = x.copy()
        for c in range(n, w - 1, -1):
            v = y[c - w] + 0.25
            if v > y[c]:
                y[c] = v
        return y

    x = np.random.default_rng(0).random(40)
    f = tj.jit(relaxed)
    for w, n in ((3, 39), (1, 39), (39, 39), (0, 20), (-3, 30)):
        np.testing.assert_allclose(np.asarray(f(x, w, n)), relaxed(x, w, n), rtol=1e-12)
    with pytest.raises(IndexError):
        np.asarray(f(x, 3, 40))
