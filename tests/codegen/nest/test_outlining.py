"""Expensive ops that a nest has many of are called, not written again."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tracejit as tj
from tracejit.codegen.loops.emit import INLINED_USES
from tracejit.runtime.executable import Executable


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [5, 64, 1003])
def test_a_long_chain_of_sines(dtype: type, size: int) -> None:
    count = 3 * INLINED_USES

    def chain(x):
        for _ in range(count):
            x = tj.sin(x) + tj.arctan2(x, x + 2)
        return x

    x = np.linspace(0.1, 1.0, size, dtype=dtype)
    executable = Executable(tj.jit(chain, loops="unrolled").trace(x))
    outlined = re.findall(r"define internal .* @k0_(\w+)\d\(", executable.module.text)
    assert sorted(outlined) == ["atan2", "sin"]
    want = x.astype(np.float64)
    for _ in range(count):
        want = np.sin(want) + np.arctan2(want, want + 2)
    np.testing.assert_allclose(executable([x])[0], want, rtol=1e-4 if dtype is np.float32 else 1e-12)


def test_in_nests_of_rows_and_split_reductions() -> None:
    def sums(x):
        parts = [tj.sin(x * float(k)) for k in range(2 * INLINED_USES)]
        return sum(part.sum(-1) for part in parts)

    for shape in ((3, 50), (400_000,)):
        x = np.linspace(0.0, 1.0, int(np.prod(shape))).reshape(shape)
        want = sum(np.sin(x * float(k)).sum(-1) for k in range(2 * INLINED_USES))
        np.testing.assert_allclose(np.asarray(tj.jit(sums)(x)), want, rtol=1e-10)
