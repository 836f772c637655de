"""Signatures in C of functions of numbers, as SciPy writes them: ``double (double, void *)``."""

from __future__ import annotations

import re
from typing import Final

from ..ir.errors import ArgumentError
from ..ir.records import record

#: Numbers that are passed by value, by the short names of their dtypes.
_DTYPES: Final = {"double": "f64", "float": "f32", "int": "i32", "int32_t": "i32", "int64_t": "i64"}
_SHAPE: Final = re.compile(r"\s*(\w+)\s*\(([^()]*)\)\s*")
_EXPECTED: Final = (
    'a C signature such as "double (double)", "double (double, double, void *)", "double (int, double *)" or '
    '"double (int, double *, void *)"'
)


@record
class NumberSignature:
    """A signature of numbers.

    Attributes:
        text: the signature in C.
        result: the dtype of the result.
        arguments: the dtypes of the numbers; of those behind a pointer the only one.
        packed: whether they lie behind a pointer, after their count.
        user_data: whether a pointer follows that nobody reads.
    """

    text: str
    result: str
    arguments: tuple[str, ...]
    packed: bool
    user_data: bool

    @property
    def c_types(self) -> tuple[str, ...]:
        """The types in C of the result and of all parameters."""
        names = {dtype: name for name, dtype in reversed(_DTYPES.items())}
        numbers = tuple([names[dtype] for dtype in self.arguments])
        passed = ("int", f"{numbers[0]} *") if self.packed else numbers
        return names[self.result], *passed, *["void *"] * self.user_data


def read_signature(text: str) -> NumberSignature:
    """The signature that `text` states. Raises ArgumentError."""
    match = _SHAPE.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ArgumentError(f"cfunc: signature must be {_EXPECTED}, got {text!r}")
    result = match[1]
    types = [re.sub(r"\bconst\b|\s", "", part) for part in match[2].split(",")]
    user_data = types[-1] == "void*"
    numbers = types[:-1] if user_data else types
    packed = (
        len(numbers) == 2 and numbers[0] == "int" and numbers[1].rstrip("*") in _DTYPES and "*" in numbers[1]
    )
    if packed:
        numbers = [numbers[1].removesuffix("*")]
    if result not in ("double", "float") or not all(number in _DTYPES for number in numbers):
        raise ArgumentError(f"cfunc: signature must be {_EXPECTED}, got {text!r}")
    return NumberSignature(
        text, _DTYPES[result], tuple([_DTYPES[number] for number in numbers]), packed, user_data
    )
