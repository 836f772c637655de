"""Hints of the viewer about denormal numbers, and about copies at each step of a loop."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.tools.viewer import document, view
from tracejit.tools.viewer.measuring import Measured, Timed, measure

Array = np.ndarray[Any, Any]


def titled(made: dict[str, Any], title: str) -> list[dict[str, Any]]:
    return [hint for hint in made["hints"] if title in hint["title"]]


def copies(function: Any, *args: Any, count: int = 1) -> list[dict[str, Any]]:
    """Hints about copies, which follows from shares of measured time: in one of some turns of `count`
    hints, if there is one, since what else runs on the machine makes single kernels slow."""
    hints: list[dict[str, Any]] = []
    for _ in range(8):
        hints = titled(view(function, *args).document, "Copies")
        if len(hints) == count:
            break
    return hints


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="x86 tells of denormal numbers")
@pytest.mark.parametrize("steps", [0, 3])
def test_what_meets_denormal_numbers_is_timed_without_them(steps: int) -> None:
    def halves(x: Any) -> Any:
        return tj.fori_loop(0, steps, lambda _, y: tj.sin(y) * WEIGHTS, x) if steps else x * 0.5

    for value, flush, slowed in ((1e-39, False, True), (1.0, False, False), (1e-39, True, False)):
        x = np.full(5000, value, np.float32)
        timed = measure(tj.trace(halves, x), [x, WEIGHTS][: 1 + bool(steps)], flush_denormals=flush).kernels
        assert any(kernel.flushed is not None for kernel in timed) is slowed


WEIGHTS = np.full(5000, 0.5, np.float32)


def test_kernels_that_denormal_numbers_slow_down_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def ten_times(*args: Any, **options: Any) -> Measured:
        measured = measure(*args, **options)
        kernels = [Timed(kernel.name, kernel.runs, 1e-3, 1e-4) for kernel in measured.kernels]
        return Measured(measured.seconds, kernels, measured.compiling)

    monkeypatch.setattr(document, "measure", ten_times)
    (hint,) = titled(view(lambda x: tj.sin(x) + 1, tj.ones(1000)).document, "Denormal numbers")
    assert hint["level"] == "bad"
    assert "it takes 1 ms, and 100 us while they count as zero" in hint["text"]
    assert "flush_denormals=True" in hint["text"]


def test_copies_at_each_step_of_a_loop_are_named_with_their_line() -> None:
    def keeps_both(x: Any) -> Any:
        def step(i: Any, pair: Any) -> Any:
            first, _ = pair
            return first.at[i].set(0.5), first

        return tj.fori_loop(0, 60, step, (x, x))

    def keeps_one(x: Any) -> Any:
        return tj.fori_loop(0, 60, lambda i, y: y.at[i].set(0.5 * y[i - 1]), x)

    x = np.ones((400, 300))
    (hint,) = copies(keeps_both, x)
    assert hint["title"] == "Copies 960 kB at each of 60 steps"
    assert "This line copies f64[400,300], 960 kB, at each of 60 steps, because" in hint["text"]
    assert hint["line"] == keeps_both.__code__.co_firstlineno + 3
    assert not copies(keeps_one, x, count=0)


def test_rows_gathered_at_each_step_of_a_loop_are_named() -> None:
    def gathers(x: Any, rows: Any) -> Any:
        def step(i: Any, total: Any) -> Any:
            return total + tj.sum(x[(rows + i) % 400])

        return tj.fori_loop(0, 60, step, 0.0)

    (hint,) = copies(gathers, np.ones((400, 300)), np.arange(200))
    assert hint["title"] == "Copies 480 kB at each of 60 steps"
    assert "because what an index array chooses is put side by side" in hint["text"]
    assert hint["line"] == gathers.__code__.co_firstlineno + 2
