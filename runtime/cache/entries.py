"""Machine code as entries of the disk cache."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ...base.errors import TracejitError
from ...base.loading import LazyModule
from ...ir.graph import Function, Instruction, Value
from .code import Code
from .store import CACHE

if TYPE_CHECKING:
    from ...ir.text import parser
else:
    parser = LazyModule("...ir.text.parser", __package__)

_FIELDS: Final[tuple[str, ...]] = (
    "errors", "parallel", "polls", "products", "host_calls", "exports", "cycles", "kernels", "arena_bytes",
    "reuses", "lapack",
)  # fmt: skip


def instruction_text(instruction: Instruction) -> str:
    """One instruction as the text of a Function that does nothing else."""
    params = tuple([Value(operand.type) for operand in instruction.operands])
    alone = Instruction(
        instruction.op, params, instruction.attrs, instruction.results, None, instruction.regions
    )
    return str(Function("call", params, (alone,), instruction.results))


def read_instruction(text: str) -> Instruction:
    """The instruction in the result of `instruction_text`."""
    (instruction,) = parser.parse_function(text).body
    return instruction


def store_code(key: str, code: Code, calls: Sequence[str]) -> None:
    """Keep `code` in the disk cache. `calls` are the texts of its host calls."""
    fields = {name: getattr(code, name) for name in _FIELDS}
    fields["reuses"] = list(code.reuses.items())
    fields["host_calls"] = [(symbol, text) for (symbol, _), text in zip(code.host_calls, calls, strict=True)]
    head = json.dumps(fields).encode()
    CACHE.store(key, struct.pack("<I", len(head)) + head + code.image)


def load_code(key: str) -> Code | None:
    """Load the code of `key` from the disk cache; None if there is none that can be used."""
    data = CACHE.load(key)
    if data is None:
        return None
    try:
        (size,) = struct.unpack_from("<I", data)
        fields = json.loads(data[4 : 4 + size])
        fields["reuses"] = dict(fields["reuses"])
        fields["host_calls"] = [(symbol, text) for symbol, text in fields["host_calls"]]
        for _, text in fields["host_calls"]:
            read_instruction(text)
        return Code(image=data[4 + size :], **fields)
    except (struct.error, ValueError, KeyError, TypeError, TracejitError):
        return None  # the checksum fits, so another version wrote it: compiled and written anew
