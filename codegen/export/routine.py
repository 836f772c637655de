"""LAPACK routines as LLVM text, under LAPACK's names and arguments."""

from __future__ import annotations

from typing import Final

from ..kernels.lapack.calls import LETTERS
from ..kernels.linalg.columns import Columns
from ..llvm.emitter import Reg
from ..llvm.function import Declarations
from ..llvm.loops import FunctionWriter
from ..llvm.multiply_add import contracted
from ..llvm.target import Target

#: The width of integers.
INTEGER: Final = "i64"


class Routine(Columns):
    """Writes the function `name` for elements of `parts` numbers of `dtype`.

    Matrices lie by columns, the first elements of which are as far from each other as the leading dimension
    (``lda``) says.
    """

    def __init__(self, target: Target, dtype: str, parts: int, parameters: str) -> None:
        self.declarations = Declarations()
        super().__init__(FunctionWriter(self.declarations), target.lanes(dtype), dtype, parts)
        self.parameters = parameters.split()

    def integer(self, name: str) -> Reg:
        """The integer argument `name`."""
        return self.w.load(f"%{name}", INTEGER)

    def element(self, matrix: str, row: Reg | int, column: Reg, leading: Reg) -> str:
        """The pointer to an element of a matrix."""
        return self.at(matrix, self.w.add(self.w.mul(column, leading), row))

    def text(self, symbol: str) -> str:
        """The function as `symbol`, once it is written."""
        self.w.ret()
        listed = ", ".join(f"ptr %{name}" for name in self.parameters)
        function = self.w.function(f"void @{symbol}({listed})", "nounwind")
        return contracted([*self.declarations.values(), function])


def elements_of(name: str) -> tuple[str, tuple[str, int]]:
    """LAPACK's `name` without its first letter, and the elements that this stands for."""
    kinds = {letter: kind for kind, letter in LETTERS.items()}
    return name[1:], kinds[name[0]]
