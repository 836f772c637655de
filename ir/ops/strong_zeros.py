"""Products and quotients in which 0 is stronger than infinity and NaN, for gradients behind a choice.

The cotangent of what a ``where`` did not choose is 0, and stays 0 however steep what is behind it is. See
``ir.transforms.strong_zeros``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..registry import Kind
from ..transforms.batching import batch_pointwise
from .define import define, elementwise


def _product(x: Any, y: Any) -> Any:
    result = np.multiply(x, y)
    undefined = np.isnan(result)
    if not undefined.any():
        return result
    return np.where(undefined & (np.equal(x, 0.0) | np.equal(y, 0.0)), np.zeros_like(result), result)


def _quotient(x: Any, y: Any) -> Any:
    result = np.divide(x, y)
    undefined = np.isnan(result)
    if not undefined.any():
        return result
    return np.where(undefined & np.equal(x, 0.0), np.zeros_like(result), result)


def _emit_product(b: Any, x: Any, y: Any) -> Any:
    result = b.mul(x, y)
    zero = b.or_(b.eq(x, 0.0), b.eq(y, 0.0))
    return b.select(b.and_(b.isnan(result), zero), b.const(0.0, x), result)


def _emit_quotient(b: Any, x: Any, y: Any) -> Any:
    result = b.div(x, y)
    return b.select(b.and_(b.isnan(result), b.eq(x, 0.0)), b.const(0.0, x), result)


CANDIDATE = define(
    "candidate", Kind.COMPOSITE, "x", chooses=True, linear=("x",),
    doc="x, of which the user's where chooses elements: zeros in gradients behind it are strong",
    infer=lambda types, attrs: types, eval=lambda x: x, vjp={"x": lambda b, ct: ct},
    decompose=lambda b, x: x, batch=batch_pointwise,
)  # fmt: skip
STRONG_MUL = elementwise(
    "strong_mul", "x y", np.divide, doc="x y, and 0 where either is 0, whatever the other is", floating=True,
    eval=_product, commutative=True,
    vjp={"x": lambda b, ct, y: b.strong_mul(ct, y), "y": lambda b, ct, x: b.strong_mul(ct, x)},
    emit=_emit_product, cost=2.0, chooses=True, linear=("x", "y"),
)  # fmt: skip
STRONG_DIV = elementwise(
    "strong_div", "x y", np.divide, doc="x / y, and 0 where x is 0, whatever y is", floating=True,
    eval=_quotient,
    vjp={
        "x": lambda b, ct, y: b.strong_div(ct, y),
        "y": lambda b, ct, y, out: b.neg(b.strong_div(b.strong_mul(ct, out), y)),
    },
    emit=_emit_quotient, cost=5.0, chooses=True, linear=("x",),
)  # fmt: skip
