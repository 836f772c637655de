"""Layouts of what the native entry reads and keeps: the nodes of a `table`, and the state of a call."""

from __future__ import annotations

from typing import Annotated, Final

from ..structs import ARRAY, BYTES, OBJECT, OBJECTS, WORDS, CFunctionType, Inline, Items, Struct, words
from ..writer import Pointer
from .table import HEADER

MAIN: Final = CFunctionType("i32", (Items(BYTES), Items(BYTES)))
TABLE: Final = words("table", HEADER, slow=OBJECT, main=MAIN, failed=OBJECT, recorder=OBJECT)

_BEGIN: Final = {"kind": "i64", "length": "i64"}
NODE: Final = words("node", _BEGIN)
ARRAY_NODE: Final = words(
    "array node",
    ("kind", "length", "descr", "rank", "flags", "donated", "content", "nbytes", "gradient", "sizes"),
    descr=OBJECT,
    content=BYTES,
    sizes=Inline(WORDS),
)
NUMBER_NODE: Final = words("number node", {**_BEGIN, "low": "i64", "high": "i64"})
OBJECT_NODE: Final = words("object node", {**_BEGIN, "object": OBJECT})
CONTAINER_NODE: Final = words(
    "container node", {**_BEGIN, "type": OBJECT, "count": "i64", "keys": Inline(OBJECTS)}
)
STRUCTURE: Final = words("structure node", {**_BEGIN, "count": "i64", "keys": Inline(OBJECTS)})
RESULT: Final = words(
    "result",
    ("length", "descr", "rank", "nbytes", "reuses", "plain", "sizes"),
    descr=OBJECT,
    sizes=Inline(WORDS),
)
STEP: Final = Struct("step", {"how": (0, "i64"), "what": (8, OBJECT), "position": (8, "i64")}, 16)
SOURCE: Final = words(
    "source",
    ("start", "holder", "key", "count", "steps"),
    holder=OBJECT,
    key=OBJECT,
    steps=Inline(Items(STEP, rows=True)),
)
#: What matching collects, for at most `room` inputs: the data of each, its array (or null), the object that
#: is kept because it is donated or recorded (or null), and room for a number; then objects that attributes
#: gave, by count; and how many inputs are recorded.
STATE: Final = words(
    "state",
    (
        "count",
        "room",
        "inputs",
        "arrays",
        "holders",
        "numbers",
        "extra_count",
        "extra_room",
        "extra",
        "recorded",
    ),
    inputs=Items(BYTES),
    arrays=Items(ARRAY),
    holders=OBJECTS,
    numbers=WORDS,
    extra=OBJECTS,
)

Table = Annotated[Pointer, TABLE]
Node = Annotated[Pointer, NODE]
State = Annotated[Pointer, STATE]


def section(table: Pointer, name: str, struct: Struct) -> Pointer:
    """The first node of a part of the table."""
    return table.behind(table[f"{name}_at"]).as_(struct)


def behind(node: Pointer) -> Pointer:
    """The next node."""
    return node.behind(node["length"])
