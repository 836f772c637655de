"""Values that stages keep for later ones. They stay in registers for few rows of a few vectors, the last
of which is not full, at each length around those. More such rows are transposed: `test_transposed_rows`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tracejit.codegen.llvm.target import host
from tracejit.codegen.nest.schedule import schedule
from tracejit.ir.passes import run_passes

from ...support import Array, function_of, interpret, native


def _build(b: Any, x: Any) -> list[Any]:
    """Three stages: what is kept of the first is read in the third, and so is what is kept of the second."""

    def spread(row: Any) -> Any:
        return b.broadcast(b.reshape(row, shape=(row.shape[0], 1)), shape=x.shape)

    y = b.tanh(x)
    z = b.exp(b.sub(y, spread(b.max(y, axes=(1,)))))
    total = spread(b.sum(z, axes=(1,)))
    return [b.mul(b.div(z, total), y), b.add(y, total)]


@pytest.mark.parametrize("rows", [3, 600])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("length", [5, 6, 7, 8, 9, 13, 15, 16, 17, 23, 24, 31, 32, 33, 40, 48, 100])
def test_rows_around_vectors(length: int, dtype: str, rows: int) -> None:
    x = np.random.default_rng(length).standard_normal((rows, length)).astype(dtype)
    function = function_of("rows", [x], _build)
    rtol = 1e-5 if dtype == "f4" else 1e-13
    results = native(function, [x])
    for got, want in zip(results, interpret(function, [x]), strict=True):
        np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol)


def test_rows_are_kept_with_room_for_their_last_vector() -> None:
    lanes = host().lanes("f64")
    for length in (lanes + lanes // 2, 2 * lanes, 12 * lanes + 1):
        x: Array = np.ones((3, length))
        (fusion,) = run_passes(function_of("rows", [x], _build)).body
        nest = schedule(fusion.regions[0], fusion.attrs, "nest", host())
        assert nest.kept
        assert {size for _, size in nest.scratch_sizes} == {length}
