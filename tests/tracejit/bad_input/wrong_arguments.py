"""The wrong arguments that the enumeration puts in the place of each right one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tracejit as tj


def _outlived() -> tj.Tensor:
    """A traced tensor whose trace is over."""
    kept: list[tj.Tensor] = []

    def keep(x: tj.Tensor) -> tj.Tensor:
        kept.append(x * 2)
        return x

    tj.trace(keep, tj.ones(3))
    return kept[0]


def _cyclic() -> list[Any]:
    result: list[Any] = [1.0]
    result.append(result)
    return result


def _deep() -> list[Any]:
    result: list[Any] = [1.0]
    for _ in range(1500):
        result = [result]
    return result


#: Each makes its value anew: some are used up.
WRONG: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "object": object,
    "text": lambda: "nonsense",
    "bytes": lambda: b"ab",
    "dict": lambda: {"a": 1},
    "set": lambda: {1.0, 2.0},
    "mixed list": lambda: [1, "a", None],
    "list of none": lambda: [None],
    "ragged list": lambda: [[1, 2], [3]],
    "empty list": list,
    "complex": lambda: 1j,
    "nan": lambda: float("nan"),
    "infinity": lambda: float("inf"),
    "huge": lambda: 10**30,
    "hugely negative": lambda: -(10**30),
    "large": lambda: 10**12,
    "negative": lambda: -7,
    "zero": lambda: 0,
    "fraction": lambda: 1.5,
    "true": lambda: True,
    "wrong shape": lambda: tj.ones((7, 2)),
    "empty array": lambda: np.zeros((0, 3)),
    "complex array": lambda: np.full((3, 3), 1.0 - 0.5j),
    "half array": lambda: np.full((3, 3), 0.5, np.float16),
    "not finite": lambda: np.array([[np.nan, np.inf, 1.0], [-np.inf, 0.0, 1.0], [0.0, 1.0, np.nan]]),
    "swapped bytes": lambda: np.full((3, 3), 0.5, ">f8"),
    "long doubles": lambda: np.full((3, 3), 0.5, np.longdouble),
    "records": lambda: np.zeros(3, "f8,i4"),
    "high rank": lambda: np.ones((1,) * 40),
    "objects": lambda: np.array([1, None, "a"], object),
    "dates": lambda: np.zeros(3, "M8[s]"),
    "texts": lambda: np.array(["a", "b", "c"]),
    "generator": lambda: (number for number in (1.0, 2.0)),
    "class": lambda: int,
    "function": lambda: lambda: 1.0,
    "outlived": _outlived,
    "cyclic": _cyclic,
    "deep": _deep,
}
