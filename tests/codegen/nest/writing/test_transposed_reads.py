"""Maps that read something transposed, in squares that are transposed in registers."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.codegen.instrument.access_checks import AccessChecks
from tracejit.runtime.executable import Executable

from ...narrow import narrower, run_narrow

SHAPES = [(16, 16), (17, 33), (5, 40), (40, 5), (100, 64), (131, 70), (64, 257)]
DTYPES = ["float64", "float32", "int64", "int32", "int16", "uint8", "bool"]


def values(shape: tuple[int, ...], dtype: str) -> Any:
    rng = np.random.default_rng(7)
    return rng.integers(0, 2 if dtype == "bool" else 100, shape).astype(dtype)


def both(f: Any, *args: Any) -> list[Any]:
    """The results of `f` as it is compiled, and with every access checked."""
    return [tj.jit(f)(*args), Executable(tj.trace(f, *args), AccessChecks())(list(args))[0]]


def text(f: Any, *args: Any) -> str:
    return str(tj.jit(f).lower(*args).as_text("loops"))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_transposes_of_matrices(shape: tuple[int, int], dtype: str) -> None:
    x = values(shape, dtype)
    for got in both(lambda x: tj.where(x.T, x.T, x.T), x):
        np.testing.assert_array_equal(got, x.T)


@pytest.mark.parametrize("perm", [p for p in itertools.permutations(range(3)) if p != (0, 1, 2)])
def test_every_order_of_three_axes(perm: tuple[int, ...]) -> None:
    x, y = values((18, 35, 20), "float32"), values((35,), "float64")
    for got in both(lambda x: tj.transpose(x, perm) * 2, x):
        np.testing.assert_array_equal(got, x.transpose(perm) * 2)
    for got in both(lambda x, y: tj.transpose(x * y[:, None], perm), x, y):
        np.testing.assert_array_equal(got, (x * y[:, None]).transpose(perm))


def test_several_leaves_and_results() -> None:
    """Leaves that lie along the results, mixed dtypes, slices, and ops that are written as a loop."""
    x, y, z = values((70, 50), "float64"), values((70, 50), "float32"), values((50, 70), "float64")

    def f(x: Any, y: Any, z: Any) -> Any:
        a = x.T + y.T * z + x[0, 0]
        return a, tj.exp(-a), (z < x.T)

    expected = x.T + y.T.astype("float64") * z + x[0, 0]
    for got in both(lambda x, y, z: f(x, y, z)[0], x, y, z):
        np.testing.assert_array_equal(got, expected)
    got = tj.jit(f)(x, y, z)
    np.testing.assert_array_equal(got[0], expected)
    np.testing.assert_allclose(got[1], np.exp(-expected), rtol=1e-15)
    np.testing.assert_array_equal(got[2], z < x.T)
    part = tj.jit(lambda x: x[3:63:2, 1:].T + 1)(x)
    np.testing.assert_array_equal(part, x[3:63:2, 1:].T + 1)


@pytest.mark.parametrize("shape", [(8, 8), (8, 24), (33, 19), (70, 50)])
@pytest.mark.parametrize("start", [0, 1, 3])
def test_windows_of_what_is_read_transposed(shape: tuple[int, int], start: int) -> None:
    """Memory beside the squares is read as it lies, where a window is inside."""
    x = values(shape, "float64")
    expected = x.T.copy()
    expected[start:, 1:] = (expected[start:, 1:] + 2.0) * 3.0
    expected = expected % -5.0

    def f(x: Any) -> Any:
        part = tj.index_add(x.T, (slice(start, None), slice(1, None)), 2.0)
        return tj.index_update(part, (slice(start, None), slice(1, None)), part[start:, 1:] * 3.0) % -5.0

    for got in both(f, x):
        np.testing.assert_array_equal(got, expected)
    assert "; tile(" in text(lambda x: tj.index_add(x.T, slice(1, None), 2.0) % -3.0, x)


def test_which_nests_are_walked_in_squares() -> None:
    x = np.zeros((200, 300), np.float32)
    assert "; tile(" in text(lambda x: x.T * 2, x)
    assert "; tile(" in text(lambda x: tj.transpose(x.reshape(10, 20, 300), (0, 2, 1)) * 2, x)
    assert "; tile(" not in text(lambda x: x * 2, x)
    assert "; tile(" not in text(lambda x: x[:, :2].T * 2, x)
    assert "; tile(" not in text(lambda x: x.T.sum(axis=0), x)


def test_threads_do_not_change_results() -> None:
    x = np.random.default_rng(8).random((700, 900))
    f = tj.jit(lambda x: tj.sin(x.T) + x.T)
    results = []
    for threads in (1, 2, 3):
        with tj.threads(threads):
            results.append(np.asarray(f(x)).tobytes())
    assert results[0] == results[1] == results[2]


def test_large_results_that_go_past_the_cache() -> None:
    x = np.arange(2112 * 2048.0).reshape(2112, 2048)
    np.testing.assert_array_equal(tj.jit(lambda x: x.T + 1)(x), x.T + 1)


@narrower
def test_with_narrower_vectors(features: str, bits: int) -> None:
    run_narrow(
        """
import numpy as np
import tracejit as tj
for dtype in ("float64", "float32", "int8"):
    x = np.arange(61 * 45).reshape(61, 45).astype(dtype)
    assert (tj.jit(lambda x: x.T + x.T)(x) == x.T + x.T).all()
print("fine")
""",
        features,
        bits,
    )
