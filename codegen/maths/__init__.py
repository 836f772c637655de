"""Maths functions written inline as LLVM IR, for f32 and f64, scalars and vectors.

`MathsWriter` is the writer with every function as a method: ``b.exp(x)``. The functions are branch-free but
for sin, cos, tan and fmod, whose rare arguments are left to internal functions (see `Emitter.branches`), and
call nothing outside the module. `ULP_BOUND` states the accuracy of each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...base.loading import LazyMethods, LazyModule
from ..llvm.loops import FunctionWriter
from . import support

if TYPE_CHECKING:
    from . import division as _division
    from . import error_function as _error_function
    from . import exponential as _exponential
    from . import hyperbolic as _hyperbolic
    from . import integers as _integers
    from . import inverse_trigonometric as _inverse_trigonometric
    from . import logarithm as _logarithm
    from . import ordering as _ordering
    from . import power as _power
    from . import special as _special
    from . import trigonometric as _trigonometric
else:
    _division = LazyMethods(LazyModule(".division", __package__))
    _error_function = LazyMethods(LazyModule(".error_function", __package__))
    _exponential = LazyMethods(LazyModule(".exponential", __package__))
    _hyperbolic = LazyMethods(LazyModule(".hyperbolic", __package__))
    _integers = LazyMethods(LazyModule(".integers", __package__))
    _inverse_trigonometric = LazyMethods(LazyModule(".inverse_trigonometric", __package__))
    _logarithm = LazyMethods(LazyModule(".logarithm", __package__))
    _ordering = LazyMethods(LazyModule(".ordering", __package__))
    _power = LazyMethods(LazyModule(".power", __package__))
    _special = LazyMethods(LazyModule(".special", __package__))
    _trigonometric = LazyMethods(LazyModule(".trigonometric", __package__))

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

    exp = _exponential.exp
    exp2 = _exponential.exp2
    expm1 = _exponential.expm1
    log = _logarithm.log
    log2 = _logarithm.log2
    log10 = _logarithm.log10
    log1p = _logarithm.log1p
    logaddexp = _logarithm.logaddexp
    logaddexp2 = _logarithm.logaddexp2
    sin = _trigonometric.sin
    cos = _trigonometric.cos
    tan = _trigonometric.tan
    asin = _inverse_trigonometric.asin
    acos = _inverse_trigonometric.acos
    atan = _inverse_trigonometric.atan
    atan2 = _inverse_trigonometric.atan2
    sinh = _hyperbolic.sinh
    cosh = _hyperbolic.cosh
    tanh = _hyperbolic.tanh
    sech_squared = _hyperbolic.sech_squared
    asinh = _hyperbolic.asinh
    acosh = _hyperbolic.acosh
    atanh = _hyperbolic.atanh
    erf = _error_function.erf
    erfc = _error_function.erfc
    pow = _power.pow
    pow_derivative = _power.pow_derivative
    pow_log = _power.pow_log
    cbrt = _power.cbrt
    hypot = _power.hypot
    muladd = support.muladd
    rsqrt = _power.rsqrt
    reciprocal = _power.reciprocal
    fmod = _division.fmod
    remainder = _division.remainder
    floor_divide = _division.floor_divide
    bitwise_count = _integers.bitwise_count
    shift_left = _integers.shift_left
    shift_right = _integers.shift_right
    int_pow = _integers.int_pow
    sign = _ordering.sign
    maximum = _ordering.maximum
    minimum = _ordering.minimum
    fold_maximum = _ordering.fold_maximum
    fold_minimum = _ordering.fold_minimum
    fmax = _ordering.fmax
    fmin = _ordering.fmin
    isinf = _ordering.isinf
    isfinite = _ordering.isfinite
    signbit = _ordering.signbit
    square = _ordering.square
    heaviside = _ordering.heaviside
    nextafter = _ordering.nextafter
    spacing = _ordering.spacing
    ldexp = _ordering.ldexp
    special = _special.special


__all__ = ["ULP_BOUND", "MathsWriter"]
