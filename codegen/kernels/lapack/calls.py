"""Calls of LAPACK's functions, on one thread, with their arguments by reference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from ....base.lapack.library import LapackLibrary
from ...interface import lapack_symbol
from ...llvm.emitter import Reg, constant, pointer
from ...llvm.loops import FunctionWriter

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
        self.w, self.library, self.dtype, self.parts = w, library, dtype, parts
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

    def has(self, name: str) -> bool:
        """Whether the library has the function ``name`` for the dtype."""
        return bool(self.library.find(routine(name, self.dtype, self.parts)))

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
