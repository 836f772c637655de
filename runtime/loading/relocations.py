"""Relocations of ELF objects: their kinds on each architecture, and the bits that each writes.

A place is filled with ``S + A``, or with its distance from the place: S is the symbol's address, or that of
its word in the image's table of addresses, and A the addend. Branches and accesses of the table reach any
address through that table, wherever the image lies. Any other relocation of a symbol outside the image
holds 64 bits.

References: System V ABI, AMD64 supplement, chapter 4; ELF for the Arm 64-bit Architecture (AAELF64), section
5.7. The pages of AAELF64 have 4096 bytes: they belong to the instruction, and the system's may be larger.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Mapping
from typing import Final

from ...base.records import record


class Unlinkable(Exception):
    """An image that only LLVM can link."""


@record
class Architecture:
    """The relocations of one architecture."""

    #: Number of the machine in an ELF header (``e_machine``).
    number: int
    #: The relocation that holds an address of 64 bits.
    absolute: int
    #: Relocations that address the symbol's word in the table.
    by_table: Collection[int]
    #: Branches, which reach symbols outside the image by a stub.
    branches: Collection[int]
    #: ``fill(kind, old, place, target)``: the bytes at offset `place` of the image for a target at another
    #: offset; `old` are those that the assembler left there. Raises Unlinkable.
    fill: Callable[[int, bytes, int, int], bytes]
    #: ``stub(place, word)``: code that jumps to the address in the table's word at an offset.
    stub: Callable[[int, int], bytes]
    #: Bytes of a stub, with padding.
    stub_bytes: int
    #: Whether an instruction may be fetched from a cache that does not see what was written to memory.
    separate_instruction_cache: bool


# -- x86-64 ----------------------------------------------------------------------------------------------

_ABS64, _PC32, _PLT32, _GOTPCREL, _GOTPCRELX, _REX_GOTPCRELX, _PC64 = 1, 2, 4, 9, 41, 42, 24
_X86_BY_TABLE: Final = (_GOTPCREL, _GOTPCRELX, _REX_GOTPCRELX)
#: Encodings of distances, by relocation.
_X86_DISTANCES: Final = {_PC64: "<q"} | dict.fromkeys((_PC32, _PLT32, *_X86_BY_TABLE), "<i")


def _fill_x86(kind: int, old: bytes, place: int, target: int) -> bytes:
    return _distance(_X86_DISTANCES, kind, place, target)


def _distance(formats: Mapping[int, str], kind: int, place: int, target: int) -> bytes:
    if kind not in formats:
        raise Unlinkable(f"relocation {kind}")
    return struct.pack(formats[kind], target - place)


def _x86_stub(place: int, word: int) -> bytes:
    """``jmp *displacement(%rip)``, in six bytes and two of padding."""
    return b"\xff\x25" + struct.pack("<i", word - (place + 6)) + b"\x90\x90"


# -- arm64 -----------------------------------------------------------------------------------------------

_ARM_ABS64, _ARM_PREL64, _ARM_PREL32, _ARM_PLT32 = 257, 260, 261, 314
_LD_PREL_LO19, _ADR_PREL_LO21, _ADR_PREL_PG_HI21, _ADD_ABS_LO12_NC = 273, 274, 275, 277
_TSTBR14, _CONDBR19, _JUMP26, _CALL26 = 279, 280, 282, 283
_ADR_GOT_PAGE, _LD64_GOT_LO12_NC = 311, 312
_ARM_DISTANCES: Final = {_ARM_PREL64: "<q", _ARM_PREL32: "<i", _ARM_PLT32: "<i"}
#: Distances in instructions: bits left out at the right, bits and place of the field.
_ARM_BRANCHES: Final = {
    _LD_PREL_LO19: (2, 19, 5),
    _TSTBR14: (2, 14, 5),
    _CONDBR19: (2, 19, 5),
    _JUMP26: (2, 26, 0),
    _CALL26: (2, 26, 0),
}
#: The low twelve bits of an address in instructions: how many at the right are left out. Those of
#: LDST8_ABS_LO12_NC to LDST128_ABS_LO12_NC are the size of the access.
_ARM_LOW_BITS: Final = {
    _ADD_ABS_LO12_NC: 0, 278: 0, 284: 1, 285: 2, 286: 3, 299: 4, _LD64_GOT_LO12_NC: 3
}  # fmt: skip
#: The masks of the 12-bit field at bit 10 of an instruction, and of ADR's field.
_LOW_FIELD: Final = 0xFFF << 10
_ADR_FIELD: Final = 0x3 << 29 | 0x7FFFF << 5


def _fill_arm(kind: int, old: bytes, place: int, target: int) -> bytes:
    if kind in _ARM_DISTANCES:
        return _distance(_ARM_DISTANCES, kind, place, target)
    (instruction,) = struct.unpack_from("<I", old)
    if kind in (_ADR_PREL_PG_HI21, _ADR_GOT_PAGE):
        instruction = _with_adr(instruction, _field((target >> 12) - (place >> 12), 0, 21))
    elif kind == _ADR_PREL_LO21:
        instruction = _with_adr(instruction, _field(target - place, 0, 21))
    elif kind in _ARM_BRANCHES:
        scale, bits, at = _ARM_BRANCHES[kind]
        mask = ((1 << bits) - 1) << at
        instruction = instruction & ~mask | _field(target - place, scale, bits) << at
    elif kind in _ARM_LOW_BITS:
        scale = _ARM_LOW_BITS[kind]
        instruction = instruction & ~_LOW_FIELD | _field(target & 0xFFF, scale, 13) << 10
    else:
        raise Unlinkable(f"relocation {kind}")
    return struct.pack("<I", instruction)


def _field(value: int, scale: int, bits: int) -> int:
    """A signed value as a field of an instruction that leaves out `scale` bits at the right."""
    if value & ((1 << scale) - 1):
        raise Unlinkable("a target that is not aligned")
    value >>= scale
    if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
        raise Unlinkable("a target out of reach")
    return value & ((1 << bits) - 1)


def _with_adr(instruction: int, value: int) -> int:
    """ADR or ADRP with an immediate, whose lowest two bits stand apart."""
    return instruction & ~_ADR_FIELD | (value & 3) << 29 | value >> 2 << 5


def _arm_stub(place: int, word: int) -> bytes:
    """``adrp x16, word; ldr x16, [x16, :lo12:word]; br x16``, and four bytes of padding."""
    adrp, ldr = struct.pack("<I", 0x90000010), struct.pack("<I", 0xF9400210)
    return b"".join(
        [
            _fill_arm(_ADR_GOT_PAGE, adrp, place, word),
            _fill_arm(_LD64_GOT_LO12_NC, ldr, place + 4, word),
            struct.pack("<II", 0xD61F0200, 0xD503201F),
        ]
    )


#: Architectures by `platform.machine` of Linux.
ARCHITECTURES: Final = {
    "x86_64": Architecture(62, _ABS64, _X86_BY_TABLE, (_PLT32,), _fill_x86, _x86_stub, 8, False),
    "aarch64": Architecture(
        183, _ARM_ABS64, (_ADR_GOT_PAGE, _LD64_GOT_LO12_NC), (_JUMP26, _CALL26, _ARM_PLT32), _fill_arm,
        _arm_stub, 16, True,
    ),
}  # fmt: skip
