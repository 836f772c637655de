"""What a kernel by LAPACK is written from: one matrix of each buffer, and what an op does with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ....ir.dtypes import SHORT_NAME
from ....ir.graph import Instruction
from ....ir.records import record
from ...llvm.emitter import BITS, Reg
from ...llvm.loops import FunctionWriter
from .calls import Caller

#: Columns that LAPACK's blocked functions work on at a time, at most.
BLOCK: Final = 64


@record(eq=False, frozen=False)
class Problem:
    """One matrix of each operand and result of an instruction, and the workspace."""

    w: FunctionWriter
    caller: Caller
    instruction: Instruction
    dtype: str
    lanes: int
    #: Pointers to the matrices of the operands, and of the results.
    operands: Sequence[str]
    results: Sequence[str]
    workspace: str
    #: The pointers to numbers and texts, by value.
    constants: dict[object, str]

    def number(self, value: int) -> str:
        """A pointer to `value` as LAPACK's integer."""
        return self.constants[value]

    def text(self, letter: str) -> str:
        """A pointer to a character."""
        return self.constants[letter]

    @property
    def bytes(self) -> int:
        """Of an element."""
        return BITS[self.dtype] // 8

    def place(self, offset: int) -> str:
        """The pointer to byte `offset` of the workspace."""
        return self.w.offset(self.workspace, "u8", offset)

    def call(self, name: str, arguments: Sequence[str | int], info: bool = True) -> None:
        """Call LAPACK: pointers as they are, ``"'U"`` for a character, integers by reference."""
        texts = sum(isinstance(argument, str) and argument.startswith("'") for argument in arguments)
        places = [
            self.number(argument)
            if isinstance(argument, int)
            else self.text(argument[1])
            if argument.startswith("'")
            else argument
            for argument in arguments
        ]
        self.caller.call(name, [*places, *([self.caller.info] if info else [])], texts)


Sizes = tuple[int, ...]


@record(eq=False)
class Factorization:
    """An op by LAPACK: what it writes, what it asks of the workspace in bytes, LAPACK's names, the floating
    operations, and what its failure is called."""

    write: Callable[[Problem], Reg | None]
    workspace: Callable[[Instruction, int], int]
    names: tuple[str, ...]
    flops: Callable[[Instruction], float]
    error: str = ""


def size_of(instruction: Instruction) -> tuple[int, int]:
    """The rows and columns of the matrices."""
    rows, columns = instruction.operands[0].shape[-2:]
    return rows, columns


def aligned(nbytes: int) -> int:
    """`nbytes` rounded up to whole cache lines."""
    return -(-nbytes // 64) * 64


def no_workspace(instruction: Instruction, nbytes: int) -> int:
    """The workspace of what works in its result."""
    return 0


def dtype_of(instruction: Instruction) -> str:
    """The short name of the dtype of the matrices."""
    return SHORT_NAME[instruction.operands[0].dtype]
