"""Elements of views that loops read from outside: where in memory they lie."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj

B = np.arange(60.0).reshape(4, 3, 5) / 8


@pytest.mark.parametrize(
    "element",
    [
        lambda b: b[:, 1, 2][3],
        lambda b: b[:, 1][2, 3],
        lambda b: b.T[1][2][3],
        lambda b: b[1:, ::2, 1][1][1],
        lambda b: b[::-1, 0, ::2][2].reshape(-1)[1],
        lambda b: b[0, 1:, 1:].reshape(-1)[5],
        lambda b: b[:, :, 4].T[2, 1:][2],
    ],
)
def test_an_element_of_a_view(element: Any) -> None:
    def f(b: Any) -> Any:
        w = element(b)
        s = 0.0
        for _ in range(40):
            s = s * 0.5 - w
        return s, w

    for result, expected in zip(tj.jit(f, loops="compiled")(B), f(B), strict=True):
        assert float(result) == expected
