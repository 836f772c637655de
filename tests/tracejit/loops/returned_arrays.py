"""Arrays and functions of the tests of arrays that leave a compiled loop."""

from __future__ import annotations

import numpy as np

X = np.array([0.1, -0.2, 0.7, 1.0, 0.0, 0.0])
Y = np.array([-1.0, 4.0, 5.0, 6.0, 7.0, 8.0])
A = np.arange(12.0).reshape(4, 3)


def halved(x, n):
    cur = x
    for _i in range(n):
        cur = cur * 0.5
    return cur


def ternary_of(x, y):
    for j in range(5):
        r = x if x[j] > 0 else y
    return r
