"""Matrices for which linear algebra has no result: an error, or within ``tj.errstate(linalg="nan")`` NaN for
each of them.

LAPACK refuses those with NaN or infinities. Here others are decomposed in their place, and results and
gradients are NaN all the same.
"""

from __future__ import annotations

import math
from typing import Any

from ..array.operands import reshaped, run
from ..ir.dtypes import INT64
from ..state import LINALG_NAN, STATE
from ..tensors.tensor import Tensor
from .operands import several


def gives_nan() -> bool:
    """Whether failures are NaN here. What is traced meanwhile depends on the answer."""
    STATE.linalg_asked += 1
    return STATE.linalg is LINALG_NAN


def on_failure() -> str:
    """The name that ops have for it: "raise" or "nan"."""
    return "nan" if gives_nan() else "raise"


def nan_where(failed: Tensor, x: Tensor) -> Tensor:
    """`x`, but all NaN for the matrices that `failed`; so is what passes back to them."""
    factor = run("where", failed, math.nan, 1.0)
    factor = reshaped(factor, (*factor.shape, *[1] * (x.ndim - factor.ndim)))
    return x * run("cast", factor, dtype=x.dtype)


def zero_pivot(factors: Tensor) -> Tensor:
    """A bool for each of the triangular matrices: True if its diagonal has a zero."""
    size, rank = factors.shape[-1], factors.ndim
    row, column = (run("iota", shape=(size, size), axis=axis, dtype=INT64) for axis in (0, 1))
    on_diagonal = run("broadcast", run("eq", row, column), shape=factors.shape)
    zero = run("logical_and", on_diagonal, run("eq", factors.detach(), 0.0))
    return run("any", zero, axes=(rank - 2, rank - 1))


def regular(x: Tensor, *, lower: bool = False) -> tuple[Tensor, Tensor]:
    """`x` with others for matrices with NaN or infinities, or with any in the `lower` triangle, and which
    matrices those are. The others have different values: 1, 2, 3 ... Gradients pass to `x`."""
    rank = x.ndim
    row, column = (run("iota", shape=x.shape[-2:], axis=axis, dtype=INT64) for axis in (0, 1))
    finite = run("isfinite", x.detach())
    if lower:
        finite = run("logical_or", finite, run("broadcast", run("lt", row, column), shape=x.shape))
    failed = run("logical_not", run("all", finite, axes=(rank - 2, rank - 1)))
    everywhere = run("broadcast", reshaped(failed, (*failed.shape, 1, 1)), shape=x.shape)
    other = run("cast", run("where", run("eq", row, column), row + 1, 0), dtype=x.dtype)
    other = run("broadcast", other, shape=x.shape)
    return run("rewritten", x, run("where", everywhere, other, x.detach())), failed


def decomposed(
    name: str, x: Tensor, *others: Tensor, lower: bool = False, **attrs: Any
) -> tuple[Tensor, ...]:
    """The results of an op that decomposes `x`, or matrices whose `lower` triangle alone is read."""
    if not gives_nan():
        return several(name, x, *others, **attrs)
    x, failed = regular(x, lower=lower)
    results = several(name, x, *others, **attrs)
    return tuple([nan_where(failed, result) if result.dtype.kind in "fc" else result for result in results])
