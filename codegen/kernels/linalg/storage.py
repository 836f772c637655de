"""Whether the matrices of a computation are in registers or in memory."""

from __future__ import annotations

from collections.abc import Callable

from ...llvm.emitter import Reg, constant
from ...llvm.loops import FunctionWriter
from .matrices import Index, Matrix, RegisterMatrix
from .scratch_matrix import ScratchMatrix


class Storage:
    """Where the matrices of a computation are: in registers, or in memory on the stack."""

    def __init__(self, w: FunctionWriter, lanes: int, *, in_registers: bool) -> None:
        self.w, self.lanes, self.in_registers = w, lanes, in_registers

    def matrix(self, rows: int, columns: int, dtype: str) -> Matrix:
        """A matrix to work in, whose elements are yet to be set."""
        if self.in_registers:
            return RegisterMatrix(self.w, [[constant(0, dtype, self.lanes)] * columns for _ in range(rows)])
        return ScratchMatrix(self.w, rows, columns, dtype, self.lanes)

    def cast(self, x: Matrix, dtype: str) -> Matrix:
        """The matrix of integers `x` with elements of `dtype`."""
        return x if x.dtype == dtype else self.mapped(x, dtype, lambda element: self.w.cast(element, dtype))

    def mapped(self, x: Matrix, dtype: str, function: Callable[[Reg], Reg]) -> Matrix:
        """The matrix of what `function` makes of the elements of `x`, of `dtype`."""
        result = self.matrix(x.rows, x.columns, dtype)

        def element(i: Index, j: Index) -> None:
            result[i, j] = function(x[i, j])

        x.each(0, x.rows, lambda i: x.each(0, x.columns, lambda j: element(i, j)))
        return result
