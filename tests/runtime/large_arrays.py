"""Programs of arrays with more than 2**31 bytes and elements, each for a process of its own.

Each makes what it needs, runs compiled code on it, and compares places whose values are known: near the
beginning, and behind the elements that 32 bits count.
"""

from __future__ import annotations

import resource
from collections.abc import Callable
from typing import Any

import numpy as np

import tracejit as tj

#: A little more than 2**31 elements, as rows too.
ROWS, COLUMNS = (1 << 16) + 1, 1 << 15
SIZE = ROWS * COLUMNS
#: Number of elements behind 2**31, and some more.
FAR = (1 << 31) + 12_345
#: Bytes that a process may take.
MOST = 6 << 30


def line() -> Any:
    """Zeros, but for some near both ends."""
    x = np.zeros(SIZE, np.int8)
    x[5], x[FAR], x[-1] = 3, 7, 2
    return x


def plane() -> Any:
    return line().reshape(ROWS, COLUMNS)


def mapped() -> None:
    x = line()
    y = np.asarray(tj.jit(lambda x: x * 2 + 1)(x))
    assert [int(y[i]) for i in (0, 5, FAR, SIZE - 1)] == [1, 7, 15, 5]
    assert int(y.sum(dtype=np.int64)) == SIZE + 2 * 12


def totals() -> None:
    results = tj.jit(lambda x: (tj.sum(x), tj.max(x), tj.count_nonzero(x), tj.any(x == 7)))(line())
    assert [int(r) for r in results] == [12, 7, 3, 1]


def places() -> None:
    results = tj.jit(lambda x: (tj.argmax(x), x[FAR], x[-1], x[FAR - 2 : FAR + 3]))(line())
    assert int(results[0]) == FAR
    assert [int(results[1]), int(results[2]), *results[3].tolist()] == [7, 2, 0, 0, 7, 0, 0]


def gathered() -> None:
    index = np.array([5, FAR, SIZE - 1, -1, FAR - SIZE])
    assert tj.jit(lambda x, i: tj.take(x, i))(line(), index).tolist() == [3, 7, 2, 2, 7]


def scattered() -> None:
    x = line()
    f = tj.jit(lambda x, i, v: tj.index_add(x, i, v), donate_argnums=0)
    y = np.asarray(f(x, np.array([5, FAR, FAR, -1]), np.array([1, 1, 1, 1], np.int8)))
    assert [int(y[i]) for i in (5, FAR, SIZE - 1)] == [4, 9, 3]


def rows() -> None:
    sums = np.asarray(tj.jit(lambda x: tj.sum(x, axis=1))(plane()))
    want = np.zeros(ROWS, np.int64)
    np.add.at(want, [0, FAR // COLUMNS, -1], [3, 7, 2])
    np.testing.assert_array_equal(sums, want)


def columns() -> None:
    sums = np.asarray(tj.jit(lambda x: tj.sum(x, axis=0))(plane()))
    want = np.zeros(COLUMNS, np.int64)
    for column, value in ((5, 3), (FAR % COLUMNS, 7), (COLUMNS - 1, 2)):
        want[column] += value
    np.testing.assert_array_equal(sums, want)


def transposed() -> None:
    y = np.asarray(tj.jit(lambda x: tj.transpose(x) + 1)(plane()))
    assert y.shape == (COLUMNS, ROWS)
    assert [int(y[5, 0]), int(y[FAR % COLUMNS, FAR // COLUMNS]), int(y[-1, -1]), int(y[0, -1])] == [
        4,
        8,
        3,
        1,
    ]


def reversed_() -> None:
    y = np.asarray(tj.jit(lambda x: tj.flip(x) + 0)(line()))
    assert [int(y[i]) for i in (0, SIZE - 1 - FAR, SIZE - 6, 1)] == [2, 7, 3, 0]


def running() -> None:
    y = np.asarray(tj.jit(lambda x: tj.cummax(x))(line()))
    assert [int(y[i]) for i in (4, 5, FAR - 1, FAR, SIZE - 1)] == [0, 3, 3, 7, 7]


def outer() -> None:
    x, y = (np.arange(n) % 7 for n in (ROWS, COLUMNS))
    z = np.asarray(tj.jit(lambda x, y: x[:, None] - y)(x.astype(np.int8), y.astype(np.int8)))
    for i, j in ((0, 5), (FAR // COLUMNS, FAR % COLUMNS), (ROWS - 1, COLUMNS - 1)):
        assert int(z[i, j]) == i % 7 - j % 7


def joined() -> None:
    half = np.ones(1 << 30, np.int8)
    y = np.asarray(tj.jit(lambda x: tj.concatenate([x, x * 2, x[:9] * 3]))(half))
    assert [int(y[i]) for i in (0, (1 << 30) - 1, 1 << 30, (1 << 31) - 1, 1 << 31, -1)] == [1, 1, 2, 2, 3, 3]


def multiplied() -> None:
    """A product of vectors, modulo 256 as NumPy has it."""
    x = line()
    assert int(tj.jit(lambda x: x @ x)(x)) == 9 + 49 + 4


def looped() -> None:
    """A loop over elements behind 2**31."""

    def far(x: Any) -> Any:
        total = 0
        for i in range(FAR - 3, FAR + 4):
            total = total * 2 + x[i]
        return total

    assert int(tj.jit(far)(line())) == 7 * 8


PROGRAMS: dict[str, Callable[[], None]] = {
    each.__name__.strip("_"): each
    for each in (mapped, totals, places, gathered, scattered, rows, columns, transposed, reversed_, running,
                 outer, joined, multiplied, looped)
}  # fmt: skip


def check(name: str) -> None:
    """Run a program, and look at what memory the process took."""
    PROGRAMS[name]()
    taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    assert taken < MOST, f"{taken >> 20} MiB"
