"""Symbols that an object file leaves undefined."""

from __future__ import annotations

import struct
from typing import Final

_MAGIC: Final = b"\x7fELF"
_SYMBOLS: Final = 2
#: Layouts of files of 32 and of 64 bits: where the header says where sections are, how many and how large;
#: the header of a section; and a symbol, with the places of its name and its section.
_LAYOUTS: Final = {
    1: (("<I", 32), ("<HHH", 46), "<10I", ("<IIIBBH", (0, 5))),
    2: (("<Q", 40), ("<HHH", 58), "<IIQQQQIIQQ", ("<IBBHQQ", (0, 3))),
}


def undefined_symbols(image: bytes) -> list[str] | None:
    """Undefined symbols of an ELF object `image`; None for other formats.

    Reference: System V ABI, chapter 4.
    """
    if not image.startswith(_MAGIC) or image[4] not in _LAYOUTS:
        return None
    (offset_format, offset_at), (counts_format, counts_at), section_format, symbol = _LAYOUTS[image[4]]
    (start,) = struct.unpack_from(offset_format, image, offset_at)
    size, count, _ = struct.unpack_from(counts_format, image, counts_at)
    sections = [struct.unpack_from(section_format, image, start + number * size) for number in range(count)]
    symbol_format, fields = symbol
    names = set()
    for _, kind, _, _, offset, nbytes, link, _, _, _ in sections:
        if kind != _SYMBOLS:
            continue
        texts = sections[link][4]
        for place in range(offset, offset + nbytes, struct.calcsize(symbol_format)):
            values = struct.unpack_from(symbol_format, image, place)
            name, section = (values[field] for field in fields)
            if section == 0 and name:
                names.add(image[texts + name : image.index(b"\0", texts + name)].decode())
    return sorted(names)
