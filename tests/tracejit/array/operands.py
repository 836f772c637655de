"""Arrays of several kinds, the operands of the cases in these tests."""

from __future__ import annotations

import numpy as np

RNG = np.random.default_rng(0)
HOLES = RNG.normal(size=(4, 5))
HOLES[1, 2], HOLES[2] = np.nan, np.nan
LINE, SHORT = RNG.normal(size=7), RNG.normal(size=3)
INTEGERS = RNG.integers(-5, 6, (3, 4))
SINGLE = RNG.normal(size=6).astype(np.float32)
ASCENDING = np.sort(RNG.normal(size=6))
MASK = INTEGERS > 0
BYTES = RNG.integers(0, 256, (3, 5)).astype(np.uint8)
MATRIX = RNG.normal(size=(4, 5))
