"""Complex numbers divided by real ones: NumPy's bits, zeros, infinities and NaN included."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

VALUES = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 1e-310, -1e30]


def bits(x):
    """The bits of the parts of `x`, those of all NaN alike."""
    parts = x.view(x.real.dtype)
    return np.where(np.isnan(parts), -1, parts.view(f"i{parts.dtype.itemsize}"))


@pytest.mark.parametrize("dtype", ["c16", "c8"])
@pytest.mark.parametrize("conjugate", [False, True])
def test_quotients_by_real_numbers_have_numpys_bits(dtype, conjugate):
    pairs = np.array([complex(a, b) for a in VALUES for b in VALUES]).astype(dtype)
    x, y = (part.ravel() for part in np.meshgrid(pairs, np.array(VALUES, dtype=f"f{int(dtype[1:]) // 2}")))

    def quotient(lib, x, y):
        return x / (lib.conj(y.astype(x.dtype)) if conjugate else y)

    with np.errstate(all="ignore"):
        expected = quotient(np, x, y)
    actual = tj.jit(lambda x, y: quotient(tj, x, y))(x, y).numpy()
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(bits(actual), bits(expected))
