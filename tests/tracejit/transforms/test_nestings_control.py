"""Random nestings of the transforms around branches and loops, and around loops within branches within loops.

Each function is written for tracejit with structured control flow, and for NumPy with Python's own. What
decides is not the same in all rows of a map (`nestings.rows`), and is away from where it changes.
"""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

from ...rotation import share_of
from .nestings import check_nesting, name_of, nestings

ROWS = np.array([[0.3, -0.2, 0.5], [1.0, 0.4, -0.6], [-0.5, 0.8, 0.1], [0.2, 0.2, 0.9]])


def branch(xp, x):
    def low(x):
        return xp.sin(x) * x[0]

    def high(x):
        return xp.stack([x[1] * x[2], xp.exp(0.5 * x[0]), x[2] ** 2])

    if xp is np:
        return low(x) if x[1] > -0.5 else high(x)
    return tj.cond(x[1] > -0.5, low, high, x)


def choice(xp, x):
    ways = [lambda x: x * xp.sum(x), lambda x: xp.tanh(x) * x[1], lambda x: x**3 - x[0] * x]
    if xp is np:
        return ways[min(2, int(x[2] * 2.4))](x)
    return tj.switch((x[2] * 2.4).astype(tj.int64), ways, x)


def scanned(xp, x):
    def step(carry, w):
        x, total = carry
        x = xp.tanh(x * w + 0.3 * total)
        return (x, total + xp.sum(x * x)), x * total

    carry = (x, xp.sum(x))
    if xp is np:
        results = []
        for w in ROWS:
            carry, output = step(carry, w)
            results.append(output)
        return carry[0] + np.sum(np.stack(results), axis=0)
    carry, results = tj.scan(step, carry, ROWS)
    return carry[0] + tj.sum(results, axis=0)


def repeated(xp, x):
    def body(i, v):
        return xp.sin(v) * (i + 1) * 0.5 + x * v[0]

    if xp is np:
        v = x
        for i in range(3):
            v = body(i, v)
        return v
    return tj.fori_loop(0, 3, body, x)


def grown(xp, x):
    """Growth until the sum of squares is 5.65 or more: the number of steps differs from row to row."""

    def body(v):
        return v * 1.5 + 0.1 * xp.sin(x)

    if xp is np:
        v = x
        while np.sum(v * v) < 5.65:
            v = body(v)
        return v
    return tj.while_loop(lambda v: tj.sum(v * v) < 5.65, body, x)


def each(xp, x):
    if xp is np:
        return sum(np.exp(0.3 * w * x) * x for w in ROWS)
    return tj.sum(tj.map(lambda w: tj.exp(0.3 * w * x) * x, ROWS), axis=0)


def nested(xp, x):
    """A branch in a loop in a loop, and a step that is computed again in backward."""

    def inner(v, w):
        def positive(v):
            return v * xp.cos(w * x)

        def negative(v):
            return xp.sin(v) + w * x[2]

        if xp is np:
            return positive(v) if v[0] * w[0] > 0 else negative(v)
        return tj.cond(v[0] * w[0] > 0, positive, negative, v)

    def outer(v, w):
        if xp is np:
            for _ in range(2):
                v = inner(v, w)
            return v, np.sum(v * v)
        v = tj.checkpoint(lambda v: tj.fori_loop(0, 2, lambda _, v: inner(v, w), v), v)
        return v, tj.sum(v * v)

    if xp is np:
        v, outputs = x, []
        for w in ROWS[::-1]:
            v, output = outer(v, w)
            outputs.append(output)
        return v * outputs[0] + outputs[2]
    v, outputs = tj.scan(outer, x, ROWS, reverse=True)
    return v * outputs[3] + outputs[1]


FUNCTIONS = {
    function.__name__: function for function in (branch, choice, scanned, repeated, grown, each, nested)
}


@pytest.mark.parametrize("nesting", share_of(nestings(FUNCTIONS, 42, seed=11), 2), ids=name_of)
def test_nesting(nesting):
    name, chain = nesting
    check_nesting(FUNCTIONS[name], chain)
