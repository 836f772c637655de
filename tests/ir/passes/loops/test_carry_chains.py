"""Carries that enter extrema and sums last: the same values as in the order of the program."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from tests.tracejit.loops.common import agree


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
@pytest.mark.parametrize("extremum", [min, max], ids=lambda extremum: extremum.__name__)
def test_extrema_of_three_with_nan_are_those_of_python(extremum: Any, order: tuple[int, ...]) -> None:
    def f(x: Any, y: Any) -> Any:
        d = np.zeros(len(x))
        d[0] = x[0]
        for i in range(1, len(x)):
            operands = (d[i - 1], x[i], y[i])
            d[i] = extremum(operands[order[0]], operands[order[1]], operands[order[2]])
        return d

    rng = np.random.default_rng(3)
    x, y = rng.integers(-3, 4, (2, 200)) - np.arange(200) * 0.1
    x[rng.integers(0, 200, 60)] = np.nan
    y[rng.integers(0, 200, 60)] = np.nan
    for first, second in ((x, y), (np.nan_to_num(x).astype(np.int64), np.nan_to_num(y).astype(np.int64))):
        # 200 steps as a loop; 40 as straight code, too, whose compilation takes longer than in proportion
        jitted = agree(f, first[:40], second[:40])
        np.testing.assert_allclose(jitted(first, second), f(first, second), rtol=1e-12)


def test_sums_that_wait_for_the_last_step_are_pythons() -> None:
    def f(x: Any, counts: Any) -> Any:
        d = np.zeros(len(x))
        total, number = 0.5, 3
        for i in range(1, len(x)):
            d[i] = x[i] * x[i - 1] + min(d[i - 1], x[i])
            total = x[i] * d[i] - total
            number = number + counts[i] - 2 * counts[i - 1] - number // 3
        return d, total, number

    rng = np.random.default_rng(4)
    agree(f, rng.normal(size=300), rng.integers(-100, 100, 300))
