"""Maths functions written inline as LLVM IR, for f32 and f64, scalars and vectors.

`MathsWriter` is the writer with every function as a method: ``b.exp(x)``. The functions are branch-free but
for sin, cos, tan and fmod, whose rare arguments are left to internal functions (see `Emitter.branches`), and
call nothing outside the module. `ULP_BOUND` states the accuracy of each.
"""

from __future__ import annotations

from typing import Final

from ..llvm.loops import FunctionWriter
from . import (
    division,
    error_function,
    exponential,
    hyperbolic,
    integers,
    inverse_trigonometric,
    logarithm,
    ordering,
    power,
    special,
    support,
    trigonometric,
)

#: No error larger than this was measured for each function, in units in the last place of the result, by
#: method and dtype. For logaddexp and logaddexp2 the unit is that of the larger of |result| and |max(x,
#: y)|.
ULP_BOUND: Final[dict[str, dict[str, float]]] = {
    "exp": {"f32": 1.0, "f64": 1.0},
    "exp2": {"f32": 1.0, "f64": 1.0},
    "expm1": {"f32": 1.0, "f64": 1.0},
    "log": {"f32": 1.0, "f64": 1.0},
    "log2": {"f32": 1.0, "f64": 1.0},
    "log10": {"f32": 1.0, "f64": 1.0},
    "log1p": {"f32": 1.0, "f64": 1.0},
    "logaddexp": {"f32": 3.2, "f64": 3.2},
    "logaddexp2": {"f32": 2.8, "f64": 2.8},
    "sin": {"f32": 1.6, "f64": 1.6},
    "cos": {"f32": 1.6, "f64": 1.6},
    "tan": {"f32": 1.9, "f64": 1.8},
    "asin": {"f32": 1.2, "f64": 1.3},
    "acos": {"f32": 1.2, "f64": 1.3},
    "atan": {"f32": 1.5, "f64": 1.6},
    "atan2": {"f32": 1.8, "f64": 1.8},
    "sinh": {"f32": 1.7, "f64": 1.8},
    "cosh": {"f32": 1.6, "f64": 1.6},
    "tanh": {"f32": 1.7, "f64": 2.0},
    "sech_squared": {"f32": 4.5, "f64": 3.5},
    "asinh": {"f32": 1.2, "f64": 1.2},
    "acosh": {"f32": 1.8, "f64": 1.9},
    "atanh": {"f32": 1.1, "f64": 1.1},
    "erf": {"f32": 1.6, "f64": 2.0},
    "erfc": {"f32": 3.2, "f64": 3.5},
    "pow": {"f32": 1.2, "f64": 1.8},
    "cbrt": {"f32": 0.6, "f64": 0.7},
    "hypot": {"f32": 1.2, "f64": 1.2},
    "rsqrt": {"f32": 1.0, "f64": 1.0},
    "reciprocal": {"f32": 0.5, "f64": 0.5},
}


class MathsWriter(FunctionWriter):
    """A writer that knows mathematics: each attribute is ``(writer, *registers) -> register``."""

    exp = exponential.exp
    exp2 = exponential.exp2
    expm1 = exponential.expm1
    log = logarithm.log
    log2 = logarithm.log2
    log10 = logarithm.log10
    log1p = logarithm.log1p
    logaddexp = logarithm.logaddexp
    logaddexp2 = logarithm.logaddexp2
    sin = trigonometric.sin
    cos = trigonometric.cos
    tan = trigonometric.tan
    asin = inverse_trigonometric.asin
    acos = inverse_trigonometric.acos
    atan = inverse_trigonometric.atan
    atan2 = inverse_trigonometric.atan2
    sinh = hyperbolic.sinh
    cosh = hyperbolic.cosh
    tanh = hyperbolic.tanh
    sech_squared = hyperbolic.sech_squared
    asinh = hyperbolic.asinh
    acosh = hyperbolic.acosh
    atanh = hyperbolic.atanh
    erf = error_function.erf
    erfc = error_function.erfc
    pow = power.pow
    pow_derivative = power.pow_derivative
    pow_log = power.pow_log
    cbrt = power.cbrt
    hypot = power.hypot
    muladd = support.muladd
    rsqrt = power.rsqrt
    reciprocal = power.reciprocal
    fmod = division.fmod
    remainder = division.remainder
    floor_divide = division.floor_divide
    bitwise_count = integers.bitwise_count
    shift_left = integers.shift_left
    shift_right = integers.shift_right
    int_pow = integers.int_pow
    sign = ordering.sign
    maximum = ordering.maximum
    minimum = ordering.minimum
    fold_maximum = ordering.fold_maximum
    fold_minimum = ordering.fold_minimum
    fmax = ordering.fmax
    fmin = ordering.fmin
    isinf = ordering.isinf
    isfinite = ordering.isfinite
    signbit = ordering.signbit
    square = ordering.square
    heaviside = ordering.heaviside
    nextafter = ordering.nextafter
    spacing = ordering.spacing
    ldexp = ordering.ldexp
    special = special.special


__all__ = ["ULP_BOUND", "MathsWriter"]
