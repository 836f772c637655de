"""Exponentials, logarithms, trigonometric and hyperbolic functions, and the error function, by NumPy's names.

Integers are computed in float64, those of 16 bits in float32, and bools and those of 8 bits in float16.
"""

from __future__ import annotations

from ...dispatch import special_kernels as _special_kernels  # noqa: F401 - what gradients call is native
from .arithmetic import documented

__all__ = [
    "acos",
    "acosh",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logaddexp2",
    "sin",
    "sinh",
    "tan",
    "tanh",
]

arctan2 = documented(
    "atan2",
    "The angle of the point (y, x) in (-pi, pi]; y is the first argument. Slope 0 at the origin.",
    "tj.arctan2([1.0, -1.0], 1.0)",
    "tensor([ 0.78539816, -0.78539816])",
)
logaddexp = documented(
    "logaddexp",
    "log(e^x + e^y) without overflow.",
    "tj.logaddexp([1000.0, 0.0], [1000.0, 1.0])",
    "tensor([1000.69314718,    1.31326169])",
)
logaddexp2 = documented(
    "logaddexp2",
    "log2(2^x + 2^y) without overflow.",
    "tj.logaddexp2([2000.0, 0.0], [2000.0, 1.0])",
    "tensor([2.0010000e+03, 1.5849625e+00])",
)
exp = documented("exp", "e to the power x.", "tj.exp([0.0, 1.0])", "tensor([1.        , 2.71828183])")
exp2 = documented("exp2", "2 to the power x.", "tj.exp2([0.0, 3.0])", "tensor([1., 8.])")
expm1 = documented(
    "expm1",
    "e to the power x, minus 1, exact for small x.",
    "tj.expm1([0.0, 1e-10])",
    "tensor([0.e+00, 1.e-10])",
)
log = documented(
    "log",
    "The natural logarithm, NaN of negative numbers.",
    "tj.log([1.0, 10.0])",
    "tensor([0.        , 2.30258509])",
)
log2 = documented("log2", "The logarithm to base 2.", "tj.log2([1.0, 8.0])", "tensor([0., 3.])")
log10 = documented("log10", "The logarithm to base 10.", "tj.log10([1.0, 100.0])", "tensor([0., 2.])")
log1p = documented(
    "log1p",
    "The natural logarithm of 1 + x, exact for small x.",
    "tj.log1p([0.0, 1e-10])",
    "tensor([0.e+00, 1.e-10])",
)
sin = documented("sin", "The sine of x in radians.", "tj.sin([0.0, 1.0])", "tensor([0.        , 0.84147098])")
cos = documented(
    "cos", "The cosine of x in radians.", "tj.cos([0.0, 1.0])", "tensor([1.        , 0.54030231])"
)
tan = documented(
    "tan", "The tangent of x in radians.", "tj.tan([0.0, 1.0])", "tensor([0.        , 1.55740772])"
)
arcsin = documented(
    "asin",
    "The angle in [-pi/2, pi/2] whose sine is x.",
    "tj.arcsin([0.0, 1.0])",
    "tensor([0.        , 1.57079633])",
)
arccos = documented(
    "acos",
    "The angle in [0, pi] whose cosine is x.",
    "tj.arccos([0.0, 1.0])",
    "tensor([1.57079633, 0.        ])",
)
arctan = documented(
    "atan",
    "The angle in [-pi/2, pi/2] whose tangent is x.",
    "tj.arctan([0.0, 1.0])",
    "tensor([0.        , 0.78539816])",
)
sinh = documented("sinh", "The hyperbolic sine.", "tj.sinh([0.0, 1.0])", "tensor([0.        , 1.17520119])")
cosh = documented("cosh", "The hyperbolic cosine.", "tj.cosh([0.0, 1.0])", "tensor([1.        , 1.54308063])")
tanh = documented(
    "tanh", "The hyperbolic tangent.", "tj.tanh([0.0, 1.0])", "tensor([0.        , 0.76159416])"
)
arcsinh = documented(
    "asinh", "The inverse of sinh.", "tj.arcsinh([0.0, 1.0])", "tensor([0.        , 0.88137359])"
)
arccosh = documented(
    "acosh", "The inverse of cosh, for x >= 1.", "tj.arccosh([1.0, 2.0])", "tensor([0.       , 1.3169579])"
)
arctanh = documented(
    "atanh",
    "The inverse of tanh, for -1 < x < 1.",
    "tj.arctanh([0.0, 0.5])",
    "tensor([0.        , 0.54930614])",
)
erf = documented(
    "erf",
    "The error function, 2/sqrt(pi) times the integral of exp(-t^2) from 0 to x.",
    "tj.erf([0.0, 1.0])",
    "tensor([0.        , 0.84270079])",
)
erfc = documented(
    "erfc",
    "1 - erf(x), without cancellation for large x.",
    "tj.erfc([0.0, 10.0])",
    "tensor([1.00000000e+00, 2.08848758e-45])",
)

# Names of the Array API standard.
asin = arcsin
acos = arccos
atan = arctan
asinh = arcsinh
acosh = arccosh
atanh = arctanh
atan2 = arctan2
