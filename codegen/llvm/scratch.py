"""Scratch blocks: memory of functions whose slots the stack has no room for.

A function takes a block when it begins, and gives it back wherever it is left. A module keeps some blocks of
each size between calls, so that each thread mostly has one that is in its caches. Where there is no memory
for another one, a function waits until one is given back: `reserve` made sure of the first. That one stays
as long as calls may be in the module's code, and whoever has it gives it back without waiting for another: of
the functions of a kernel that take blocks none calls another (`Kernel.scratch_blocks`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .function import Declarations, FunctionCode
from .loops import FunctionWriter
from .registers import Reg, constant, pointer
from .stack import BLOCK_ALIGNMENT, GIVE_BACK, KEPT_BLOCKS, TAKE, kept_blocks

#: Blocks of a size that are kept.
KEPT: Final = 64
_NULL: Final = pointer("null")
_SLOTS, _BYTES = pointer("%slots"), Reg("%bytes", "i64")


def reserve(w: FunctionWriter, nbytes: int) -> Reg:
    """Whether there is a block of `nbytes`, now that there was memory for one."""
    _declare(w.declarations, nbytes)
    array = pointer(kept_blocks(nbytes))
    return w.result_of("scratch_reserve", "bool", 1, array, constant(nbytes, "i64"))


def arrays_of_blocks(declarations: Declarations) -> list[str]:
    """The arrays in which a module keeps blocks."""
    return [f"@{name}" for name in declarations if f"@{name}".startswith(KEPT_BLOCKS)]


def free_kept(w: FunctionWriter, array: str) -> None:
    """Free the blocks that a module keeps in `array`."""

    def place(index: Reg, _: list[Reg]) -> Sequence[Reg]:
        w.run("free", w.exchange(w.offset(array, "ptr", index), _NULL))
        return ()

    w.loop(0, KEPT, 1, place)


def _declare(declarations: Declarations, nbytes: int) -> None:
    """Declare what functions that take blocks of `nbytes` call."""
    array = kept_blocks(nbytes)
    if array[1:] in declarations:
        return
    declarations.setdefault("aligned_alloc", "declare ptr @aligned_alloc(i64, i64)")
    declarations.setdefault("free", "declare void @free(ptr)")
    declarations[array[1:]] = f"{array} = internal global [{KEPT} x ptr] zeroinitializer, align 64"
    for function in (_look(), _take(), _give_back(), _reserve()):
        declarations.setdefault(function.name, function)


def _look() -> FunctionCode:
    """A block that was kept, or a new one; null where there is no memory."""
    w = FunctionWriter()

    def place(index: Reg, _: list[Reg]) -> Sequence[Reg]:
        slot = w.offset(_SLOTS.text, "ptr", index)

        def claim() -> None:
            block = w.exchange(slot, _NULL)
            w.when(w.not_(w.same_place(block.text, "null")), lambda: w.ret(block))

        w.when(w.ne(w.load_atomic(slot), 0), claim)
        return ()

    w.loop(0, KEPT, 1, place)
    w.ret(w.result_of("aligned_alloc", "ptr", 1, constant(BLOCK_ALIGNMENT, "i64"), _BYTES))
    return w.function("internal ptr @scratch_look(ptr %slots, i64 %bytes)", "noinline nounwind")


def _take() -> FunctionCode:
    """A block; waits for one where there is no memory."""
    w = FunctionWriter()
    region = w.begin_while([])
    block = w.result_of("scratch_look", "ptr", 1, _SLOTS, _BYTES)
    w.when(w.not_(w.same_place(block.text, "null")), lambda: w.ret(block))
    w.end_while(region, [])
    w.ret(_NULL)
    return w.function(f"internal ptr {TAKE}(ptr %slots, i64 %bytes)", "noinline nounwind")


def _give_back() -> FunctionCode:
    """Keep a block where there is a place, else free it."""
    w, block = FunctionWriter(), pointer("%block")

    def place(index: Reg, _: list[Reg]) -> Sequence[Reg]:
        slot = w.offset(_SLOTS.text, "ptr", index)

        def keep() -> None:
            w.when(w.compare_exchange(slot, _NULL, block), w.ret)

        w.when(w.eq(w.load_atomic(slot), 0), keep)
        return ()

    w.loop(0, KEPT, 1, place)
    w.run("free", block)
    w.ret()
    return w.function(f"internal void {GIVE_BACK}(ptr %slots, ptr %block)", "noinline nounwind")


def _reserve() -> FunctionCode:
    """Whether there is a block for one thread at least."""
    w = FunctionWriter()
    block = w.result_of("scratch_look", "ptr", 1, _SLOTS, _BYTES)
    w.when(w.same_place(block.text, "null"), lambda: w.ret(Reg("false", "bool")))
    w.run(GIVE_BACK[1:], _SLOTS, block)
    w.ret(Reg("true", "bool"))
    return w.function("internal i1 @scratch_reserve(ptr %slots, i64 %bytes)", "noinline nounwind")
