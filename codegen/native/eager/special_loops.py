"""Inner loops of special functions, which ufuncs of NumPy's call for arrays of any size and strides.

The vector function is the one that fused kernels call (`codegen.maths.special`), with the same bits. Elements
that are not contiguous, and the last ones, go through a vector on the stack.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....ir.special.jets import Index
from ...interface import SPECIAL_LOOP
from ...llvm.emitter import Reg, constant
from ...llvm.function import Declarations
from ...llvm.multiply_add import contracted
from ...llvm.registers import BITS
from ...llvm.target import Target
from ...maths import MathsWriter


def special_loop(target: Target, name: str, orders: Index, dtype: str, flags: int) -> str:
    """LLVM text of ``void f(char **data, intp *count, intp *steps, void *context)`` for the derivative
    `orders` of the special function `name`.

    It clears the floating-point exceptions `flags`, which unused lanes raise, too.
    """
    declarations = Declarations(target)
    loop = _Loop(MathsWriter(declarations), name, orders, dtype, target.lanes(dtype))
    loop.write()
    w = loop.w
    w.declare("feclearexcept", "i32 @feclearexcept(i32)")
    w.call("feclearexcept", "i32", 1, Reg(str(flags), "i32"))
    w.ret()
    function = w.function(
        f"void @{SPECIAL_LOOP}(ptr %data, ptr %count, ptr %steps, ptr %context)", "nounwind"
    )
    return contracted([*declarations.values(), function])


class _Loop:
    """Writes the loop over vectors."""

    def __init__(self, w: MathsWriter, name: str, orders: Index, dtype: str, lanes: int) -> None:
        self.w, self.dtype, self.lanes = w, dtype, lanes
        self.name, self.orders = name, orders
        self.slots = [w.slot(dtype, lanes) for _ in range(len(orders) + 1)]
        self.pointers = [w.load_pointer(w.offset("%data", "i64", place)) for place in range(len(orders) + 1)]
        self.steps = [w.load(w.offset("%steps", "i64", place), "i64") for place in range(len(orders) + 1)]

    def write(self) -> None:
        w = self.w
        count = w.load("%count", "i64")
        contiguous = constant(True, "bool")
        for step in self.steps:
            contiguous = w.and_(contiguous, w.eq(step, BITS[self.dtype] // 8))

        def vector(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            left = w.sub(count, index)
            whole = w.and_(contiguous, w.ge(left, self.lanes))
            w.when(whole, lambda: self._contiguous(index))
            w.when(w.not_(whole), lambda: self._strided(index, w.min(left, self.lanes)))
            return ()

        w.loop(0, count, self.lanes, vector)

    def _contiguous(self, index: Reg) -> list[Reg]:
        *operands, result = [self.w.offset(pointer, self.dtype, index) for pointer in self.pointers]
        self._compute(operands, result)
        return []

    def _strided(self, index: Reg, count: Reg) -> list[Reg]:
        """`count` elements from `index` on; lanes beyond them repeat the last one."""
        w, last = self.w, self.w.sub(count, 1)

        def read(lane: Reg, _: list[Reg]) -> Sequence[Reg]:
            place = w.add(index, w.min(lane, last))
            for slot, pointer, step in zip(self.slots[:-1], self.pointers, self.steps, strict=False):
                element = w.load(w.offset(pointer, "u8", w.mul(place, step)), self.dtype)
                w.store(element, w.offset(slot, self.dtype, lane))
            return ()

        def write(lane: Reg, _: list[Reg]) -> Sequence[Reg]:
            place = w.mul(w.add(index, lane), self.steps[-1])
            element = w.load(w.offset(self.slots[-1], self.dtype, lane), self.dtype)
            w.store(element, w.offset(self.pointers[-1], "u8", place))
            return ()

        w.loop(0, self.lanes, 1, read)
        self._compute(self.slots[:-1], self.slots[-1])
        w.loop(0, count, 1, write, nonempty=True)
        return []

    def _compute(self, operands: Sequence[str], result: str) -> None:
        w = self.w
        values = [w.load(operand, self.dtype, self.lanes) for operand in operands]
        w.store(w.special(self.name, self.orders, *values), result)
