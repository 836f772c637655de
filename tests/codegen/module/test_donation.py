"""Results over donated parameters: what may be reused, and that the values stay what they are without."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.runtime.executable import Executable

from ...rotation import share_of
from ...support import Array

SHAPES = ((4,), (3, 5), (5, 3), (37,), (2, 2), (40, 300))


def in_place(executable: Executable, arrays: list[Array]) -> list[Array]:
    """The results of ``@main`` where those that may be are written over parameters."""
    inputs = [array.copy() for array in arrays]
    outputs = [
        inputs[executable.reuses[i]]
        if i in executable.reuses
        else np.full(result.shape, 99).astype(result.dtype)
        for i, result in enumerate(executable.source.results)
    ]

    def pointers(these: list[Array]) -> Any:
        return (ctypes.c_void_p * max(1, len(these)))(*[array.ctypes.data for array in these])

    main = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(executable.address)
    assert main(pointers(inputs), pointers(outputs)) == 0
    left = set(range(len(inputs))) - set(executable.reuses.values())
    for position in left:
        assert inputs[position].tobytes() == arrays[position].tobytes(), (
            "a parameter changed that is not reused"
        )
    return outputs


def check(fn: Callable[..., Any], arrays: list[Array]) -> dict[int, int]:
    function = tj.trace(fn, *arrays)
    executable = Executable(function, donated=range(len(arrays)))
    want = executable(arrays)
    for got, expected in zip(in_place(executable, arrays), want, strict=True):
        assert got.tobytes() == expected.tobytes(), str(function)
    return executable.reuses


def _arrays(count: int, shape: tuple[int, ...] = (3, 5)) -> list[Array]:
    rng = np.random.default_rng(1)
    return [rng.standard_normal(shape) for _ in range(count)]


CASES: dict[str, tuple[Callable[..., Any], int, dict[int, int]]] = {
    "an update": (lambda w, g: w - 0.1 * g, 2, {0: 0}),
    "several at once": (lambda p, m, g: (p - (0.9 * m + g), 0.9 * m + g), 3, {0: 0, 1: 1}),
    "the same": (lambda x: x, 1, {0: 0}),
    "exchanged": (lambda x, y: (y, x), 2, {0: 1, 1: 0}),
    "read once more": (lambda x: (x + 1, tj.flip(x, 0) + 1), 1, {}),
    "read by a later product": (lambda x: (x + 1, (x * 2) @ tj.ones((5, 5)) + x), 1, {1: 0}),
    "dead before": (lambda x, y: tj.cumsum(tj.flip(x, 0) + y, 0), 2, {0: 0}),
    "rows": (lambda x: x / x.sum(1, keepdims=True), 1, {0: 0}),
    "columns": (lambda x: x / x.sum(0, keepdims=True), 1, {0: 0}),
    "a result and its sums": (lambda x, y: (x * y, (x * y).sum(1), x.sum(1)), 2, {0: 1}),
    "borders around a part": (lambda x: tj.pad(x, ((1, 1), (1, 1)))[:3, :5] + 1, 1, {}),
    "borders around its middle": (lambda x: tj.pad(x[1:2, 1:4], 1) + x, 1, {0: 0}),
    "a flipped read": (lambda x: x + tj.flip(x, 0), 1, {}),
    "an update of a slice": (lambda x: _set(x), 1, {0: 0}),
    "unread": (lambda x, y: y * 2, 2, {0: 1}),
    "another dtype": (lambda x: x.astype("float32"), 1, {}),
}


def _set(x: Any) -> Any:
    x = tj.asarray(x)
    x[1:, 2] = 7.0
    return x


@pytest.mark.parametrize("name", CASES)
def test_what_is_reused(name: str) -> None:
    fn, count, expected = CASES[name]
    assert check(fn, _arrays(count)) == expected


def _program(rng: np.random.Generator) -> Callable[..., Any]:
    """A random function of arrays of one shape, whose results have that shape too."""
    steps = [(int(rng.integers(12)), *rng.integers(0, 1 << 30, 2)) for _ in range(rng.integers(1, 8))]
    picks = rng.integers(0, 1 << 30, 5)

    def run(*params: Any) -> tuple[Any, ...]:
        values = list(params)
        for kind, i, j in steps:
            x, y = values[i % len(values)], values[j % len(values)]
            values.append(_step(kind, x, y))
        return tuple([values[pick % len(values)] for pick in picks])

    return run


def _step(kind: int, x: Any, y: Any) -> Any:
    shape = x.shape
    if kind < 3:
        return x * 0.5 + y
    if kind == 3:
        return tj.flip(x, 0) - y
    if kind == 4:
        return tj.maximum(x, y).sum(0, keepdims=True) * 0.1 + x
    if kind == 5:
        return tj.cumsum(x, 0) * 0.1
    if kind == 6:
        return x.reshape(-1)[::-1].reshape(shape) + y
    if kind == 7:
        return tj.concatenate([y[1:], x[:1]])
    if kind == 8:
        z = x + 0 * y
        z[: shape[0] // 2] = y[: shape[0] // 2]
        return z
    if kind == 9:
        z = tj.asarray(x)
        z = z.reshape(shape) if len(shape) < 2 else z.T.reshape(shape)
        return z + y
    if kind == 10:
        return tj.where(x > y, x, 0.5) if len(shape) < 2 else (x @ y.reshape(shape[::-1]) @ x) * 0.01
    return tj.scan(lambda c, row: (c + row, c * row), x[0], y)[1]


def run_programs(first: int, count: int) -> int:
    reused = 0
    for seed in range(first, first + count):
        rng = np.random.default_rng(seed)
        shape = SHAPES[seed % len(SHAPES)]
        arrays = [rng.standard_normal(shape) for _ in range(rng.integers(1, 5))]
        reused += len(check(_program(rng), arrays))
    return reused


def test_random_programs() -> None:
    assert run_programs(0, 60) > 30


@pytest.mark.slow
@pytest.mark.parametrize("first", share_of(range(1000, 3000, 200), 5))
def test_more_random_programs(first: int) -> None:
    assert run_programs(first, 200) > 100
