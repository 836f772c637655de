"""Building blocks of the maths functions: polynomials, double-word arithmetic, and code that runs rarely.

A double word is an unevaluated sum ``high + low`` with ``|low| <= ulp(high) / 2`` (Dekker 1971; Knuth, TAOCP
2, 4.2.2; Muller et al., Handbook of Floating-Point Arithmetic, chapters 4 and 14).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import Final

from ..llvm.emitter import BITS, INT_OF, Emitter, Number, Reg, llvm_type, suffix

#: Bits of the significand that are stored.
STORED: Final = {"f32": 23, "f64": 52}
#: The exponent's bias.
BIAS: Final = {"f32": 127, "f64": 1023}
#: Adding this to |x| < 2^(STORED - 2) leaves rint(x) in the low bits of the sum.
MAGIC: Final = {"f32": 1.5 * 2.0**23, "f64": 1.5 * 2.0**52}
SMALLEST_NORMAL: Final = {"f32": 2.0**-126, "f64": 2.0**-1022}


def bit_pattern(value: float, dtype: str) -> int:
    """The bits of a float as an unsigned integer."""
    if dtype == "f32":
        return int(struct.unpack("<I", struct.pack("<f", value))[0])
    return int(struct.unpack("<Q", struct.pack("<d", value))[0])


def muladd(b: Emitter, x: Number, y: Number, z: Number) -> Reg:
    """x * y + z, as one FMA where the machine has it and as two operations elsewhere."""
    model = next(reg for reg in (x, y, z) if isinstance(reg, Reg))
    p, q, r = (b.like(operand, model) for operand in (x, y, z))
    return b.call(f"llvm.fmuladd.{suffix(p.dtype, p.lanes)}", p.dtype, p.lanes, p, q, r)


def horner(b: Emitter, x: Reg, coefficients: Sequence[float]) -> Reg:
    """The polynomial with these coefficients, constant term first, by Horner's rule."""
    total: Reg | None = None
    for coefficient in reversed(coefficients):
        total = b.const(coefficient, x) if total is None else muladd(b, total, x, coefficient)
    assert total is not None
    return total


def polynomial(b: Emitter, x: Reg, coefficients: Sequence[float], square: Reg | None = None) -> Reg:
    """Sum of coefficients[i] x^i.

    From six coefficients on, even and odd powers go separately: one multiplication more, half the latency.
    """
    if len(coefficients) < 6:
        return horner(b, x, coefficients)
    square = b.mul(x, x) if square is None else square
    return muladd(b, horner(b, square, coefficients[1::2]), x, horner(b, square, coefficients[0::2]))


def two_sum(b: Emitter, x: Number, y: Number) -> tuple[Reg, Reg]:
    """x + y exactly as a double word; needs |x| >= |y| or x = 0 (Dekker's fast two-sum)."""
    high = b.exact("fadd", x, y)
    return high, b.exact("fsub", y, b.exact("fsub", high, x))


def add_compensated(w: Emitter, total: Reg, error: Reg, term: Reg) -> tuple[Reg, Reg]:
    """Add one term to `total` with the rounding `error`: returns the rounded sum, and all that was rounded
    off.

    A term that is larger than the total may be rounded once more, as each of its own terms was.
    """
    following, lost = two_sum(w, total, term)
    return following, w.exact("fadd", error, lost)


def compensated(w: Emitter, total: Reg, error: Reg) -> Reg:
    """Sum of total and error; `total` alone where that is infinite, whatever the error, or nothing was lost,
    which keeps its sign."""
    whole = w.exact("fadd", total, error)
    changes = w.compute("fcmp one", "bool", total.lanes, whole, total)
    return w.select(changes, whole, total)


def two_product(b: Emitter, x: Number, y: Number) -> tuple[Reg, Reg]:
    """x * y exactly as a double word."""
    high = b.exact("fmul", x, y)
    return high, b.fma(x, y, b.neg(high))


def power_of_two(b: Emitter, biased: Reg, dtype: str) -> Reg:
    """2^(n - bias) for the integer n in the low bits; higher bits are ignored but for the sign's."""
    return b.bitcast(b.shl(biased, STORED[dtype]), dtype)


def flip_sign(b: Emitter, x: Reg, parity: Reg) -> Reg:
    """-x where the integer `parity` is odd, else x."""
    sign = b.shl(parity, BITS[x.dtype] - 1)
    return b.bitcast(b.xor(b.bits(x), sign), x.dtype)


def any_lane(b: Emitter, condition: Reg) -> Reg:
    """Whether a bool holds in some lane, as a scalar."""
    if condition.lanes == 1:
        return condition
    packed = b.packed(condition)
    return b.compute("icmp ne", "bool", 1, packed, Reg("0", packed.dtype))


def rarely(b: Emitter, condition: Reg, name: str, common: Reg, *args: Reg) -> Reg:
    """`common`, or where `condition` holds in some lane what the function `name` makes of (common, *args)."""
    if not b.branches:
        return b.result_of(name, common.dtype, common.lanes, common, *args)
    return b.when(
        any_lane(b, condition),
        lambda: [b.result_of(name, common.dtype, common.lanes, common, *args)],
        [common],
    )[0]


def declared(b: Emitter, name: str, work: Callable[..., Reg], *args: Reg) -> str:
    """Register an internal function of arguments like `args`, whose result `work` writes; return its name."""
    full = f"{name}.{suffix(args[0].dtype, args[0].lanes)}"
    if full not in b.declarations:
        inner = Emitter(b.declarations)
        params = [Reg(f"%p{i}", argument.dtype, argument.lanes) for i, argument in enumerate(args)]
        result = work(inner, *params)
        inner.ret(result)
        signature = f"internal {result.type} @{full}({', '.join(map(str, params))})"
        b.declarations[full] = inner.function(signature, "cold noinline nounwind")
    return full


def per_lane_function(
    b: Emitter,
    name: str,
    args: Sequence[Reg],
    needed: Callable[[Emitter, list[Reg]], Reg],
    work: Callable[[Emitter, list[Reg]], Reg],
) -> str:
    """Register an internal function that corrects the lanes that need it, one at a time; return its name.

    Its arguments are like `args`; the first is the common result, which lanes keep where `needed` is false.
    Both callbacks write scalar code on one lane's arguments; `work` may open blocks if it sets `block`.
    """
    lanes, dtype = args[0].lanes, args[0].dtype
    full = f"{name}.{suffix(dtype, lanes)}"
    if full in b.declarations:
        return full
    inner = Emitter(b.declarations)
    inner.branches = False
    parameters = [Reg(f"%p{i}", arg.dtype, arg.lanes) for i, arg in enumerate(args)]
    kind = llvm_type(dtype, lanes)

    def correct(lane: Reg, before: list[Reg]) -> list[Reg]:
        scalars = parameters
        if lanes > 1:
            scalars = [inner.arrange("extractelement", p.dtype, 1, p, lane) for p in parameters]

        def corrected() -> list[Reg]:
            value = work(inner, scalars)
            if lanes == 1:
                return [value]
            return [inner.arrange("insertelement", dtype, lanes, *before, value, lane)]

        return inner.when(needed(inner, scalars), corrected, before)

    some = any_lane(inner, needed(inner, list(parameters)))
    results = inner.when(some, lambda: inner.loop(0, lanes, 1, correct, parameters[:1]), parameters[:1])
    inner.ret(*results)
    signature = f"internal {kind} @{full}({', '.join(map(str, parameters))})"
    b.declarations[full] = inner.function(signature, "cold noinline nounwind")
    return full


def integer_like(b: Emitter, value: int, model: Reg) -> Reg:
    """An integer constant of the width and lanes of the float `model`."""
    return b.const(value, Reg("", INT_OF[model.dtype], model.lanes))


INFINITY: Final = math.inf
NAN: Final = math.nan
