"""Continuous distributions: arithmetic on random bits, so that they fuse, and differentiate in parameters."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, Final, ParamSpec

import numpy as np

from ..array.operands import SCALARS, as_tensor, broadcast, cast, run
from ..base.errors import DTypeError, ShapeError
from ..ir.dtypes import (
    BY_NAME,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    DType,
    as_dtype,
    default_dtype,
    is_complex,
    is_real_floating,
    real_dtype,
)
from ..ir.types import Shape, as_shape
from ..tensors.tensor import Tensor
from .keys import as_key, bits, more_bits

#: Significand bits, which a uniform number in [0, 1) has of randomness.
_DIGITS: Final = {FLOAT16: 11, FLOAT32: 24, FLOAT64: 53}
_INT64: Final = BY_NAME["i64"]
_INT32: Final = BY_NAME["i32"]
_Parameters = ParamSpec("_Parameters")


def drawn_in_float32(draw: Callable[_Parameters, Tensor]) -> Callable[_Parameters, Tensor]:
    """`draw`, whose numbers of dtype float16 are drawn in float32 and rounded."""
    place = draw.__code__.co_varnames.index("dtype")

    @functools.wraps(draw)
    def drawn(*args: _Parameters.args, **keywords: _Parameters.kwargs) -> Tensor:
        dtype = args[place] if len(args) > place else keywords.get("dtype")
        if dtype is None or dtype is FLOAT32 or dtype is FLOAT64 or not _is_float16(dtype):
            return draw(*args, **keywords)
        if len(args) > place:
            args = (*args[:place], FLOAT32, *args[place + 1 :])  # type: ignore[assignment]
        else:
            keywords["dtype"] = FLOAT32
        return cast(draw(*args, **keywords), FLOAT16)

    return drawn


def _is_float16(dtype: Any) -> bool:
    try:
        return as_dtype(dtype) is FLOAT16
    except DTypeError:
        return False  # which `request` says in the function's name


def uniform(key: Any, shape: Any = (), dtype: Any = None, minval: Any = 0.0, maxval: Any = 1.0) -> Tensor:
    """Uniform numbers in [minval, maxval), multiples of 2**-53 (float32: 2**-24, float16: 2**-11) of the
    range.

    `minval` and `maxval` broadcast to `shape`, and gradients flow to them. The product with a range that is
    not 1 is rounded, which may give `maxval` itself.

    Example:
        >>> import tracejit as tj
        >>> tj.random.uniform(tj.random.key(0), (3,))
        tensor([0.41845711, 0.21629545, 0.96532146])

    Raises DTypeError unless `dtype` is floating, ShapeError where a bound does not broadcast to `shape`.
    Semantics: ``jax.random.uniform``, with one more random bit.
    """
    sizes, floating = request("random.uniform", key, shape, dtype)
    digits = _DIGITS[floating]
    unit = run("mul", _integer(bits(key, sizes), 64 - digits, floating), 2.0**-digits)
    if type(minval) in SCALARS and type(maxval) in SCALARS and (minval, maxval) == (0, 1):
        return unit
    low = parameter("random.uniform", "minval", minval, sizes, floating)
    high = parameter("random.uniform", "maxval", maxval, sizes, floating)
    return run("add", run("mul", unit, run("sub", high, low)), low)


@drawn_in_float32
def normal(key: Any, shape: Any = (), dtype: Any = None) -> Tensor:
    """Numbers of the normal distribution with mean 0 and variance 1.

    The method is that of Box and Muller (1958): sqrt(-2 log u) cos(2 pi v), where u has 32 bits and v 32 bits
    in float32, 53 and 64 in float64. No number is larger than 6.8 in float32, or 8.7 in float64.

    Example:
        >>> import tracejit as tj
        >>> tj.random.normal(tj.random.key(0), (3,))
        tensor([ 1.30384596, -1.52933203,  0.22787436])

    With a complex `dtype` both parts have the variance 1/2, so that the numbers have 1.

    Raises DTypeError unless `dtype` is floating or complex. Semantics: ``jax.random.normal``, with other
    values.
    """
    wide = _complex_dtype_of(dtype)
    if wide is None:
        sizes, floating = request("random.normal", key, shape, dtype)
        size, turn = _polar(key, sizes, floating)
        return run("mul", run("sqrt", run("mul", size, -2.0)), run("cos", turn))
    sizes, floating = request("random.normal", key, shape, real_dtype(wide))
    size, turn = _polar(key, sizes, floating)
    size = run("sqrt", run("neg", size))
    return run("complex", run("mul", size, run("cos", turn)), run("mul", size, run("sin", turn)))


def _complex_dtype_of(dtype: Any) -> DType | None:
    """`dtype`, if it is a complex one."""
    try:
        wide = default_dtype() if dtype is None else as_dtype(dtype)
    except DTypeError:
        return None  # `request` says what is wrong with it
    return wide if is_complex(wide) else None


def _polar(key: Any, sizes: Shape, floating: DType) -> tuple[Tensor, Tensor]:
    """Logarithms of uniform numbers, and angles in radians (Box and Muller 1958)."""
    first = bits(key, sizes)
    if floating is FLOAT32:
        # u = (high half + 1/2) 2^-32 is never 0; the low half, signed, is the angle as part of a turn
        u = run("add", run("mul", cast(run("shift_right", first, 32), FLOAT32), 2.0**-32), 2.0**-33)
        turn = run("mul", cast(cast(first, _INT32), FLOAT32), math.pi * 2.0**-31)
    else:
        u = run("add", run("mul", _integer(first, 11, FLOAT64), 2.0**-53), 2.0**-54)
        second = more_bits("random.normal", key, sizes)
        turn = run("mul", cast(cast(second, _INT64), FLOAT64), math.pi * 2.0**-63)
    return run("log", u), turn


@drawn_in_float32
def exponential(key: Any, shape: Any = (), dtype: Any = None) -> Tensor:
    """Numbers of the exponential distribution with mean 1: -log(1 - u).

    Example:
        >>> import tracejit as tj
        >>> tj.random.exponential(tj.random.key(0), (3,))
        tensor([0.54207056, 0.24372319, 3.36163426])

    Raises DTypeError unless `dtype` is floating. Semantics: ``jax.random.exponential``.
    """
    sizes, floating = request("random.exponential", key, shape, dtype)
    return run("neg", run("log1p", run("neg", uniform(key, sizes, floating))))


@drawn_in_float32
def gumbel(key: Any, shape: Any = (), dtype: Any = None) -> Tensor:
    """Numbers of the standard Gumbel distribution: -log(-log u), with u strictly inside (0, 1).

    Example:
        >>> import tracejit as tj
        >>> tj.random.gumbel(tj.random.key(0), (3,))
        tensor([ 0.13790566, -0.42599294,  3.34403911])

    Raises DTypeError unless `dtype` is floating. Semantics: ``jax.random.gumbel``.
    """
    sizes, floating = request("random.gumbel", key, shape, dtype)
    u = inside_unit(key, sizes, floating)
    return run("neg", run("log", run("neg", run("log", u))))


@drawn_in_float32
def laplace(key: Any, shape: Any = (), dtype: Any = None) -> Tensor:
    """Numbers of the Laplace distribution with mean 0 and scale 1: sign(v) log(1 - |v|), with v in (-1, 1).

    Example:
        >>> import tracejit as tj
        >>> tj.random.laplace(tj.random.key(0), (3,))
        tensor([ 0.17803369,  0.83796278, -2.66848708])

    Raises DTypeError unless `dtype` is floating. Semantics: ``jax.random.laplace``.
    """
    sizes, floating = request("random.laplace", key, shape, dtype)
    v = run("sub", run("mul", inside_unit(key, sizes, floating), 2.0), 1.0)
    return run("mul", run("sign", v), run("log1p", run("neg", run("abs", v))))


@drawn_in_float32
def truncated_normal(key: Any, lower: Any, upper: Any, shape: Any = None, dtype: Any = None) -> Tensor:
    """Standard normal numbers that lie in [lower, upper], by the inverse of the distribution function.

    `shape` is that of the bounds unless given. Gradients flow to the bounds. An interval beyond some 7
    (float32: 5) standard deviations to one side has no room between rounded probabilities, and gives a bound.

    Example:
        >>> import tracejit as tj
        >>> tj.random.truncated_normal(tj.random.key(0), -1.0, 1.0, (3,))
        tensor([-0.13999612, -0.50631466,  0.90652156])

    Raises DTypeError unless `dtype` is floating, ShapeError where a bound does not broadcast to `shape`.
    Semantics: ``jax.random.truncated_normal``.
    """
    name = "random.truncated_normal"
    sizes, floating, (low, high) = parameters(name, key, shape, dtype, lower=lower, upper=upper)
    root = math.sqrt(0.5)
    below, above = (run("erf", run("mul", bound, root)) for bound in (low, high))
    place = uniform(key, sizes, floating, below, above)
    return run("clip", run("mul", _inverse_erf(place), math.sqrt(2.0)), low, high)


#: M. Giles, "Approximating the erfinv function", GPU Computing Gems 2 (2011), single precision: coefficients
#: from the highest power down, of w - 2.5 for w < 5 and of sqrt(w) - 3 above, where w = -log(1 - x^2).
_CENTRE: Final = (
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503,
    -0.00417768164, 0.246640727, 1.50140941,
)  # fmt: skip
_TAIL: Final = (
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613,
    0.00943887047, 1.00167406, 2.83297682,
)  # fmt: skip


def _inverse_erf(x: Tensor) -> Tensor:
    """y with erf(y) = x, for -1 <= x <= 1: Giles's approximation and, for float64, two steps of Halley's."""
    largest = 1.0 - 2.0 ** -_DIGITS[x.dtype]
    x = run("clip", x, -largest, largest)
    w = run("neg", run("log1p", run("neg", run("mul", x, x))))
    central = run("lt", w, 5.0)
    near = _polynomial(_CENTRE, run("sub", w, 2.5))
    far = _polynomial(_TAIL, run("sub", run("sqrt", run("maximum", w, 5.0)), 3.0))
    y = run("mul", run("where", central, near, far), x)
    for _ in range(2 if x.dtype is FLOAT64 else 0):
        # f = erf(y) - x, f' = 2/sqrt(pi) exp(-y^2), f''/f' = -2 y: y - r / (1 + y r), with r = f / f'
        slope = run("mul", run("exp", run("neg", run("mul", y, y))), 2.0 / math.sqrt(math.pi))
        r = run("div", run("sub", run("erf", y), x), slope)
        y = run("sub", y, run("div", r, run("add", run("mul", y, r), 1.0)))
    return y


def _polynomial(coefficients: tuple[float, ...], x: Tensor) -> Tensor:
    """Horner's rule."""
    result: Any = coefficients[0]
    for coefficient in coefficients[1:]:
        result = run("add", run("mul", x, result), coefficient)
    return as_tensor(result)


def inside_unit(key: Any, shape: Shape, floating: DType) -> Tensor:
    """Uniform numbers in (0, 1), symmetrical about 1/2: odd multiples of 2**-53 or 2**-24."""
    digits = _DIGITS[floating] - 1
    whole = _integer(bits(key, shape), 64 - digits, floating)
    return run("mul", run("add", whole, 0.5), 2.0**-digits)


def _integer(word: Tensor, unused: int, floating: DType) -> Tensor:
    """The bits above the `unused` low ones, as a floating integer."""
    whole = run("shift_right", word, unused)
    # processors convert signed integers, and narrow ones, faster
    return cast(cast(whole, _INT64 if floating is FLOAT64 else _INT32), floating)


def request(name: str, key: Any, shape: Any, dtype: Any) -> tuple[Shape, DType]:
    """The shape, and the floating dtype that was asked for. Raises where the key is none, or one of them."""
    as_key(name, key)
    sizes = as_shape(name, shape)
    try:
        floating = default_dtype() if dtype is None else as_dtype(dtype)
    except DTypeError as error:
        raise DTypeError(f"{name}: {error}") from None
    if not is_real_floating(floating):
        raise DTypeError(f"{name}: expected a floating dtype, got {floating.name}")
    return sizes, floating


def parameters(
    name: str, key: Any, shape: Any, dtype: Any, **values: Any
) -> tuple[Shape, DType, list[Tensor]]:
    """The shape, by default what the parameters broadcast to; the floating dtype; the parameters in both."""
    tensors = {what: as_tensor(value) for what, value in values.items()}
    if shape is None:
        try:
            shape = np.broadcast_shapes(*[tensor.shape for tensor in tensors.values()])
        except ValueError:
            shapes = ", ".join(f"{what} of shape {tensor.shape}" for what, tensor in tensors.items())
            raise ShapeError(f"{name}: cannot broadcast {shapes} to one shape") from None
    sizes, floating = request(name, key, shape, dtype)
    return (
        sizes,
        floating,
        [parameter(name, what, tensor, sizes, floating) for what, tensor in tensors.items()],
    )


def parameter(name: str, what: str, value: Any, shape: Shape, dtype: DType) -> Tensor:
    """A parameter of a distribution in `dtype` and `shape`."""
    tensor = cast(as_tensor(value), dtype)
    rank = tensor.ndim
    fits = rank <= len(shape) and all(
        own in (1, size) for own, size in zip(tensor.shape, shape[len(shape) - rank :], strict=True)
    )
    if not fits:
        raise ShapeError(
            f"{name}: {what} of shape {tensor.shape} does not broadcast to shape {shape}; "
            "give the shape that both have together"
        )
    return broadcast(tensor, shape)
