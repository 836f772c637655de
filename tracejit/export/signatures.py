"""Signatures in C that callers ask for, as text."""

from __future__ import annotations

import itertools
import re
from typing import Final, TypeAlias

from ..base.errors import ArgumentError
from ..base.records import record

#: Numbers that are passed by value, by the short names of their dtypes.
_DTYPES: Final = {"double": "f64", "float": "f32", "int": "i32", "int32_t": "i32", "int64_t": "i64"}
#: Integers that arrays' sizes and statuses may be, by their names in C.
_INTEGERS: Final = {
    "int": "i32", "int32_t": "i32", "int64_t": "i64", "uint64_t": "u64", "size_t": "u64",
}  # fmt: skip
_SHAPE: Final = re.compile(r"\s*(\w+)\s*\(([^()]*)\)\s*")
_EXPECTED: Final = (
    'a C signature such as "double (double)", "double (double, double, void *)", "double (int, double *)", '
    '"double (int, double *, void *)" or, with pointers to all arguments and results, '
    '"int (size_t, double *, double *)"'
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


@record
class ArraySignature:
    """A signature of arrays, whose function returns a status.

    Attributes:
        text: the signature in C.
        result: the dtype of the status.
        counts: the dtypes of the numbers of elements of the first arrays, which come before the pointers.
        pointers: the dtypes of the arrays' elements, arguments and then results.
        user_data: whether a pointer follows that nobody reads.
    """

    text: str
    result: str
    counts: tuple[str, ...]
    pointers: tuple[str, ...]
    user_data: bool

    @property
    def c_types(self) -> tuple[str, ...]:
        """The types in C of the status and of all parameters."""
        names = {dtype: name for name, dtype in reversed(_INTEGERS.items())}
        counts = [names[dtype] for dtype in self.counts]
        return names[self.result], *counts, *["void *"] * (len(self.pointers) + self.user_data)


#: A signature that a caller asks for.
Signature: TypeAlias = NumberSignature | ArraySignature


def read_signature(text: str) -> Signature:
    """The signature that `text` states. Raises ArgumentError."""
    match = _SHAPE.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ArgumentError(f"cfunc: signature must be {_EXPECTED}, got {text!r}")
    result = match[1]
    types = [re.sub(r"\bconst\b|\s", "", part) for part in match[2].split(",")]
    user_data = types[-1] == "void*"
    numbers = types[:-1] if user_data else types
    if result in _INTEGERS:
        arrays = _array_signature(text, result, numbers, user_data)
        if arrays is not None:
            return arrays
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


def _array_signature(text: str, result: str, types: list[str], user_data: bool) -> ArraySignature | None:
    counts = list(itertools.takewhile(lambda name: name in _INTEGERS, types))
    pointers = [name.removesuffix("*") for name in types[len(counts) :]]
    if not pointers or not all(
        name.endswith("*") and pointer in _DTYPES
        for name, pointer in zip(types[len(counts) :], pointers, strict=True)
    ):
        return None
    return ArraySignature(
        text, _INTEGERS[result], tuple([_INTEGERS[name] for name in counts]),
        tuple([_DTYPES[name] for name in pointers]), user_data,
    )  # fmt: skip
