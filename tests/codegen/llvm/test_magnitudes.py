"""Absolute values, of which LLVM 20 (llvmlite 0.45 to 0.47) forgets in places that they are."""

from __future__ import annotations

import numpy as np

import tracejit as tj


def test_a_magnitude_is_positive_where_its_number_is_not() -> None:
    """LLVM 20 gave 0 for negative numbers."""
    x = np.array([4.0, -4.0, 0.0, -0.0, np.nan, -np.inf])
    for zero in (0.0, -0.0):
        result = tj.jit(lambda x, zero=zero: tj.maximum(abs(x), zero))(x)
        np.testing.assert_array_equal(result, np.maximum(abs(x), zero))

        def chosen(x, zero=zero):
            size = abs(x)
            return tj.where(tj.isnan(size), size, tj.where(size > zero, size, 7.0))

        result = tj.jit(chosen)(x)
        np.testing.assert_array_equal(result, np.where(np.isnan(x), x, np.where(abs(x) > zero, abs(x), 7.0)))
