"""Integers that are arguments, where Python and NumPy want a number: keys, names, sizes, shifts, seeds."""

from __future__ import annotations

import itertools
from collections import deque
from typing import Any

import numpy as np
import pytest

import tracejit as tj

X = np.array([0.5, -1.0, 2.0, 3.5])


def in_set(x: Any, n: Any) -> Any:
    return x if n in {1, 3} else -x


def in_set_in_loop(x: Any, n: Any) -> Any:
    total = 0.0 * x[0]
    for i in range(n + 12):
        if i in {1, 3, 5}:
            total += i * x[i % 4]
    return total


def in_dict(x: Any, n: Any) -> Any:
    return {1: x, 2: 2 * x, 3: np.sin(x)}[n]


def in_dict_of_bools(x: Any, n: Any) -> Any:
    return {True: x, False: -x}[x.sum() > n]


def as_key(x: Any, n: Any) -> Any:
    weights = {f"w{i}": i * x for i in range(1, n + 1)}
    return weights[f"w{n}"] + weights["w{:d}".format(n)]  # noqa: UP032


def elements_as_keys(x: Any, n: Any) -> Any:
    counts: dict[Any, float] = {}
    for k in np.arange(len(x)) % n:
        counts[k] = counts.get(k, 0.0) + x[k]
    return sum(counts.values()) * len(counts)


def memoized(x: Any, n: Any) -> Any:
    cache: dict[int, Any] = {}

    def power(k: int) -> Any:
        if k == 0:
            return np.ones_like(x)
        if k not in cache:
            cache[k] = power(k - 1) * x
        return cache[k]

    return power(n)


def sizes(x: Any, n: Any) -> Any:
    padded, tiled = np.pad(x, n), np.tile(x, (n, 1))
    return padded.sum() * tiled.sum() + np.repeat(x, n)[n] + np.hamming(n + 2).sum()


def rolled(x: Any, n: Any) -> Any:
    return np.roll(x, n) + np.roll(x, (-n,), axis=(0,))


def windows(x: Any, n: Any) -> Any:
    return np.lib.stride_tricks.sliding_window_view(x, n).mean(axis=1)


def inserted(x: Any, n: Any) -> Any:
    return np.insert(x, n, 9.0)[:-2] * np.delete(x, n)


def frequencies(x: Any, n: Any) -> Any:
    return np.fft.fftfreq(n + 1, d=0.5)[n] + np.fft.rfftfreq(n)[-1]


def queue(x: Any, n: Any) -> Any:
    recent: deque[Any] = deque(maxlen=n)
    for value in x:
        recent.append(value)
    return sum(recent) * len(recent)


def permuted(x: Any, n: Any) -> Any:
    return sum(x[i] * k for k, (i, *_) in enumerate(itertools.permutations(range(3), n)))


def drawn(x: Any, n: Any) -> Any:
    return x + np.random.default_rng(n).normal(size=4)


PROGRAMS = [
    in_set, in_set_in_loop, in_dict, in_dict_of_bools, as_key, elements_as_keys, memoized, sizes, rolled,
    windows, inserted, frequencies, queue, permuted,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_arguments(program: Any) -> None:
    jitted = tj.jit(program)
    for x, n in ((X, 2), (X, 3), (X[::-1].copy(), 1), (2 * X, 2)):
        np.testing.assert_allclose(jitted(x, n), program(x, n), rtol=1e-14)


@pytest.mark.filterwarnings("ignore::tracejit.FrozenResultWarning")
def test_seeds() -> None:
    jitted = tj.jit(drawn)
    for n in (1, 2, 1):
        np.testing.assert_allclose(jitted(X, n), drawn(X, n), rtol=1e-14)


@pytest.mark.parametrize("program", [rolled, in_dict, as_key], ids=lambda f: f.__name__)
def test_gradients(program: Any) -> None:
    def loss(x: Any, n: Any) -> Any:
        return (program(x, n) * np.arange(4.0)).sum()

    jitted = tj.jit(tj.grad(loss))
    for n in (2, 1, 3):
        np.testing.assert_allclose(jitted(X, n), tj.grad(loss)(X, n), rtol=1e-14)


def test_what_does_not_ask_is_compiled_once() -> None:
    jitted = tj.jit(lambda x, n: x * n + n**2)
    for n in range(12):
        np.testing.assert_allclose(jitted(X, n), X * n + n**2)
    (signature,) = jitted.explain().signatures
    assert not signature.earlier
