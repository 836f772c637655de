"""Functions of ``math`` and ``cmath`` for traced scalars."""

from __future__ import annotations

import cmath
import functools
import itertools
import math
import operator
from collections.abc import Callable, Iterable
from typing import Any, Final

from ..array.operands import given_as_scalar
from ..base.loading import load_module
from ..state import STATE
from ..tensors.tensor import wrap
from ..tracing.handled_errors import NUMBER_ERRORS
from .scalars import as_bool, as_complex, as_float, as_int, truth
from .variables import is_traced

#: The package; the name `array` of its parent is that of a function.
array: Any = load_module("..array", __package__)
_RELATIVE: Final = 1e-9  # the default of math.isclose
_NEGATIVE_ROOT: Final = "DomainError: isqrt() argument must be nonnegative"


def _are_traced_numbers(arguments: Iterable[Any]) -> bool:
    """Whether some of `arguments` are traced, and those are numbers: where they are arrays, Python's own
    functions say what to write."""
    traced = [argument for argument in arguments if is_traced(argument)]
    return bool(traced) and all(argument.size == 1 for argument in traced)


def _note_errors(python: Callable[..., Any]) -> None:
    """Note that `python` may raise, which what is compiled for it does not."""
    handled = STATE.tracer.handled
    if handled is not None:
        handled.note_numbers(NUMBER_ERRORS, f"{python.__module__}.{python.__name__}")


def _of_floats(
    python: Callable[..., Any],
    function: Callable[..., Any],
    as_result: Callable[..., Any] = as_float,
    as_argument: Callable[..., Any] = as_float,
) -> Any:
    """`python`, which takes floats, by `function` for traced ones."""

    @functools.wraps(python)
    def call(*arguments: Any, **options: Any) -> Any:
        if not _are_traced_numbers(arguments):
            return python(*arguments, **options)
        _note_errors(python)
        return as_result(function(*map(as_argument, arguments), **options))

    return call


def _of_integers(python: Callable[..., Any], function: Callable[..., Any]) -> Any:
    """`python`, which takes integers, by `function` for traced ones."""

    @functools.wraps(python)
    def call(*arguments: Any) -> Any:
        if not _are_traced_numbers(arguments):
            return python(*arguments)
        _note_errors(python)
        return as_int(function(*arguments))

    return call


def _of_sequences(python: Callable[..., Any], function: Callable[..., Any]) -> Any:
    """`python`, which takes sequences of numbers, by `function` for such with traced ones."""

    @functools.wraps(python)
    def call(*sequences: Any, **options: Any) -> Any:
        values = [list(sequence) for sequence in sequences]
        if not _are_traced_numbers(itertools.chain(*values)):
            return python(*values, **options)
        return function(*values, **options)

    return call


def _special(name: str) -> Callable[[Any], Any]:
    def call(x: Any) -> Any:
        special = load_module("..scipy.special", __package__)  # loads at first use
        return getattr(special, name)(x)

    return call


def _fraction(x: Any) -> tuple[Any, Any]:
    fraction, whole = array.modf(x)
    return as_float(fraction), as_float(whole)


def _mantissa(x: Any) -> tuple[Any, Any]:
    mantissa, exponent = array.frexp(x)
    return as_float(mantissa), as_int(exponent)


def _ldexp(x: Any, exponent: Any) -> Any:
    if not _are_traced_numbers((x, exponent)):
        return math.ldexp(x, exponent)
    return as_float(array.ldexp(as_float(x), exponent))


def _isclose(a: Any, b: Any, *, rel_tol: float = _RELATIVE, abs_tol: float = 0.0) -> Any:
    largest = array.maximum(array.absolute(a), array.absolute(b))
    close = array.absolute(a - b) <= array.maximum(rel_tol * largest, abs_tol)
    return given_as_scalar(array.where(array.isinf(a) | array.isinf(b), a == b, close))


def _remainder(x: Any, y: Any) -> Any:
    """IEEE 754's remainder: x - n y for the integer n nearest to x / y, the even one of two. CPython's way:
    every step is exact."""
    divisor = array.absolute(y)
    rest = array.fmod(array.absolute(x), divisor)
    above = divisor - rest
    tie = rest - 2.0 * array.fmod(0.5 * (array.absolute(x) - rest), divisor)
    nearest = array.where(rest < above, rest, array.where(rest > above, -above, tie))
    nearest = array.where(array.isinf(y), array.absolute(x), nearest)
    return array.copysign(1.0, x) * nearest


def _log(x: Any, *base: Any) -> Any:
    result = array.log(x)
    return result / array.log(base[0]) if base else result


def _hypot(*values: Any) -> Any:
    return functools.reduce(array.hypot, values) if len(values) > 1 else array.absolute(values[0])


def _dist(p: Any, q: Any) -> Any:
    return as_float(_hypot(*[as_float(a) - as_float(b) for a, b in zip(p, q, strict=True)]))


def _fsum(values: list[Any]) -> Any:
    return as_float(functools.reduce(operator.add, values, 0.0))


def _prod(values: list[Any], *, start: Any = 1) -> Any:
    return functools.reduce(operator.mul, values, start)


def _isqrt(n: Any) -> Any:
    tracer = STATE.tracer
    n = as_int(n)
    n = wrap(tracer.checked(tracer.lift(n), tracer.lift(truth(n < 0)), _NEGATIVE_ROOT))
    root = as_int(array.sqrt(as_float(n)))  # off by one at most, where float64 does not hold n
    root = array.where(root * root > n, root - 1, root)
    return given_as_scalar(array.where((root + 1) * (root + 1) <= n, root + 1, root))


#: Array functions under the names of math's.
_SAME: Final = (
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "copysign", "cos", "cosh", "exp",
    "exp2", "expm1", "fabs", "fmod", "log10", "log1p", "log2", "nextafter", "pow", "sin", "sinh", "sqrt",
    "tan", "tanh",
)  # fmt: skip


def _table() -> dict[Any, Any]:
    functions = {
        math.degrees: _of_floats(math.degrees, array.rad2deg),
        math.dist: _of_sequences(math.dist, _dist),
        math.erf: _of_floats(math.erf, _special("erf")),
        math.erfc: _of_floats(math.erfc, _special("erfc")),
        math.frexp: _of_floats(math.frexp, _mantissa, tuple),
        math.fsum: _of_sequences(math.fsum, _fsum),
        math.gamma: _of_floats(math.gamma, _special("gamma")),
        math.gcd: _of_integers(math.gcd, lambda *values: functools.reduce(array.gcd, values)),
        math.hypot: _of_floats(math.hypot, _hypot),
        math.isclose: _of_floats(math.isclose, _isclose, as_bool),
        math.isqrt: _of_integers(math.isqrt, _isqrt),
        math.lcm: _of_integers(math.lcm, lambda *values: functools.reduce(array.lcm, values)),
        math.ldexp: _ldexp,
        math.lgamma: _of_floats(math.lgamma, _special("gammaln")),
        math.log: _of_floats(math.log, _log),
        math.modf: _of_floats(math.modf, _fraction, tuple),
        math.prod: _of_sequences(math.prod, _prod),
        math.radians: _of_floats(math.radians, array.deg2rad),
        math.remainder: _of_floats(math.remainder, _remainder),
    }
    for name in _SAME:
        python = getattr(math, name, None)
        if python is not None:  # cbrt and exp2 are there from Python 3.11 on
            functions[python] = _of_floats(python, getattr(array, name))
    for name in ("ceil", "floor", "trunc"):
        functions[getattr(math, name)] = _of_floats(getattr(math, name), getattr(array, name), as_int)
    for name in ("isfinite", "isinf", "isnan"):
        functions[getattr(math, name)] = _of_floats(getattr(math, name), getattr(array, name), as_bool)
    return functions


#: Replacements of functions of the modules ``math`` and ``cmath``.
MATH: Final[dict[Any, Any]] = _table()
for _name in (
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "log", "log10", "sin", "sinh",
    "sqrt", "tan", "tanh",
):  # fmt: skip
    MATH[getattr(cmath, _name)] = _of_floats(
        getattr(cmath, _name), _log if _name == "log" else getattr(array, _name), as_complex, as_complex
    )
MATH[cmath.phase] = _of_floats(cmath.phase, array.angle, as_float, as_complex)
