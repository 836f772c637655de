"""Building blocks of LAPACK kernels: one matrix of each buffer, and an op's work on it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from ....base.records import record
from ....ir.dtypes import SHORT_NAME, is_complex, real_dtype
from ....ir.graph import Instruction, Value
from ...llvm.emitter import BITS, Reg, constant
from ...llvm.loops import FunctionWriter
from ...llvm.registers import Number
from ..linalg.memory_matrix import SingleMatrix
from .calls import Caller
from .elements import Elements
from .movement import transpose

#: Columns that LAPACK's blocked functions work on at a time, at most.
BLOCK: Final = 64


@record(eq=False, frozen=False)
class Problem:
    """One matrix of each operand and result of an instruction, and the workspace."""

    w: FunctionWriter
    caller: Caller
    instruction: Instruction
    #: The dtype of the numbers of which elements are made, and how many: two of complex matrices.
    dtype: str
    parts: int
    lanes: int
    #: Pointers to the matrices of the operands, and of the results.
    operands: Sequence[str]
    results: Sequence[str]
    workspace: str
    #: The pointers to numbers and texts, by type and value: 1 and 1.0 are equal.
    constants: dict[tuple[type, object], str]
    #: See `Kernel.slowdown`: LAPACK's code is the same in all tiers.
    slowdown: float = 0.0

    def number(self, value: int) -> str:
        """A pointer to `value` as LAPACK's integer."""
        return self.constants[int, value]

    def element(self, value: float) -> str:
        """A pointer to a real `value` as an element."""
        return self.constants[float, value]

    def text(self, letter: str) -> str:
        """A pointer to a character."""
        return self.constants[str, letter]

    @property
    def bytes(self) -> int:
        """Size of one element in bytes."""
        return BITS[self.dtype] // 8 * self.parts

    def at(self, pointer: str, elements: Number) -> str:
        """`pointer` moved by `elements`."""
        count = self.w.mul(elements, self.parts) if isinstance(elements, Reg) else int(elements) * self.parts
        return self.w.offset(pointer, self.dtype, count)

    def load(self, pointer: str, element: Number) -> Reg:
        """An element; the parts of a complex one are lanes."""
        return self.w.load(self.at(pointer, element), self.dtype, self.parts)

    def matrix(self, pointer: str, rows: int, columns: int) -> SingleMatrix:
        """A matrix by rows at `pointer`."""
        return SingleMatrix(self.w, pointer, rows, columns, columns, self.dtype, self.lanes, self.parts)

    def transpose(self, size: tuple[int, int], source: str, result: str) -> None:
        """Write a matrix of `size` (rows, columns) at `source` transposed to `result`."""
        rows, columns = size
        transpose(self.w, self.dtype, size, (source, columns), (result, rows), self.lanes, self.parts)

    def all_finite(self, pointer: str, count: int) -> Reg:
        """Whether `count` elements are finite: LAPACK's iterations are not asked about others."""
        w = self.w
        return w.not_(self.any_number(pointer, count, lambda value: w.not_(w.lt(w.abs(value), math.inf))))

    def any_number(self, pointer: str, count: int, test: Callable[[Reg], Reg]) -> Reg:
        """Whether `test` holds of a number among `count` elements."""
        w = self.w

        def number(index: Reg, seen: list[Reg]) -> Sequence[Reg]:
            return [w.or_(seen[0], test(w.load(w.offset(pointer, self.dtype, index), self.dtype)))]

        (holds,) = w.loop(0, count * self.parts, 1, number, [constant(False, "bool")])
        return holds

    def fill(self, pointer: str, count: int, value: float) -> None:
        """Set `count` numbers to `value`."""
        w = self.w

        def number(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            w.store(constant(value, self.dtype), w.offset(pointer, self.dtype, index))
            return ()

        w.loop(0, count, 1, number)

    def conjugate(self, pointer: str, count: int) -> None:
        """Conjugate `count` elements in place."""
        w = self.w

        def element(index: Reg, _: list[Reg]) -> Sequence[Reg]:
            place = w.offset(pointer, self.dtype, w.add(w.mul(index, 2), 1))
            w.store(w.neg(w.load(place, self.dtype)), place)
            return ()

        if self.parts == 2:
            w.loop(0, count, 1, element)

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


def zero_among(p: Problem, pointer: str, count: int, step: int) -> Reg:
    """Whether one of `count` elements, each `step` behind the one before, is zero."""
    return Elements(p.w, p.dtype, p.parts).zero_among(pointer, count, step)


Sizes = tuple[int, ...]


class WorkspaceParts:
    """Layout of a workspace: where each named part begins, in bytes, and how many elements it has."""

    def __init__(self) -> None:
        self.start: dict[str, int] = {}
        self.count: dict[str, int] = {}
        #: The bytes of all of them.
        self.end = 0

    def add(self, name: str, count: int, nbytes: int) -> None:
        """Append a part of `count` elements of `nbytes`."""
        self.start[name], self.count[name] = self.end, count
        self.end += aligned(max(count, 1) * nbytes)


@record(eq=False)
class Factorization:
    """Op by LAPACK: the writer of its code, its workspace in bytes, LAPACK's names, its floating operations,
    and the message of its failure."""

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
    """Workspace of an op that works in its result: none."""
    return 0


def dtype_of(value: Value) -> tuple[str, int]:
    """The short name of the dtype of the real numbers in an array, and how many an element has."""
    return SHORT_NAME[real_dtype(value.dtype)], 1 + is_complex(value.dtype)


def element_bytes(value: Value) -> int:
    """Size in bytes of one element of the array `value`."""
    return int(value.dtype.itemsize)
