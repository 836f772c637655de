"""Programs of repeats, tiles, stacks, slices and sums agree with NumPy; gradients agree with eager ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

Step = Callable[[Any, Any], Any]

STEPS: dict[str, Step] = {
    "repeat rows": lambda lib, x: lib.repeat(x, 3, axis=0),
    "repeat columns": lambda lib, x: lib.repeat(x, 2, axis=1),
    "repeat often": lambda lib, x: lib.repeat(x, 9, axis=1),
    "tile": lambda lib, x: lib.tile(x, (2, 3)),
    "kron": lambda lib, x: lib.kron(x, np.ones((2, 2))),
    "stack": lambda lib, x: lib.stack([x, x * 2.0]).reshape(2 * x.shape[0], -1),
    "interleave": lambda lib, x: lib.stack([x, x + 1.0, x * x], axis=2).reshape(x.shape[0], -1),
    "join computed": lambda lib, x: lib.concatenate([x * 2.0, lib.sin(x)], axis=1),
    "join mirrored": lambda lib, x: lib.concatenate([lib.cos(x), x, x[::-1]], axis=0),
    "choose": lambda lib, x: lib.where(x > 0, x, 0.1 * x),
    "subtract maxima": lambda lib, x: x - lib.max(x, axis=1, keepdims=True),
    "times sums": lambda lib, x: x * lib.sum(x, axis=0) * 0.1,
    "transpose": lambda lib, x: x.T,
    "every other": lambda lib, x: x[::2],
    "inside": lambda lib, x: x[:, 1:],
    "flatten": lambda lib, x: x.reshape(1, -1) * 1.5,
    "block sums": lambda lib, x: lib.repeat(x, 4, axis=1).reshape(*x.shape, 2, 2).sum(axis=(1, 3)),
    "beside itself": lambda lib, x: lib.repeat(x, 2, axis=1) * lib.tile(x, (1, 2)),
    "rows of sums": lambda lib, x: lib.tile(lib.sum(x, axis=1), 3).reshape(-1, 1) * x[:1],
}
SHAPES = ((1, 1), (2, 3), (7, 5), (16, 16), (5, 64), (33, 17))


def _program(seed: int) -> tuple[list[str], np.ndarray[Any, Any]]:
    rng = np.random.default_rng(seed)
    names = [str(name) for name in rng.choice(list(STEPS), size=rng.integers(2, 6))]
    return names, rng.normal(size=SHAPES[seed % len(SHAPES)]) * 0.3


def _applied(names: list[str], lib: Any, x: Any) -> Any:
    for name in names:
        if x.shape[0] * x.shape[1] < 20_000:
            x = STEPS[name](lib, x)
    return x * 1.5


@pytest.mark.parametrize("seed", range(16))
def test_random_programs(seed: int) -> None:
    names, x = _program(seed)
    expected = _applied(names, np, x)
    compiled = tj.jit(lambda x: _applied(names, tj, x))
    np.testing.assert_allclose(compiled(x).numpy(), expected, rtol=1e-10, atol=1e-10, err_msg=str(names))


@pytest.mark.parametrize("seed", range(16, 24))
def test_gradients_of_random_programs(seed: int) -> None:
    names, x = _program(seed)
    weights = np.cos(np.arange(_applied(names, np, x).size))

    def loss(x: Any) -> Any:
        return tj.sum(_applied(names, tj, x).reshape(-1) * weights)

    leaf = tj.tensor(x, requires_grad=True)
    loss(leaf).backward()
    assert leaf.grad is not None
    expected = leaf.grad.numpy()
    gradient = tj.jit(tj.grad(loss))(x).numpy()
    scale = max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(gradient, expected, rtol=1e-9, atol=1e-9 * scale, err_msg=str(names))


def test_the_gradient_of_a_tile_has_no_sum_over_copies() -> None:
    x = np.ones((30, 40))
    text = tj.jit(tj.grad(lambda x: tj.sum(tj.tile(x, (3, 2)) ** 2))).lower(x).as_text("fused")
    assert "[90, 80]" not in text
    assert "sum" not in text


def test_repeats_of_no_elements():
    for shape in ((2, 1, 1), (0, 3), (2, 0, 4)):
        result = tj.jit(lambda x: np.repeat(x, np.zeros(x.shape[-1], int), -1))(np.ones(shape))
        assert result.shape == (*shape[:-1], 0)
