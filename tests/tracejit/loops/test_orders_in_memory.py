"""Arrays that steps give another order in memory, by which ``reshape`` is a view in one step and a copy in
the next: what is written to it reaches the array or does not, as in NumPy."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tracejit as tj


def elements(T: Any) -> Any:
    b = T[0]
    for j in range(5, -1, -1):
        b = b[::-1]
        r = b.reshape(-1)
        r[j] = r[1] + 3.0
    return b


def nested(T: Any) -> Any:
    b = T[0]
    for i in range(3):
        for _ in range(5, -1, -1):
            b = b[::-1]
            r = b.reshape(-1)
            for k in range(9):
                r[k] = r[i] + 1.0
    return b


def put(r: Any, j: Any) -> None:
    r[j % 5] = j


def by_helper(T: Any) -> Any:
    b = T[1] * 1.0
    total = 0.0
    for i in range(30):
        put(b.reshape(-1), i)
        b = b.T
        total += b[0, 1]
    return total


def whole(T: Any) -> Any:
    b = T[0] * 1.0
    for _ in range(30):
        q = b.ravel()
        q += 1.0
        b = b[::-1]
    return b


def transposed_first(T: Any) -> Any:
    b = T[0].T
    for i in range(30):
        q = b.reshape(-1)
        q[i % 5] = i
    return b


def items(T: Any) -> Any:
    for r in T.transpose(2, 1, 0):
        q = r.reshape(-1)
        q[0] = 5.0
    return T


@pytest.mark.parametrize("function", [elements, nested, by_helper, whole, transposed_first, items])
def test_writes_reach_what_numpys_do(function: Any) -> None:
    ours, theirs = (np.arange(45.0).reshape(5, 3, 3) + 1.0 for _ in "ab")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tj.UnrolledLoopWarning)
        warnings.simplefilter("ignore", tj.UncompiledCallWarning)
        result = tj.jit(function)(ours)
    np.testing.assert_array_equal(np.asarray(result), function(theirs))
    np.testing.assert_array_equal(ours, theirs)
