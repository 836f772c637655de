"""Columns are read and written in nests along the rows: the right ones, and nothing outside what is there."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tracejit as tj

from ...forked import forked
from ..narrow import narrower, run_narrow

PROGRAM = """
import numpy as np, tracejit as tj
from tracejit.ir.passes.algebra import columns
columns.MIN_ROWS = 1

def f(x, y):
    e = tj.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True), (x * y).sum(-1), x * y[:, :1] + (x * x).sum(-1, keepdims=True)

for dtype in ("f4", "f8"):
    for columns in (2, 3, 4):
        for rows in (1, 7, 8, 16, 17, 63, 129):
            x, y = np.random.default_rng(rows).normal(size=(2, rows, columns)).astype(dtype)
            for got, want in zip(tj.jit(f)(x, y), f(tj.tensor(x), tj.tensor(y)), strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-5 if dtype == "f4" else 1e-13, atol=1e-6)
print("fine")
"""


@pytest.mark.parametrize("flag", ["0", "1"])
def test_columns_within_their_arrays(flag: str) -> None:
    """Every access is checked, too."""
    assert forked(PROGRAM, TRACEJIT_CHECK=flag).strip() == "fine"


@narrower
def test_columns_with_narrower_vectors(features: str, bits: int) -> None:
    run_narrow(PROGRAM, features, bits)


def test_columns_do_not_depend_on_the_number_of_threads() -> None:
    program = """
import numpy as np, tracejit as tj
x = np.random.default_rng(0).normal(size=(900, 3))
def f(x):
    apart = x[None] - x[:, None]
    return (apart / tj.sqrt((apart * apart).sum(-1) + 0.1)[..., None]).sum(1), tj.exp(apart).sum((0, 2))
found = []
for threads in (1, 2):
    tj.set_num_threads(threads)
    found.append([np.asarray(one).tobytes() for one in tj.jit(f)(x)])
assert found[0] == found[1]
print("fine")
"""
    assert forked(program).strip() == "fine"


@pytest.mark.parametrize("columns", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("points", [22, 23, 59])
def test_gradients_of_pairwise_kernels(points: int, columns: int) -> None:
    """Sums across rows are never columns: they are known after the last row."""

    def kernel(x: tj.Tensor) -> tj.Tensor:
        d = x[:, None, :] - x[None, :, :]
        return tj.sum(tj.exp(-tj.sum(d * d, -1)))

    x = np.random.default_rng(0).normal(size=(points, columns))
    np.testing.assert_allclose(
        tj.jit(tj.grad(kernel))(x), tj.grad(kernel)(tj.tensor(x)), rtol=1e-10, atol=1e-12
    )


@pytest.mark.parametrize(
    "join",
    [
        lambda p: tj.stack([p, p]),
        lambda p: tj.array([p, p]),
        lambda p: tj.concatenate([p[None], p[None], p[None]]),
    ],
    ids=["stack", "array", "concatenate"],
)
def test_sums_across_rows_are_joined(join: Callable[[tj.Tensor], tj.Tensor]) -> None:
    x = np.random.default_rng(0).normal(size=(4, 3))
    want = x.max(-1).sum()
    np.testing.assert_allclose(tj.jit(lambda x: join(x.max(-1).sum()))(x), want, rtol=1e-14)
