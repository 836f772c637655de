"""Functions of what traced masks select, of all dtypes and ranks; what has no meaning there raises."""

import numpy as np
import pytest

import tracejit as tj

RANDOM = np.random.default_rng(5)
LINE = RANDOM.normal(size=12)
IMAGE = RANDOM.normal(size=(6, 5, 3))
INTEGERS = RANDOM.integers(-5, 6, 12)
FLAGS = RANDOM.random((2, 12)) > 0.5
COMPLEX = RANDOM.normal(size=(5, 6)) + 1j * RANDOM.normal(size=(5, 6))


def image(x):
    mask, weights, y = x[:, :, 0] > 0, x.mean((0, 1)), x.copy()
    y[mask] = y[mask] * weights + 1
    y[~mask] = y[~mask].mean(axis=0)
    return (
        y,
        x[mask].sum(1).max(),
        x[mask].mean(axis=0, keepdims=True),
        x[mask].max(keepdims=True),
        x[mask].sum(axis=(0, 1)),
        (x[mask] - weights[None, :]).sum(),
        np.median(x[mask]),
        np.median(x[mask], axis=0),
        x[mask].shape[0],
        x[mask].size,
    )


def later_axes(x):
    mask, y, rows = x[0] > 0, x.copy(), x[0, :, 0] > 0
    y[:, mask] = y[:, mask] * 2 + x[:, mask] ** 2
    y[:, rows] = y[:, rows] - y[:, rows].mean(axis=1, keepdims=True)
    y[1, rows, 1:] *= 3
    y[..., x[0, 0] > 0] += 1
    return (
        y,
        y[:, mask].sum(1),
        y[2, rows].sum(0),
        x[:, rows].sum(axis=(0, 2)).sum(),
        x[:, rows].max(axis=0).min(),
    )


def integers(x):
    y = x.copy()
    y[y > 2] //= 2
    y[y < 0] += 10
    y[x == 0] = 7
    return (
        y,
        (x[x > 0] % 3).sum(),
        (x[x > 0] / 2).mean(),
        (x[x != 0] ** 2).max(),
        x[x < 0].min(),
        (12 // x[x != 0]).sum(),
        x[x > 0].astype(np.float32).mean(),
        (x[x > 0] * 2).prod(),
        np.argmax(x[x > 0]),
    )


def flags(x):
    y, mask = x[0].copy(), x[1]
    y[mask] = ~y[mask]
    y[~mask] |= mask[~mask]
    part = x[0][mask]
    return (
        y,
        part.sum(),
        part.mean(),
        part.all(),
        part.any(),
        part.max(),
        np.count_nonzero(part),
        (part * 1.0).sum(),
    )


def complex_numbers(x):
    mask, y = np.abs(x) < 1.5, x.copy()
    y[mask] = y[mask] ** 2 + y[mask].conj()
    y[x.real > 1] *= 2j
    return (
        y,
        y[mask].real.sum(),
        y[mask].imag.max(),
        np.abs(y[~mask]).sum(),
        y[mask].mean(),
        x.real[mask].std(),
    )


def elementwise(x):
    y = x[x > 0]
    return (
        *(value.sum() for value in (y.round(1), y.clip(0, 1), abs(-y), +y, 2**y, 1 / y, y // 0.3, y % 0.3)),
        *(value.sum() for value in (divmod(y, 0.3)[1], np.modf(y)[0], np.sinc(y), np.nan_to_num(y))),
        *(value.sum() for value in (np.float_power(y, 2), np.heaviside(y, 0), np.logaddexp(y, 1), y.real)),
        *(
            value.sum()
            for value in (np.zeros_like(y), np.ones_like(y), y.astype(int), np.select([y > 1], [y], 2))
        ),
        np.isnan(y).any(),
        np.all(y > 0),
        (y != 1).sum(),
        np.linalg.norm(y),
        np.nansum(y),
        np.floor(y).max(),
    )


def positions(x):
    i = np.where(x > 0)[0]
    return (
        i[1],
        i[-1],
        x[x > 0][0],
        i.max(),
        i.mean(),
        i.size,
        (x[i] * x[i - 1]).sum(),
        x[(i + 1) % 12].max(),
        i[i > 3].sum(),
    )


def nothing(x):
    part = x[x > 100]
    with np.errstate(all="ignore"):
        return part.sum(), part.prod(), part.size, part.any(), part.all()


CASES = [
    (image, IMAGE),
    (later_axes, IMAGE),
    (integers, INTEGERS),
    (flags, FLAGS),
    (complex_numbers, COMPLEX),
    (elementwise, LINE),
    (positions, LINE),
    (nothing, LINE),
]


@pytest.mark.parametrize(("function", "x"), CASES, ids=[function.__name__ for function, _ in CASES])
def test_values_and_dtypes_are_numpys(function, x):
    expected, results = function(x.copy()), tj.jit(function)(x.copy())
    for number, (result, value) in enumerate(zip(results, map(np.asarray, expected), strict=True)):
        tolerance = 1e-6 if value.dtype == np.float32 else 1e-12
        np.testing.assert_allclose(result, value, rtol=tolerance, err_msg=str(number))
        assert np.asarray(result).dtype == value.dtype, number
        assert np.shape(result) == value.shape, number


def test_extremes_and_means_of_nothing():
    results = tj.jit(lambda x: (x[x > 9].max(), x[x > 9].min(), x[x > 9].mean(), np.median(x[x > 9])))(LINE)
    np.testing.assert_array_equal(
        np.array([float(each) for each in results]), [-np.inf, np.inf, np.nan, np.nan]
    )
    low, high = tj.jit(lambda x: (x[x > 9].max(), x[x > 9].min()))(INTEGERS.astype(np.int16))
    assert (int(low), int(high)) == (-(2**15), 2**15 - 1)


def test_functions_of_this_library():
    def f(x):
        y = x[x > 0]
        return tj.sum(y) + tj.mean(tj.exp(y)) + tj.nn.softplus(y).sum() + tj.scipy.special.gammaln(y).max()

    np.testing.assert_allclose(tj.jit(f)(LINE), f(tj.asarray(LINE)), rtol=1e-12)


def test_second_derivatives():
    def f(x):
        return (np.log(x[x > 0]) ** 2).sum() * x.sum()

    expected = tj.hessian(lambda x: (tj.log(tj.where(x > 0, x, 1)) ** 2).sum() * x.sum())(LINE)
    np.testing.assert_allclose(tj.jit(tj.hessian(f))(LINE), expected, rtol=1e-10)


def test_arguments_and_captured_arrays():
    table, mask = LINE.copy(), LINE > 0

    def write(x):
        x[x > 0] = x[x > 0] ** 2
        x[x < 0] *= 0.5

    expected, x = LINE.copy(), LINE.copy()
    write(expected)
    tj.jit(write)(x)
    np.testing.assert_array_equal(x, expected)
    jitted = tj.jit(lambda k: (table[mask] * k).sum() + table[table > k].mean())
    for k in (0.3, -0.2):
        np.testing.assert_allclose(jitted(k), (table[mask] * k).sum() + table[table > k].mean(), rtol=1e-12)
    mask[:] = LINE > 0.5
    np.testing.assert_allclose(jitted(0.1), (table[mask] * 0.1).sum() + table[table > 0.1].mean(), rtol=1e-12)


def test_shapes_are_results_and_numbers():
    def f(x):
        count, columns = x[x[:, 0] > 0].shape
        return (
            x[x[:, 0] > 0].shape,
            count / columns,
            np.zeros(count).size + np.size(x[x > 0]) - np.shape(x[x > 0])[0],
        )

    table = IMAGE[0]
    (shape, ratio, size), expected = tj.jit(f)(table), f(table)
    assert (tuple(map(int, shape)), float(ratio), int(size)) == expected


def test_what_was_selected_stays():
    def f(x):
        x, mask = x.copy(), x > 0
        part = x[mask]
        x[mask] = 0
        mask[:] = False
        return part.sum(), x.sum(), (part * 2).max()

    np.testing.assert_allclose(tj.jit(f)(LINE), f(LINE), rtol=1e-12)


ERRORS = {
    "what two masks select": lambda x: (x[x > 0] + x[x < 0]).sum(),
    "an array of shape": lambda x: (x[x > 0] * np.arange(3.0)).sum(),
    "setitem": lambda x: x.copy().__setitem__(x > 1, x[x > 0]),
    r"depends on values, and these are traced, at .*test_masked_calls.py:\d+": lambda x: x[x > 0][
        [0, 2]
    ].sum(),
    "dot": lambda x: np.dot(x[x > 0], x[x < 1]),
    "matmul": lambda x: x[x > 0] @ np.ones(3),
    "concatenate": lambda x: np.concatenate([x[x > 0], x[x < 0]], dtype="f4"),
    "sort": lambda x: tj.sort(x[x > 0], descending=True).sum(),
    "diff": lambda x: np.diff(x[x > 0], prepend=0.0).sum(),
    "delete": lambda x: np.delete(x, np.where(x > 0)[0] // 2).sum(),
    "searchsorted": lambda x: np.searchsorted(x[x > 0], 1.0),
    "broadcast_to": lambda x: np.broadcast_to(x[x > 0], (2, 12)).sum(),
    "expand": lambda x: x[x > 0].expand(2, 12),
    "unique": lambda x: np.unique(x.reshape(4, 3)[x[:4] > 0], axis=1).sum(),
    "repeat": lambda x: np.repeat(x.reshape(4, 3)[x[:4] > 0], 2, axis=1).sum(),
    "this use of": lambda x: np.quantile(x.reshape(4, 3)[x[:4] > 0], [0.1, 0.5], axis=1).sum(),
    "reshape": lambda x: x[x > 0].reshape(-1, 1).sum(),
    r"item\(\)": lambda x: x[x > 0].item(),
    "this use": lambda x: list(x[x > 0]),
    "of x.mask. ": lambda x: x[x > 0].shape == (3,),
    r"bool\(x\[mask\]\)": lambda x: 1.0 if x[x > 0] else 0.0,
    "average": lambda x: np.average(x[x > 0], weights=x[x > 0], returned=True)[0],
    "argmax": lambda x: np.argmax(x[x > 0], keepdims=True).sum(),
}


@pytest.mark.parametrize("message", ERRORS)
def test_what_needs_the_number_of_elements_raises(message):
    with pytest.raises(tj.ConcretizationError, match=message):
        tj.jit(ERRORS[message])(LINE)


def test_in_place_results_must_fit():
    def f(x):
        y = x[x > 0]
        y *= 1.5
        return y.sum()

    with pytest.raises(tj.DTypeError, match="in place"):
        tj.jit(f)(INTEGERS)
