"""Inputs that many workloads share."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

DTYPES: Final = {"f32": np.float32, "f64": np.float64}
BYTES: Final = {"f32": 4, "f64": 8}


def generator() -> np.random.Generator:
    """Random generator with the same numbers in every process."""
    return np.random.default_rng(0)


def normal(*shapes: tuple[int, ...], dtype: str = "f64") -> tuple[Any, ...]:
    """Normal deviates of these shapes."""
    rng = generator()
    return tuple(rng.standard_normal(shape).astype(DTYPES[dtype]) for shape in shapes)


def uniform(*shapes: tuple[int, ...], low: float, high: float, dtype: str = "f64") -> tuple[Any, ...]:
    """Numbers evenly spread over an interval."""
    rng = generator()
    return tuple(rng.uniform(low, high, shape).astype(DTYPES[dtype]) for shape in shapes)
