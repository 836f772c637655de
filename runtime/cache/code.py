"""Machine code with what an executable needs beside it, as the disk cache keeps it."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ...base.errors import TracejitError
from ...base.loading import LazyModule
from ...base.records import field, record
from ...ir.graph import Function, Instruction, Value
from .store import CACHE

if TYPE_CHECKING:
    from ...ir.text import parser
else:
    parser = LazyModule("...ir.text.parser", __package__)


@record
class Code:
    """An object image for one Function.

    Attributes:
        image: the object file.
        errors: messages by status - 1.
        parallel: whether it calls the pool.
        polls: whether it lets signals in.
        products: the dtypes whose product functions it calls.
        host_calls: the symbols it calls back, each with the text of its instruction if it was found on disk.
        exports: the symbols it defines for others.
        cycles: an estimate for one call.
        kernels: how many kernels it has.
        arena_bytes: bytes for intermediate values.
        reuses: by result, the donated parameter that it may be written over.
        lapack: the symbols of LAPACK's functions that it calls.
        c_functions: the addresses of the user's C functions that it calls, by symbol; such code is not
            kept on disk.
        numbers: what code for any product finds its own by, see `single_gemm`; such code is not kept on disk.
    """

    image: bytes
    errors: list[str]
    parallel: bool
    polls: bool
    products: list[str]
    host_calls: list[tuple[str, str]]
    exports: list[str]
    cycles: float
    kernels: int
    arena_bytes: int
    reuses: dict[int, int]
    numbers: tuple[int, ...] = ()
    lapack: Sequence[str] = ()
    c_functions: Mapping[str, int] = field(default_factory=dict)

    def answers_like(self, other: Code) -> bool:
        """Whether callers can have this in place of `other`: the errors of one are the first of the other's,
        and it has the same callbacks and reuses the same memory."""
        count = min(len(self.errors), len(other.errors))
        errors_agree = self.errors[:count] == other.errors[:count]
        return errors_agree and self.host_calls == other.host_calls and self.reuses == other.reuses


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
