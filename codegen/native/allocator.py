"""Allocator of large results: ndarrays whose memory is kept and reused.

Fresh pages cost more than computing what goes into them: the kernel clears each one at its first touch. So
large results get blocks from a small cache, and a capsule as the array's base gives the block back when the
array dies. A full cache drops what was given back longest ago, so that it serves what runs now. All of it
runs under the GIL.
"""

from __future__ import annotations

from typing import Final

from ..interface import ARRAY_WRITABLE
from .functions import Bytes, ImportedFunction, Int, Int32, ModuleVariable, Object, Words, native
from .module import NativeModule
from .structs import ARRAY, BYTES, OBJECT, WORDS, CFunctionType
from .writer import NativeWriter

#: The cache keeps at most this much memory, in at most this many blocks.
CACHE_LIMIT: Final = 1 << 27
_SLOTS: Final = 32
#: Blocks from this size on are aligned to, and asked to be, huge pages.
_HUGE: Final = 1 << 21
_MADV_HUGEPAGE: Final = 14
#: Bytes before a block, which hold its size.
_HEADER: Final = 64

#: The first `_count` are blocks that are kept, the one that was given back first in front.
_sizes = ModuleVariable("sizes", "i64", _SLOTS)
_blocks = ModuleVariable("blocks", BYTES, _SLOTS)
_count = ModuleVariable("count", "i64")
_held_bytes = ModuleVariable("tracejit_result_bytes", "i64", exported=True)

_new_capsule = ImportedFunction("PyCapsule_New", OBJECT, BYTES, BYTES, CFunctionType(None, (OBJECT,)))
_capsule_pointer = ImportedFunction("PyCapsule_GetPointer", BYTES, OBJECT, BYTES)
_new_array = ImportedFunction(
    "PyArray_NewFromDescr", ARRAY, OBJECT, OBJECT, "i32", WORDS, WORDS, BYTES, "i32", OBJECT
)
_set_base = ImportedFunction("PyArray_SetBaseObject", "i32", ARRAY, OBJECT)
_aligned_alloc = ImportedFunction("aligned_alloc", BYTES, "i64", "i64")
_free = ImportedFunction("free", None, BYTES)
_advise = ImportedFunction("madvise", "i32", BYTES, "i64", "i32")


@native(BYTES)
def remove(f: NativeWriter, number: Int) -> None:
    """Take a block out of the cache; those behind it move up."""
    sizes, blocks, count = _sizes(f), _blocks(f), _count(f)
    size, block = sizes[number], blocks[number]
    count.value = f.sub(count.value, 1)
    with f.for_(count.value, number) as i:
        behind = f.add(i, 1)
        sizes[i], blocks[i] = sizes[behind], blocks[behind]
    _held_bytes(f).value = f.sub(_held_bytes(f).value, size)
    f.ret(block)


@native(BYTES)
def take_block(f: NativeWriter, size: Int) -> None:
    """A block of `size` bytes behind a header that holds the size, the one that was used last if there are
    several; null if there is no memory."""
    number = f.variable("i64", _count(f).value)
    with f.repeat():
        f.out_of_loop.when(f.eq(number.value, 0))
        number.value = f.sub(number.value, 1)
        with f.if_(f.eq(_sizes(f)[number.value], size)):
            f.ret(remove(f, number.value))
    is_huge, needed = f.ge(size, _HUGE), f.add(size, _HEADER)
    alignment = f.select(is_huge, f.coerced(_HUGE, "i64"), _HEADER)
    mask = f.neg(alignment)
    block = _aligned_alloc(f, alignment, f.and_(f.sub(f.add(needed, alignment), 1), mask))
    f.returning(None).when(f.is_null(block))
    with f.if_(is_huge):
        # not a huge page of which less than half is wanted: results of 2^n bytes end 64 bytes behind one
        _advise(f, block, f.and_(f.add(needed, _HUGE // 2), mask), _MADV_HUGEPAGE)
    block.as_(WORDS).value = size
    f.ret(block)


@native()
def give_back(f: NativeWriter, block: Bytes) -> None:
    """Keep a block for reuse. Where there is no room, the blocks that have been unused longest are freed."""
    size = block.as_(WORDS).value
    with f.if_(f.gt(size, CACHE_LIMIT)):
        _free(f, block)
        f.ret()
    count, held = _count(f), _held_bytes(f)
    with f.repeat():
        fits = f.le(f.add(held.value, size), CACHE_LIMIT)
        f.out_of_loop.when(f.and_(fits, f.lt(count.value, _SLOTS)))
        _free(f, remove(f, 0))
    number = count.value
    _sizes(f)[number], _blocks(f)[number] = size, block
    count.value = f.add(number, 1)
    held.value = f.add(held.value, size)


@native()
def drop(f: NativeWriter, capsule: Object) -> None:
    """Give back the block of a capsule."""
    give_back(f, _capsule_pointer(f, capsule, None))


@native(ARRAY, export="tracejit_result_array")
def result_array(
    f: NativeWriter, type_: Object, descr: Object, rank: Int32, sizes: Words, nbytes: Int
) -> None:
    """A new C-contiguous ndarray; takes over the reference to `descr`. Null with an exception set."""
    raised = f.returning(None)
    block = take_block(f, f.and_(f.add(nbytes, 4095), -4096))
    with f.if_(f.is_null(block)):
        f.ret(_new_array(f, type_, descr, rank, sizes, None, None, 0, None))
    capsule = _new_capsule(f, block, None, drop.address(f))
    with f.if_(f.is_null(capsule)):
        give_back(f, block)
        f.decref(descr)
        raised.leave()
    f.own(capsule)
    data = block.behind(_HEADER)
    array = f.take(_new_array(f, type_, descr, rank, sizes, None, data, ARRAY_WRITABLE, None), raised)
    raised.when(f.ne(_set_base(f, array, f.give(capsule)), 0))
    f.ret(array)


def results_text() -> str:
    """The allocator's module."""
    return NativeModule().text(result_array)
