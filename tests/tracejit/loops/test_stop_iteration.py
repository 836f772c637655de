"""A StopIteration that a step raises comes to the function's own handler."""

import numpy as np
import pytest

import tracejit as tj

X = np.array([0.5, 1.5, -1.0])


def taken(x):
    items, total = iter(x), 0.0
    try:
        while True:
            total += next(items)
    except StopIteration:
        pass
    return total


def looked_at(x):
    items, total = iter(x), 0.0
    try:
        while next(items) > -10:
            total += 1.0
    except StopIteration:
        total += 100.0
    return total + x[0]


def raised(x):
    total = 0.0
    try:
        while True:
            total += x[0]
            if total > 2.0:
                raise StopIteration
    except StopIteration:
        total = -total
    return total


@pytest.mark.parametrize("function", [taken, looked_at, raised], ids=lambda function: function.__name__)
def test_the_function_handles_it(function):
    for loops in ("auto", "unrolled"):
        assert np.asarray(tj.jit(function, loops=loops)(X)) == pytest.approx(function(X))


def test_nobody_handles_it():
    def f(x):
        items = iter(x)
        while True:
            next(items)

    with pytest.raises(StopIteration):
        tj.jit(f)(X)
