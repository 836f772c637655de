"""Tall tables that are multiplied by vectors from both sides: one pass over them, the same values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.passes import PIPELINE, run_passes
from tracejit.ir.passes.algebra.gemv_pairs import fuse_gemv_pairs
from tracejit.ir.verifier import verify

from ....support import interpret, native

ROWS, COLUMNS = 9_001, 64
BEFORE = PIPELINE[: [pass_.name for pass_ in PIPELINE].index("fuse-gemv-pairs")]


def arrays(dtype: str = "f8", rows: int = ROWS, columns: int = COLUMNS) -> list[Any]:
    rng = np.random.default_rng(0)
    shapes = ((columns,), (rows, columns), (rows,))
    return [rng.normal(size=shape).astype(dtype) for shape in shapes]


def logistic(w: Any, x: Any, y: Any) -> Any:
    z = x @ w
    return (tj.logaddexp(0.0, z) - z * y).mean()


def squares(w: Any, x: Any, y: Any) -> Any:
    return (tj.square(x @ w - y)).sum()


def passed(f: Any, *arguments: Any) -> tuple[Any, Any]:
    before = run_passes(tj.trace(f, *arguments), BEFORE)
    after = fuse_gemv_pairs(before)
    verify(after)
    return before, after


def names(function: Any) -> list[str]:
    return [instruction.op.name for instruction in function.body]


@pytest.mark.parametrize("loss", [logistic, squares])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_a_regression_and_its_gradient_read_the_table_once(loss: Any, dtype: str) -> None:
    arguments = arrays(dtype)
    f = tj.value_and_grad(loss)
    function = tj.trace(f, *arguments)
    fused = run_passes(function)
    assert sum(instruction.operands.count(fused.params[1]) for instruction in fused.body) == 1
    tolerance = 2e-4 if dtype == "f4" else 1e-12
    for got, want in zip(native(function, arguments), interpret(function, arguments), strict=True):
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * abs(want).max())


def both(w: Any, x: Any, y: Any) -> Any:
    return x @ w, y @ x


def test_every_way_to_write_the_products() -> None:
    arguments = arrays()
    for f in (
        both,
        lambda w, x, y: (w @ x.T, x.T @ y),
        lambda w, x, y: (x @ w[:, None], x.T @ y[:, None]),
        lambda w, x, y: (w[None] @ x.T, y[None] @ x),
    ):
        before, after = passed(f, *arguments)
        assert "matmul" in names(before)
        assert "matmul" not in names(after)
        for got, want in zip(interpret(after, arguments), interpret(before, arguments), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-10)


def test_other_products_stay() -> None:
    """Products stay that read one side alone, other elements of the table, few rows, short or long ones,
    whole numbers, or matrices."""
    arguments = arrays()
    w, x, y = arguments
    for f, args in (
        (lambda w, x, y: (x @ w, (x * 2.0) @ w), arguments),
        (lambda w, x, y: (x[1:] @ w, y[1:] @ x[1:]), arguments),
        (lambda w, x, y: (x[::-1] @ w, y @ x[::-1]), arguments),
        (both, arrays(rows=100)),
        (both, arrays(rows=40_000, columns=8)),
        (both, arrays(columns=300)),
        (both, arrays("i8")),
        (lambda w, x, y: (x @ w, y @ x), (np.stack([w, w], 1), x, np.stack([y, y]))),
    ):
        before, after = passed(f, *args)
        assert after is before
