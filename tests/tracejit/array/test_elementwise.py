"""Elementwise functions against NumPy: values, dtypes, weak scalars, gradients, traces."""

# Tables of cases read best one group to a line.
# ruff: noqa: E501

from __future__ import annotations

import math

import numpy as np
import pytest

import tracejit as tj
from tracejit.array.creation import tensor
from tracejit.base.errors import DTypeError, ShapeError, TracejitError
from tracejit.ir.dtypes import BY_NAME

FLOAT_UNARY = """
negative absolute sign reciprocal square sqrt cbrt floor ceil trunc rint exp exp2 expm1 log log2 log10 log1p
sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh fabs positive deg2rad rad2deg
degrees radians sinc fix isnan isinf isfinite signbit spacing isposinf isneginf logical_not modf
""".split()  # noqa: SIM905
BINARY = """
add subtract multiply divide true_divide floor_divide remainder mod fmod power hypot maximum minimum fmax
fmin arctan2 logaddexp logaddexp2 copysign heaviside nextafter float_power divmod equal not_equal less
less_equal greater greater_equal logical_and logical_or logical_xor isclose
""".split()  # noqa: SIM905
INTEGER_BINARY = ["bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "gcd", "lcm"]
INTEGERS = [dtype for name, dtype in BY_NAME.items() if name[0] in "iu"]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1.5, 2.0, math.inf, -math.inf, math.nan, 1e-310, 3.7e5]
#: Composites whose formula is not NumPy's to the last bit.
#: Functions of our own, which are compiled eagerly: their rounding depends on FMA.
COMPILED = ("sinc",)
CLOSE = {"deg2rad": 1e-6, "rad2deg": 1e-6, "degrees": 1e-6, "radians": 1e-6, "sinc": 1e-6}


def reference_of(name):
    """NumPy's function. NumPy 2.5 deprecates ``fix``, which is ``trunc``."""
    return np.trunc if name == "fix" else getattr(np, name)


@pytest.mark.parametrize("name", FLOAT_UNARY)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_unary_on_floats(name, dtype, agrees):
    x, reference = np.array(SPECIAL, dtype), reference_of(name)
    agrees(getattr(tj, name), reference, x, rtol=CLOSE.get(name, 0), same_bits=name not in COMPILED)


@pytest.mark.parametrize("name", FLOAT_UNARY)
@pytest.mark.parametrize("dtype", [*INTEGERS, BY_NAME["bool"]], ids=str)
def test_unary_on_integers(name, dtype, agrees):
    x = np.array([0, 1, 1, 3], dtype)
    try:
        with np.errstate(all="ignore"):
            expected = reference_of(name)(x)
    except TypeError:
        with pytest.raises(DTypeError):
            getattr(tj, name)(tensor(x))
        return
    half = np.asarray(expected[0] if isinstance(expected, tuple) else expected).dtype == np.float16
    reference = reference_of(name)
    if half:
        agrees(getattr(tj, name), reference, x, rtol=1e-3)
    elif not (name in ("fix", "floor", "ceil", "trunc") and dtype.kind == "b"):
        agrees(getattr(tj, name), reference, x, rtol=CLOSE.get(name, 1e-15), same_bits=name not in COMPILED)


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("dtypes", ["f8 f8", "f4 f4", "f4 f8", "f4 i4", "f4 i2"])
def test_binary_on_floats(name, dtypes, agrees):
    left, right = dtypes.split()
    x = np.array(SPECIAL, left)[:, None]
    y = np.array(SPECIAL if right[0] == "f" else [-3, -1, 0, 1, 2, 5], right)
    agrees(getattr(tj, name), reference_of(name), x, y)


@pytest.mark.parametrize("name", [*BINARY, *INTEGER_BINARY])
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_binary_on_integers(name, dtype, agrees):
    x, y = np.array([[0], [1], [2], [7]], dtype), np.array([1, 2, 5], dtype)
    agrees(getattr(tj, name), reference_of(name), x, y)


@pytest.mark.parametrize(
    "shapes", [((), ()), ((3, 1), (4,)), ((0,), (1,)), ((2, 0, 3), (3,)), ((), (2, 2))], ids=str
)
def test_broadcasting(shapes, agrees, rng):
    x, y = (rng.normal(size=shape) for shape in shapes)
    agrees(tj.add, np.add, x, y)
    agrees(lambda a, b: tj.where(a > b, a, b), lambda a, b: np.where(a > b, a, b), x, y)


def test_shapes_that_do_not_broadcast_are_an_error(traced):
    with pytest.raises(ShapeError, match=r"add.*\(3,\).*\(4,\)"):
        tj.add(tensor([1.0, 2.0, 3.0]), tensor([1.0] * 4))
    with pytest.raises(ShapeError, match=r"add.*\(3,\) and \(4,\)"):
        traced(tj.add, np.ones(3), np.ones(4))


@pytest.mark.parametrize("number", [1, 2.5, -1, True, 3])
@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "i8", "f4", "f8", "?"])
@pytest.mark.parametrize("name", ["add", "multiply", "divide", "maximum", "less", "power"])
def test_python_numbers_are_weak(name, dtype, number, agrees, traced):
    x = np.array([1, 0, 1], dtype)
    ours, numpys = getattr(tj, name), reference_of(name)
    for swap in (False, True):
        function = (lambda a, f=ours: f(number, a)) if swap else (lambda a, f=ours: f(a, number))
        reference = (lambda a, f=numpys: f(number, a)) if swap else (lambda a, f=numpys: f(a, number))
        try:
            with np.errstate(all="ignore"):
                expected = reference(x)
        except (TypeError, OverflowError, ValueError):
            with np.errstate(all="ignore"), pytest.raises((TracejitError, OverflowError)):
                function(tensor(x))
            continue
        if expected.dtype == bool and dtype == "u1" and number == -1:
            # comparisons alone take integers that the dtype cannot hold; so far eagerly only
            np.testing.assert_array_equal(function(tensor(x)).numpy(), expected)
            continue
        agrees(function, reference, x)


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, -1, 0.5, 2.0, -0.5, 1.5])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u1"])
def test_power_by_python_numbers(exponent, dtype):
    x = np.array([0, 1, 2, 9], dtype) if dtype[0] != "f" else np.array(SPECIAL, dtype)
    with np.errstate(all="ignore"):
        try:
            expected = np.power(x, exponent)
        except (ValueError, OverflowError):
            with pytest.raises(TracejitError, match="pow"):
                tj.power(tensor(x), exponent)
            return
        result = tj.power(tensor(x), exponent)
    assert result.dtype == expected.dtype
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-3 if dtype == "u1" else 0)


def test_integers_beyond_the_dtype_are_an_error():
    with pytest.raises(TracejitError):
        tensor(np.array([1], np.uint8)) & -1
    with pytest.raises(TracejitError):
        tensor(np.array([1], np.int8)) + 300


def test_unsupported_operands_are_an_error():
    for bad in ("a", None, object()):
        with pytest.raises(DTypeError):
            tj.add(tensor([1.0]), bad)


@pytest.mark.parametrize(
    "bounds", [(0, 1), (None, 0.5), (0.25, None), (-5, 300), ([0, 1, 2], 2), (2, 1)], ids=str
)
@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "i8"])
def test_clip(bounds, dtype, agrees):
    x = np.array([-3, 1, 5], dtype)
    agrees(lambda a: tj.clip(a, *bounds), lambda a: np.clip(a, *bounds), x)


@pytest.mark.parametrize("decimals", [-2, -1, 0, 1, 3])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u2", "i8"])
def test_round(decimals, dtype, agrees):
    x = (
        np.array([0, 5, 15, 25, 125, 1250])
        if dtype[0] != "f"
        else np.array([0.05, -2.5, 1.25, 15.0, 123.4567])
    )
    agrees(lambda a: tj.round(a, decimals), lambda a: np.round(a, decimals), x.astype(dtype))


def test_where_promotes_and_takes_numbers(agrees):
    c = np.array([True, False, True])
    x = np.array([1, 2, 3], np.int8)
    agrees(lambda a, b: tj.where(a, b, 0.5), lambda a, b: np.where(a, b, 0.5), c, x)
    agrees(lambda a: tj.where(a, 1, 0), lambda a: np.where(a, 1, 0), c)
    agrees(lambda a: tj.where(a, 1.0, 0), lambda a: np.where(a, 1.0, 0), c)
    agrees(lambda a, b: tj.where(b, b, 9), lambda a, b: np.where(b, b, 9), c, np.array([0, 2, 0], np.int32))
    with pytest.raises(DTypeError, match="both x and y"):
        tj.where(c, 1.0)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_frexp_and_ldexp(dtype, agrees):
    info = np.finfo(dtype)
    x = np.array([0.0, -0.0, 1.0, 0.5, -3.25, info.max, info.tiny, info.smallest_subnormal, 1 - info.epsneg, 1 / 3,
                  np.inf, -np.inf, np.nan, 7 * info.smallest_subnormal], dtype)  # fmt: skip
    mantissa, exponent = tj.frexp(tensor(x))
    expected, powers = np.frexp(x)
    np.testing.assert_array_equal(mantissa.numpy(), expected)
    finite = np.isfinite(x)
    np.testing.assert_array_equal(exponent.numpy()[finite], powers[finite])
    steps = np.array(
        [-2100, -1080, -1074, -1023, -1022, -150, -149, -1, 0, 1, 127, 1023, 1024, 2100], np.int32
    )
    grid = np.broadcast_to(steps, (len(x), len(steps)))
    agrees(tj.ldexp, np.ldexp, x[:, None], grid)


def test_ldexp_rounds_once(rng):
    x = rng.normal(size=2000) * 2.0 ** rng.integers(-900, 900, 2000)
    steps = rng.integers(-2200, -100, 2000)
    np.testing.assert_array_equal(tj.ldexp(x, steps).numpy(), np.ldexp(x, steps))


@pytest.mark.parametrize("options", [{}, {"nan": 1.5}, {"posinf": 3.0, "neginf": -3.0}], ids=str)
def test_nan_to_num(options, agrees):
    agrees(lambda a: tj.nan_to_num(a, **options), lambda a: np.nan_to_num(a, **options), np.array(SPECIAL))
    agrees(tj.nan_to_num, np.nan_to_num, np.array(SPECIAL, "f4"))


def test_closeness(agrees):
    x, y = np.array(SPECIAL)[:, None], np.array([*SPECIAL, 1 + 1e-6, 1.1])
    agrees(lambda a, b: tj.isclose(a, b, equal_nan=True), lambda a, b: np.isclose(a, b, equal_nan=True), x, y)
    agrees(lambda a, b: tj.isclose(a, b, rtol=0.2), lambda a, b: np.isclose(a, b, rtol=0.2), x, y)
    assert bool(tj.allclose([1.0, 2.0], [1.0, 2.0 + 1e-9]))
    assert not bool(tj.allclose([1.0, 2.0], [1.0, 2.1]))
    assert bool(tj.array_equal([1, 2], [1, 2]))
    assert not bool(tj.array_equal([1, 2], [1, 2, 3]))
    assert not bool(tj.array_equal([np.nan], [np.nan]))
    assert bool(tj.array_equal([np.nan], [np.nan], equal_nan=True))


def test_error_functions():
    x = np.linspace(-3, 3, 13)
    np.testing.assert_allclose(tj.erf(x).numpy(), [math.erf(number) for number in x], rtol=1e-15)
    np.testing.assert_allclose(tj.erfc(x).numpy(), [math.erfc(number) for number in x], rtol=1e-15)


SMOOTH = "negative absolute reciprocal square cbrt exp exp2 expm1 sin cos tan arctan sinh cosh tanh arcsinh erf erfc"


@pytest.mark.parametrize(
    "name", [*SMOOTH.split(), "sinc", "deg2rad", "positive", "fabs", "nan_to_num", "modf"]
)
def test_unary_gradients(name, check_gradients):
    check_gradients(getattr(tj, name), [-1.3, 0.4, 0.9])


def test_the_fraction_grows_with_its_number_at_whole_numbers_too():
    x = tj.tensor([0.0, -0.0, 3.0, -3.0, 2.5, math.inf])
    for gradient in (tj.grad, lambda f: tj.jit(tj.grad(f))):
        assert gradient(lambda x: tj.modf(x)[0].sum())(x).tolist() == [1, 1, 1, 1, 1, 0]


@pytest.mark.parametrize("name", ["sqrt", "log", "log2", "log10", "log1p", "arccosh"])
def test_gradients_on_positive_numbers(name, check_gradients):
    check_gradients(getattr(tj, name), [1.3, 2.4, 1.9])


@pytest.mark.parametrize("name", ["arcsin", "arccos", "arctanh", "sinc"])
def test_gradients_near_zero(name, check_gradients):
    check_gradients(getattr(tj, name), [-0.5, 0.001, 0.5, 0.0])


@pytest.mark.parametrize("name", ["floor", "ceil", "trunc", "rint", "sign", "round", "fix"])
def test_steps_have_slope_zero(name, check_gradients):
    check_gradients(getattr(tj, name), [-1.3, 0.4, 0.9])


@pytest.mark.parametrize(
    "name",
    [
        "add",
        "subtract",
        "multiply",
        "divide",
        "floor_divide",
        "remainder",
        "fmod",
        "power",
        "hypot",
        "maximum",
        "minimum",
        "fmax",
        "fmin",
        "arctan2",
        "logaddexp",
        "logaddexp2",
        "copysign",
        "float_power",
    ],
)
def test_binary_gradients(name, check_gradients):
    check_gradients(getattr(tj, name), [[1.3, 0.4, 2.9]], [[0.7], [1.6]])


@pytest.mark.parametrize("exponent", [2, 3, -1, 0.5, 2.5])
def test_power_gradients(exponent, check_gradients):
    check_gradients(lambda x: tj.power(x, exponent), [0.6, 1.7])
    check_gradients(lambda x: tj.power(exponent, x) if exponent > 0 else x, [0.6, 1.7])


def test_composite_gradients(check_gradients):
    check_gradients(lambda x, y: tj.where(x > 0.5, x * x, x * y), [0.2, 0.9], [0.3, 0.4])
    check_gradients(lambda x, a, b: tj.clip(x, a, b) ** 2, [0.2, 0.9, -1.0], [0.0], [0.5])
    check_gradients(lambda x: tj.ldexp(x, tensor([3, -2])) ** 2, [0.2, 0.9])
    check_gradients(lambda x: tj.frexp(x)[0] ** 2, [3.2, 0.9])
    check_gradients(lambda x: tj.heaviside(tensor([0.0, 1.0]), x), [3.2, 0.9])
    check_gradients(lambda x: tj.nan_to_num(x, nan=2.0) ** 3, [3.2, 0.9])


@pytest.mark.parametrize("jit", [lambda f: f, tj.jit])
def test_slope_of_the_power_zero(jit):
    """0 everywhere, at 0 and at infinity too, as JAX and PyTorch have it."""
    x, y = tensor([0.0, np.inf, 2.0]), tensor([0.0, 0.0, 0.0])
    for exponent in (0, 0.0):
        slope = tj.grad(lambda x, exponent=exponent: tj.sum(x**exponent))
        np.testing.assert_array_equal(np.asarray(jit(slope)(x)), [0.0, 0.0, 0.0])
    np.testing.assert_array_equal(np.asarray(jit(tj.grad(lambda x, y: tj.sum(x**y)))(x, y)), [0.0, 0.0, 0.0])


@pytest.mark.parametrize("jit", [lambda f: f, tj.jit])
def test_reciprocal_square_roots(jit):
    x = np.array([4.0, 0.25, 0.0, np.inf, 2.0])
    with np.errstate(divide="ignore"):
        for f in (tj.rsqrt, lambda x: 1 / tj.sqrt(x), lambda x: tj.reciprocal(tj.sqrt(x))):
            np.testing.assert_allclose(np.asarray(jit(f)(tensor(x))), 1 / np.sqrt(x), rtol=4e-16)
    assert tj.rsqrt(np.arange(1, 4)).dtype == np.float64


def test_one_over_a_square_root_is_one_op():
    for f in (lambda x: 1 / tj.sqrt(x), lambda x: tj.reciprocal(tj.sqrt(x))):
        text = tj.jit(f).lower(tensor([2.0])).as_text("optimized")
        assert "rsqrt" in text
        assert not any(word in text for word in (" sqrt", "div"))


@pytest.mark.parametrize("jitted", [False, True])
def test_nan_to_num_writes_where_it_does_not_copy(jitted: bool) -> None:
    def f(x):
        y = np.nan_to_num(x[1:], copy=False, nan=9.0)
        y[0] = 3.0
        return y * 1, x.sum()

    outcomes = []
    for run in (f, tj.jit(f) if jitted else lambda x: f(tj.asarray(x))):
        x = np.array([1.0, np.nan, np.nan, 4.0])
        outcomes.append((*map(np.asarray, run(x)), x))
    for value, expected in zip(outcomes[1], outcomes[0], strict=True):
        np.testing.assert_array_equal(value, expected)
