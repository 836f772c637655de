"""Parts of floats: fraction and integer part, mantissa and exponent."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.errors import DTypeError
from ...ir.dtypes import FLOAT64, as_dtype, is_inexact, ufunc_types
from ...tensors.tensor import Tensor
from ..operands import as_tensor, cast, require_real, run

_INT32 = as_dtype("i32")


def _floating(x: Any) -> Tensor:
    """`x` in the floating dtype that NumPy computes its parts in."""
    tensor = as_tensor(x)
    if is_inexact(tensor.dtype):
        return tensor
    return cast(tensor, ufunc_types(np.modf, (tensor.dtype,))[-1])


def modf(x: Any) -> tuple[Tensor, Tensor]:
    """The fraction and the integer part of `x`, both with its sign.

    Example:
        >>> import tracejit as tj
        >>> tj.modf([1.5, -2.25])
        (tensor([ 0.5 , -0.25]), tensor([ 1., -2.]))

    Semantics: ``numpy.modf``.
    """
    x = _floating(x)
    finite = run("where", run("isinf", x), run("copysign", 0.0, x.detach()), x)  # inf - inf would be NaN
    whole = run("trunc", finite)
    below = run("neg", run("sub", whole, finite))
    return run("where", run("signbit", x), below, run("sub", finite, whole)), run("trunc", x)


def ldexp(x: Any, exponent: Any) -> Tensor:
    """x times 2 to the integer power `exponent`, rounded once, over- and underflow included.

    Example:
        >>> import tracejit as tj
        >>> tj.ldexp([0.5, 3.0], [1, -1])
        tensor([1. , 1.5])

    Raises DTypeError unless `exponent` is of integers. Semantics: ``numpy.ldexp``; relies on ``exp2`` being
    exact at integers.
    """
    x, exponent = _floating(x), as_tensor(exponent)
    require_real("ldexp", x)
    if exponent.dtype.kind not in "iub" or exponent.dtype == np.uint64:
        raise DTypeError(f"ldexp: the exponent must be of integers that fit int64, got {exponent.dtype.name}")
    power = run("clip", cast(exponent, FLOAT64), -2200.0, 2200.0)
    if x.dtype is not FLOAT64:
        # in float64 the product is exact, and the conversion rounds once
        wide = run("mul", cast(x, FLOAT64), run("exp2", run("clip", power, -500.0, 500.0)))
        return cast(wide, x.dtype)
    # After musl's scalbn: at most three factors, the last of them at least 2^-1022. The first two of a
    # negative power are 2^-969 = 2^(-1022 + 53), so that nothing is rounded before the last.
    for step, beyond in ((1023.0, "gt"), (-969.0, "lt")):
        limit = 1023.0 if step > 0 else -1022.0
        for _ in range(2):
            far = run(beyond, power, limit)
            x = run("mul", x, run("where", far, 2.0**step, 1.0))
            power = run("sub", power, run("where", far, step, 0.0))
    return run("mul", x, run("exp2", run("clip", power, -1022.0, 1023.0)))


def frexp(x: Any) -> tuple[Tensor, Tensor]:
    """`x` as (mantissa in [0.5, 1), exponent in int32) with x = mantissa times 2 to the power exponent.

    Zeros, infinities and NaN are their own mantissa, with exponent 0.

    Example:
        >>> import tracejit as tj
        >>> tj.frexp([3.0, 0.0])
        (tensor([0.75, 0.  ]), tensor([2, 0], dtype=int32))

    Semantics: ``numpy.frexp``; the gradient of the mantissa is 2 to the power minus exponent.
    """
    x = _floating(x)
    require_real("frexp", x)
    wide = cast(x, FLOAT64)
    size = run("abs", wide.detach())
    special = run("logical_or", run("eq", size, 0.0), run("logical_not", run("isfinite", size)))
    size = run("where", special, 1.0, size)
    # subnormal numbers are scaled to normal ones first
    tiny = run("lt", size, 2.0**-1022)
    scaling = run("where", tiny, 2.0**54, 1.0)
    size = run("mul", size, scaling)
    exponent = run("add", run("floor", run("log2", size)), 1.0)
    # log2 rounds: correct the exponent where the mantissa falls outside [0.5, 1)
    half = run("floor", run("mul", exponent, 0.5))
    mantissa = run(
        "mul", run("mul", size, _power_of_two(half, -1)), _power_of_two(run("sub", exponent, half), -1)
    )
    too_large, too_small = run("ge", mantissa, 1.0), run("lt", mantissa, 0.5)
    exponent = run("add", exponent, run("where", too_large, 1.0, run("where", too_small, -1.0, 0.0)))
    half = run("floor", run("mul", exponent, 0.5))
    scaled = run("mul", run("mul", wide, scaling), _power_of_two(half, -1))
    scaled = run("mul", scaled, _power_of_two(run("sub", exponent, half), -1))
    result = run("where", special, wide, scaled)
    exponent = run("where", special, 0.0, run("sub", exponent, run("where", tiny, 54.0, 0.0)))
    return cast(result, x.dtype), cast(exponent, _INT32)


def _power_of_two(exponent: Tensor, sign: int) -> Tensor:
    return run("exp2", run("mul", exponent, float(sign)))
