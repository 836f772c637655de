"""Code objects that a trace rewrote, mapped to the user's own."""

from __future__ import annotations

import functools
import weakref
from types import CodeType
from typing import Any, Final

from ..base.process.finalization import forgotten_with
from .bytecode import decode

#: Rewritten code and its original, by identity of the former. The original of an inner function that
#: rewriting made is the function around it.
_ORIGINALS: Final[dict[int, tuple[Any, Any]]] = {}


def stands_for(code: CodeType, source: CodeType) -> None:
    """Note that `code` stands for `source`."""
    _ORIGINALS[id(code)] = forgotten_with(code, _ORIGINALS, id(code)), weakref.ref(source)


def original(value: Any) -> Any:
    """The code that `value` stands for; `value` itself for anything else."""
    entry = _ORIGINALS.get(id(value))
    source = None if entry is None else entry[1]()
    return value if source is None else source


def original_site(code: CodeType, offset: int) -> tuple[CodeType, int]:
    """The instruction of the original code that does what the one at `offset` of rewritten `code` does; the
    same where there is none."""
    source = original(code)
    return (code, offset) if source is code else _site_in(source, code, offset)


@functools.lru_cache(maxsize=4096)
def _site_in(source: CodeType, code: CodeType, offset: int) -> tuple[CodeType, int]:
    rows = {row.offset: row.name for row in decode(code).instructions}
    positions = list(code.co_positions())
    place, name = positions[offset // 2], rows.get(offset)
    others = list(source.co_positions())
    for row in decode(source).instructions:
        if row.name == name and others[row.offset // 2] == place:
            return source, row.offset
    return code, offset
