"""What the tests of ``tj.jit`` share."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any

import numpy as np

import tracejit as tj

Point = collections.namedtuple("Point", "x y")


@dataclasses.dataclass
class Layer:
    weight: Any
    bias: Any = None


class Counted:
    """A function that counts how often Python runs it: once per trace."""

    def __init__(self, function: Any) -> None:
        self.runs = 0
        self.__wrapped__ = function
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.runs += 1
        return self.function(*args, **kwargs)


def same(result: Any, values: Any, dtype: str = "float64") -> None:
    assert isinstance(result, tj.Tensor)
    assert result.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(result.numpy(), np.asarray(values, dtype))
    assert result.shape == np.shape(values)
