"""The ways to run a function, for tests of bad input."""

from __future__ import annotations

import numpy as np

import tracejit as tj
from tracejit.state import STATE

X = [1.0, 2.0]
M = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def eager(function, *args):
    return function(*map(tj.tensor, args))


def jitted(function, *args):
    try:
        return tj.jit(function)(*map(np.array, args))
    finally:
        assert STATE.tracer is None


def written(x, key):
    """A copy of `x`, written at `key`: a result, since what nobody reads need not run under jit."""
    x = x.copy()
    x[key] = 0.0
    return x


def captured(function, *args):
    tensors = [*map(tj.tensor, args)]
    return tj.jit(lambda: function(*tensors))()


MODES = [eager, jitted, captured]
