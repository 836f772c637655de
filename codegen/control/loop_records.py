"""Stacks that grow while native code runs: the records of a loop whose number of steps is not known.

A stack is a block of the C allocator, twice as large each time it is full. Its pointer lies in a slot of the
function that writes it (`FunctionWriter.held`), which gives it back wherever it is left. One block of a
module is kept for the next call, like an arena: pages that the system must clear first cost more than the
steps that fill them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ...ir.graph import Value
from ..interface import EARLY_RELEASE
from ..llvm.emitter import Reg, constant, pointer
from ..llvm.function import Code, Declarations, FunctionCode
from ..llvm.loops import FunctionWriter
from ..llvm.scratch import arrays_of_blocks, free_kept

#: A new stack takes about so many bytes, and at least one record.
FIRST_BYTES: Final = 1 << 14
_LARGE: Final = 64
#: A block's size stands in its first bytes. Large blocks of glibc begin 16 bytes behind a page, so that
#: records which begin here have aligned vectors.
_HEADER: Final = 48
#: Larger blocks are not kept between calls.
KEPT_BYTES: Final = 1 << 28
#: Names of a module's variables that keep its arena, and a stack, between calls.
ARENA: Final = "arena_slot"
_KEPT: Final = "stack_slot"


class Stack:
    """Code for a stack of records, each a value of each type in `values`; nothing is there yet.

    `fails` writes what happens where there is no memory: it ends its block.
    """

    def __init__(self, w: FunctionWriter, values: Sequence[Value], fails: Callable[[], None]) -> None:
        self.w, self.fails = w, fails
        self.offsets: list[int] = []
        top = 0
        for value in values:
            alignment = _LARGE if value.type.nbytes >= _LARGE else 8
            top = -(-top // alignment) * alignment
            self.offsets.append(top)
            top += value.type.nbytes
        large = any(value.type.nbytes >= _LARGE for value in values)
        self.nbytes = -(-max(top, 1) // (_LARGE if large else 8)) * (_LARGE if large else 8)
        self.slot = w.holder()
        _define(w)

    def open(self) -> tuple[Reg, Reg]:
        """The stack's pointer, and how many records it has room for, before the loop.

        Where the function has come here before, the room is still there.
        """
        w = self.w
        return pointer(w.load_pointer(self.slot, 8)), w.load(w.offset(self.slot, "u8", 8), "i64")

    def room(self, block: Reg, capacity: Reg, index: Reg) -> tuple[Reg, Reg]:
        """The stack's pointer and capacity once there is room for record `index`."""
        w = self.w

        def grow() -> list[Reg]:
            first = max(1, FIRST_BYTES // self.nbytes)
            larger = w.max(w.mul(capacity, 2), first)
            # sizes beyond 2^63 would wrap around: an address space has no room for half of that
            fits = w.lt(larger, (1 << 62) // self.nbytes)
            size = w.select(fits, w.add(w.mul(larger, self.nbytes), _HEADER), constant(-1, "i64"))
            moved = w.result_of("stack_grow", "ptr", 1, block, size)
            w.when(w.same_place(moved.text, "null"), self.fails)
            room = w.sub(w.load(moved.text, "i64"), _HEADER)  # a block that was kept may have more
            larger = w.integer("udiv", room, self.nbytes)
            w.store_pointer(moved.text, self.slot)
            w.store(larger, w.offset(self.slot, "u8", 8))
            return [moved, larger]

        block, capacity = w.when(w.ge(index, capacity), grow, [block, capacity])
        return block, capacity

    def record(self, block: Reg, index: Reg) -> list[str]:
        """Pointers to the values of record `index`."""
        w = self.w
        place = w.offset(block.text, "u8", w.add(w.mul(index, self.nbytes), _HEADER))
        return [w.offset(place, "u8", offset) for offset in self.offsets]


def no_memory(count: int) -> str:
    """The message where a stack of records of `count` bytes cannot grow."""
    return (
        f"out of memory: the gradient of while_loop keeps {count} bytes for each step; use "
        "scan(..., checkpoint_every=k) where the number of steps is known, or a smaller carry"
    )


def _define(w: FunctionWriter) -> None:
    """The module's functions for blocks: to get one, or a larger one (null where there is no memory, and the
    old one stays), and to give one back."""
    if "stack_grow" in w.declarations:
        return
    w.declare("realloc", "ptr @realloc(ptr, i64)")
    w.declare("free", "void @free(ptr)")
    w.declarations[_KEPT] = f"@{_KEPT} = internal global ptr null"
    w.declarations["stack_grow"] = _stack_grow()
    w.declarations["stack_give_back"] = _stack_give_back()


_NULL: Final = pointer("null")


def _stack_grow() -> FunctionCode:
    w, old, nbytes = FunctionWriter(), pointer("%old"), Reg("%bytes", "i64")

    def reuse() -> None:
        kept = w.exchange(f"@{_KEPT}", _NULL)

        def check() -> None:
            w.when(w.ge(w.load(kept.text, "i64"), nbytes), lambda: w.ret(kept))
            w.run("free", kept)

        w.when(w.compute("icmp ne", "bool", 1, kept, _NULL), check)

    w.when(w.same_place(old.text, "null"), reuse)
    block = w.result_of("realloc", "ptr", 1, old, nbytes)
    w.when(w.compute("icmp ne", "bool", 1, block, _NULL), lambda: w.store(nbytes, block.text))
    w.ret(block)
    return w.function("internal ptr @stack_grow(ptr %old, i64 %bytes)", "cold noinline nounwind")


def _stack_give_back() -> FunctionCode:
    w, block = FunctionWriter(), pointer("%block")

    def give_back() -> None:
        small = w.le(w.load(block.text, "i64"), KEPT_BYTES)
        (unused,) = w.when(small, lambda: [w.exchange(f"@{_KEPT}", block)], [block])
        w.run("free", unused)

    w.when(w.compute("icmp ne", "bool", 1, block, _NULL), give_back)
    w.ret()
    return w.function("internal void @stack_give_back(ptr %block)", "nounwind")


def release_function(declarations: Declarations, name: str = "release") -> Code:
    """``void @name()``, which frees what the module keeps between calls; no function where that is
    nothing."""
    slots, arrays = _large_slots(declarations), arrays_of_blocks(declarations)
    return _freeing(name, slots, arrays) if slots or arrays else []


def early_release_function(declarations: Declarations) -> Code:
    """A function that frees what the module keeps while calls may be in its code: not scratch blocks, for
    which they may wait. No function where there are none, and `release_function` does."""
    return _freeing(EARLY_RELEASE, _large_slots(declarations)) if arrays_of_blocks(declarations) else []


def _large_slots(declarations: Declarations) -> list[str]:
    return [f"@{slot}" for slot in (ARENA, _KEPT) if slot in declarations]


def _freeing(name: str, slots: Sequence[str], arrays: Sequence[str] = ()) -> Code:
    w = FunctionWriter()
    for slot in slots:
        w.run("free", w.exchange(slot, _NULL))
    for array in arrays:
        free_kept(w, array)
    w.ret()
    return [w.function(f"void @{name}()", "nounwind")]
