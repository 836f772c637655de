"""Building blocks of LAPACK kernels: one matrix of each buffer, an op's work on it, and calls of LAPACK's
functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from ....ir.dtypes import SHORT_NAME, is_complex, real_dtype
from ....ir.graph import Instruction, Value
from ....ir.lapack.library import LapackLibrary
from ....ir.records import record
from ...interface import lapack_symbol
from ...llvm.emitter import BITS, Reg, constant, pointer
from ...llvm.loops import FunctionWriter
from ...llvm.registers import Number
from .elements import Elements
from .movement import transpose

#: The first letter of LAPACK's functions, by the dtype of real numbers and the numbers in an element.
LETTERS: Final = {("f32", 1): "s", ("f64", 1): "d", ("f32", 2): "c", ("f64", 2): "z"}
#: Functions that have another name for complex matrices.
COMPLEX_NAMES: Final = {"syevd": "heevd", "orgqr": "ungqr"}


def routine(name: str, dtype: str, parts: int) -> str:
    """LAPACK's whole name of its function `name`, for elements of `parts` numbers of `dtype`."""
    return LETTERS[dtype, parts] + (COMPLEX_NAMES.get(name, name) if parts == 2 else name)


class Caller:
    """Writes calls of the functions of a `library` for one dtype into a function.

    Elements are `parts` numbers of `dtype`: two of complex matrices.

    *Requires*: numbers and texts are asked for outside of loops.
    """

    def __init__(self, w: FunctionWriter, library: LapackLibrary, dtype: str, parts: int) -> None:
        self.w, self.dtype, self.parts = w, dtype, parts
        self.bits = library.integer_bits
        self.integer = f"i{self.bits}"
        self.info = w.slot(self.integer, 1)
        #: The symbols that are called.
        self.symbols: list[str] = []

    def number(self, value: int) -> str:
        """A pointer to an integer."""
        place = self.w.slot(self.integer, 1)
        self.w.store(constant(value, self.integer), place)
        return place

    def element(self, value: float) -> str:
        """A pointer to an element that is a real number."""
        place = self.w.slot(self.dtype, self.parts)
        for part, number in enumerate((value, 0.0)[: self.parts]):
            self.w.store(constant(number, self.dtype), self.w.offset(place, self.dtype, part))
        return place

    def text(self, letter: str) -> str:
        """A pointer to a character."""
        place = self.w.slot("u8", 1)
        self.w.store(constant(ord(letter), "u8"), place)
        return place

    def call(self, name: str, arguments: Sequence[str], texts: int) -> None:
        """Call ``name``, for the dtype, on pointers; the lengths of its `texts` come last."""
        symbol = lapack_symbol(routine(name, self.dtype, self.parts), self.bits)
        if symbol not in self.symbols:
            self.symbols.append(symbol)
        kinds = ["ptr"] * len(arguments) + ["i64"] * texts
        self.w.declare(symbol, f"void @{symbol}({', '.join(kinds)})")
        self.w.run(symbol, *map(pointer, arguments), *[constant(1, "i64")] * texts)

    def failed(self) -> Reg:
        """Whether the last call's `info` says that there is no result."""
        return self.w.ne(self.w.load(self.info, self.integer), 0)


@contextmanager
def one_thread(w: FunctionWriter, library: LapackLibrary) -> Iterator[list[str]]:
    """Hold the library to one thread in what is written within; gives the symbols that are called for that.

    Who finds one thread there, as a call that another thread makes meanwhile does, leaves the number as it
    is: so nobody keeps a number that another one restores.
    """
    if not (library.get_threads and library.set_threads):
        yield []
        return
    symbols = [lapack_symbol(name, library.integer_bits) for name in ("get_threads", "set_threads")]
    get, put = symbols
    w.declare(get, f"i32 @{get}()")
    w.declare(put, f"void @{put}(i32)")
    before = w.result_of(get, "i32", 1)
    several = w.gt(before, 1)
    w.when(several, lambda: w.run(put, constant(1, "i32")))
    yield symbols
    w.when(several, lambda: w.run(put, before))


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
