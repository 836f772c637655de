"""Parts that all convolution kernels share: tasks, and strided operands."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Final

from ....ir.access import element_strides, resolve
from ....ir.graph import Instruction
from ....ir.types import contiguous_strides
from ...llvm.emitter import Reg, constant
from ...llvm.function import Code
from ...llvm.loops import FunctionWriter
from ...lowering.kernel import signature
from ...lowering.lowering import LoweringContext
from .tiling import Windows

#: Images, kernels, the result and the workspace.
BUFFERS: Final = 4

Index = Reg | int


class Part(ABC):
    """Base of the functions over tasks that a convolution's kernel consists of."""

    suffix = ""

    def __init__(self, name: str, instruction: Instruction, cut: Windows, context: LoweringContext) -> None:
        self.cut, self.dtype, self.target = cut, cut.dtype, context.target
        self.parameters = context.parameters
        self.symbol = f"{name}_{self.suffix}"
        self.w = FunctionWriter(context.declarations)
        self.operand = 0
        self.strides: list[tuple[int, ...]] = []
        self.starts: list[int] = []
        for operand in instruction.operands:
            source, access = resolve(operand, context.defs)
            strides, start = element_strides(access, contiguous_strides(source.shape), len(operand.shape))
            group = (0,) if len(strides) == 4 else ()  # one group, which has no axis
            lead = len(self.strides) == 0  # images come before groups
            self.strides.append((*strides[:lead], *group, *strides[lead:]))
            self.starts.append(start)

    @property
    @abstractmethod
    def tasks(self) -> int:
        """The number of tasks."""

    @property
    @abstractmethod
    def chunk(self) -> int:
        """The number of tasks that are claimed at a time."""

    @property
    def by_library(self) -> bool:
        """Whether packing is the work of the products' library, which has floats."""
        return self.dtype in ("f32", "f64")

    def code(self) -> Code:
        self.write()
        self.w.ret()
        return [self.w.function(signature(self.symbol, BUFFERS), "nounwind")]

    @abstractmethod
    def write(self) -> None:
        """The function's body."""

    def moved(self, pointer: str, *terms: tuple[Index, int]) -> str:
        """`pointer` moved by the sum of indices times strides, in elements."""
        w = self.w
        for index, stride in terms:
            if stride and not (isinstance(index, int) and index == 0):
                pointer = w.offset(
                    pointer, self.dtype, w.mul(index, stride) if isinstance(index, Reg) else index * stride
                )
        return pointer

    def digits(self, number: Reg, sizes: Sequence[int]) -> list[Index]:
        """`number` in mixed radix: an index for each of `sizes`, the last one fastest."""
        digits: list[Index] = []
        rest = number
        for size in reversed(sizes[1:]):
            if size == 1:
                digits.append(0)
                continue
            digits.append(self.w.integer("urem", rest, size))
            rest = self.w.integer("udiv", rest, size)
        return [rest if sizes[0] > 1 else 0, *reversed(digits)]

    # -- index arithmetic, of constants where it can be ----------------------------------------------

    def sum(self, *terms: tuple[Index, int]) -> Index:
        """The sum of indices times factors."""
        constant = sum(index * factor for index, factor in terms if isinstance(index, int))
        total: Index = constant
        for index, factor in terms:
            if isinstance(index, Reg):
                scaled = self.w.mul(index, factor)
                total = scaled if isinstance(total, int) and total == 0 else self.w.add(scaled, total)
        return total

    def product(self, x: Index, y: Index) -> Index:
        """`x` times `y`."""
        if isinstance(x, int) and isinstance(y, int):
            return x * y
        return self.w.mul(x, y) if isinstance(x, Reg) else self.w.mul(y, x)

    def least(self, x: Index, y: Index) -> Index:
        """The smaller of both."""
        if isinstance(x, int) and isinstance(y, int):
            return min(x, y)
        return self.w.min(register(x), register(y))

    def most(self, x: Index, y: Index) -> Index:
        """The larger of both."""
        if isinstance(x, int) and isinstance(y, int):
            return max(x, y)
        return self.w.max(register(x), register(y))

    def ceiling(self, x: Index, by: int) -> Index:
        """`x` over `by`, rounded up where it is positive; 0 or less where it is not."""
        if by == 1:
            return x
        if isinstance(x, int):
            return -(-x // by)
        return self.w.integer("sdiv", self.w.add(x, by - 1), by)


def register(x: Index) -> Reg:
    """`x` as a register."""
    return x if isinstance(x, Reg) else constant(x, "i64")
