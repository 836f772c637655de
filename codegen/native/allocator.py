"""LLVM text of the allocator of large results: ndarrays whose memory comes back to be used again.

Fresh pages cost more than computing what goes into them: the kernel clears each one at its first touch. So
large results get blocks from a small cache, and a capsule as the array's base gives the block back when the
array dies. A full cache drops what was given back longest ago, so that it serves what runs now. All of it
runs under the GIL.
"""

from __future__ import annotations

from typing import Final

#: The cache keeps at most this much memory, in at most this many blocks.
CACHE_LIMIT: Final = 1 << 27
_SLOTS: Final = 32
#: Blocks from this size on are aligned to, and asked to be, huge pages.
_HUGE: Final = 1 << 21

_TEXT: Final = """
; The first @count are blocks that are kept, the one that was given back first in front.
@sizes = internal global [SLOTS x i64] zeroinitializer
@blocks = internal global [SLOTS x ptr] zeroinitializer
@count = internal global i64 0
@tracejit_result_bytes = global i64 0

declare ptr @PyCapsule_New(ptr, ptr, ptr)
declare ptr @PyCapsule_GetPointer(ptr, ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyArray_NewFromDescr(ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)
declare i32 @PyArray_SetBaseObject(ptr, ptr)
declare ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
declare i32 @madvise(ptr, i64, i32)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)

; Take block number %i out of the cache; those behind it move up.
define internal ptr @remove(i64 %i) nounwind {
  %sp = getelementptr i64, ptr @sizes, i64 %i
  %bp = getelementptr ptr, ptr @blocks, i64 %i
  %size = load i64, ptr %sp
  %block = load ptr, ptr %bp
  %count = load i64, ptr @count
  %less = sub i64 %count, 1
  store i64 %less, ptr @count
  %behind = sub i64 %less, %i
  %nbytes = shl i64 %behind, 3
  %s1 = getelementptr i64, ptr %sp, i64 1
  %b1 = getelementptr ptr, ptr %bp, i64 1
  call void @llvm.memmove.p0.p0.i64(ptr %sp, ptr %s1, i64 %nbytes, i1 false)
  call void @llvm.memmove.p0.p0.i64(ptr %bp, ptr %b1, i64 %nbytes, i1 false)
  %held = load i64, ptr @tracejit_result_bytes
  %rest = sub i64 %held, %size
  store i64 %rest, ptr @tracejit_result_bytes
  ret ptr %block
}

; A block of %size bytes after a 64-byte header that holds the size, the one that was used last if there are
; several; null if there is no memory.
define internal ptr @take(i64 %size) nounwind {
entry:
  %count = load i64, ptr @count
  br label %look
look:
  %above = phi i64 [ %count, %entry ], [ %i, %more ]
  %none_left = icmp eq i64 %above, 0
  br i1 %none_left, label %fresh, label %more
more:
  %i = sub i64 %above, 1
  %sp = getelementptr i64, ptr @sizes, i64 %i
  %s = load i64, ptr %sp
  %fits = icmp eq i64 %s, %size
  br i1 %fits, label %reuse, label %look
reuse:
  %b = call ptr @remove(i64 %i)
  ret ptr %b
fresh:
  %big = icmp uge i64 %size, HUGE
  %align = select i1 %big, i64 HUGE, i64 64
  %want = add i64 %size, 64
  %up = add i64 %want, %align
  %up1 = sub i64 %up, 1
  %neg = sub i64 0, %align
  %total = and i64 %up1, %neg
  %p = call ptr @aligned_alloc(i64 %align, i64 %total)
  %none = icmp eq ptr %p, null
  br i1 %none, label %failed, label %ok
failed:
  ret ptr null
ok:
  br i1 %big, label %advise, label %done
advise:
  ; not a huge page of which less than half is wanted: results of 2^n bytes end 64 bytes behind one
  %near = add i64 %want, HALF
  %pages = and i64 %near, %neg
  %a = call i32 @madvise(ptr %p, i64 %pages, i32 14)
  br label %done
done:
  store i64 %size, ptr %p
  ret ptr %p
}

; Keep a block. Those that nobody asked for again longest go where there is no place.
define internal void @give_back(ptr %p) nounwind {
entry:
  %size = load i64, ptr %p
  %possible = icmp ule i64 %size, LIMIT
  br i1 %possible, label %look, label %release
look:
  %count = load i64, ptr @count
  %held = load i64, ptr @tracejit_result_bytes
  %after = add i64 %held, %size
  %slot = icmp ult i64 %count, SLOTS
  %room = icmp ule i64 %after, LIMIT
  %fits = and i1 %slot, %room
  br i1 %fits, label %keep, label %evict
evict:
  %oldest = call ptr @remove(i64 0)
  call void @free(ptr %oldest)
  br label %look
keep:
  %sp = getelementptr i64, ptr @sizes, i64 %count
  store i64 %size, ptr %sp
  %bp = getelementptr ptr, ptr @blocks, i64 %count
  store ptr %p, ptr %bp
  %more = add i64 %count, 1
  store i64 %more, ptr @count
  store i64 %after, ptr @tracejit_result_bytes
  ret void
release:
  call void @free(ptr %p)
  ret void
}

define internal void @drop(ptr %capsule) nounwind {
  %p = call ptr @PyCapsule_GetPointer(ptr %capsule, ptr null)
  call void @give_back(ptr %p)
  ret void
}

; A new C-contiguous ndarray of %nbytes; takes over the reference to %descr. Null with an exception set.
define ptr @tracejit_result_array(ptr %type, ptr %descr, i32 %nd, ptr %dims, i64 %nbytes) nounwind {
entry:
  %up = add i64 %nbytes, 4095
  %size = and i64 %up, -4096
  %block = call ptr @take(i64 %size)
  %none = icmp eq ptr %block, null
  br i1 %none, label %ordinary, label %wrap
ordinary:
  %plain = call ptr @PyArray_NewFromDescr(ptr %type, ptr %descr, i32 %nd, ptr %dims,
      ptr null, ptr null, i32 0, ptr null)
  ret ptr %plain
wrap:
  %data = getelementptr i8, ptr %block, i64 64
  %capsule = call ptr @PyCapsule_New(ptr %block, ptr null, ptr @drop)
  %nocapsule = icmp eq ptr %capsule, null
  br i1 %nocapsule, label %undo, label %make
undo:
  call void @give_back(ptr %block)
  call void @Py_DecRef(ptr %descr)
  ret ptr null
make:
  %array = call ptr @PyArray_NewFromDescr(ptr %type, ptr %descr, i32 %nd, ptr %dims,
      ptr null, ptr %data, i32 1281, ptr null)
  %noarray = icmp eq ptr %array, null
  br i1 %noarray, label %unwrap, label %attach
unwrap:
  call void @Py_DecRef(ptr %capsule)
  ret ptr null
attach:
  %status = call i32 @PyArray_SetBaseObject(ptr %array, ptr %capsule)
  ret ptr %array
}
"""


def results_text() -> str:
    """The allocator's module."""
    text = _TEXT.replace("SLOTS", str(_SLOTS)).replace("LIMIT", str(CACHE_LIMIT))
    return text.replace("HALF", str(_HUGE // 2)).replace("HUGE", str(_HUGE))
