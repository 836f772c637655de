"""User ops under vmap: each kind of op, its gradient, and both nestings."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import tracejit as tj

X = [[3.0, 1.0, 2.0], [5.0, 4.0, 6.0]]


@pytest.fixture(autouse=True)
def _registries() -> Iterator[None]:
    with tj.extend.isolated():
        yield


def test_an_op_with_a_kernel_is_a_scan_over_the_examples() -> None:
    f = tj.register_op("sorted_row", inputs=("x",), infer=lambda x: x)
    tj.register_kernel("sorted_row", "numpy", lambda x: np.sort(x))
    tj.register_gradient("sorted_row", lambda ct, x: (ct * x,), inputs_to_save=["x"])
    x = tj.tensor(X)
    for mapped in (tj.vmap(f), tj.jit(tj.vmap(f))):
        assert mapped(x).tolist() == [[1, 2, 3], [4, 5, 6]]
    for gradient in (
        tj.grad(lambda x: tj.vmap(f)(x).sum()),
        tj.jit(tj.grad(lambda x: tj.vmap(f)(x).sum())),
        tj.vmap(tj.grad(lambda row: f(row).sum())),
        tj.jit(tj.vmap(tj.grad(lambda row: f(row).sum()))),
    ):
        assert gradient(x).tolist() == X
    assert "scan(" in tj.jit(tj.vmap(f)).lower(x).as_text("optimized")


def test_an_operand_that_the_examples_share() -> None:
    f = tj.register_op("weighted", inputs=("w", "x"), infer=lambda w, x: x)
    tj.register_kernel("weighted", "numpy", lambda w, x: w * np.sort(x))
    got = tj.vmap(f, in_axes=(None, 0))(tj.tensor([1.0, 10.0, 100.0]), tj.tensor(X))
    assert got.tolist() == [[1, 20, 300], [4, 50, 600]]


def test_several_results() -> None:
    f = tj.register_op("ends", inputs=("x",), infer=lambda x: (x.with_shape(()), x.with_shape(())))
    tj.register_kernel("ends", "numpy", lambda x: (x.min(), x.max()))
    low, high = tj.vmap(f)(tj.tensor(X))
    assert (low.tolist(), high.tolist()) == ([1, 4], [3, 6])


def test_elementwise_and_composite_ops() -> None:
    square = tj.register_op("square_of", inputs=("x",), elementwise=True)
    tj.register_kernel("square_of", "numpy", lambda x: x * x)
    cube = tj.register_op("cube_of", inputs=("x",), decompose=lambda x: x * x * x)
    for f, power in ((square, 2), (cube, 3)):
        assert tj.vmap(f)(tj.tensor(X)).tolist() == (np.array(X) ** power).tolist()
