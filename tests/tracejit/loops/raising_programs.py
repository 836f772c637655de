"""Functions whose loops raise, for tests, without the assertions that pytest rewrites."""

import numpy as np

X = np.linspace(0.1, 2.0, 40)


class OutOfRangeError(Exception):
    """An error of the user's."""


def with_a_message(x, limit):
    s = 0.0
    for i in range(len(x)):
        if x[i] > limit:
            raise ValueError(f"x[{i}] is {x[i]:.2f}, and s {s:.3f}")
        s += x[i]
    return s


def own_class(x, limit):
    for v in x:
        if v > limit:
            raise OutOfRangeError(v, limit) from KeyError("cause")
    return x * 2


def asserts(x, limit):
    s = 0.0
    for i, v in enumerate(x):
        assert v < limit, ("too large", i)
        assert v > -1
        s = s * 0.5 + v
    return s


def in_the_else_of_branches(x, limit):
    s = 0.0
    for i in range(len(x)):
        if x[i] < limit / 2:
            step = 1.0
        elif x[i] < limit:
            step = 2.0
        else:
            raise RuntimeError("no step")
        s += step * x[i]
    return s


def nested(x, limit):
    total = 0.0
    for i in range(len(x)):
        for j in range(i):
            if x[i] * x[j] > limit * limit:
                raise ValueError((i, j))
            total += x[i] - x[j]
        if total > 1e6:
            break
    else:
        total += 0.5
    return total


def in_a_while(x, limit):
    i, s = 0, 0.0
    while True:
        if i >= len(x):
            break
        if x[i] > limit:
            raise IndexError(i)
        s, i = s * 0.9 + x[i], i + 1
    return s


def behind_writes(x, limit):
    for i in range(len(x)):
        x[i] *= 2.0
        if x[i] > 2 * limit:
            raise ValueError(i)
    return x.sum()


def of_two_loops(x, limit):
    s = 0.0
    for v in x:
        if v > limit + 1:
            raise ValueError("first")
        s += v
    for v in x:
        if v > limit:
            raise KeyError("second")
        s -= v * 0.5
    return s


PROGRAMS = [
    with_a_message, own_class, asserts, in_the_else_of_branches, nested, in_a_while, behind_writes,
    of_two_loops,
]  # fmt: skip
