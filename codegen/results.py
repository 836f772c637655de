"""LLVM text of the allocator of large results: ndarrays whose memory comes back to be used again.

Fresh pages cost more than computing what goes into them: the kernel clears each one at its first touch. So
large results get blocks from a small cache, and a capsule as the array's base gives the block back when the
array dies. All of it runs under the GIL.
"""

from __future__ import annotations

from typing import Final

#: The cache keeps at most this much memory, in at most this many blocks.
CACHE_LIMIT: Final = 1 << 27
_SLOTS: Final = 32
#: Blocks from this size on are aligned to, and asked to be, huge pages.
_HUGE: Final = 1 << 21

_TEXT: Final = """
@sizes = internal global [SLOTS x i64] zeroinitializer
@blocks = internal global [SLOTS x ptr] zeroinitializer
@victim = internal global i64 0
@tracejit_result_bytes = global i64 0

declare ptr @PyCapsule_New(ptr, ptr, ptr)
declare ptr @PyCapsule_GetPointer(ptr, ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyArray_NewFromDescr(ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)
declare i32 @PyArray_SetBaseObject(ptr, ptr)
declare ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
declare i32 @madvise(ptr, i64, i32)

; A block of %size bytes after a 64-byte header that holds the size; null if there is no memory.
define internal ptr @take(i64 %size) nounwind {
entry:
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %next, %more ]
  %sp = getelementptr i64, ptr @sizes, i64 %i
  %s = load i64, ptr %sp
  %fits = icmp eq i64 %s, %size
  br i1 %fits, label %reuse, label %more
more:
  %next = add i64 %i, 1
  %left = icmp ult i64 %next, SLOTS
  br i1 %left, label %look, label %fresh
reuse:
  store i64 0, ptr %sp
  %bp = getelementptr ptr, ptr @blocks, i64 %i
  %b = load ptr, ptr %bp
  %held = load i64, ptr @tracejit_result_bytes
  %less = sub i64 %held, %size
  store i64 %less, ptr @tracejit_result_bytes
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

; Keep a block; where that is over the limits, others go first, in turn.
define internal void @give_back(ptr %p) nounwind {
entry:
  %size = load i64, ptr %p
  %possible = icmp ule i64 %size, LIMIT
  br i1 %possible, label %fit, label %release
fit:
  %held = load i64, ptr @tracejit_result_bytes
  %after = add i64 %held, %size
  %fits = icmp ule i64 %after, LIMIT
  br i1 %fits, label %look, label %evict
look:
  %i = phi i64 [ 0, %fit ], [ %next, %more ]
  %sp = getelementptr i64, ptr @sizes, i64 %i
  %s = load i64, ptr %sp
  %empty = icmp eq i64 %s, 0
  br i1 %empty, label %keep, label %more
more:
  %next = add i64 %i, 1
  %left = icmp ult i64 %next, SLOTS
  br i1 %left, label %look, label %evict
evict:
  call void @evict_one()
  br label %fit
keep:
  store i64 %size, ptr %sp
  %bp = getelementptr ptr, ptr @blocks, i64 %i
  store ptr %p, ptr %bp
  store i64 %after, ptr @tracejit_result_bytes
  ret void
release:
  call void @free(ptr %p)
  ret void
}

; Free the next block in turn; there must be one.
define internal void @evict_one() nounwind {
entry:
  br label %look
look:
  %v = load i64, ptr @victim
  %v1 = add i64 %v, 1
  %v2 = urem i64 %v1, SLOTS
  store i64 %v2, ptr @victim
  %sp = getelementptr i64, ptr @sizes, i64 %v
  %size = load i64, ptr %sp
  %empty = icmp eq i64 %size, 0
  br i1 %empty, label %look, label %found
found:
  %bp = getelementptr ptr, ptr @blocks, i64 %v
  %b = load ptr, ptr %bp
  call void @free(ptr %b)
  store i64 0, ptr %sp
  %held = load i64, ptr @tracejit_result_bytes
  %less = sub i64 %held, %size
  store i64 %less, ptr @tracejit_result_bytes
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
