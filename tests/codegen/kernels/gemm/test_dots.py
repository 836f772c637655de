"""Products of matrices with vectors: any number of rows, lanes and what is left; each row has its own sum."""

from __future__ import annotations

import numpy as np
import pytest

from tracejit.codegen.kernels.gemm.dots import far_bytes

from ....support import function_of, native
from ...narrow import narrower, run_narrow

ROWS = [1, 2, 3, 5, 7, 8, 9, 13, 16, 17, 50]
INNER = [1, 3, 8, 15, 16, 17, 50, 130, 300]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_every_row_is_its_own_sum(dtype: str) -> None:
    """Small integers, whose sums are exact in any order."""
    rng = np.random.default_rng(0)
    shapes = [(m, k) for m in ROWS for k in INNER]
    xs = [rng.integers(-9, 9, shape).astype(dtype) for shape in shapes]
    ys = [rng.integers(-9, 9, (k, 1)).astype(dtype) for _, k in shapes]
    for start in range(0, len(shapes), 20):
        some = xs[start : start + 20], ys[start : start + 20]
        arrays = [*some[0], *some[1]]

        def build(b, *operands):
            half = len(operands) // 2
            return [b.matmul(x, y) for x, y in zip(operands[:half], operands[half:], strict=True)]

        results = native(function_of("dots", arrays, build), arrays)
        for got, x, y in zip(results, *some, strict=True):
            np.testing.assert_array_equal(got, x @ y)


@pytest.mark.parametrize("shape", [(far_bytes() // 8 // 20 + 3, 20), (5, 40, 30)])
def test_far_ones_and_batches(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    x = rng.integers(-9, 9, shape).astype("f8")
    y = rng.integers(-9, 9, (*shape[:-2], shape[-1], 1)).astype("f8")
    function = function_of("dots", [x, y], lambda b, x, y: b.matmul(x, y))
    np.testing.assert_array_equal(native(function, [x, y])[0], x @ y)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("columns", [2, 3, 4])
def test_few_columns_that_lie_along_the_sum(columns: int, dtype: str) -> None:
    """Products with few columns of a transposed matrix, also where an operand is part of a larger array."""
    rng = np.random.default_rng(2)
    for rows, inner in [(2, 64), (3, 160), (17, 67), (40, 129)]:
        x = rng.integers(-9, 9, (rows, inner + 3)).astype(dtype)
        y = rng.integers(-9, 9, (columns, inner)).astype(dtype)

        def build(b, x, y, inner=inner, rows=rows):
            part = b.slice(x, start=(0, 2), size=(rows, inner), step=(1, 1))
            return b.matmul(part, b.transpose(y, perm=(1, 0)))

        function = function_of("few", [x, y], build)
        np.testing.assert_array_equal(native(function, [x, y])[0], x[:, 2:-1] @ y.T)


NARROW = """
import sys
sys.path.insert(0, '.')
from tests.codegen.kernels.gemm.test_dots import *
from tracejit.codegen.llvm.target import host
assert host().vector_bits == {bits}, host()
for dtype in ("f4", "f8"):
    test_every_row_is_its_own_sum(dtype)
print('fine')
"""


@narrower
def test_narrower_vectors(features: str, bits: int) -> None:
    run_narrow(NARROW.format(bits=bits), features, bits)
