"""NumPy's array functions on Tensors: eager, on the tape, and under a trace.

``import tracejit as tj`` offers them as ``tj.<name>``. Importing this package binds the operators of Tensor.
"""

# Names stand packed, so that the file can be read as a table of contents.
# ruff: noqa: I001

from __future__ import annotations

from typing import Any

from ..arguments.errors import check_public, checks_itself
from .deferred import MODULES as _MODULES
from .deferred import OF_NUMPY as _OF_NUMPY
from .deferred import load_function as _load

# fmt: off
from .contraction import (
    dot, inner, kron, matmul, outer, tensordot, vdot, vecdot,
)
from .counting import (bincount)
from .creation import (
    array, asarray, empty, empty_like, full, full_like, ones, ones_like, zeros, zeros_like,
)
from .cumulative import (
    cummax, cummin, cumprod, cumsum,
)
from .diagonals import (
    diag, diagonal, eye, identity, tri, tril, triu,
)
from .einsum import (
    einsum,
)
from .elementwise.arithmetic import (
    abs, absolute, add, cbrt, ceil, copysign, divide, floor, floor_divide, fmax, fmin, fmod, heaviside,
    hypot, maximum, minimum, mod, multiply, negative, pow, power, reciprocal, remainder, rint, rsqrt, sign,
    sqrt, square, subtract, true_divide, trunc,
)
from .elementwise.float_parts import frexp, ldexp, modf
from .elementwise.floats import (
    around, clip, deg2rad, degrees, divmod, fabs, fix, float_power, nan_to_num, positive,
    rad2deg, radians, round, sinc, where,
)
from .indexing.access import getitem, index_add, index_update, setitem
from .indexing.dynamic_slices import (dynamic_slice, dynamic_update_slice)
from .indexing.segments import segment_max, segment_min, segment_prod, segment_sum
from .joining import (
    array_split, concat, concatenate, hstack, split, stack, unstack, vstack,
)
from .elementwise.logic import (
    allclose, array_equal, bitwise_and, bitwise_count, bitwise_invert, bitwise_left_shift, bitwise_not,
    bitwise_or, bitwise_right_shift, bitwise_xor, equal, gcd, greater, greater_equal, invert, isclose,
    isfinite, isinf, isnan, isneginf, isposinf, lcm, left_shift, less, less_equal, logical_and, logical_not,
    logical_or, logical_xor, nextafter, not_equal, right_shift, signbit, spacing,
)
from .joining import atleast_1d, atleast_2d, atleast_3d
from .manipulation import (
    astype, broadcast_arrays, broadcast_to, copy, expand_dims, flatten,
    matrix_transpose, moveaxis, permute_dims, ravel, reshape, squeeze, swapaxes, transpose,
)
from .methods import bind
from .ranges import (
    arange, geomspace, linspace, logspace,
)
from .rearranging import (
    flip, fliplr, flipud, meshgrid, repeat, roll, rot90, tile,
)
from .reductions import (
    all, amax, amin, any, argmax, argmin, count_nonzero, max, mean, min, prod, ptp,
    sum,
)
from .indexing.searching import argwhere, diff, nonzero, take, take_along_axis
from .sorting import (
    argpartition, argsort, lexsort, partition, searchsorted, sort, unique,
)
from .methods.torch import bmm, topk
from .statistics import (
    average, logsumexp, std, var,
)
from .elementwise.transcendental import (
    acos, acosh, arccos, arccosh, arcsin, arcsinh, arctan, arctan2, arctanh, asin, asinh, atan, atan2,
    atanh, cos, cosh, erf, erfc, exp, exp2, expm1, log, log1p, log2, log10, logaddexp, logaddexp2, sin,
    sinh, tan, tanh,
)

__all__ = [
    "abs",
    "absolute",
    "acos",
    "acosh",
    "add",
    "all",
    "allclose",
    "amax",
    "amin",
    "any",
    "arange",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "argmax",
    "argmin",
    "argpartition",
    "argsort",
    "argwhere",
    "around",
    "array",
    "array_equal",
    "array_split",
    "asarray",
    "asin",
    "asinh",
    "astype",
    "atan",
    "atan2",
    "atanh",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "average",
    "bincount",
    "bitwise_and",
    "bitwise_count",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "bmm",
    "broadcast_arrays",
    "broadcast_to",
    "cbrt",
    "ceil",
    "clip",
    "concat",
    "concatenate",
    "copy",
    "copysign",
    "cos",
    "cosh",
    "count_nonzero",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "deg2rad",
    "degrees",
    "diag",
    "diagonal",
    "diff",
    "divide",
    "divmod",
    "dot",
    "dynamic_slice",
    "dynamic_update_slice",
    "einsum",
    "empty",
    "empty_like",
    "equal",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expand_dims",
    "expm1",
    "eye",
    "fabs",
    "fix",
    "flatten",
    "flip",
    "fliplr",
    "flipud",
    "float_power",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "frexp",
    "full",
    "full_like",
    "gcd",
    "geomspace",
    "getitem",
    "greater",
    "greater_equal",
    "heaviside",
    "hstack",
    "hypot",
    "identity",
    "index_add",
    "index_update",
    "inner",
    "invert",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "kron",
    "lcm",
    "ldexp",
    "left_shift",
    "less",
    "less_equal",
    "lexsort",
    "linspace",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logspace",
    "logsumexp",
    "matmul",
    "matrix_transpose",
    "max",
    "maximum",
    "mean",
    "meshgrid",
    "min",
    "minimum",
    "mod",
    "modf",
    "moveaxis",
    "multiply",
    "nan_to_num",
    "negative",
    "nextafter",
    "nonzero",
    "not_equal",
    "ones",
    "ones_like",
    "outer",
    "partition",
    "permute_dims",
    "positive",
    "pow",
    "power",
    "prod",
    "ptp",
    "rad2deg",
    "radians",
    "ravel",
    "reciprocal",
    "remainder",
    "repeat",
    "reshape",
    "right_shift",
    "rint",
    "roll",
    "rot90",
    "round",
    "rsqrt",
    "searchsorted",
    "segment_max",
    "segment_min",
    "segment_prod",
    "segment_sum",
    "setitem",
    "sign",
    "signbit",
    "sin",
    "sinc",
    "sinh",
    "sort",
    "spacing",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "subtract",
    "sum",
    "swapaxes",
    "take",
    "take_along_axis",
    "tan",
    "tanh",
    "tensordot",
    "tile",
    "topk",
    "transpose",
    "tri",
    "tril",
    "triu",
    "true_divide",
    "trunc",
    "unique",
    "unstack",
    "var",
    "vdot",
    "vecdot",
    "vstack",
    "where",
    "zeros",
    "zeros_like",
]
# fmt: on

# what a few of these call names the arguments; a call around them would show in the time they take
for _name in [
    "power",
    "pow",
    "reshape",
    "transpose",
    "copy",
    "swapaxes",
    "squeeze",
    "expand_dims",
    "concatenate",
    "concat",
    "stack",
    "matmul",
    "getitem",
    "setitem",
    "where",
]:
    checks_itself(globals()[_name])
bind()
check_public(globals(), __all__)


def __getattr__(name: str) -> Any:
    if name not in _MODULES and name not in _OF_NUMPY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = _load(name)
    return value
