"""Elements a few places apart, read as whole vectors: the right ones, and nothing around them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.codegen.instrument.access_checks import AccessChecks
from tracejit.codegen.llvm import strided_reads
from tracejit.runtime.executable import Executable

from ...rotation import share_of
from ..narrow import narrower, run_narrow

DTYPES = ["float64", "float32", "int64", "int32", "int16", "uint8", "bool"]
STRIDES = [-9, -4, -3, -2, -1, 2, 3, 4, 5, 8, 9]


@pytest.mark.parametrize("lanes", [2, 4, 8, 16, 64])
def test_picks_bring_the_elements_together(lanes: int) -> None:
    for stride in [stride for stride in STRIDES if strided_reads.pays(stride, lanes)]:
        memory = np.arange(abs(stride) * lanes)
        vectors = list(memory.reshape(-1, lanes))
        for first in range(abs(stride)) if stride > 0 else (0,):
            elements = vectors[0]
            shuffles = strided_reads.picks(stride, lanes, first)
            for picks, vector in zip(shuffles, vectors[1:] or vectors, strict=True):
                elements = np.concatenate([elements, vector])[picks]
            expected = memory[first :: abs(stride)][:: 1 if stride > 0 else -1]
            assert elements.tolist() == expected.tolist()


def test_short_vectors_and_long_strides_are_gathered() -> None:
    assert not strided_reads.pays(1, 8)
    assert not strided_reads.pays(-1, 1)
    assert not strided_reads.pays(9, 64)
    assert not strided_reads.pays(5, 8)


@pytest.mark.parametrize(
    ("dtype", "stride"), share_of([(dtype, stride) for dtype in DTYPES for stride in STRIDES], 5)
)
def test_every_dtype_and_stride(dtype: str, stride: int) -> None:
    """Reads agree with NumPy, under checks of every access: the array ends with the last element that is
    read."""
    values = np.random.default_rng(3).integers(0, 2 if dtype == "bool" else 100, 1200).astype(dtype)
    for count in (7, 65, 130):
        x = values[: (count - 1) * abs(stride) + 1]

        def reads(x: Any) -> Any:
            picked = x[::stride]
            return picked.copy(), tj.where(picked, 1.5, 0.25)

        checked = Executable(tj.trace(reads, x), AccessChecks())
        plain = tj.jit(reads)(x)
        for got in (plain, checked([x])):
            np.testing.assert_array_equal(got[0], x[::stride])
            np.testing.assert_array_equal(got[1], np.where(x[::stride], 1.5, 0.25))


def test_channels_of_an_image() -> None:
    image = np.random.default_rng(4).random((33, 47, 3))
    grey = tj.jit(lambda x: 0.3 * x[..., 0] + 0.6 * x[..., 1] + 0.1 * x[..., 2])(image)
    np.testing.assert_allclose(grey, image @ [0.3, 0.6, 0.1], rtol=1e-15)


@narrower
def test_with_narrower_vectors(features: str, bits: int) -> None:
    run_narrow(
        """
import numpy as np
import tracejit as tj
for dtype in ("float64", "float32", "int8"):
    x = np.arange(500).astype(dtype)
    for step in (-4, -3, -2, -1, 2, 3, 4):
        assert (tj.jit(lambda x: x[::step] + 1)(x) == x[::step] + 1).all()
print("fine")
""",
        features,
        bits,
    )
