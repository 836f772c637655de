"""A small typed writer of operations, which print as LLVM IR.

The emitter keeps a list of `operations` and hands out `Reg`s: an LLVM value's text with its element dtype
(the short names of ``ir.dtypes``) and its number of lanes. A register with one lane is a scalar. Every method
works alike on scalars and vectors, chooses the instruction by dtype, and accepts Python numbers, which
take the dtype and lanes of their neighbour.

Nothing here knows about ops, loops or buffers. Maths functions are in ``codegen.maths``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ...base.loading import LazyModule
from .control_writer import OperationWriter
from .loading import mistakes_magnitudes
from .operations import Convert
from .registers import BITS as BITS
from .registers import LLVM_SCALAR as LLVM_SCALAR
from .registers import Number as Number
from .registers import Reg as Reg
from .registers import constant as constant
from .registers import folded, literal
from .registers import llvm_type as llvm_type
from .registers import pointer as pointer
from .registers import suffix as suffix

if TYPE_CHECKING:
    from . import half_conversions
else:  # with the first float16
    half_conversions = LazyModule(".half_conversions", __package__)

#: The signed integer type as wide as a float, for work on its bits.
INT_OF: Final = {"f16": "i16", "f32": "i32", "f64": "i64"}


class Emitter(OperationWriter):
    """Writes arithmetic, comparisons, conversions and moves of lanes.

    Maths functions may open basic blocks for work that is rarely needed. With `branches` on, such a function
    leaves the emitter in another basic block than it began in, and sets `block` to its label; a caller that
    writes phi instructions must name that block. With `branches` off the same functions call out instead,
    each time, and the block never changes.
    """

    branches: bool = True

    # -- operands ---------------------------------------------------------------------------------

    def like(self, value: Number, model: Reg) -> Reg:
        """`value` as a register with `model`'s dtype and lanes; scalars are splat."""
        if not isinstance(value, Reg):
            return constant(value, model.dtype, model.lanes)
        if value.lanes != model.lanes and value.lanes == 1:
            return self.splat(value, model.lanes)
        return value

    def _pair(self, x: Number, y: Number) -> tuple[Reg, Reg]:
        if isinstance(x, Reg) and isinstance(y, Reg):
            if x.lanes == y.lanes:
                return x, y
            return (self.like(x, y), y) if x.lanes == 1 else (x, self.like(y, x))
        if isinstance(x, Reg):
            return x, constant(y, x.dtype, x.lanes)  # type: ignore[arg-type]
        assert isinstance(y, Reg), "one operand must be a register"
        return constant(x, y.dtype, y.lanes), y

    def const(self, value: float | int | bool, model: Reg) -> Reg:
        """`value` with `model`'s dtype and lanes."""
        return constant(value, model.dtype, model.lanes)

    def _unary_intrinsic(self, name: str, x: Reg) -> Reg:
        return self.call(f"llvm.{name}.{suffix(x.dtype, x.lanes)}", x.dtype, x.lanes, x)

    def _binary_intrinsic(self, name: str, x: Number, y: Number) -> Reg:
        a, b = self._pair(x, y)
        return self.call(f"llvm.{name}.{suffix(a.dtype, a.lanes)}", a.dtype, a.lanes, a, b)

    def _binary(self, float_op: str, int_op: str, x: Number, y: Number) -> Reg:
        a, b = self._pair(x, y)
        total = folded(int_op, a.text, b.text) if a.dtype == "i64" and a.lanes == 1 else None
        if total is not None:
            return Reg(total, "i64")
        return self.compute(float_op if a.dtype[0] == "f" else int_op, a.dtype, a.lanes, a, b)

    # -- arithmetic -------------------------------------------------------------------------------

    def rounded_add(self, x: Number, y: Number) -> Reg:
        """x + y, whose operands are rounded as they are: a float sum that takes over no product."""
        return self._binary("fadd", "add", x, y)

    def rounded_sub(self, x: Number, y: Number) -> Reg:
        """x - y, whose operands are rounded as they are: a float difference that takes over no product."""
        return self._binary("fsub", "sub", x, y)

    def add(self, x: Number, y: Number) -> Reg:
        return self._binary("fadd contract", "add", x, y)

    def sub(self, x: Number, y: Number) -> Reg:
        return self._binary("fsub contract", "sub", x, y)

    def mul(self, x: Number, y: Number) -> Reg:
        return self._binary("fmul contract", "mul", x, y)

    def exact(self, opcode: str, x: Number, y: Number) -> Reg:
        """A float ``fadd``/``fsub``/``fmul`` without flags, for error-free transformations."""
        a, b = self._pair(x, y)
        return self.compute(opcode, a.dtype, a.lanes, a, b)

    def div(self, x: Number, y: Number) -> Reg:
        """Floating division."""
        return self._binary("fdiv contract", "invalid", x, y)

    def fma(self, x: Number, y: Number, z: Number) -> Reg:
        """x * y + z with one rounding."""
        model = next(reg for reg in (x, y, z) if (isinstance(reg, Reg) and reg.lanes > 1) or reg is z)
        if not isinstance(model, Reg):
            model = next(reg for reg in (x, y) if isinstance(reg, Reg))
        a, b, c = (self.like(operand, model) for operand in (x, y, z))
        return self.call(f"llvm.fma.{suffix(a.dtype, a.lanes)}", a.dtype, a.lanes, a, b, c)

    def neg(self, x: Reg) -> Reg:
        if x.is_float:
            return self.compute("fneg", x.dtype, x.lanes, x)
        return self.sub(self.const(0, x), x)

    def abs(self, x: Reg) -> Reg:
        if x.is_float:
            magnitude = self._unary_intrinsic("fabs", x)
            if not mistakes_magnitudes():
                return magnitude
            fence = f"llvm.arithmetic.fence.{suffix(x.dtype, x.lanes)}"
            return self.call(fence, x.dtype, x.lanes, magnitude)
        if not x.is_signed:
            return x
        return self.select(self.lt(x, 0), self.neg(x), x)

    def sqrt(self, x: Reg) -> Reg:
        return self._unary_intrinsic("sqrt", x)

    def floor(self, x: Reg) -> Reg:
        return self._unary_intrinsic("floor", x) if x.is_float else x

    def ceil(self, x: Reg) -> Reg:
        return self._unary_intrinsic("ceil", x) if x.is_float else x

    def trunc(self, x: Reg) -> Reg:
        return self._unary_intrinsic("trunc", x) if x.is_float else x

    def rint(self, x: Reg) -> Reg:
        """Round to the nearest integer, ties to even."""
        return self._unary_intrinsic("nearbyint", x) if x.is_float else x

    def copysign(self, x: Number, y: Number) -> Reg:
        return self._binary_intrinsic("copysign", x, y)

    def min(self, x: Number, y: Number) -> Reg:
        """The smaller; the second operand where either is NaN."""
        a, b = self._pair(x, y)
        return self.select(self.lt(a, b), a, b)

    def max(self, x: Number, y: Number) -> Reg:
        """The larger; the second operand where either is NaN."""
        a, b = self._pair(x, y)
        return self.select(self.gt(a, b), a, b)

    # -- comparison and choice --------------------------------------------------------------------

    def _compare(self, float_code: str, signed: str, unsigned: str, x: Number, y: Number) -> Reg:
        a, b = self._pair(x, y)
        if a.is_signed != b.is_signed and not a.is_float:
            return self._compare_mixed(signed, unsigned, a, b)
        if a.is_float:
            code = f"fcmp {float_code}"
        else:
            code = f"icmp {signed if a.is_signed else unsigned}"
        return self.compute(code, "bool", a.lanes, a, b)

    def _compare_mixed(self, signed: str, unsigned: str, a: Reg, b: Reg) -> Reg:
        """The comparison of an i64 with a u64, by value: what is negative is less than every u64."""
        plain = self.compute(f"icmp {unsigned}", "bool", a.lanes, a, b)
        below, above = signed in ("slt", "sle", "ne"), signed in ("sgt", "sge", "ne")
        negative, holds = (self.lt(a, 0), below) if a.is_signed else (self.lt(b, 0), above)
        return self.or_(negative, plain) if holds else self.and_(self.not_(negative), plain)

    def eq(self, x: Number, y: Number) -> Reg:
        return self._compare("oeq", "eq", "eq", x, y)

    def ne(self, x: Number, y: Number) -> Reg:
        return self._compare("une", "ne", "ne", x, y)

    def lt(self, x: Number, y: Number) -> Reg:
        return self._compare("olt", "slt", "ult", x, y)

    def le(self, x: Number, y: Number) -> Reg:
        return self._compare("ole", "sle", "ule", x, y)

    def gt(self, x: Number, y: Number) -> Reg:
        return self._compare("ogt", "sgt", "ugt", x, y)

    def ge(self, x: Number, y: Number) -> Reg:
        return self._compare("oge", "sge", "uge", x, y)

    def isnan(self, x: Reg) -> Reg:
        if not x.is_float:
            return constant(False, "bool", x.lanes)
        return self.unordered(x, x)

    def unordered(self, x: Reg, y: Reg) -> Reg:
        """Whether one of two floats is NaN."""
        return self.compute("fcmp uno", "bool", x.lanes, x, y)

    def select(self, condition: Reg, x: Number, y: Number) -> Reg:
        """`x` where `condition` (dtype bool), else `y`."""
        a, b = self._pair(x, y)
        lanes = max(a.lanes, condition.lanes)
        if a.lanes != lanes:
            a, b = self.splat(a, lanes), self.splat(b, lanes)
        if a.text == b.text:
            return a
        return self.arrange("select", a.dtype, lanes, condition, a, b)

    # -- bits -------------------------------------------------------------------------------------

    def integer(self, opcode: str, x: Number, y: Number) -> Reg:
        """LLVM's instruction `opcode` on integers, or bools."""
        a, b = self._pair(x, y)
        return self.compute(opcode, a.dtype, a.lanes, a, b)

    def and_(self, x: Number, y: Number) -> Reg:
        a, b = self._pair(x, y)
        if a.dtype == "bool":  # masks begin with all lanes
            true = constant(True, "bool", a.lanes).text
            if true in (a.text, b.text):
                return b if a.text == true else a
        return self.integer("and", a, b)

    def or_(self, x: Number, y: Number) -> Reg:
        return self.integer("or", x, y)

    def xor(self, x: Number, y: Number) -> Reg:
        return self.integer("xor", x, y)

    def not_(self, x: Reg) -> Reg:
        return self.integer("xor", x, constant(True if x.dtype == "bool" else -1, x.dtype, x.lanes))

    def shl(self, x: Number, y: Number) -> Reg:
        """Shift left; undefined for counts of the width or more, see `maths.integers`."""
        return self.integer("shl", x, y)

    def shr(self, x: Number, y: Number) -> Reg:
        """Shift right, arithmetic for signed types."""
        a, b = self._pair(x, y)
        return self.integer("ashr" if a.is_signed else "lshr", a, b)

    def lshr(self, x: Number, y: Number) -> Reg:
        """Logical shift right, whatever the sign."""
        return self.integer("lshr", x, y)

    def bitcast(self, x: Reg, dtype: str) -> Reg:
        """Reinterpret the bits of `x` as another dtype of the same width."""
        if LLVM_SCALAR[dtype] == LLVM_SCALAR[x.dtype]:
            return Reg(x.text, dtype, x.lanes)
        return self.convert("bitcast", x, dtype)

    def bits(self, x: Reg) -> Reg:
        """A float's bits as a signed integer of its width."""
        return self.bitcast(x, INT_OF[x.dtype])

    def packed(self, mask: Reg) -> Reg:
        """A vector of bools as the bits of an integer with as many, the first one lowest."""
        result = Convert(self.fresh(), f"i{mask.lanes}", 1, "bitcast", mask)
        self.operations.append(result)
        return result

    # -- conversion -------------------------------------------------------------------------------

    def cast(self, x: Reg, dtype: str) -> Reg:
        """Convert as NumPy's ``astype`` does: truncation to integers, wrap-around between integers.

        A float outside the integer's range, or NaN, gives what the machine NumPy runs on gives for
        the common types (the most negative integer for i32 and i64); never undefined behaviour.
        """
        if x.dtype == dtype:
            return x
        if x.dtype == "f16":
            return self.cast(half_conversions.half_to_float(self, x), dtype)
        if dtype == "f16":
            if x.dtype == "f64":
                return half_conversions.double_to_half(self, x)
            return half_conversions.float_to_half(self, self.cast(x, "f32"))
        if dtype == "bool":
            return self.ne(x, 0)
        if x.is_float:
            if dtype[0] == "f":
                code = "fpext" if BITS[dtype] > BITS[x.dtype] else "fptrunc"
                return self.convert(code, x, dtype)
            return self._float_to_int(x, dtype)
        if dtype[0] == "f":
            code = "sitofp" if x.is_signed else "uitofp"
            return self.convert(code, x, dtype)
        if BITS[dtype] == BITS[x.dtype]:
            return Reg(x.text, dtype, x.lanes)
        if BITS[dtype] < BITS[x.dtype]:
            return self.convert("trunc", x, dtype)
        return self.convert("sext" if x.is_signed else "zext", x, dtype)

    def _float_to_int(self, x: Reg, dtype: str) -> Reg:
        # `fptosi` is poison out of range, and not selected there. NumPy on x86-64 converts to i8..i32 through
        # i32, to u32 through i64, and gives the most negative integer out of range, which is that of -2^63
        # (-2^31) as well.
        wide = "i64" if BITS[dtype] == 64 or dtype == "u32" else "i32"
        if x.lanes == 1 and self.declarations.indefinite_integers:
            signed = self._indefinite_integer(x, wide)
        else:
            limit = 2.0 ** (BITS[wide] - 1)
            whole = self.convert("fptosi", x, wide)
            signed = self.select(self.lt(self.abs(x), limit), whole, constant(-int(limit), wide, x.lanes))
        if dtype != "u64":
            return self.cast(signed, dtype)
        upper_half = self.and_(self.ge(x, 2.0**63), self.lt(x, 2.0**64))
        shifted = self.select(upper_half, self.sub(x, 2.0**63), 0.0)
        upper = self.convert("fptosi", shifted, "i64")
        flipped = self.xor(upper, constant(-(2**63), "i64", x.lanes))
        return self.bitcast(self.select(upper_half, flipped, signed), "u64")

    def _indefinite_integer(self, x: Reg, dtype: str) -> Reg:
        """A scalar by x86's instruction, which gives the most negative integer out of range."""
        lanes, name = (2, "sse2.cvttsd2si") if x.dtype == "f64" else (4, "sse.cvttss2si")
        vector = self.arrange(
            "insertelement", x.dtype, lanes, Reg("poison", x.dtype, lanes), x, Reg("0", "i64")
        )
        return self.call(f"llvm.x86.{name}{'64' if dtype == 'i64' else ''}", dtype, 1, vector)

    # -- vectors ----------------------------------------------------------------------------------

    def splat(self, x: Reg, lanes: int) -> Reg:
        """A scalar in every lane."""
        if lanes == 1 or x.lanes == lanes:
            return x
        if not x.text.startswith("%"):
            return Reg(f"splat ({x.type} {x.text})", x.dtype, lanes)
        empty, zero = Reg("poison", x.dtype, lanes), Reg("0", "i64")
        first = self.arrange("insertelement", x.dtype, lanes, empty, x, zero)
        places = Reg("zeroinitializer", "i32", lanes)
        return self.arrange("shufflevector", x.dtype, lanes, first, empty, places)

    def ramp(self, lanes: int, dtype: str = "i64") -> Reg:
        """The constant 0, 1, 2, ... over `lanes`."""
        if lanes == 1:
            return constant(0, dtype)
        scalar = LLVM_SCALAR[dtype]
        items = ", ".join(f"{scalar} {literal(i, dtype)}" for i in range(lanes))
        return Reg(f"<{items}>", dtype, lanes)

    def shuffle(self, x: Reg, y: Reg | None, lanes: Sequence[int]) -> Reg:
        """Lanes of `x` (from 0) and of `y`, where there is one (behind those of `x`)."""
        picks = Reg(f"<{', '.join([f'i32 {lane}' for lane in lanes])}>", "i32", len(lanes))
        other = Reg("poison", x.dtype, x.lanes) if y is None else y
        return self.arrange("shufflevector", x.dtype, len(lanes), x, other, picks)

    def call_elementwise(self, name: str, dtype: str, *operands: Reg) -> Reg:
        """The results of the external function `name`, which takes and gives numbers: one call per lane."""
        lanes = max(operand.lanes for operand in operands)
        if lanes == 1:
            return self.call(name, dtype, 1, *operands)
        results = constant(0, dtype, lanes)
        for lane in range(lanes):
            result = self.call(name, dtype, 1, *[self.extract(operand, lane) for operand in operands])
            place = constant(lane, "i64")
            results = self.arrange("insertelement", dtype, lanes, results, result, place)
        return results

    def mul_high(self, x: Reg, y: Reg) -> Reg:
        """The high 64 bits of the product of words of 64 bits."""
        product = self.mul(self.convert("zext", x, "i128"), self.convert("zext", y, "i128"))
        return self.convert("trunc", self.lshr(product, 64), "u64")

    def extract(self, x: Reg, lane: int) -> Reg:
        """Extract one lane as a scalar."""
        if x.lanes == 1:
            return x
        return self.arrange("extractelement", x.dtype, 1, x, Reg(str(lane), "i64"))
