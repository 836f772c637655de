"""Why an op did not join a group of its producers, in the user's words: what `explain` says."""

from __future__ import annotations

from typing import Final

from .groups import MAX_MEMBERS, ROW_BYTES

FULL: Final = f"the group has {MAX_MEMBERS} ops already, and grows no further"
CYCLE: Final = "something outside the group lies between them, and it must run after one and before the other"
OTHER_AXES: Final = "it reduces over other axes, or another shape, than the group's reduction"
OTHER_SHAPE: Final = "its shape is not that of the group's loops"
OTHER_ELEMENT: Final = (
    "it reads other elements than its own (through a transposed, reversed or shifted view), which are not "
    "computed yet when the loop needs them"
)
ACROSS_ROWS: Final = "it needs what is folded across all rows, which is known after the last one"
LONG_ROW: Final = (
    f"it needs a reduction's result again for every element, and rows over {ROW_BYTES >> 10} KiB are not "
    "passed over twice"
)
