"""Elementwise graphs of dask's arrays, compiled: the same values in fewer tasks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
import tracejit.dask

da: Any = pytest.importorskip("dask.array")
dask: Any = pytest.importorskip("dask")
fusing: Any = pytest.importorskip("tracejit.dask.fusing")
RNG = np.random.default_rng(5)
X, V = RNG.normal(size=(11, 7)), RNG.normal(size=7)


def arrays(dtype: str = "float64") -> tuple[Any, Any]:
    return da.from_array(X.astype(dtype), chunks=(4, 3)), da.from_array(V.astype(dtype), chunks=3)


def programs(array: Any) -> list[Any]:
    """The compiled programs in the graph of an array."""
    functions = [getattr(getattr(layer, "task", None), "func", None) for layer in array.dask.layers.values()]
    return [f.args[0] for f in functions if getattr(f, "func", None) is fusing._run]


def same(array: Any, steps: int) -> None:
    """`array`, compiled, is one program of so many steps, and has the same values and dtype."""
    result = tj.dask.compiled(array)
    assert [len(program.steps) for program in programs(result)] == [steps]
    assert (result.dtype, result.chunks, result.name) == (array.dtype, array.chunks, array.name)
    values, expected = result.compute(scheduler="sync"), array.compute(scheduler="sync")
    assert values.dtype == expected.dtype
    np.testing.assert_allclose(values, expected, rtol=1e-5 if values.dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "int32"])
def test_operators_and_functions(dtype: str) -> None:
    x, v = arrays(dtype)
    same((x * 2 + v) / (abs(x) + 1) - v**2, 7)
    same(da.where(x == v, da.exp(x), -x) * np.float32(0.5), 5)


def test_broadcasting_casts_and_comparisons() -> None:
    x, v = arrays()
    same((x[:, :1] * v > 0.1) & (x < v), 4)
    same((x.clip(-0.5, 0.5).astype("float32") + 1).astype("int8"), 4)
    same(np.maximum(x, v) % 0.3 // 0.1, 3)
    same(-x[0] + V, 2)


def test_a_layer_that_is_read_twice_is_computed_once() -> None:
    x, _ = arrays()
    y = da.sin(x)
    same(y * y + da.cos(y), 4)


def test_reductions_begin_in_the_same_function() -> None:
    x, v = arrays()
    for total in (((x - v) ** 2).sum(), da.exp(x).max(axis=0), (x * 2).min(), (v + 1).prod()):
        result = tj.dask.compiled(total)
        assert [len(program.steps) > 1 for program in programs(result)] == [True]
        np.testing.assert_allclose(result.compute(), total.compute(), rtol=1e-12)


def test_what_is_not_elementwise_stays() -> None:
    x, v = arrays()
    y = tj.dask.compiled(da.sqrt(abs(da.exp(x) @ (v * 2 + 1))) * 3)
    assert sorted(len(program.steps) for program in programs(y)) == [2, 3]
    np.testing.assert_allclose(y.compute(), np.sqrt(abs(np.exp(X) @ (V * 2 + 1))) * 3, rtol=1e-12)
    z = tj.dask.compiled((x * 2 + 1).map_blocks(np.sort) + x.T[:, :11].T)
    np.testing.assert_allclose(z.compute().sum(), ((X * 2 + 1) + X).sum())


def test_all_arrays_by_the_configuration() -> None:
    x, v = arrays()
    with dask.config.set(array_optimize=tj.dask.optimize):
        first, second = dask.compute((x + v) * 2, (x + v).sum())
    np.testing.assert_allclose(first, (X + V) * 2)
    np.testing.assert_allclose(second, (X + V).sum())


def test_blocks_that_are_no_arrays_of_numbers_are_computed_by_numpy() -> None:
    days = np.array(["2026-01-01", "2026-03-01"], "datetime64[D]")
    x = da.from_array(days, chunks=1)
    assert (tj.dask.compiled((x - days[0]) // np.timedelta64(1, "D") + 1)).compute().tolist() == [1, 60]
    masked = da.ma.masked_greater(da.from_array(V, chunks=3), 0.0)
    result = tj.dask.compiled(masked * 2 + 1).compute()
    assert result.mask.tolist() == (V > 0).tolist()


def test_a_program_is_compiled_once_for_all_blocks() -> None:
    fusing._function.cache_clear()
    x = da.ones(100, chunks=10)
    tj.dask.compiled(da.sin(x) * 2 + 1).compute()
    assert fusing._function.cache_info().misses == 1


def test_errors() -> None:
    with pytest.raises(tj.ArgumentError, match="compiled: expected a dask array, got ndarray"):
        tj.dask.compiled(X)
    with pytest.raises(tj.ArgumentError, match="each with its indices"):
        tj.dask.blockwise(tj.sin, "i", V, "i")


def test_blockwise() -> None:
    x = da.from_array(X, chunks=(4, 3))
    product = tj.dask.blockwise(lambda x, y, a: tj.tanh(x @ y) * a, "ij", x, "ik", x.T, "kj", 2.0, None)
    assert (product.dtype, product.chunks) == (np.dtype(np.float64), ((4, 4, 3), (4, 4, 3)))
    np.testing.assert_allclose(product.compute(), np.tanh(X @ X.T) * 2, rtol=1e-12)
