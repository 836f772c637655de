"""Links an ELF object for x86-64 or arm64 into this process, without LLVM.

A process that finds its code in the disk cache need not load LLVM at all, which takes longer than linking.
What this does not know (other machines and formats, other relocations) raises `Unlinkable`; LLVM links that.

The image gets one mapping: code, constants, stubs and the table of external addresses, which are made
read-only and executable once relocated; behind them writable data. It is unmapped when the `Mapping` dies.
Instructions reach what is in the mapping by distance, and all else by the table and by stubs that read it:
what is imported may lie anywhere. No page is writable and executable at once, and pages are as large as the
system says.

On arm64 a core fetches instructions past its data cache. What was written is cleaned to memory and the
instruction caches of all cores forget it (``__clear_cache``) before the mapping becomes executable, and so
before anybody else knows an address in it.
Reference: System V ABI, chapters 4 and 5.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import platform
import struct
import sys
from collections.abc import Mapping as Table
from collections.abc import Sequence
from typing import Any, Final

from ...base.process.finalization import finalize
from ...base.records import record
from ...codegen.interface import Library, images_of
from .relocations import ARCHITECTURES, Architecture, Unlinkable

#: Section header types and flags.
_NOBITS, _RELA, _SYMTAB = 8, 4, 2
_WRITE, _ALLOC, _TLS = 1, 2, 0x400
_UNDEFINED, _ABSOLUTE, _COMMON = 0, 0xFFF1, 0xFFF2
#: The binding of symbols that other images do not see.
_LOCAL: Final = 0


@record
class _Section:
    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entry: int


class Mapping:
    """Memory that holds a linked image."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.address: int = _libc().mmap(None, size, 3, 0x22, -1, 0)  # read and write; private, anonymous
        if self.address in (None, ctypes.c_void_p(-1).value):
            raise Unlinkable("no memory")
        finalize(self, _libc().munmap, self.address, size)

    def seal(self, size: int, architecture: Architecture) -> None:
        """Make the first `size` bytes executable, and no longer writable."""
        if architecture.separate_instruction_cache:
            _clear_cache()(self.address, self.address + size)
        if size and _libc().mprotect(self.address, size, 5):
            raise Unlinkable("executable memory is not allowed")


@functools.lru_cache(maxsize=1)
def _libc() -> Any:
    libc: Any = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    integer = ctypes.c_int
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, integer, integer, integer, ctypes.c_long]
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    return libc


@functools.lru_cache(maxsize=1)
def _clear_cache() -> Any:
    """``__clear_cache(begin, end)`` of the C compiler's runtime library."""
    try:
        function = ctypes.CDLL("libgcc_s.so.1").__clear_cache
    except (OSError, AttributeError) as error:
        raise Unlinkable(f"instruction caches cannot be cleared: {error}") from error
    function.restype, function.argtypes = None, [ctypes.c_void_p, ctypes.c_void_p]
    return function


def load(image: bytes, exports: Sequence[str], imports: Table[str, int]) -> Library:
    """Link `image`; `imports` are external symbols by address, others are found in the process.

    Raises Unlinkable.
    """
    architecture = ARCHITECTURES.get(platform.machine())
    if sys.platform != "linux" or architecture is None:
        raise Unlinkable("not Linux on x86-64 or arm64")
    try:
        return _linked([_Image(part, architecture) for part in images_of(image)], exports, imports)
    except (struct.error, IndexError, UnicodeDecodeError, KeyError) as error:
        raise Unlinkable(f"a damaged object: {error}") from error


def _linked(images: Sequence[_Image], exports: Sequence[str], imports: Table[str, int]) -> Library:
    """Map all of `images`, let them find each other's symbols, and make them executable."""
    addresses = dict(imports)
    for part in images:
        addresses.update(part.place())
    for part in images:
        part.relocate(addresses)
    return Library({name: addresses[name] for name in exports}, [part.memory for part in images])


class _Image:
    def __init__(self, image: bytes, architecture: Architecture) -> None:
        kind = (1, architecture.number)
        if image[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<HH", image, 16) != kind:
            raise Unlinkable("not an ELF object for this machine")
        self.image, self.architecture = image, architecture
        (start,) = struct.unpack_from("<Q", image, 40)
        size, count = struct.unpack_from("<HH", image, 58)
        self.sections = [
            _Section(*struct.unpack_from("<IIQQQQIIQQ", image, start + size * i)) for i in range(count)
        ]
        self._check_bounds()
        self.symbols = self._read_symbols()
        #: Offsets in the mapping: of sections, of addresses in the table by symbol, of stubs that jump there.
        self.offsets: dict[int, int] = {}
        self.table: dict[int, int] = {}
        self.stubs: dict[int, int] = {}

    def _check_bounds(self) -> None:
        for section in self.sections:
            if section.kind != _NOBITS and section.offset + section.size > len(self.image):
                raise Unlinkable("a section beyond the object's end")
            if section.flags & _TLS:
                raise Unlinkable("thread-local data")

    def _read_symbols(self) -> list[tuple[str, int, int, int]]:
        """Name, section, value and binding of each symbol."""
        symbols = []
        for table in self.sections:
            if table.kind != _SYMTAB:
                continue
            names = self.sections[table.link]
            for at in range(table.offset, table.offset + table.size, 24):
                name, info, _, section, value, _ = struct.unpack_from("<IBBHQQ", self.image, at)
                begin = names.offset + name
                text = self.image[begin : self.image.index(b"\0", begin)].decode()
                symbols.append((text, section, value, info >> 4))
        return symbols

    def place(self) -> dict[str, int]:
        """Allocate memory and copy the sections to it; the addresses of the symbols that other images may
        use."""
        self.relocations = self._relocations()
        self.sealed, end = self._place(self.relocations)
        self.memory = Mapping(max(end, 1))
        base = self.memory.address
        for number, offset in self.offsets.items():
            header = self.sections[number]
            if header.kind != _NOBITS:
                data = self.image[header.offset : header.offset + header.size]
                ctypes.memmove(base + offset, data, header.size)
        return {
            name: base + self.offsets[section] + value
            for name, section, value, binding in self.symbols
            if binding != _LOCAL and section in self.offsets
        }

    def relocate(self, addresses: Table[str, int]) -> None:
        """Apply the relocations, with `addresses` of the imported symbols, and make the code executable."""
        base, self.imports = self.memory.address, addresses
        for symbol, offset in self.table.items():
            ctypes.memmove(base + offset, struct.pack("<Q", self._address(base, symbol)), 8)
        for symbol, offset in self.stubs.items():
            stub = self.architecture.stub(offset, self.table[symbol])
            ctypes.memmove(base + offset, stub, len(stub))
        for section, at, kind, symbol, addend in self.relocations:
            header = self.sections[section]
            old = self.image[header.offset + at : header.offset + at + 4]
            place = self.offsets[section] + at
            filled = self._relocated(base, place, old, kind, symbol, addend)
            if at + len(filled) > header.size:
                raise Unlinkable("a relocation lies outside its section")
            ctypes.memmove(base + place, filled, len(filled))
        self.memory.seal(self.sealed, self.architecture)

    def _relocations(self) -> list[tuple[int, int, int, int, int]]:
        """The relocations of loaded sections: section, offset, type, symbol and addend."""
        relocations = []
        for section in self.sections:
            if (
                section.kind != _RELA
                or not self.sections[section.info].flags & _ALLOC
                or self._is_unwinding(section.info)
            ):
                continue
            for at in range(section.offset, section.offset + section.size, 24):
                offset, info, addend = struct.unpack_from("<QQq", self.image, at)
                relocations.append((section.info, offset, info & 0xFFFFFFFF, info >> 32, addend))
        return relocations

    def _is_unwinding(self, number: int) -> bool:
        names = self.sections[struct.unpack_from("<H", self.image, 62)[0]]
        begin = names.offset + self.sections[number].name
        return self.image[begin : begin + 9] == b".eh_frame"

    def _place(self, relocations: Sequence[tuple[int, int, int, int, int]]) -> tuple[int, int]:
        """Assign offsets to all sections, table entries and stubs; the ends of the sealed part and of the
        whole."""
        top, architecture = 0, self.architecture
        allocated = [
            (number, section)
            for number, section in enumerate(self.sections)
            if section.flags & _ALLOC and section.size and not self._is_unwinding(number)
        ]
        for number, header in allocated:
            if not header.flags & _WRITE:
                top = _rounded(top, header.align)
                self.offsets[number] = top
                top += header.size
        top = _rounded(top, 16)
        for _, _, kind, symbol, _ in relocations:
            section = self.symbols[symbol][1]
            if section in (_ABSOLUTE, _COMMON):
                raise Unlinkable("absolute and common symbols")
            if section != _UNDEFINED and kind not in architecture.by_table:
                continue
            if symbol not in self.table:
                self.table[symbol] = top
                top += 8
            if kind in architecture.branches and symbol not in self.stubs:
                self.stubs[symbol] = top
                top += architecture.stub_bytes
        top = sealed = _rounded(top, mmap.PAGESIZE)
        for number, header in allocated:
            if header.flags & _WRITE:
                top = _rounded(top, header.align)
                self.offsets[number] = top
                top += header.size
        return sealed, top

    def _address(self, base: int, symbol: int) -> int:
        """The address of a symbol in this process."""
        name, section, value, _ = self.symbols[symbol]
        if section != _UNDEFINED:
            return base + self.offsets[section] + value
        if name in self.imports:
            return self.imports[name]
        try:
            return ctypes.cast(getattr(_libc(), name), ctypes.c_void_p).value or 0
        except AttributeError:
            raise Unlinkable(f"the symbol {name} is nowhere") from None

    def _relocated(self, base: int, at: int, old: bytes, kind: int, symbol: int, addend: int) -> bytes:
        """The bytes at offset `at` of the image, which are `old` before."""
        _, section, value, _ = self.symbols[symbol]
        architecture = self.architecture
        if kind == architecture.absolute:
            return struct.pack("<Q", self._address(base, symbol) + addend)
        if kind in architecture.by_table:
            target = self.table[symbol]
        elif section != _UNDEFINED:
            target = self.offsets[section] + value
        elif kind in architecture.branches:
            target = self.stubs[symbol]
        else:
            raise Unlinkable(f"relocation {kind} of an external symbol")
        # distances and the low bits of addresses are those of offsets: a mapping begins at a page
        return architecture.fill(kind, old, at, target + addend)


def _rounded(offset: int, align: int) -> int:
    return -(-offset // max(align, 1)) * max(align, 1)
