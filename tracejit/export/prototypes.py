"""Prototypes in C of exported functions."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ..base.records import record
from ..ir.dtypes import SHORT_NAME
from ..ir.graph import Value
from ..ir.types import Shape

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
