"""AVX-512's instructions that look up tables in registers and take floats apart.

They are written where `Emitter.wide_tables` says that the machine has them; each function of this package
that uses them has another way for other machines. They work on the shortest registers that hold the lanes,
since those of 512 bits keep a core from using one of its units; the same instructions give the same results.
Tables are in registers of 512 bits, for scalars in memory.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Final

from ...llvm.emitter import BITS, INT_OF, LLVM_SCALAR, Emitter, Reg
from ...llvm.operations import Load, Offset
from ...llvm.registers import literal
from ..support import BIAS, MAGIC, STORED, muladd, two_product
from ..tables import scaled_erfc as tables

#: Lanes of a register of 512 bits.
LANES: Final = {"f32": 16, "f64": 8}
_PS_OR_PD: Final = {"f32": "ps", "f64": "pd"}
#: The rounding that is in force, which only instructions on 512 bits are told.
_CURRENT: Final = Reg("4", "i32")
_TOWARD_ZERO: Final = Reg("11", "i32")


def usable(b: Emitter, x: Reg) -> bool:
    """Whether the machine has these instructions, and `x` fits a register."""
    return b.wide_tables and x.lanes <= LANES[x.dtype]


def _widen(b: Emitter, x: Reg, lanes: int) -> Reg:
    if x.lanes == lanes:
        return x
    if x.lanes == 1:
        empty = Reg("poison", x.dtype, lanes)
        return b.arrange("insertelement", x.dtype, lanes, empty, x, Reg("0", "i64"))
    return _picked(b, x, [f"i32 {i}" if i < x.lanes else "i32 poison" for i in range(lanes)])


def _narrow(b: Emitter, x: Reg, lanes: int) -> Reg:
    if x.lanes == lanes or lanes == 1:
        return b.extract(x, 0) if lanes == 1 else x
    return _picked(b, x, [f"i32 {i}" for i in range(lanes)])


def _picked(b: Emitter, x: Reg, picks: list[str]) -> Reg:
    lanes = Reg(f"<{', '.join(picks)}>", "i32", len(picks))
    return b.arrange("shufflevector", x.dtype, len(picks), x, Reg("poison", x.dtype, x.lanes), lanes)


def _call(b: Emitter, name: str, rounds: bool, *arguments: Reg | int, merges: bool = True) -> Reg:
    """The intrinsic on the shortest registers for the lanes of its first argument; with `rounds` it takes a
    rounding, and if it `merges` what lanes that are masked off keep."""
    first = arguments[0]
    assert isinstance(first, Reg)
    dtype, bits = first.dtype, 128
    while bits // BITS[dtype] < first.lanes:
        bits *= 2
    lanes = bits // BITS[dtype]
    operands = [
        _widen(b, argument, lanes) if isinstance(argument, Reg) else Reg(str(argument), "i32")
        for argument in arguments
    ]
    if merges:
        operands.append(Reg("poison", dtype, lanes))
    operands.append(Reg("-1", f"i{max(lanes, 8)}"))
    if rounds and bits == 512:
        operands.append(_CURRENT)
    full = f"llvm.x86.avx512.{name}.{_PS_OR_PD[dtype]}.{bits}"
    return _narrow(b, b.call(full, dtype, lanes, *operands), first.lanes)


def exponent(b: Emitter, x: Reg) -> Reg:
    """floor(log2 |x|) as a float, of denormals too; -infinity for 0, infinity and NaN for themselves."""
    return _call(b, "mask.getexp", True, x)


def significand(b: Emitter, x: Reg, selection: int) -> Reg:
    """x without its exponent: in [1, 2) for selection 0, in [3/4, 3/2) for 3. With 4 more |x|'s, with 8
    more NaN for negative x."""
    return _call(b, "mask.getmant", True, x, selection)


def scale(b: Emitter, x: Reg, k: Reg) -> Reg:
    """x 2^floor(k) with one rounding, whatever the size of k."""
    return _call(b, "mask.scalef", True, x, k)


def fixed_up(b: Emitter, value: Reg, x: Reg, responses: int) -> Reg:
    """`value`, or what `responses` has for the class of `x`.

    They are hexadecimal digits, from the last one on for quiet and signaling NaN, 0, 1, -infinity, infinity,
    negative and positive numbers: 0 is `value`, 2 and 3 are NaN, 4 is -infinity, 5 infinity.
    """
    table = b.const(responses, Reg("", INT_OF[x.dtype], x.lanes))
    return _call(b, "mask.fixupimm", True, value, x, table, 0, merges=False)


def held_within(b: Emitter, x: Reg, size: float, *, signed: bool = True) -> Reg:
    """x where |x| < `size`, else that with x's sign; `size` for NaN. Without its sign if not `signed`."""
    smaller_size, without_sign = 2, 2 << 2
    how = smaller_size if signed else smaller_size + without_sign
    return _call(b, "mask.range", True, x, b.const(size, x), how)


def fma_toward_zero(b: Emitter, x: Reg, y: Reg, z: Reg) -> Reg:
    """x y + z rounded toward zero: finite for finite operands. Only registers of 512 bits can do that."""
    lanes = LANES[x.dtype]
    operands = [_widen(b, operand, lanes) for operand in (x, y, z)]
    name = f"llvm.x86.avx512.vfmadd.{_PS_OR_PD[x.dtype]}.512"
    return _narrow(b, b.call(name, x.dtype, lanes, *operands, _TOWARD_ZERO), x.lanes)


def reciprocal_guess(b: Emitter, x: Reg) -> Reg:
    """1 / x with a relative error below 2^-14; infinite for 0, 0 for infinity."""
    return _call(b, "rcp14", False, x)


def rsqrt_guess(b: Emitter, x: Reg) -> Reg:
    """1 / sqrt(x) with a relative error below 2^-14, for denormals too; infinite for 0, 0 for infinity, NaN
    for negative x."""
    return _call(b, "rsqrt14", False, x)


def rsqrt(b: Emitter, x: Reg) -> Reg:
    """1 / sqrt(x), within 0.6 ulp, in f64 by a step of third order first."""
    guess = rsqrt_guess(b, x)
    if x.dtype == "f32":
        return rsqrt_step(b, x, guess)
    half = b.mul(guess, 0.5)
    r = b.fma(b.neg(b.mul(x, guess)), half, b.const(0.5, x))
    better = muladd(b, guess, muladd(b, b.mul(r, 1.5), r, r), guess)
    return b.select(b.isnan(r), guess, rsqrt_step(b, x, better))


def rsqrt_step(b: Emitter, x: Reg, guess: Reg) -> Reg:
    """A better 1 / sqrt(x) by a step of second order; the guess itself where it is infinite or 0."""
    # r = (1 - x y^2) / 2, where the product x y is a double word
    high, low = two_product(b, x, guess)
    half = b.mul(guess, -0.5)
    r = b.fma(low, half, b.fma(high, half, b.const(0.5, x)))
    return b.select(b.isnan(r), guess, muladd(b, guess, r, guess))


def sqrt_with_rest(b: Emitter, x: Reg, guess: Reg, x_low: Reg | None = None) -> tuple[Reg, Reg]:
    """sqrt(x + x_low) as a double word, from 1 / sqrt(x) to 2^-14; the lower word to that, too (f32), or to
    2^-27 (f64). 0 for x = 0 where the guess is finite."""
    root, half = b.mul(x, guess), b.mul(guess, 0.5)
    if x.dtype == "f64":
        r = b.fma(b.neg(root), half, b.const(0.5, x))
        root, half = muladd(b, root, r, root), muladd(b, half, r, half)
    root = b.fma(b.fma(b.neg(root), root, x), half, root)
    missing = b.fma(b.neg(root), root, x)
    return root, b.mul(missing if x_low is None else b.add(missing, x_low), half)


def lookup(b: Emitter, table: Sequence[float], index: Reg, dtype: str) -> Reg:
    """table[index modulo its length] for integers; tables of 1, 2 or 4 registers."""
    if index.lanes == 1:
        return b.result_of(_reader(b, table, index, dtype), dtype, 1, index)
    lanes = LANES[dtype]
    rows = [table[i : i + lanes] for i in range(0, len(table), lanes)]
    tables = [_constant(row, dtype) for row in rows]
    wide = _widen(b, index, lanes)
    if len(rows) == 1:
        kind = "sf" if dtype == "f32" else "df"
        return _permuted(b, f"permvar.{kind}", dtype, index.lanes, tables[0], wide)
    name = f"vpermi2var.{_PS_OR_PD[dtype]}"
    pairs = [
        _permuted(b, name, dtype, index.lanes, tables[i], wide, tables[i + 1]) for i in range(0, len(rows), 2)
    ]
    if len(pairs) == 1:
        return pairs[0]
    upper = b.ne(b.and_(index, 2 * lanes), 0)
    return b.select(upper, pairs[1], pairs[0])


def _permuted(b: Emitter, name: str, dtype: str, lanes: int, *arguments: Reg) -> Reg:
    return _narrow(b, b.call(f"llvm.x86.avx512.{name}.512", dtype, LANES[dtype], *arguments), lanes)


def _reader(b: Emitter, table: Sequence[float], index: Reg, dtype: str) -> str:
    """The name of a function that reads `table` in memory."""
    array = f"[{len(table)} x {LLVM_SCALAR[dtype]}] {_items(table, dtype)}"
    name = f"tracejit.table_{zlib.crc32(array.encode()):08x}"
    if name not in b.declarations:
        values = f"{name}.values"
        b.declarations[values] = f"@{values} = private unnamed_addr constant {array}, align 64"
        inner, parameter = Emitter(b.declarations), Reg("%index", index.dtype)
        place = Offset(inner.fresh(), LLVM_SCALAR[dtype], f"@{values}", inner.and_(parameter, len(table) - 1))
        value = Load(inner.fresh(), dtype, 1, place.text)
        inner.operations += [place, value]
        inner.ret(value)
        signature = f"internal {LLVM_SCALAR[dtype]} @{name}({parameter})"
        b.declarations[name] = inner.function(signature, "alwaysinline nounwind")
    return name


def quarters(b: Emitter, x: Reg, rows: Sequence[Sequence[float]], lowest: int) -> Reg:
    """A function of f32 by 32 polynomials, on quarters of binades from 2^lowest on, the first one from 0 on.

    For 0 <= x < 2^(lowest + 8). `rows` are the centres, and the coefficients from the constant one on.
    """
    zero = (lowest + BIAS["f32"]) * 4
    index = b.max(b.sub(b.lshr(b.bits(x), STORED["f32"] - 2), zero), 0)
    centre, start, *others = rows
    distance = b.exact("fsub", x, lookup(b, centre, index, "f32"))
    return muladd(b, _horner(b, distance, others, index), distance, lookup(b, start, index, "f32"))


def around_centres(b: Emitter, x: Reg, rows: Sequence[Sequence[float]], step: float) -> Reg:
    """A function of f64 by polynomials around the multiples of `step`, as many as registers hold, of which
    the last is half a step above the largest x; x >= 0."""
    magic = MAGIC["f64"]
    shifted = muladd(b, x, 1 / step, magic)
    distance = muladd(b, b.exact("fsub", shifted, magic), -step, x)
    return in_two_chains(b, distance, rows, b.bits(shifted))


def odd_by_eighths(b: Emitter, x: Reg, rows: Sequence[Sequence[float]]) -> Reg:
    """An odd function of f32 by 32 polynomials around the multiples of 1/8, around 0 by that of its
    difference to x; constant from 4 - 3/16 on, NaN for itself."""
    index = b.bits(b.exact("fadd", held_within(b, x, 31 / 8, signed=False), MAGIC["f32"] / 8))
    nearest_eighth = 3 << 4
    rest = b.bits(_call(b, "mask.reduce", True, x, nearest_eighth))  # exactly x less that
    distance = b.bitcast(b.xor(rest, b.and_(b.bits(x), 1 << 31)), "f32")
    slope = _horner(b, distance, rows[1:], index)
    # the distance is above none of the constants but the first, which is 0
    value = muladd(b, slope, distance, b.max(lookup(b, rows[0], index, "f32"), distance))
    return b.copysign(value, x)


def _horner(b: Emitter, x: Reg, rows: Sequence[Sequence[float]], index: Reg) -> Reg:
    """The polynomial of each lane's coefficients, which are looked up where they are needed: so few of them
    take registers at a time."""
    total = lookup(b, rows[-1], index, x.dtype)
    for row in reversed(rows[:-1]):
        total = muladd(b, total, x, lookup(b, row, index, x.dtype))
    return total


def in_two_chains(b: Emitter, x: Reg, rows: Sequence[Sequence[float]], index: Reg) -> Reg:
    """A long polynomial of each lane's coefficients, odd powers from the third on for themselves: steps that
    wait for each other fill the schedulers."""
    start, slope, *others = rows
    square = b.mul(x, x)
    odd, even = (_horner(b, square, others[i::2], index) for i in (1, 0))
    total = muladd(b, muladd(b, odd, x, even), x, lookup(b, slope, index, x.dtype))
    return muladd(b, total, x, lookup(b, start, index, x.dtype))


def _constant(row: Sequence[float], dtype: str) -> Reg:
    return Reg(f"<{_items(row, dtype)[1:-1]}>", dtype, len(row))


def _items(row: Sequence[float], dtype: str) -> str:
    return f"[{', '.join([f'{LLVM_SCALAR[dtype]} {literal(number, dtype)}' for number in row])}]"


def scaled_erfc(b: Emitter, x: Reg) -> tuple[Reg, Reg]:
    """(y, rest) with exp(x^2) erfc x = y (1 + rest), for 0 <= x <= 1e15; y within 1.5 ulp.

    (x + K) exp(x^2) erfc x is smooth from 0 to infinity as a function of 1 / (x + K), whose estimate to 14
    bits chooses a polynomial in d = (x - c) / (x + K), c a float in the middle of its range. So neither the
    estimate nor the rounding of d counts.
    """
    dtype = x.dtype
    centre = tables.CENTRE[dtype]
    above = b.exact("fadd", x, centre)
    guess = reciprocal_guess(b, above)
    index = b.bits(muladd(b, guess, tables.CELLS_PER_RECIPROCAL[dtype], MAGIC[dtype]))
    middle, *coefficients = tables.CELLS[dtype]
    minus = b.neg(above)
    error = b.fma(minus, guess, b.const(1.0, x))
    inverse = muladd(b, guess, error, guess)
    if dtype == "f64":
        inverse = muladd(b, inverse, b.mul(error, error), inverse)
    distance = b.mul(b.exact("fsub", x, lookup(b, middle, index, dtype)), inverse)
    value = in_two_chains(b, distance, coefficients, index)
    # 1 - (x + K) inverse, what the rounded reciprocal lacks
    lacking = b.fma(b.neg(inverse), x, b.fma(b.const(-centre, x), inverse, b.const(1.0, x)))
    return b.mul(value, inverse), lacking
