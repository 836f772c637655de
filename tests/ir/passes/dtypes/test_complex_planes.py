"""Complex values of loops and choices, small ones in planes and large ones in pairs: the same results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import tracejit as tj

from ....support import Array

#: Elements below and above what loops have in registers.
SIZES: Final = (3, 200)


def complex_numbers(*shapes: tuple[int, ...]) -> list[Array]:
    rng = np.random.default_rng(0)
    return [0.5 * (rng.normal(size=shape) + 1j * rng.normal(size=shape)) for shape in shapes]


def scanned(z: Any, factor: Any, rows: Any) -> Any:
    def step(carry: Any, row: Any) -> Any:
        z, total = carry
        z = z * factor + row
        return (z, total + abs(z).sum()), (tj.exp(z), z.real, row.conj())

    (z, total), (first, second, third) = tj.scan(step, (z, 0.0), rows)
    return abs(z).sum() + total + (abs(first) * second).sum() + (third * factor).imag.sum()


def repeated(z: Any, factor: Any, rows: Any) -> Any:
    state = tj.while_loop(
        lambda state: state[1] < 4, lambda state: (state[0] * factor + rows[0], state[1] + 1), (z, 0)
    )
    return abs(state[0]).sum()


def chosen(z: Any, factor: Any, rows: Any) -> Any:
    x, y = tj.cond(abs(z).sum() > 0, lambda z: (z * factor, rows), lambda z: (z, -rows), z)
    return abs(x).sum() + y.real.sum()


def transformed(z: Any, factor: Any, rows: Any) -> Any:
    def step(carry: Any, row: Any) -> Any:
        spectrum = tj.fft.fft(row)
        return carry * 0.5 + tj.fft.ifft(spectrum * factor), spectrum

    z, spectra = tj.scan(step, z, rows)
    return abs(z).sum() + (abs(spectra) ** 2).sum()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("program", [scanned, repeated, chosen, transformed])
def test_loops_and_choices(program: Callable[..., Any], size: int) -> None:
    operands = complex_numbers((size,), (size,), (6, size))
    expected = program(*map(tj.asarray, operands))
    np.testing.assert_allclose(tj.jit(program)(*operands), expected, rtol=1e-12)
    slopes = tj.grad(program, (0, 1, 2))(*map(tj.asarray, operands))
    for result, slope in zip(tj.jit(tj.grad(program, (0, 1, 2)))(*operands), slopes, strict=True):
        np.testing.assert_allclose(result, slope, rtol=1e-10, atol=1e-12)
    batched = tj.jit(tj.vmap(program))(*[np.stack([x, 2 * x]) for x in operands])
    twice = [program(*[tj.asarray(factor * x) for x in operands]) for factor in (1, 2)]
    np.testing.assert_allclose(batched, [value.item() for value in twice], rtol=1e-12)


@pytest.mark.parametrize("shape", [(4,), (4, 1), (2, 3, 1)])
def test_whole_powers_of_a_batch_are_products(shape: tuple[int, ...]) -> None:
    x = np.full(shape, 4 - 3j, np.complex64)
    for power in (2, 3, -2):
        batched = tj.jit(tj.vmap(lambda z, power=power: z**power))(x)
        np.testing.assert_array_equal(batched.numpy(), tj.jit(lambda z, power=power: z**power)(x).numpy())
