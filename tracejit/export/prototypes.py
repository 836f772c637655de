"""Names, prototypes and signatures in C: of exported functions, and those that callers ask for."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TypeAlias

from ..ir.dtypes import SHORT_NAME
from ..ir.errors import ArgumentError
from ..ir.graph import Value
from ..ir.records import record
from ..ir.types import Shape

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


#: Words of C and C++ that are no names, and functions that the code itself may call.
_RESERVED: Final = frozenset(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept
    const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype
    default delete do double dynamic_cast else enum explicit export extern false float for friend
    goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq
    private protected public register reinterpret_cast requires restrict return short signed sizeof
    static static_assert static_cast struct switch template this thread_local throw true try typedef
    typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq main memcpy
    memset memmove free realloc fma fmaf fmod fmodf sqrt sqrtf floor floorf ceil ceilf trunc truncf
    rint rintf
    """.split()  # noqa: SIM905
)
_IDENTIFIER: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def checked_name(name: str) -> str:
    """`name`, which a function is to have in C. Raises ArgumentError where it can be none."""
    if not _IDENTIFIER.fullmatch(name) or name in _RESERVED:
        raise ArgumentError(
            f"export: the name must be an identifier of C that begins with a letter and is no word of C's or "
            f"C++'s, got {name!r}"
        )
    return name


def identifier(text: str) -> str:
    """`text` as a name of a parameter: ``result['w'][0]`` as ``result_w_0``."""
    name = "_".join(re.findall(r"[A-Za-z0-9_]+", text)) or "x"
    name = name if name[0].isalpha() else f"x{name}"
    return f"{name}_" if name in _RESERVED else name


def unique(names: Sequence[str], *taken: str) -> list[str]:
    """`names`, with a number behind those that are there already or `taken`."""
    seen, result = set(taken), []
    for name in names:
        free, number = name, 1
        while free in seen:
            number += 1
            free = f"{name}_{number}"
        seen.add(free)
        result.append(free)
    return result


#: The types in C of elements, by the short names of dtypes; of complex numbers that of each of the two parts.
C_TYPES: Final = {
    "bool": "uint8_t", "i8": "int8_t", "i16": "int16_t", "i32": "int32_t", "i64": "int64_t",
    "u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t",
    "f16": "uint16_t", "f32": "float", "f64": "double", "c64": "float", "c128": "double",
}  # fmt: skip
#: Notes about element types for the header.
_NOTES: Final = {
    "bool": "0 or 1",
    "f16": "half precision, as bits",
    "c64": "pairs of real and imaginary part",
    "c128": "pairs of real and imaginary part",
}


@record
class CParameter:
    """A pointer that an exported function takes.

    Attributes:
        name: in C.
        dtype: of the elements, in NumPy's words.
        c_type: the type of an element in C.
        shape: of the array, whose elements lie one behind the other in row-major order.
        path: what Python calls it, empty for results.
        note: what else is to be known of it.
    """

    name: str
    dtype: str
    c_type: str
    shape: Shape
    path: str = ""
    note: str = ""

    @property
    def described(self) -> str:
        """The dtype and shape, as ``float64[8, 3]``."""
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]" if self.shape else self.dtype


@record
class CPrototype:
    """An exported function ``int name(const T *argument, ..., T *result, ..., void *workspace)``."""

    name: str
    summary: str
    arguments: tuple[CParameter, ...]
    results: tuple[CParameter, ...]
    workspace_bytes: int

    @property
    def declaration(self) -> str:
        """The declaration in C, without a semicolon."""
        pointers = [f"const {parameter.c_type} *{parameter.name}" for parameter in self.arguments]
        pointers += [f"{parameter.c_type} *{parameter.name}" for parameter in self.results]
        return f"int {self.name}({', '.join([*pointers, 'void *workspace'])})"


def parameter_of(
    name: str, value: Value, path: str = "", limits: tuple[int, int] | None = None
) -> CParameter:
    """The pointer for a parameter or result of a Function; `limits` are the integers that it may be."""
    short = SHORT_NAME[value.dtype]
    note = _NOTES.get(short, "")
    if limits is not None:
        note = f"from {limits[0]} to {limits[1]}"
    return CParameter(name, value.dtype.name, C_TYPES[short], value.shape, path, note)


@record(eq=False)
class Exported:
    """The result of ``f.export``.

    Attributes:
        code: the object file, library or text.
        header: the header file.
        manifest: the file that describes both, in JSON.
        functions: the prototypes, that of the function itself first.
        messages: by status, from 0 on.
        undefined: the functions that the code calls and does not have, such as memcpy.
    """

    code: Path
    header: Path
    manifest: Path
    functions: tuple[CPrototype, ...]
    messages: tuple[str, ...]
    undefined: tuple[str, ...]

    def __str__(self) -> str:
        """The files and prototypes, for people."""
        files = ", ".join(str(path) for path in (self.code, self.header, self.manifest))
        return "\n".join([files, *[f"{prototype.declaration};" for prototype in self.functions]])
