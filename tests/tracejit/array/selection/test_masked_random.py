"""Random programs of reads, elementwise functions, reductions and writes through masks: as NumPy has them."""

import warnings

import numpy as np
import pytest

import tracejit as tj

UNARY = [
    np.exp,
    np.sin,
    np.tanh,
    np.abs,
    np.square,
    np.negative,
    np.cbrt,
    lambda v: np.log(np.abs(v) + 0.1),
    lambda v: np.clip(v, -1, 1),
    lambda v: np.where(v > 0, v, v * 0.1),
    lambda v: v.copy(),
    lambda v: np.maximum(v, 0.3),
]
BINARY = [np.add, np.subtract, np.multiply, np.minimum, np.hypot, lambda a, b: a / (np.abs(b) + 1)]
REDUCTIONS = [
    np.sum,
    np.mean,
    np.max,
    np.min,
    np.std,
    np.var,
    np.median,
    np.ptp,
    lambda v: (v > 0).any() * 1.0,
    lambda v: v.size / (v.shape[0] + 1.0),
    lambda v: np.count_nonzero(v > 0) * np.float64(0.5),  # of a Python integer in NumPy 2.1
    lambda v: v[0] - v[-1],
    lambda v: np.quantile(v, 0.25),
]
MASKS = [
    lambda v: v > -0.2,
    lambda v: ~(v > 0.9),
    lambda v: (v > -1) & (v < 2),
    lambda v: np.abs(v) < 1.7,
    lambda v: np.isfinite(v) & (v != v[0]),
]


class Program:
    """Lines that write an array, and numbers that are computed of it, in the order of `seed`."""

    def __init__(self, seed: int, columns: bool) -> None:
        self.random, self.columns = np.random.default_rng(seed), columns
        self.lines = [self._line() for _ in range(6)]

    def _pick(self, choices):
        return choices[self.random.integers(len(choices))]

    def _expression(self, depth):
        """A function of the array, the mask, and the numbers so far, that gives selected elements."""
        kind = self.random.integers(6) if depth else 0
        if kind < 2:
            return lambda x, mask, number: x[mask]
        if kind < 4:
            unary, inner = self._pick(UNARY), self._expression(depth - 1)
            return lambda x, mask, number: unary(inner(x, mask, number))
        if kind < 5:
            binary, one, two = self._pick(BINARY), self._expression(depth - 1), self._expression(depth - 1)
            return lambda x, mask, number: binary(one(x, mask, number), two(x, mask, number))
        binary, inner = self._pick(BINARY), self._expression(depth - 1)
        return lambda x, mask, number: binary(inner(x, mask, number), number)

    def _line(self):
        masks, value, fold = self._pick(MASKS), self._expression(3), self._pick(REDUCTIONS)
        kind = self.random.integers(5)

        def run(x, number):
            mask = masks(x[:, 0] if self.columns else x)
            if kind == 0:
                x[mask] = value(x, mask, number)
            elif kind == 1:
                x[mask] += value(x, mask, number) * 0.1
            elif kind == 2:
                part = x[mask]
                part *= 0.5
                x[mask] = part + number
            elif kind == 3:
                part = value(x, mask, number) + 0.0  # eager gradients may need the value itself
                part[part > 0.5] = part[part > 0.5] * 0.25
                x[mask] = part
            else:
                column = value(x, mask, number)
                number = number * 0.5 + 0.1 * fold(column[:, 1] if self.columns else column)
            return number

        if self.columns and kind == 3:
            return self._line()
        return run

    def __call__(self, x):
        x, number = x * 1.0, x.mean()
        for line in self.lines:
            number = line(x, number)
        return x, number


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("seed", range(30))
def test_programs(seed, columns, dtype):
    x = np.random.default_rng(seed).normal(size=(9, 2) if columns else 11).astype(dtype)
    program = Program(seed, columns)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = program(x)
    results = tj.jit(program)(x)
    tolerance = 1e-9 if dtype is np.float64 else 2e-3
    for result, value in zip(results, expected, strict=True):
        assert result.dtype == np.asarray(value).dtype
        np.testing.assert_allclose(result, value, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("seed", range(15))
def test_gradients(seed, columns):
    x = np.random.default_rng(seed).normal(size=(9, 2) if columns else 11)
    program = Program(seed, columns)

    def loss(x):
        array, number = program(x)
        return (array**2).mean() + number

    expected = np.asarray(tj.grad(loss)(x))
    np.testing.assert_allclose(tj.jit(tj.grad(loss))(x), expected, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(tj.grad(tj.jit(loss))(x), expected, rtol=1e-7, atol=1e-9)
