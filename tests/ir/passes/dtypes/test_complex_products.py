"""Products of complex matrices by real ones: as exact as NumPy's, whatever the shapes, in every part."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.passes.dtypes.complex_planes import complex_planes

#: Axes before the last two, rows, terms of each sum, columns.
SHAPES = [
    ((), 1, 1, 1), ((), 2, 3, 4), ((), 1, 40, 30), ((), 30, 40, 1), ((), 2, 60, 50), ((), 17, 9, 5),
    ((), 20, 1, 20), ((), 40, 40, 40), ((7,), 8, 8, 8), ((3, 2), 1, 30, 30), ((4,), 30, 30, 1),
    ((5,), 3, 20, 70), ((), 5, 0, 5), ((), 0, 5, 6), ((3,), 6, 5, 0),
]  # fmt: skip


def operand(rng: np.random.Generator, shape: tuple[int, ...], kind: str) -> Any:
    x = rng.normal(size=shape)
    return x if kind == "real" else x + 1e-9j * rng.normal(size=shape)


@pytest.mark.parametrize("kinds", [("complex", "complex"), ("real", "complex"), ("complex", "real")])
@pytest.mark.parametrize("dtypes", [("f4", "c8"), ("f8", "c16")])
def test_small_imaginary_parts_keep_their_places(kinds: tuple[str, str], dtypes: tuple[str, str]) -> None:
    rng = np.random.default_rng(0)
    product = tj.jit(tj.matmul)
    for batch, rows, size, columns in SHAPES:
        x, y = (
            operand(rng, shape, kind).astype(dtypes[kind == "complex"])
            for kind, shape in zip(kinds, ((*batch, rows, size), (*batch, size, columns)), strict=True)
        )
        result, expected = np.asarray(product(x, y)), np.matmul(x.astype("G"), y.astype("G"))
        assert result.dtype == dtypes[1]
        assert result.shape == expected.shape
        eps = np.finfo(dtypes[0]).eps
        for part in ("real", "imag"):
            terms = np.matmul(np.abs(x.real), np.abs(getattr(y, part)))
            terms = terms + np.matmul(np.abs(x.imag), np.abs(y.imag if part == "real" else y.real))
            error = np.abs(getattr(result, part) - getattr(expected, part))
            assert np.all(error <= (size + 2) * eps * terms + np.finfo(dtypes[0]).tiny)


def test_operands_that_are_no_memory() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 24, 24)) + 1j * rng.normal(size=(2, 24, 24))

    def program(x: Any, y: Any) -> Any:
        return x.conj().T @ y, (x * 2j) @ y.T, tj.exp(x[::2, 1:7]) @ y[:6], (x @ y) @ x[0]

    expected = x.conj().T @ y, (x * 2j) @ y.T, np.exp(x[::2, 1:7]) @ y[:6], (x @ y) @ x[0]
    for result, value in zip(tj.jit(program)(x, y), expected, strict=True):
        np.testing.assert_allclose(result, value, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shapes", [((8, 9), (9, 7)), ((1, 30), (30, 30)), ((30, 30), (30, 1))])
def test_gradients_are_those_of_four_products(shapes: Any) -> None:
    rng = np.random.default_rng(2)
    x, y = (rng.normal(size=shape) + 1j * rng.normal(size=shape) for shape in shapes)
    loss = lambda x, y: tj.sum(tj.abs(x @ y) ** 2)  # noqa: E731
    gradients = tj.jit(tj.grad(loss, (0, 1)))(x, y)
    product = x @ y
    np.testing.assert_allclose(gradients[0], 2 * product.conj() @ y.T, rtol=1e-12)
    np.testing.assert_allclose(gradients[1], 2 * x.T @ product.conj(), rtol=1e-12)


@pytest.mark.parametrize(("rows", "columns"), [(8, 8), (1, 30)])
def test_one_real_product(rows: int, columns: int) -> None:
    x, y = np.ones((rows, 30), complex), np.ones((30, columns), complex)
    function = complex_planes(tj.trace(tj.matmul, x, y))
    assert [instruction.op.name for instruction in function.body].count("matmul") == 1
