"""Columns that lie side by side are read and stored together: the right elements, at every tail, and nothing
outside of their arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.codegen.instrument.access_checks import AccessChecks
from tracejit.codegen.llvm.target import host
from tracejit.codegen.module.writer import generate
from tracejit.ir.passes import run_passes
from tracejit.runtime.executable import Executable

from ..narrow import narrower, run_narrow

COUNTS = (1, 3, 7, 8, 9, 16, 31, 64, 130)


def mixed(x: Any, y: Any) -> Any:
    """Neighbouring columns, columns that skip one, and rows that begin with the second column."""
    return x * y, abs(x), (x.real * y.imag), (x.conj() + y * 2.0).sum()


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_operands_at_every_tail(dtype: str) -> None:
    rng, rtol = np.random.default_rng(0), 1e-5 if dtype == "complex64" else 1e-13
    for count in COUNTS:
        x, y = (rng.normal(size=(2, count)) + 1j * rng.normal(size=(2, count))).astype(dtype)
        checked = Executable(tj.trace(mixed, x, y), AccessChecks())
        for results in (tj.jit(mixed)(x, y), checked([x, y])):
            for result, expected in zip(results, mixed(x, y), strict=True):
                np.testing.assert_allclose(result, expected, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("columns", [2, 3, 4, 5])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8"])
def test_columns_of_rows(columns: int, dtype: str) -> None:
    rng = np.random.default_rng(columns)

    def weighed(x: Any) -> Any:
        total = x[:, 0] * 1
        for column in range(1, columns):
            total = total + x[:, column] * (column + 1)
        return total

    for count in COUNTS:
        x = rng.integers(0, 9, (count, columns)).astype(dtype)
        checked = Executable(tj.trace(weighed, x), AccessChecks())
        for result in (tj.jit(weighed)(x), checked([x])[0]):
            np.testing.assert_array_equal(result, weighed(x))


@pytest.mark.skipif(host().lanes("f64") < 4, reason="two lanes are too few for whole vectors of two columns")
def test_pairs_are_two_loads_of_whole_vectors() -> None:
    x = np.ones(host().lanes("f64") * 8, complex)
    text = generate(run_passes(tj.trace(lambda x: x * 2j, x)), host()).text
    assert "masked" not in text
    assert text.count("= load <") == 2


@narrower
def test_with_narrower_vectors(features: str, bits: int) -> None:
    run_narrow(
        """
import numpy as np, tracejit as tj
for dtype in ("complex64", "complex128"):
    for count in (1, 3, 8, 17, 130):
        x = (np.arange(count) + 1j * np.arange(count)[::-1]).astype(dtype)
        assert np.allclose(tj.jit(lambda x: x * x.conj() + 2j * x)(x), x * x.conj() + 2j * x)
rows = np.arange(51.0).reshape(17, 3)
assert (tj.jit(lambda x: x[:, 0] + x[:, 1] * x[:, 2])(rows) == rows[:, 0] + rows[:, 1] * rows[:, 2]).all()
print("fine")
""",
        features,
        bits,
    )
