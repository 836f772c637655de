"""Stacks that grow while native code runs: the records of a loop whose number of steps is not known.

A stack is memory of the C allocator, twice as large each time it is full. Its pointer lies in a slot of the
function that writes it (`FunctionWriter.held`), which frees it wherever it is left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ..ir.graph import Value
from .emitter import Reg, constant
from .loops import FunctionWriter

#: A new stack takes about so many bytes, and at least one record.
FIRST_BYTES: Final = 1 << 14
_LARGE: Final = 64


class Stack:
    """Code for a stack of records, each a value of each type in `values`; nothing is there yet.

    `fails` writes what happens where there is no memory: it ends its block.
    """

    def __init__(self, w: FunctionWriter, values: Sequence[Value], fails: Callable[[], None]) -> None:
        self.w, self.fails = w, fails
        self.offsets: list[int] = []
        top = 0
        for one in values:
            alignment = _LARGE if one.type.nbytes >= _LARGE else 8
            top = -(-top // alignment) * alignment
            self.offsets.append(top)
            top += one.type.nbytes
        large = any(one.type.nbytes >= _LARGE for one in values)
        self.nbytes = -(-max(top, 1) // (_LARGE if large else 8)) * (_LARGE if large else 8)
        self.slot = w.holder()

    def open(self) -> tuple[Reg, Reg]:
        """The stack's pointer, as an address, and how many records it has room for, before the loop.

        Where the function has come here before, the room is still there.
        """
        w = self.w
        return w.load(self.slot, "i64"), w.load(w.offset(self.slot, "u8", 8), "i64")

    def room(self, address: Reg, capacity: Reg, index: Reg) -> tuple[Reg, Reg]:
        """Pointer and capacity once there is room for record `index`."""
        w = self.w
        grow, enough = w.label("grow"), w.label("enough")
        before = w.block
        w.branch_if(w.ge(index, capacity), grow, enough)
        w.start(grow)
        first = max(1, FIRST_BYTES // self.nbytes)
        larger = w.max(w.mul(capacity, 2), first)
        old = w.assign(f"inttoptr i64 {address.text} to ptr", "i64").text
        w.declare("realloc", "ptr @realloc(ptr, i64)")
        # sizes beyond 2^63 would wrap around: an address space has no room for half of that
        fits = w.lt(larger, (1 << 62) // self.nbytes)
        size = w.select(fits, w.mul(larger, self.nbytes), constant(-1, "i64"))
        made = w.assign(f"call ptr @realloc(ptr {old}, i64 {size.text})", "i64").text
        moved = w.assign(f"ptrtoint ptr {made} to i64", "i64")
        missing, kept = w.label("missing"), w.label("kept")
        w.branch_if(w.eq(moved, 0), missing, kept)
        w.start(missing)
        self.fails()
        w.start(kept)
        w.store(moved, self.slot)
        w.store(larger, w.offset(self.slot, "u8", 8))
        w.branch(enough)
        w.start(enough)
        return (
            w.assign(f"phi i64 [ {address.text}, %{before} ], [ {moved.text}, %{kept} ]", "i64"),
            w.assign(f"phi i64 [ {capacity.text}, %{before} ], [ {larger.text}, %{kept} ]", "i64"),
        )

    def record(self, address: Reg, index: Reg) -> list[str]:
        """Pointers to the values of record `index`."""
        w = self.w
        base = w.assign(f"inttoptr i64 {address.text} to ptr", "i64").text
        place = w.offset(base, "u8", w.mul(index, self.nbytes))
        return [w.offset(place, "u8", offset) for offset in self.offsets]


def no_memory(count: int) -> str:
    """The message where a stack of records of `count` bytes cannot grow."""
    return (
        f"out of memory: the gradient of while_loop keeps {count} bytes for each step; use "
        "scan(..., checkpoint_every=k) where the number of steps is known, or a smaller carry"
    )
