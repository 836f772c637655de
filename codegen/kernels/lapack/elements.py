"""Arithmetic on elements of matrices, one at a time: real numbers, and complex ones by their parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from ...llvm.emitter import Reg, constant
from ...llvm.loops import FunctionWriter
from ...llvm.registers import Number

#: A real number, or the parts of a complex one.
Parts: TypeAlias = list[Reg]


class Elements:
    """Reads, writes and computes with elements of `parts` numbers of `dtype`."""

    def __init__(self, w: FunctionWriter, dtype: str, parts: int) -> None:
        self.w, self.dtype, self.parts = w, dtype, parts

    def at(self, pointer: str, element: Number) -> str:
        """`pointer` moved by `element` elements."""
        count = self.w.mul(element, self.parts) if isinstance(element, Reg) else int(element) * self.parts
        return self.w.offset(pointer, self.dtype, count)

    def load(self, pointer: str, element: Number) -> Parts:
        """The element at a place."""
        value = self.w.load(self.at(pointer, element), self.dtype, self.parts)
        return [self.w.extract(value, part) for part in range(self.parts)]

    def store(self, value: Parts, pointer: str, element: Number) -> None:
        """Set the element at a place."""
        place = self.at(pointer, element)
        for part, number in enumerate(value):
            self.w.store(number, self.w.offset(place, self.dtype, part))

    def number(self, value: float) -> Parts:
        """A real `value` as an element."""
        return [constant(part, self.dtype) for part in (value, 0.0)[: self.parts]]

    def add(self, x: Parts, y: Parts) -> Parts:
        """The sum."""
        return [self.w.add(a, b) for a, b in zip(x, y, strict=True)]

    def sub(self, x: Parts, y: Parts) -> Parts:
        """The difference."""
        return [self.w.sub(a, b) for a, b in zip(x, y, strict=True)]

    def mul(self, x: Parts, y: Parts) -> Parts:
        """The product."""
        w = self.w
        if self.parts == 1:
            return [w.mul(x[0], y[0])]
        (a, b), (c, d) = x, y
        return [w.sub(w.mul(a, c), w.mul(b, d)), w.add(w.mul(a, d), w.mul(b, c))]

    def inverse(self, x: Parts) -> Parts:
        """1 / x; of a complex number by the larger part, so that squares do not overflow."""
        w = self.w
        if self.parts == 1:
            return [w.div(1.0, x[0])]
        a, b = x
        real_is_larger = w.ge(w.abs(a), w.abs(b))
        large, small = w.select(real_is_larger, a, b), w.select(real_is_larger, b, a)
        ratio = w.div(small, large)
        scaled = w.div(1.0, w.add(large, w.mul(small, ratio)))
        other = w.mul(ratio, scaled)
        return [w.select(real_is_larger, scaled, other), w.neg(w.select(real_is_larger, other, scaled))]

    def is_zero(self, x: Parts) -> Reg:
        """Whether `x` is zero."""
        zeros = [self.w.eq(part, 0.0) for part in x]
        return zeros[0] if len(zeros) == 1 else self.w.and_(*zeros)

    def zero_among(self, pointer: str, count: int, step: int) -> Reg:
        """Whether one of `count` elements, each `step` behind the one before, is zero."""

        def element(index: Reg, seen: list[Reg]) -> Sequence[Reg]:
            return [self.w.or_(seen[0], self.is_zero(self.load(pointer, self.w.mul(index, step))))]

        return self.w.loop(0, count, 1, element, [constant(False, "bool")])[0]
