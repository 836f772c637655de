"""Arithmetic on elements of matrices in vectors: real numbers, and complex ones whose parts are neighbouring
lanes."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Final

from ...llvm.emitter import Reg, constant
from ...llvm.loops import FunctionWriter
from ...llvm.registers import LLVM_SCALAR, literal
from ...maths.support import muladd
from ..lapack.elements import Elements

#: The bits of a float's exponent, and of the exponent of 1.
_EXPONENT: Final = {"f32": 0xFF << 23, "f64": 0x7FF << 52}
_ONE: Final = {"f32": 0x7F << 23, "f64": 0x3FF << 52}


class Quotients:
    """Divides many numbers by `divisor` with one division. With `sign`, the divisor has the size of `divisor`
    and that sign, which may be known later."""

    def __init__(self, w: FunctionWriter, divisor: Reg, sign: Reg | None = None) -> None:
        self.w = w
        # the power of two that takes the divisor to [0.5, 1), so that its reciprocal is a normal number; the
        # ends of the range come close
        lowest, one = _EXPONENT[divisor.dtype] & -_EXPONENT[divisor.dtype], _ONE[divisor.dtype]
        exponent = w.and_(w.bits(divisor), _EXPONENT[divisor.dtype])
        self.scale = w.bitcast(w.max(w.sub(2 * one - lowest, exponent), lowest), divisor.dtype)
        self.reciprocal = w.div(1.0, w.mul(divisor, self.scale))
        if sign is not None:
            self.reciprocal = w.copysign(self.reciprocal, sign)

    @classmethod
    def of_parts(cls, w: FunctionWriter, scale: Reg, reciprocal: Reg) -> Quotients:
        """Quotients by the divisor whose `scale` and `reciprocal` another one computed."""
        quotients = cls.__new__(cls)
        quotients.w, quotients.scale, quotients.reciprocal = w, scale, reciprocal
        return quotients

    def of(self, x: Reg) -> Reg:
        """`x` divided by it."""
        return self.w.mul(self.w.mul(x, self.scale), self.reciprocal)


class RealArithmetic:
    """Arithmetic on real numbers. Products and sums are rounded together: everywhere, or with
    `where_machines_do` where the machine has such an operation."""

    #: Lanes of an element.
    parts = 1

    def __init__(self, w: FunctionWriter, *, where_machines_do: bool = False) -> None:
        self.w = w
        self.add_product = functools.partial(muladd, w) if where_machines_do else w.fma

    def reduced(self, sums: Sequence[Reg], factors: Sequence[Reg], row: Sequence[Reg]) -> list[Reg]:
        """Rows of `sums`, one for each of `factors`, less that factor times `row`."""
        results: list[Reg] = []
        for number, factor in enumerate(factors):
            own = sums[number * len(row) : (number + 1) * len(row)]
            negated = self.w.splat(self.w.neg(factor), row[0].lanes) if row else factor
            results += [
                self.add_product(negated, value, total) for value, total in zip(row, own, strict=True)
            ]
        return results

    def minus_product(self, total: Reg, factor: Sequence[Reg], value: Reg) -> Reg:
        """`total` less the elements of `value` times a `factor`, which is given by its parts."""
        return self.add_product(self.w.splat(self.w.neg(factor[0]), value.lanes), value, total)

    def conjugates(self, x: Sequence[Reg]) -> Sequence[Reg]:
        """Conjugates of elements."""
        return x

    def size(self, x: Reg) -> Reg:
        """The size of an element, by which pivots are chosen."""
        return self.w.abs(x)

    def nonzero(self, x: Reg) -> Reg:
        """1 in place of a zero: all that is divided by it is zero."""
        return self.w.select(self.w.eq(x, 0.0), 1.0, x)

    def quotients(self, divisor: Reg) -> Quotients:
        """Quotients by an element."""
        return Quotients(self.w, divisor)

    def pivot_quotients(self, pivot: Reg, size: Reg) -> Quotients:
        """Quotients by a pivot, whose `size` is known before: where it is zero, so is all below it, and
        stays."""
        return Quotients(self.w, self.nonzero(size), pivot)

    def real(self, x: Reg) -> Reg:
        """The real part of an element."""
        return x

    def of_real(self, x: Reg) -> Reg:
        """The element that is a real number."""
        return x


class _ComplexQuotients(Quotients):
    """Divides by a complex number: multiplies by its inverse."""

    def __init__(self, numbers: ComplexArithmetic, inverse: Sequence[Reg]) -> None:
        self.numbers, self.inverse = numbers, inverse

    def of(self, x: Reg) -> Reg:
        zero = constant(0.0, x.dtype, x.lanes)
        return self.numbers.minus_product(zero, [self.numbers.w.neg(part) for part in self.inverse], x)


class ComplexArithmetic(RealArithmetic):
    """Arithmetic on complex numbers."""

    parts = 2

    def reduced(self, sums: Sequence[Reg], factors: Sequence[Reg], row: Sequence[Reg]) -> list[Reg]:
        results: list[Reg] = []
        turned = [self._turned(value) for value in row]
        for number, factor in enumerate(factors):
            own = sums[number * len(row) : (number + 1) * len(row)]
            parts = [self.w.extract(factor, part) for part in range(2)]
            results += [
                self._minus_product(total, parts, value, other)
                for value, other, total in zip(row, turned, own, strict=True)
            ]
        return results

    def minus_product(self, total: Reg, factor: Sequence[Reg], value: Reg) -> Reg:
        return self._minus_product(total, factor, value, self._turned(value))

    def _minus_product(self, total: Reg, factor: Sequence[Reg], value: Reg, turned: Reg) -> Reg:
        """``-(a + ib)(x + iy) = -a (x + iy) + b (y - ix)``, of which `turned` is ``y - ix``."""
        w, lanes = self.w, value.lanes
        total = self.add_product(w.splat(w.neg(factor[0]), lanes), value, total)
        return self.add_product(w.splat(factor[1], lanes), turned, total)

    def _turned(self, value: Reg) -> Reg:
        swapped = self.w.shuffle(value, None, [lane ^ 1 for lane in range(value.lanes)])
        return self.w.mul(swapped, self._signs(value))

    def _signs(self, like: Reg) -> Reg:
        one, other = (f"{LLVM_SCALAR[like.dtype]} {literal(sign, like.dtype)}" for sign in (1.0, -1.0))
        return Reg(f"<{', '.join([one, other] * (like.lanes // 2))}>", like.dtype, like.lanes)

    def conjugates(self, x: Sequence[Reg]) -> Sequence[Reg]:
        return [self.w.mul(element, self._signs(element)) for element in x]

    def size(self, x: Reg) -> Reg:
        return self.w.add(*[self.w.abs(self.w.extract(x, part)) for part in range(2)])

    def nonzero(self, x: Reg) -> Reg:
        return self.w.select(self.w.eq(self.size(x), 0.0), self.of_real(constant(1.0, x.dtype)), x)

    def pivot_quotients(self, pivot: Reg, size: Reg) -> Quotients:
        return self.quotients(self.nonzero(pivot))

    def quotients(self, divisor: Reg) -> Quotients:
        parts = [self.w.extract(divisor, part) for part in range(2)]
        return _ComplexQuotients(self, Elements(self.w, divisor.dtype, 2).inverse(parts))

    def real(self, x: Reg) -> Reg:
        return self.w.extract(x, 0)

    def of_real(self, x: Reg) -> Reg:
        return self.w.arrange("insertelement", x.dtype, 2, constant(0.0, x.dtype, 2), x, Reg("0", "i64"))


def numbers_of(w: FunctionWriter, parts: int) -> RealArithmetic:
    """Arithmetic on elements of `parts` numbers of one matrix."""
    return (ComplexArithmetic if parts > 1 else RealArithmetic)(w, where_machines_do=True)
