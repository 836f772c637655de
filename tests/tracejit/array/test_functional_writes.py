"""``x.at``, segments and dynamic slices against loops in NumPy; their gradients; jitted and batched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

KEYS: dict[str, Any] = {
    "int": 1,
    "negative": -1,
    "slice": slice(0, 3, 2),
    "duplicates": np.array([0, 0, 2, 0]),
    "two arrays": (np.array([0, 0, 3]), np.array([1, 1, 2])),
    "array and slice": (slice(1, 3), np.array([2, 0])),
    "mask": np.array([True, False, True, True]),
    "new axis": (None, 2),
    "nothing": np.array([], int),
}
FOLDS: dict[str, tuple[np.ufunc, str]] = {
    "add": (np.add, "add"), "subtract": (np.subtract, "subtract"), "multiply": (np.multiply, "multiply"),
    "max": (np.maximum, "max"), "min": (np.minimum, "min"), "divide": (np.divide, "divide"),
}  # fmt: skip


def _value(x: Any, key: Any) -> Any:
    shape = x[key].shape
    return (np.arange(np.prod(shape, dtype=int)) % 5 + 0.75).reshape(shape)


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
@pytest.mark.parametrize("fold", FOLDS)
def test_folds_at(fold: str, key: Any) -> None:
    ufunc, method = FOLDS[fold]
    x = np.linspace(1, 2, 12).reshape(4, 3)
    value = _value(x, key)
    expected = x.copy()
    ufunc.at(expected, key, value)
    depends_on_values = isinstance(key, np.ndarray) and key.dtype == bool
    for run in (lambda f: f, *([] if depends_on_values else [tj.jit])):
        result = run(lambda x, value: getattr(x.at[key], method)(value))(tj.asarray(x), value)
        np.testing.assert_allclose(result.numpy(), expected, rtol=1e-14)
    assert (x == np.linspace(1, 2, 12).reshape(4, 3)).all()


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_set_get_power_apply(key: Any) -> None:
    x = np.linspace(1, 2, 12).reshape(4, 3)
    expected = x.copy()
    expected[key] = _value(x, key)
    t = tj.asarray(x)
    assert (t.at[key].set(_value(x, key)) == expected).all()
    assert (t.at[key].get() == x[key]).all()
    expected = x.copy()
    expected[key] = x[key] ** 2
    assert (t.at[key].power(2) == expected).all()
    assert (t.at[key].apply(tj.square) == expected).all()


@pytest.mark.parametrize("dtype", ["int8", "uint32", "int64", "bool", "float32"])
@pytest.mark.parametrize("fold", ["add", "multiply", "max", "min"])
def test_dtypes_stay(fold: str, dtype: str) -> None:
    x, value = np.array([1, 2, 3], dtype), np.array([1, 0, 1], dtype)
    expected = x.copy()
    FOLDS[fold][0].at(expected, [0, 0, 2], value)
    result = getattr(tj.asarray(x).at[[0, 0, 2]], fold)(value)
    assert result.numpy().dtype == dtype
    assert result.tolist() == expected.tolist()


def test_errors_of_at() -> None:
    x = tj.ones(3)
    with pytest.raises(tj.OutOfBoundsError, match=r"at\[\.\.\.\]\.set: index 5"):
        x.at[5].set(1.0)
    with pytest.raises(tj.DTypeError, match=r"at\[\.\.\.\]\.multiply: value 2.5 cannot be multiplied"):
        x.astype("int32").at[0].multiply(2.5)
    with pytest.raises(tj.ArgumentError, match="function"):
        x.at[0].apply(3)  # type: ignore[arg-type]


def _check_gradient(f: Callable[..., Any], *args: Any) -> None:
    """Compare with central differences, at points without ties; jitted as eager; to second order."""
    weights = [np.cos(np.arange(x.size) + 1.0).reshape(x.shape) for x in args]

    def loss(*values: Any) -> Any:
        result = f(*values)
        return tj.sum(result * np.sin(np.arange(result.size) + 1.0).reshape(result.shape))

    positions = tuple(range(len(args)))
    gradient = tj.grad(loss, argnums=positions)
    slope = sum(float((g * w).sum()) for g, w in zip(gradient(*args), weights, strict=True))
    up, down = (float(loss(*(x + h * w for x, w in zip(args, weights, strict=True)))) for h in (1e-6, -1e-6))
    assert slope == pytest.approx((up - down) / 2e-6, rel=1e-7, abs=1e-8)
    for actual, other in zip(tj.jit(gradient)(*args), gradient(*args), strict=True):
        np.testing.assert_allclose(actual.numpy(), other.numpy(), rtol=1e-12)

    def along(*values: Any) -> Any:
        return sum(tj.sum(g * w) for g, w in zip(gradient(*values), weights, strict=True))

    second = tj.grad(along, argnums=positions)(*args)
    curvature = sum(float((g * w).sum()) for g, w in zip(second, weights, strict=True))
    up, down = (float(along(*(x + h * w for x, w in zip(args, weights, strict=True)))) for h in (1e-5, -1e-5))
    assert curvature == pytest.approx((up - down) / 2e-5, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("fold", ["add", "multiply", "divide", "max", "min"])
@pytest.mark.parametrize("key", ["slice", "duplicates", "two arrays"])
def test_gradients_of_folds(fold: str, key: str) -> None:
    x = np.random.default_rng(1).uniform(0.5, 2, (4, 3))
    value = np.random.default_rng(2).uniform(0.5, 2, x[KEYS[key]].shape)
    _check_gradient(lambda x, value: getattr(tj.asarray(x).at[KEYS[key]], fold)(value), x, value)


# -- segments -------------------------------------------------------------------------------------

SEGMENTS = {
    "sum": (tj.segment_sum, np.add, 0.0), "prod": (tj.segment_prod, np.multiply, 1.0),
    "max": (tj.segment_max, np.maximum, -np.inf), "min": (tj.segment_min, np.minimum, np.inf),
}  # fmt: skip


@pytest.mark.parametrize("name", SEGMENTS)
@pytest.mark.parametrize("shape", [(7,), (7, 3), (0, 2), (500,), (3000, 2)])
def test_segments(name: str, shape: tuple[int, ...]) -> None:
    function, ufunc, start = SEGMENTS[name]
    rng = np.random.default_rng(3)
    data, numbers = rng.normal(size=shape), rng.integers(-1, 6, shape[0])
    expected = np.full((5, *shape[1:]), start)
    for row, number in zip(data, numbers, strict=True):
        if 0 <= number < 5:
            expected[number] = ufunc(expected[number], row)
    for run in (lambda f: f, tj.jit):
        result = run(lambda data, numbers: function(data, numbers, 5))(data, numbers)
        np.testing.assert_allclose(result.numpy(), expected, rtol=1e-11, atol=1e-12)
    batched = tj.vmap(lambda data, numbers: function(data, numbers, 5))(data[None], numbers[None])
    np.testing.assert_allclose(batched.numpy()[0], expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", SEGMENTS)
def test_gradients_of_segments(name: str) -> None:
    data = np.random.default_rng(4).uniform(0.5, 2, (6, 2))
    numbers = np.array([0, 2, 2, 0, 5, -1])
    _check_gradient(lambda data: tj.where(tj.isinf(r := SEGMENTS[name][0](data, numbers, 4)), 0.0, r), data)


def test_segments_of_integers_and_none() -> None:
    assert tj.segment_max(np.array([3, 1, 2], "int8"), [0, 0, 2]).tolist() == [3, -128, 2]
    assert tj.segment_sum(np.ones(0), np.zeros(0, int)).shape == (0,)
    assert tj.segment_min([1.0, 2.0], [3, 3], 2).tolist() == [np.inf, np.inf]


def test_errors_of_segments() -> None:
    with pytest.raises(tj.ShapeError, match="segment_sum: segment_ids"):
        tj.segment_sum([1.0, 2.0], [0])
    with pytest.raises(tj.DTypeError, match="segment_max: segment_ids must be integers"):
        tj.segment_max([1.0], [0.0])
    with pytest.raises(tj.ArgumentError, match="num_segments must be given"):
        tj.jit(tj.segment_sum)(np.ones(2), np.zeros(2, int))
    with pytest.raises(tj.ArgumentError, match="num_segments"):
        tj.segment_sum([1.0], [0], -1)


# -- dynamic slices -------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(2, 2, 2), (3, 2, 5), (1, 4, 2), (3, 4, 5), (0, 2, 5), (2, 4, 5)])
@pytest.mark.parametrize("starts", [(0, 0, 0), (1, 2, 3), (9, 9, 9), (-1, -2, -5)])
def test_dynamic_slices(starts: tuple[int, ...], sizes: tuple[int, ...]) -> None:
    x = np.arange(60.0).reshape(3, 4, 5)
    begins = [
        min(max(start + n if start < 0 else start, 0), n - size)
        for start, size, n in zip(starts, sizes, x.shape, strict=True)
    ]
    key = tuple(slice(begin, begin + size) for begin, size in zip(begins, sizes, strict=True))
    updated = x.copy()
    updated[key] = -1.0
    for run in (lambda f: f, tj.jit):
        for form in (lambda starts: starts, np.array, lambda starts: [*map(np.int32, starts)]):
            part = run(lambda x, starts: tj.dynamic_slice(x, starts, sizes))(x, form(starts))
            assert part.tolist() == x[key].tolist()
        result = run(lambda x, s: tj.dynamic_update_slice(x, tj.full(sizes, -1.0), s))(x, np.array(starts))
        assert result.tolist() == updated.tolist()


def test_gradients_of_dynamic_slices() -> None:
    x, update = np.random.default_rng(5).normal(size=(4, 5)), np.ones((2, 3))
    _check_gradient(lambda x: tj.dynamic_slice(x, (1, 2), (2, 2)) ** 3, x)
    _check_gradient(lambda x, update: tj.dynamic_update_slice(x, update, (1, 2)) ** 3, x, update)


def test_errors_of_dynamic_slices() -> None:
    x = tj.ones((2, 3))
    with pytest.raises(tj.ShapeError, match="3 elements along axis 0"):
        tj.dynamic_slice(x, (0, 0), (3, 3))
    with pytest.raises(tj.ShapeError, match="a number for each axis"):
        tj.dynamic_slice(x, (0,), (1, 1))
    with pytest.raises(tj.DTypeError, match=r"start_indices\[1\]"):
        tj.dynamic_slice(x, (0, 1.5), (1, 1))
    with pytest.raises(tj.ShapeError, match="rank 2"):
        tj.dynamic_update_slice(x, tj.ones(2), (0, 0))


OUTSIDE = np.array([0, 5, -1, -6, 2, 5])
#: Places of each index of `OUTSIDE` in four elements, by mode; None where nothing is written.
PLACES: dict[str, list[int | None]] = {
    "drop": [0, None, 3, None, 2, None], "fill": [0, None, 3, None, 2, None],
    "clip": [0, 3, 3, 0, 2, 3], "wrap": [0, 1, 3, 2, 2, 1],
}  # fmt: skip


@pytest.mark.parametrize("mode", PLACES)
@pytest.mark.parametrize("jitted", [False, True])
def test_modes_of_indices_outside(mode: str, jitted: bool) -> None:
    x, value = np.array([1.0, 2.0, 3.0, 4.0]), np.arange(10.0, 16.0)
    run = tj.jit if jitted else lambda function: function
    for fold, (ufunc, method) in {"set": (None, "set"), **FOLDS}.items():
        if fold == "subtract":
            continue
        expected = x.copy()
        for place, number in zip(PLACES[mode], value, strict=True):
            if place is not None:
                expected[place] = number if ufunc is None else ufunc(expected[place], number)
        change = run(lambda x, i, v, method=method: getattr(x.at[i], method)(v, mode=mode))
        np.testing.assert_allclose(change(tj.asarray(x), OUTSIDE, value).numpy(), expected)
    expected = np.array([np.nan if place is None else x[place] for place in PLACES[mode]])
    read = run(lambda x, i: x.at[i].get(mode=mode))
    np.testing.assert_array_equal(read(tj.asarray(x), OUTSIDE).numpy(), expected)


def test_modes_of_numbers_and_of_several_axes() -> None:
    x = tj.arange(12).reshape(3, 4)
    assert (x.at[9].set(7, mode="drop") == x).all()
    assert x.at[-9].get(mode="fill", fill_value=5).tolist() == [5] * 4
    assert x.at[[0, 1, 7], [1, 9, 2]].add(100, mode="drop").tolist() == [
        [0, 101, 2, 3],
        [4, 5, 6, 7],
        [8, 9, 10, 11],
    ]
    assert x.at[..., [9]].get(mode="fill").tolist() == [[np.iinfo(np.int64).min]] * 3
    assert x.at[1:9, [8]].get(mode="wrap").tolist() == [[4], [8]]
    with pytest.raises(tj.TracejitError, match="mode must be one of"):
        x.at[0].set(1, mode="raise")


INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def place_of(index: int, extent: int, mode: str) -> int | None:
    """The place of `index` in `extent` elements, by Python's integers; None outside."""
    if mode == "wrap":
        return index % extent
    counted = index + extent if index < 0 else index
    if mode == "clip":
        return min(max(counted, 0), extent - 1)
    return counted if 0 <= counted < extent else None


def extremes(dtype: str, extent: int) -> list[int]:
    """The least and the largest integers of `dtype`, and those around the ends of `extent` and of narrower
    dtypes."""
    limits = np.iinfo(dtype)
    ends = [0, extent, -extent, *[2**bits for bits in (7, 8, 15, 16, 31, 32, 63, 64)]]
    near = {sign * end + step for end in ends for sign in (1, -1) for step in (-1, 0, 1, 5)}
    return sorted(index for index in near if limits.min <= index <= limits.max)


@pytest.mark.parametrize("mode", PLACES)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_extreme_indices_of_all_dtypes(dtype: str, mode: str) -> None:
    def run(x: Any, i: Any, v: Any) -> Any:
        return x.at[i].get(mode=mode), x.at[i].add(v, mode=mode), x.at[i].max(v, mode=mode)

    for extent, functions in ((1, (run,)), (5, (run,)), (200, (run, tj.jit(run)))):
        x, indices = np.arange(float(extent)), extremes(dtype, extent)
        value = np.arange(1.0, len(indices) + 1.0)
        places = [place_of(index, extent, mode) for index in indices]
        read = np.array([np.nan if place is None else x[place] for place in places])
        added, largest = x.copy(), x.copy()
        for place, number in zip(places, value, strict=True):
            if place is not None:
                added[place] += number
                largest[place] = max(largest[place], number)
        for function in functions:
            results = function(tj.asarray(x), np.array(indices, dtype), value)
            for got, want in zip(results, (read, added, largest), strict=True):
                np.testing.assert_array_equal(got, want)
        for index, want, number in zip(indices, read, value, strict=True):
            for key in (index, np.dtype(dtype).type(index), np.array(index, dtype), [index]):
                got = tj.asarray(x).at[key].set(number, mode=mode).numpy()
                expected = x.copy()
                if not np.isnan(want):
                    expected[int(want)] = number
                np.testing.assert_array_equal(got, expected)


def test_extreme_starts_and_segments() -> None:
    for dtype in INTEGERS:
        for start in extremes(dtype, 5):
            counted = start + 5 if start < 0 else start
            begin = min(max(counted, 0), 3)
            got = tj.dynamic_slice(tj.arange(5), (np.dtype(dtype).type(start),), (2,))
            assert got.tolist() == [begin, begin + 1]
        numbers = extremes(dtype, 5)
        got = tj.segment_sum(np.ones(len(numbers)), np.array(numbers, dtype), num_segments=5)
        assert got.tolist() == [float(segment in numbers) for segment in range(5)]
