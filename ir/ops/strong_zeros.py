"""Products and quotients in which 0 is stronger than infinity and NaN, for gradients behind a choice.

The cotangent of what a ``where`` did not choose is 0, and stays 0 however steep what is behind it is. See
``ir.transforms.strong_zeros``.

Behind a safe choice matrix products and convolutions have strong zeros, too: each result is a sum of terms,
without those in which a factor is 0. Where the plain op gives finite numbers alone, they are the result. Else
sums of the finite terms are right where there are no others. Products of signs tell which others there are,
with p for the op, s for signs, and x = f + e of finite and other elements, in y with primes:

    p(|s_e|, |s_y|) + p(|s_f|, |s_e'|)    the number of terms that are infinite or NaN
    p(s_e, s_y) + p(s_f, s_e')            those above 0 minus those below, NaN counted as neither

Where both have one size, all such terms have one sign; float32 counts 2^24 of them exactly. Compiled code
decides by a branch. Complex sums with a term that is not finite are those of the plain op.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ..builder import Builder
from ..dtypes import FLOAT16, FLOAT32, is_complex, real_dtype
from ..graph import Function, Instruction
from ..registry import OPS, Attrs, Kind, Op, OpNamespace, Strength
from ..transforms.batching import batch_pointwise
from ..transforms.strong_zeros import with_zeros
from .contraction import MATMUL, swap_last
from .define import define, elementwise
from .signal.convolution import CONVOLVE, w_rule, x_rule


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


def _candidate(name: str, strength: Strength, doc: str) -> Op:
    return define(
        name, Kind.COMPOSITE, "x", chooses=strength, linear=("x",), doc=doc,
        infer=lambda types, attrs: types, eval=lambda x: x, vjp={"x": lambda b, ct: ct},
        decompose=lambda b, x: x, batch=batch_pointwise,
    )  # fmt: skip


CANDIDATE = _candidate(
    "candidate",
    Strength.ELEMENTWISE,
    "x, of which the user's where chooses elements: zeros in gradients behind it are strong",
)
SAFE_CANDIDATE = _candidate(
    "safe_candidate",
    Strength.PRODUCTS,
    "candidate, behind which matrix products and convolutions leave out terms with a factor 0 as well",
)
STRONG_MUL = elementwise(
    "strong_mul", "x y", np.divide, doc="x y, and 0 where either is 0, whatever the other is", floating=True,
    eval=_product, commutative=True,
    vjp={"x": lambda b, ct, y: b.strong_mul(ct, y), "y": lambda b, ct, x: b.strong_mul(ct, x)},
    emit=_emit_product, cost=2.0, chooses=Strength.ELEMENTWISE, linear=("x", "y"),
)  # fmt: skip
STRONG_DIV = elementwise(
    "strong_div", "x y", np.divide, doc="x / y, and 0 where x is 0, whatever y is", floating=True,
    eval=_quotient,
    vjp={
        "x": lambda b, ct, y: b.strong_div(ct, y),
        "y": lambda b, ct, y, out: b.neg(b.strong_div(b.strong_mul(ct, out), y)),
    },
    emit=_emit_quotient, cost=5.0, chooses=Strength.ELEMENTWISE, linear=("x",),
)  # fmt: skip

# -- matrix products and convolutions ---------------------------------------------------------------------


class _OnArrays(OpNamespace):
    """Ops by their meaning on arrays."""

    def apply(self, op: Op, operands: tuple[Any, ...], attrs: Attrs) -> Any:
        return op.eval(*operands, **attrs)


_ON_ARRAYS = _OnArrays()


def _without_zeros(b: Any, product: Callable[[Any, Any], Any], x: Any, y: Any, plain: Any) -> Any:
    """The bilinear `product` of x and y without terms that have a factor 0, given what it is with them."""
    dtype = x.dtype
    if dtype is FLOAT16:  # which cannot count far
        x, y = (b.cast(z, dtype=FLOAT32) for z in (x, y))
    real = real_dtype(x.dtype)
    x_finite, y_finite = b.isfinite(x), b.isfinite(y)

    def of_others(of_x: Any, of_y: Any) -> Any:
        """The product of what stands for x and y, over terms in which either is not finite."""
        with_x = product(b.where(x_finite, 0.0, of_x), of_y)
        return b.add(with_x, product(b.where(x_finite, of_x, 0.0), b.where(y_finite, 0.0, of_y)))

    total = product(b.where(x_finite, x, 0.0), b.where(y_finite, y, 0.0))
    count = of_others(*[b.cast(b.ne(z, 0.0), dtype=real) for z in (x, y)])
    if is_complex(dtype):
        return b.where(b.eq(count, 0.0), total, plain)
    balance = of_others(*[b.where(b.isnan(z), 0.0, b.sign(z)) for z in (x, y)])
    limit = b.where(b.eq(b.abs(balance), count), b.mul(balance, math.inf), math.nan)
    result = b.where(b.eq(count, 0.0), total, limit)
    return b.cast(result, dtype=dtype) if dtype is FLOAT16 else result


def by_branch(
    b: Any, plain_op: Op, operands: Sequence[Any], attrs: Attrs, views: Sequence[Sequence[Instruction]]
) -> Any:
    """The strong form of the bilinear `plain_op`: its result, or where that is not all finite the one without
    terms that have a factor 0.

    Each of the `operands` is what the `views` of it are of, which both branches read.
    """

    def product(b: Any, x: Any, y: Any) -> Any:
        viewed = []
        for value, chain in zip((x, y), views, strict=True):
            for view in chain:
                (value,) = b.append(view.op, (value,), view.attrs)
            viewed.append(value)
        return b.apply(plain_op, tuple(viewed), attrs)

    def region(name: str, *, exact: bool) -> Function:
        b: Any = Builder()
        x, y, plain = (b.parameter(value.type) for value in (*operands, result))
        if exact:
            plain = _without_zeros(b, functools.partial(product, b), x, y, plain)
        return b.finish(name, [plain])  # type: ignore[no-any-return]

    result = product(b, *operands)
    if result.dtype.kind not in "fc":
        return result
    is_finite = b.all(b.isfinite(result), axes=tuple(range(len(result.shape))))
    regions = (region("without_zeros", exact=True), region("finite", exact=False))
    return b.append(OPS["switch"], (is_finite, *operands, result), {}, regions=regions)[0]


#: The plain ops, by names of their strong forms.
PLAIN: Final[dict[str, Op]] = {}


def _strong(plain_op: Op, name: str, doc: str, vjp: dict[str, Callable[..., Any]]) -> Op:
    """The strong form of the bilinear `plain_op`."""
    PLAIN[name] = plain_op

    def evaluate(x: Any, y: Any, **attrs: Any) -> Any:
        plain = plain_op.eval(x, y, **attrs)
        if plain.dtype.kind not in "fc" or np.isfinite(plain).all():
            return plain
        with np.errstate(all="ignore"):
            return _without_zeros(_ON_ARRAYS, lambda x, y: plain_op.eval(x, y, **attrs), x, y, plain)

    return define(
        name, Kind.COMPOSITE, " ".join(plain_op.params), doc=doc, infer=plain_op.infer, eval=evaluate,
        decompose=lambda b, x, y, **attrs: by_branch(b, plain_op, (x, y), attrs, ((), ())), vjp=vjp,
        attrs=plain_op.attrs, batch=plain_op.batch, chooses=Strength.PRODUCTS,
    )  # fmt: skip


def _safe(b: Any) -> Any:
    return with_zeros(b, Strength.PRODUCTS)


STRONG_MATMUL = _strong(
    MATMUL, "strong_matmul", "matmul without terms in which a factor is 0, whatever the other is",
    {
        "x": lambda b, ct, y: b.strong_matmul(ct, swap_last(b, y)),
        "y": lambda b, ct, x: b.strong_matmul(swap_last(b, x), ct),
    },
)  # fmt: skip
STRONG_CONVOLVE = _strong(
    CONVOLVE, "strong_convolve", "convolve without terms in which a factor is 0, whatever the other is",
    {
        "x": lambda b, ct, w, x_type, stride, padding, dilation:
            x_rule(_safe(b), ct, w, x_type, stride, padding, dilation),
        "w": lambda b, ct, x, w_type, stride, padding, dilation:
            w_rule(_safe(b), ct, x, w_type, stride, padding, dilation),
    },
)  # fmt: skip
