"""Code that stands for other code while a trace runs: rewritten, with the same lines and columns."""

from __future__ import annotations

import functools
from types import CodeType
from typing import Any, Final

from .bytecode import decode

#: By identity, code and what it stands for; of inner functions that rewriting made, the function around them.
_ORIGINALS: Final[dict[int, tuple[CodeType, CodeType]]] = {}


def stands_for(code: CodeType, source: CodeType) -> None:
    """Note that `code` stands for `source`."""
    _ORIGINALS[id(code)] = code, source


def original(value: Any) -> Any:
    """The code that `value` stands for; `value` itself for anything else."""
    return _ORIGINALS[id(value)][1] if id(value) in _ORIGINALS else value


@functools.lru_cache(maxsize=4096)
def original_site(code: CodeType, offset: int) -> tuple[CodeType, int]:
    """The instruction of the original code that does what the one at `offset` of rewritten `code` does; the
    same where there is none."""
    source = original(code)
    if source is code:
        return code, offset
    rows = {row.offset: row.name for row in decode(code).instructions}
    positions = list(code.co_positions())
    place, name = positions[offset // 2], rows.get(offset)
    others = list(source.co_positions())
    for row in decode(source).instructions:
        if row.name == name and others[row.offset // 2] == place:
            return source, row.offset
    return code, offset
