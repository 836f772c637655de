"""Calls of LAPACK's functions in generated code: arguments by reference, `info` as the result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ....ir.lapack.library import LapackLibrary
from ...interface import lapack_symbol
from ...llvm.emitter import Reg, constant, pointer
from ...llvm.loops import FunctionWriter
from ...llvm.transpose import turned

#: What LAPACK calls the dtypes.
LETTERS = {"f32": "s", "f64": "d"}


class Caller:
    """Writes calls of the functions of a `library` for one dtype into a function.

    *Requires*: numbers and texts are asked for outside of loops.
    """

    def __init__(self, w: FunctionWriter, library: LapackLibrary, dtype: str) -> None:
        self.w, self.dtype = w, dtype
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

    def real(self, value: float) -> str:
        """A pointer to a number of the matrices' dtype."""
        place = self.w.slot(self.dtype, 1)
        self.w.store(constant(value, self.dtype), place)
        return place

    def text(self, letter: str) -> str:
        """A pointer to a character."""
        place = self.w.slot("u8", 1)
        self.w.store(constant(ord(letter), "u8"), place)
        return place

    def call(self, name: str, arguments: Sequence[str], texts: int) -> None:
        """Call ``name``, for the dtype, on pointers; the lengths of its `texts` come last."""
        symbol = lapack_symbol(LETTERS[self.dtype] + name, self.bits)
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


def transpose(
    w: FunctionWriter, dtype: str, size: tuple[int, int], source: str, result: str, lanes: int
) -> None:
    """Write a matrix of `size` (rows, columns) at `source` transposed to `result`."""
    rows, columns = size
    whole_rows, whole_columns = rows - rows % lanes, columns - columns % lanes

    def by_elements(first: tuple[int, int], last: tuple[int, int]) -> None:
        def row(i: Reg, _: list[Reg]) -> Sequence[Reg]:
            def element(j: Reg, _: list[Reg]) -> Sequence[Reg]:
                value = w.load(w.offset(source, dtype, w.add(w.mul(i, columns), j)), dtype)
                w.store(value, w.offset(result, dtype, w.add(w.mul(j, rows), i)))
                return ()

            w.loop(first[1], last[1], 1, element)
            return ()

        w.loop(first[0], last[0], 1, row)

    def by_blocks(i: Reg, _: list[Reg]) -> Sequence[Reg]:
        def block(j: Reg, _: list[Reg]) -> Sequence[Reg]:
            vectors = [
                w.load(w.offset(source, dtype, w.add(w.mul(w.add(i, k), columns), j)), dtype, lanes)
                for k in range(lanes)
            ]
            for k, vector in enumerate(turned(w, vectors)):
                w.store(vector, w.offset(result, dtype, w.add(w.mul(w.add(j, k), rows), i)))
            return ()

        w.loop(0, whole_columns, lanes, block)
        return ()

    if whole_rows and whole_columns:
        w.loop(0, whole_rows, lanes, by_blocks)
        by_elements((0, whole_columns), (whole_rows, columns))
        by_elements((whole_rows, 0), (rows, columns))
    else:
        by_elements((0, 0), (rows, columns))
