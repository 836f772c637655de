"""Types of native code: scalars, and pointers to structs, to items and to functions.

A scalar type is a dtype's short name. A `Struct` as a type means a pointer to one; an `Items` a pointer to
values that lie one behind the other. The layouts are those of CPython's and NumPy's objects, whose offsets
`runtime.native.capi` probes, and of the tables that Python writes for native code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ...base.records import record
from ..interface import (
    ARRAY_BASE,
    ARRAY_DATA,
    ARRAY_DESCR,
    ARRAY_DIMS,
    ARRAY_FLAGS,
    ARRAY_NDIM,
    ARRAY_STRIDES,
    BYTES_DATA,
    CELL_REF,
    COMPLEX_VALUE,
    FLOAT_VALUE,
    FUNCTION_CODE,
    LIST_ITEMS,
    SCALAR_VALUE,
    SIZE,
    SLICE_START,
    SLICE_STEP,
    SLICE_STOP,
    TUPLE_ITEMS,
    TYPE,
    WEAK_REFERENT,
)


class Struct:
    """A layout in memory: fields by name, with offset and type. `size` is that of one in a row of them."""

    def __init__(self, name: str, fields: Mapping[str, tuple[int | str, FieldType]], size: int = 0) -> None:
        self.name = name
        #: An offset that is a string is that of a Tensor's slot, which the interpreter chooses.
        self.fields = dict(fields)
        self.size = size

    def extended(self, name: str, fields: Mapping[str, tuple[int | str, FieldType]]) -> Struct:
        """A struct with the first fields of this one."""
        return Struct(name, {**self.fields, **fields})

    def __repr__(self) -> str:
        return f"Struct({self.name})"


@record
class Items:
    """A pointer to values of one type: ``pointer[i]`` loads a scalar or pointer, and is the address of a
    struct where they lie there themselves (`rows`)."""

    type: Type
    rows: bool = False

    @property
    def nbytes(self) -> int:
        if isinstance(self.type, str):
            return max(1, SCALAR_BITS[self.type] // 8)
        return self.type.size if isinstance(self.type, Struct) and self.rows else 8


@record
class CFunctionType:
    """A pointer to a C function."""

    result: Type | None
    parameters: tuple[Type, ...]


@record
class Inline:
    """The type of a field that lies in the struct itself: its value is its address."""

    type: Type


Type = str | Struct | Items | CFunctionType
FieldType = Type | Inline
SCALAR_BITS: Final = {"bool": 8, "i8": 8, "i32": 32, "i64": 64, "u64": 64, "f32": 32, "f64": 64}


def words(name: str, fields: Mapping[str, FieldType] | Sequence[str], **types: FieldType) -> Struct:
    """A struct of 64-bit words in the order of `fields`; those without a type in `types` are i64."""
    if not isinstance(fields, Mapping):
        fields = {field: types.get(field, "i64") for field in fields}
    size = 8 * len(fields)
    return Struct(name, {field: (8 * place, fields[field]) for place, field in enumerate(fields)}, size)


#: Any Python object; fields of its subclasses are read through ``pointer.as_(struct)``.
OBJECT: Final = Struct("object", {})
OBJECT.fields.update({"count": (0, "i32"), "type": (TYPE, OBJECT)})
OBJECTS: Final = Items(OBJECT)
WORDS: Final = Items("i64")
BYTES: Final = Items("i8")

#: Objects with a size in their head, as tuples, lists and deques are.
SIZED: Final = OBJECT.extended("sized", {"size": (SIZE, "i64")})
TUPLE: Final = OBJECT.extended("tuple", {"size": (SIZE, "i64"), "items": (TUPLE_ITEMS, Inline(OBJECTS))})
LIST: Final = OBJECT.extended("list", {"size": (SIZE, "i64"), "items": (LIST_ITEMS, OBJECTS)})
WEAK_REFERENCE: Final = OBJECT.extended("weakref", {"referent": (WEAK_REFERENT, OBJECT)})
FLOAT: Final = OBJECT.extended("float", {"value": (FLOAT_VALUE, "f64"), "bits": (FLOAT_VALUE, "i64")})
COMPLEX: Final = OBJECT.extended("complex", {"value": (COMPLEX_VALUE, Inline(BYTES))})
#: A scalar of NumPy's, as `np.float64(1)` is.
SCALAR: Final = OBJECT.extended("NumPy scalar", {"value": (SCALAR_VALUE, Inline(BYTES))})
CELL: Final = OBJECT.extended("cell", {"content": (CELL_REF, OBJECT)})
FUNCTION: Final = OBJECT.extended("function", {"code": (FUNCTION_CODE, OBJECT)})
SLICE: Final = OBJECT.extended(
    "slice", {"start": (SLICE_START, OBJECT), "stop": (SLICE_STOP, OBJECT), "step": (SLICE_STEP, OBJECT)}
)
ARRAY: Final = OBJECT.extended(
    "ndarray",
    {
        "data": (ARRAY_DATA, BYTES),
        "rank": (ARRAY_NDIM, "i32"),
        "sizes": (ARRAY_DIMS, WORDS),
        "strides": (ARRAY_STRIDES, WORDS),
        "base": (ARRAY_BASE, OBJECT),
        "descr": (ARRAY_DESCR, OBJECT),
        "flags": (ARRAY_FLAGS, "i32"),
    },
)
TENSOR: Final = OBJECT.extended(
    "Tensor",
    {
        "data": ("_data", OBJECT),
        "node": ("_node", OBJECT),
        "requires_grad": ("_requires_grad", OBJECT),
        "version": ("_memory", OBJECT),
        "aliases": ("_aliases", OBJECT),
        "grad": ("_grad", OBJECT),
        "hooks": ("_hooks", OBJECT),
    },
)


def bytes_of(content: FieldType) -> Struct:
    """A bytes object with `content`: the ``self`` of native functions."""
    return OBJECT.extended("bytes", {"content": (BYTES_DATA, content)})
