"""Loops as one writes them for Numba: the same source is compiled by it and by tracejit.

A kernel is made by a function of its sizes and of what stands for ``range`` in its outermost loop: Python's,
or Numba's ``prange`` where that helps. JAX, which does not compile such loops, gets what one writes for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ..libraries import Library
from ..workload import LOOPLESS, Function, Workload
from .inputs import generator

Array = Any


def _sum_of_squares(outer: Any, count: int) -> Function:
    def kernel(x: Array) -> Any:
        total = 0.0
        for i in outer(len(x)):
            total += x[i] * x[i]
        return total

    return kernel


def _logistic(outer: Any, count: int) -> Function:
    def kernel(x: Array) -> Any:
        y = x[0]
        for _ in range(count):
            y = 3.7 * y * (1.0 - y)
        return y

    return kernel


def _recurrence(outer: Any, count: int) -> Function:
    def kernel(x: Array) -> Any:
        y = np.empty_like(x)
        y[0] = x[0]
        for i in range(1, len(x)):
            y[i] = 0.9 * y[i - 1] + x[i]
        return y

    return kernel


def _bodies(outer: Any, count: int) -> Function:
    def kernel(position: Array, mass: Array) -> Any:
        n = len(position)
        acceleration = np.zeros((n, 3))
        for i in outer(n):
            for j in range(n):
                dx = position[j, 0] - position[i, 0]
                dy = position[j, 1] - position[i, 1]
                dz = position[j, 2] - position[i, 2]
                square = dx * dx + dy * dy + dz * dz + 0.01
                pull = mass[j] / (square * math.sqrt(square))
                acceleration[i, 0] += pull * dx
                acceleration[i, 1] += pull * dy
                acceleration[i, 2] += pull * dz
        return acceleration

    return kernel


def _product(outer: Any, size: int) -> Function:
    def kernel(a: Array, b: Array) -> Any:
        c = np.zeros((len(a), b.shape[1]))
        for i in outer(len(a)):
            for j in range(b.shape[1]):
                total = 0.0
                for k in range(len(b)):
                    total += a[i, k] * b[k, j]
                c[i, j] = total
        return c

    return kernel


def _edit_distance(outer: Any, size: int) -> Function:
    def kernel(s: Array, t: Array) -> Any:
        n, m = len(s), len(t)
        d = np.zeros((n + 1, m + 1), np.int64)
        for i in range(n + 1):
            d[i, 0] = i
        for j in range(m + 1):
            d[0, j] = j
        for i in range(1, n + 1):
            for j in range(1, m + 1):
                cost = 0 if s[i - 1] == t[j - 1] else 1
                d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
        return d[n, m]

    return kernel


def _warping(outer: Any, size: int) -> Function:
    def kernel(x: Array, y: Array) -> Any:
        n, m = len(x), len(y)
        d = np.full((n + 1, m + 1), np.inf)
        d[0, 0] = 0.0
        for i in range(1, n + 1):
            for j in range(1, m + 1):
                cost = (x[i - 1] - y[j - 1]) ** 2
                d[i, j] = cost + min(d[i - 1, j], d[i, j - 1], d[i - 1, j - 1])
        return d[n, m]

    return kernel


def _ising(outer: Any, size: int) -> Function:
    """A sweep of Metropolis's method, with the random numbers of all sites."""

    def kernel(start: Array, draws: Array) -> Any:
        spins = start.copy()
        n, m = spins.shape
        for i in range(n):
            for j in range(m):
                above, below = spins[(i - 1) % n, j], spins[(i + 1) % n, j]
                around = above + below + spins[i, (j - 1) % m] + spins[i, (j + 1) % m]
                change = 2.0 * spins[i, j] * around
                if change <= 0.0 or draws[i, j] < math.exp(-0.44 * change):
                    spins[i, j] = -spins[i, j]
        return spins

    return kernel


def _mandelbrot(outer: Any, size: int, limit: int) -> Function:
    def kernel(left: Array) -> Any:
        counts = np.zeros((size, size), np.int64)
        for i in outer(size):
            for j in range(size):
                x, y = left[0] + 3.0 * j / size, -1.5 + 3.0 * i / size
                a, b, k = 0.0, 0.0, 0
                while k < limit and a * a + b * b <= 4.0:
                    a, b = a * a - b * b + x, 2.0 * a * b + y
                    k += 1
                counts[i, j] = k
        return counts

    return kernel


def _heat(outer: Any, size: int, steps: int) -> Function:
    def kernel(start: Array) -> Any:
        u = start.copy()
        n, m = u.shape
        for _ in range(steps):
            new = u.copy()
            for i in outer(1, n - 1):
                for j in range(1, m - 1):
                    around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
                    new[i, j] = u[i, j] + 0.1 * (around - 4.0 * u[i, j])
            u = new
        return u

    return kernel


def _maths(outer: Any, count: int) -> Function:
    def kernel(x: Array) -> Any:
        y = np.empty_like(x)
        for i in outer(len(x)):
            y[i] = math.exp(-x[i]) + math.log(x[i] + 1.0) * math.sin(x[i])
        return y

    return kernel


def _viterbi(outer: Any, states: int, steps: int) -> Function:
    """The most likely states behind a sequence of symbols."""

    def kernel(first: Array, moves: Array, symbols: Array, seen: Array) -> Any:
        n, steps = len(first), len(seen)
        best = np.zeros((steps, n))
        back = np.zeros((steps, n), np.int64)
        for s in range(n):
            best[0, s] = first[s] + symbols[s, seen[0]]
        for t in range(1, steps):
            for s in range(n):
                top, origin = -np.inf, 0
                for r in range(n):
                    score = best[t - 1, r] + moves[r, s]
                    if score > top:
                        top, origin = score, r
                best[t, s] = top + symbols[s, seen[t]]
                back[t, s] = origin
        path = np.zeros(steps, np.int64)
        last = 0
        for s in range(1, n):
            if best[steps - 1, s] > best[steps - 1, last]:
                last = s
        path[steps - 1] = last
        for t in range(steps - 1, 0, -1):
            path[t - 1] = back[t, path[t]]
        return path

    return kernel


def _tridiagonal(outer: Any, count: int) -> Function:
    """Thomas's algorithm."""

    def kernel(lower: Array, diagonal: Array, upper: Array, right: Array) -> Any:
        n = len(diagonal)
        c = np.zeros(n)
        d = np.zeros(n)
        x = np.zeros(n)
        c[0] = upper[0] / diagonal[0]
        d[0] = right[0] / diagonal[0]
        for i in range(1, n):
            pivot = diagonal[i] - lower[i] * c[i - 1]
            c[i] = upper[i] / pivot
            d[i] = (right[i] - lower[i] * d[i - 1]) / pivot
        x[n - 1] = d[n - 1]
        for i in range(n - 2, -1, -1):
            x[i] = d[i] - c[i] * x[i + 1]
        return x

    return kernel


# -- what one writes for JAX -----------------------------------------------------------------------


def _bodies_of_arrays(lib: Library, count: int) -> Function:
    def kernel(position: Array, mass: Array) -> Any:
        apart = position[None, :, :] - position[:, None, :]
        square = (apart * apart).sum(axis=2) + 0.01
        pull = mass / (square * lib.np.sqrt(square))
        return (pull[:, :, None] * apart).sum(axis=1)

    return kernel


def _recurrence_of_scan(lib: Library, count: int) -> Function:
    def kernel(x: Array) -> Any:
        def step(y: Any, x: Any) -> tuple[Any, Any]:
            y = 0.9 * y + x
            return y, y

        return lib.control.scan(step, x[0] * 0.0, x)[1]

    return kernel


def _warping_of_scans(lib: Library, size: int) -> Function:
    def kernel(x: Array, y: Array) -> Any:
        np_ = lib.np

        def row(above: Array, x: Any) -> tuple[Array, None]:
            def cell(left: Any, at: Any) -> tuple[Any, Any]:
                y, up, corner = at
                value = (x - y) ** 2 + np_.minimum(np_.minimum(up, left), corner)
                return value, value

            _, values = lib.control.scan(cell, x * 0.0 + np_.inf, (y, above[1:], above[:-1]))
            return np_.concatenate([np_.full(1, np_.inf), values]), None

        first = np_.concatenate([np_.zeros(1), np_.full(len(y), np_.inf)])
        return lib.control.scan(row, first, x)[0][-1]

    return kernel


def _heat_of_slices(lib: Library, size: int, steps: int) -> Function:
    def kernel(u: Array) -> Any:
        def step(_: Any, u: Array) -> Array:
            around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
            return u.at[1:-1, 1:-1].add(0.1 * (around - 4.0 * u[1:-1, 1:-1]))

        return lib.control.fori_loop(0, steps, step, u)

    return kernel


def _tridiagonal_of_scans(lib: Library, count: int) -> Function:
    def kernel(lower: Array, diagonal: Array, upper: Array, right: Array) -> Any:
        def down(before: Any, row: Any) -> tuple[Any, Any]:
            below, middle, above, value = row
            pivot = middle - below * before[0]
            both = above / pivot, (value - below * before[1]) / pivot
            return both, both

        def up(after: Any, row: Any) -> tuple[Any, Any]:
            value = row[1] - row[0] * after
            return value, value

        zero = right[0] * 0.0
        _, (c, d) = lib.control.scan(down, (zero, zero), (lower, diagonal, upper, right))
        return lib.control.scan(up, zero, (c[::-1], d[::-1]))[1][::-1]

    return kernel


_FOR_JAX: Final[dict[Any, Callable[..., Function]]] = {
    _sum_of_squares: lambda lib, _: lambda x: (x * x).sum(),
    _logistic: lambda lib, count: (
        lambda x: lib.control.fori_loop(0, count, lambda _, y: 3.7 * y * (1.0 - y), x[0])
    ),
    _recurrence: _recurrence_of_scan,
    _bodies: _bodies_of_arrays,
    _product: lambda lib, _: lambda a, b: a @ b,
    _warping: _warping_of_scans,
    _heat: _heat_of_slices,
    _maths: lambda lib, _: lambda x: lib.np.exp(-x) + lib.np.log(x + 1.0) * lib.np.sin(x),
    _tridiagonal: _tridiagonal_of_scans,
}


# -- the table -------------------------------------------------------------------------------------


def _numbers(count: int) -> tuple[Any, ...]:
    return (generator().random(count),)


def _sequences(size: int) -> tuple[Any, ...]:
    return tuple(generator().integers(0, 4, (2, size)))


def _probabilities(states: int, steps: int) -> tuple[Any, ...]:
    rng = generator()
    first, moves = rng.dirichlet(np.ones(states)), rng.dirichlet(np.ones(states), states)
    return (
        np.log(first),
        np.log(moves),
        np.log(rng.dirichlet(np.ones(30), states)),
        rng.integers(0, 30, steps),
    )


def _bands(count: int) -> tuple[Any, ...]:
    return np.full(count, -1.0), np.full(count, 2.5), np.full(count, -1.0), generator().random(count)


def row(
    name: str,
    text: str,
    kernel: Callable[..., Function],
    inputs: Callable[..., tuple[Any, ...]],
    sizes: tuple[int, ...],
    tiny: tuple[int, ...],
    *,
    goal: float = 1.0,
    gradient: tuple[int, ...] | None = None,
    parallel: bool = False,
    **njit: Any,
) -> tuple[Workload, ...]:
    """The rows of a kernel: its value beside Numba with the options `njit`, and with ``parallel`` where that
    helps; and its gradient by the arguments at `gradient`, which Numba has not."""

    name = f"loop-{name}"

    def program(lib: Library, *sizes: int) -> Function:
        return _FOR_JAX[kernel](lib, *sizes) if lib.name == "jax" else kernel(range, *sizes)

    def total(lib: Library, *sizes: int) -> Function:
        inner = program(lib, *sizes)
        return lambda *arguments: inner(*arguments).sum()

    skip = LOOPLESS if kernel in _FOR_JAX else (*LOOPLESS, "jax")
    shared: dict[str, Any] = {"sizes": sizes, "tiny": tiny, "skip": skip, "tolerance": 1e-9, "goal": goal}
    rows = [
        Workload(
            name,
            text,
            program,
            inputs,
            numba=lambda nb, *sizes: nb.njit(**njit)(kernel(range, *sizes)),
            against="numba",
            **shared,
        )
    ]
    if parallel:
        rows.append(
            Workload(
                f"{name}-parallel",
                f"{text}, Numba's with prange",
                program,
                inputs,
                numba=lambda nb, *sizes: nb.njit(parallel=True, **njit)(kernel(nb.prange, *sizes)),
                against="numba",
                **shared,
            )
        )
    if gradient is not None:
        shared["goal"] = 1.0
        text = f"value and gradient of the sum of {name}"
        rows.append(Workload(f"{name}-grad", text, total, inputs, gradient=gradient, **shared))
    return tuple(rows)


WORKLOADS: Final = (
    *row(
        "squares", "sum of the squares of a million numbers", _sum_of_squares, _numbers, (10**6,), (70,),
        gradient=(0,), parallel=True, fastmath=True,
    ),
    *row(
        "logistic", "a million steps of the logistic map", _logistic,
        lambda _: (np.full(1, 0.3),), (10**6,), (5,), gradient=(0,),
    ),
    *row(
        "recurrence", "y[i] = 0.9 y[i - 1] + x[i], a million steps", _recurrence, _numbers, (10**6,), (70,),
        gradient=(0,), fastmath=True,
    ),
    *row(
        "bodies", "accelerations of 1,000 bodies, all pairs in two loops", _bodies,
        lambda count: (generator().standard_normal((count, 3)), generator().random(count)), (1000,), (40,),
        goal=2.0, gradient=(0,), parallel=True,
    ),
    *row(
        "product", "product of two 256x256 matrices in three loops", _product,
        lambda size: tuple(generator().random((2, size, size))), (256,), (20,),
        gradient=(0, 1), parallel=True, fastmath=True,
    ),
    *row("edit", "edit distance of sequences of 1,000", _edit_distance, _sequences, (1000,), (20,)),
    *row(
        "warping", "dynamic time warping of sequences of 300", _warping,
        lambda size: tuple(generator().random((2, size))), (300,), (20,), gradient=(0, 1),
    ),
    *row(
        "ising", "a sweep of an Ising model of 256x256", _ising,
        lambda size: (generator().choice([-1.0, 1.0], (size, size)), generator().random((size, size))),
        (256,), (12,),
    ),
    *row(
        "mandelbrot", "512x512 points of Mandelbrot's set, up to 100 steps each", _mandelbrot,
        lambda *_: (np.full(1, -2.0),), (512, 100), (12, 20), parallel=True,
    ),
    *row(
        "heat", "200 steps of the heat equation on 256x256", _heat,
        lambda size, _: (generator().random((size, size)),), (256, 200), (12, 7),
        goal=2.0, gradient=(0,), parallel=True,
    ),
    *row(
        "maths", "exp, log and sin of a million numbers", _maths, _numbers, (10**6,), (70,),
        goal=5.0, gradient=(0,), parallel=True, fastmath=True,
    ),
    *row(
        "viterbi", "Viterbi's algorithm, 50 states, 1,000 steps", _viterbi, _probabilities,
        (50, 1000), (5, 12),
    ),
    *row(
        "tridiagonal", "a tridiagonal system of 100,000 equations", _tridiagonal, _bands, (10**5,), (70,),
        gradient=(0, 1, 2, 3),
    ),
)  # fmt: skip
