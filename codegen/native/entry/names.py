"""What the LLVM texts of native entries share: names for offsets, objects, and how they are filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from ...interface import (
    ARRAY_BASE,
    BYTES_DATA,
    CELL_REF,
    ENTRY_OBJECTS,
    FUNCTION_CODE,
    LIST_ITEMS,
    SIZE,
    SLICE_START,
    SLICE_STEP,
    SLICE_STOP,
    TUPLE_ITEMS,
    TYPE,
)
from .table import EntryLayout

#: How Python numbers are read.
NUMBERS: Final = """
; Whether %value is a Python int that 64 bits hold; it is then at %place. No exception stays behind.
define internal i1 @read_int(ptr %value, ptr %place) nounwind {
entry:
  %type = load ptr, ptr [%value+TYPE]
  %isint = icmp eq ptr %type, @object_int
  br i1 %isint, label %read, label %no
read:
  %number = call i64 @PyLong_AsLongLong(ptr %value)
  store i64 %number, ptr %place
  %minus = icmp eq i64 %number, -1
  br i1 %minus, label %check, label %yes
check:
  %error = call ptr @PyErr_Occurred()
  %bad = icmp ne ptr %error, null
  br i1 %bad, label %clear, label %yes
clear:
  call void @PyErr_Clear()
  br label %no
yes:
  ret i1 true
no:
  ret i1 false
}
"""


def filled(text: str, layout: EntryLayout, more: Mapping[str, int]) -> str:
    """`text` as LLVM reads it: with the numbers that its names in capitals stand for, and with ``[%p+8]``
    written out, which stands for the pointer 8 bytes behind ``%p``."""
    data, rank, sizes, descriptor, flags = layout.array_offsets
    numbers = {
        "TYPE": TYPE, "SIZE": SIZE, "TUPLE_ITEMS": TUPLE_ITEMS, "LIST_ITEMS": LIST_ITEMS,
        "CELL_REF": CELL_REF, "BYTES_DATA": BYTES_DATA, "ARRAY_BASE": ARRAY_BASE,
        "FUNCTION_CODE": FUNCTION_CODE,
        "SLICE_START": SLICE_START, "SLICE_STOP": SLICE_STOP, "SLICE_STEP": SLICE_STEP,
        "ARRAY_DATA": data, "ARRAY_NDIM": rank, "ARRAY_DIMS": sizes, "ARRAY_DESCR": descriptor,
        "ARRAY_FLAGS": flags, "ARRAY_PLAIN": layout.plain_flags, "FLOAT_VALUE": layout.float_value,
        **{f"SLOT{name}": offset for name, offset in layout.slots.items()},
        **more,
    }  # fmt: skip
    filling = []
    for name in layout.slots:
        if name not in ("_data", "_requires_grad"):
            filling += ["  call void @Py_IncRef(ptr @object_None)"]
            filling += [f"  store ptr @object_None, ptr [%tensor+SLOT{name}]"]
    objects = "".join(f"@object_{name} = external global i8\n" for name in ENTRY_OBJECTS)
    text = (objects + text).replace("  FILL_NONE", "\n".join(filling))
    names = sorted(numbers, key=len, reverse=True)
    text = re.sub(rf"\b({'|'.join(names)})\b", lambda found: str(numbers[found[1]]), text)
    return _expanded(text)


def _expanded(text: str) -> str:
    """`text` with ``[%p+8]`` written out: an address computed on the line before."""
    lines: list[str] = []
    for number, line in enumerate(text.splitlines()):
        found = re.search(r"\[(%\w+)\+(\d+)\]", line)
        if found is not None:
            lines.append(f"  %at{number} = getelementptr i8, ptr {found[1]}, i64 {found[2]}")
            line = line.replace(found[0], f"%at{number}")
        lines.append(line)
    return "\n".join(lines)
