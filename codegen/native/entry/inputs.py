"""LLVM text of the inputs of a call: what the native entry's checks collect, and what becomes of it."""

from __future__ import annotations

from typing import Final

INPUTS: Final = """
; What matching has found: inputs so far; data, array (or null), donated or recorded object (or null) and room
; for a number of each; then objects that attributes gave, by count; and whether inputs are recorded.
%state = type { i64, ptr, ptr, ptr, ptr, i64, ptr, i64 }

define internal void @push(ptr %s, ptr %data, ptr %array, ptr %holder) nounwind {
  %n = load i64, ptr %s
  %inputs = load ptr, ptr [%s+8]
  %arrays = load ptr, ptr [%s+16]
  %holders = load ptr, ptr [%s+24]
  %i = getelementptr ptr, ptr %inputs, i64 %n
  store ptr %data, ptr %i
  %a = getelementptr ptr, ptr %arrays, i64 %n
  store ptr %array, ptr %a
  %h = getelementptr ptr, ptr %holders, i64 %n
  store ptr %holder, ptr %h
  %more = add i64 %n, 1
  store i64 %more, ptr %s
  ret void
}

; A number, which is at %slot.
define internal void @push_number(ptr %s, ptr %slot, ptr %value) nounwind {
entry:
  %recorded = load i64, ptr [%s+56]
  %isrecorded = icmp ne i64 %recorded, 0
  br i1 %isrecorded, label %hold, label %keep
hold:
  call void @Py_IncRef(ptr %value)
  br label %keep
keep:
  %holder = phi ptr [ null, %entry ], [ %value, %hold ]
  call void @push(ptr %s, ptr %slot, ptr null, ptr %holder)
  ret void
}

; Room for a number.
define internal ptr @slot(ptr %s) nounwind {
  %n = load i64, ptr %s
  %numbers = load ptr, ptr [%s+32]
  %slot = getelementptr i64, ptr %numbers, i64 %n
  ret ptr %slot
}

; Give back what matching took.
define internal void @let_go(ptr %s) nounwind {
entry:
  %n = load i64, ptr %s
  %arrays = load ptr, ptr [%s+16]
  %holders = load ptr, ptr [%s+24]
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %i1, %next ]
  %more = icmp ult i64 %i, %n
  br i1 %more, label %one, label %others
one:
  %i1 = add i64 %i, 1
  %ap = getelementptr ptr, ptr %arrays, i64 %i
  %array = load ptr, ptr %ap
  %isnumber = icmp eq ptr %array, null
  br i1 %isnumber, label %held, label %drop
drop:
  call void @Py_DecRef(ptr %array)
  br label %held
held:
  %hp = getelementptr ptr, ptr %holders, i64 %i
  %holder = load ptr, ptr %hp
  %kept = icmp eq ptr %holder, null
  br i1 %kept, label %next, label %drop2
drop2:
  call void @Py_DecRef(ptr %holder)
  br label %next
next:
  br label %look
others:
  %extras = load i64, ptr [%s+40]
  %extra = load ptr, ptr [%s+48]
  call void @drop_all(ptr %extra, i64 0, i64 %extras)
  ret void
}

; Drop a reference to each of the objects from %first on, before %end.
define internal void @drop_all(ptr %objects, i64 %first, i64 %end) nounwind {
entry:
  br label %look
look:
  %i = phi i64 [ %first, %entry ], [ %i1, %one ]
  %more = icmp ult i64 %i, %end
  br i1 %more, label %one, label %done
one:
  %i1 = add i64 %i, 1
  %p = getelementptr ptr, ptr %objects, i64 %i
  %object = load ptr, ptr %p
  call void @Py_DecRef(ptr %object)
  br label %look
done:
  ret void
}

; Whether a donated input shares memory with another input.
define internal i1 @overlaps(ptr %table, ptr %inputs) nounwind {
entry:
  %n = load i64, ptr [%table+AT_inputs]
  %count = load i64, ptr [%table+AT_donated]
  %at = load i64, ptr [%table+AT_donated_at]
  %sizes = getelementptr i8, ptr %table, i64 %at
  %list = getelementptr i64, ptr %sizes, i64 %n
  br label %outer
outer:
  %j = phi i64 [ 0, %entry ], [ %j1, %done ]
  %morej = icmp ult i64 %j, %count
  br i1 %morej, label %donated, label %no
donated:
  %j1 = add i64 %j, 1
  %dp = getelementptr i64, ptr %list, i64 %j
  %d = load i64, ptr %dp
  %begin = call i64 @address(ptr %inputs, i64 %d)
  %sp = getelementptr i64, ptr %sizes, i64 %d
  %size = load i64, ptr %sp
  %end = add i64 %begin, %size
  br label %inner
inner:
  %i = phi i64 [ 0, %donated ], [ %i1, %other ]
  %morei = icmp ult i64 %i, %n
  br i1 %morei, label %other, label %done
other:
  %i1 = add i64 %i, 1
  %b = call i64 @address(ptr %inputs, i64 %i)
  %osp = getelementptr i64, ptr %sizes, i64 %i
  %osize = load i64, ptr %osp
  %e = add i64 %b, %osize
  %itself = icmp eq i64 %i, %d
  %before = icmp ule i64 %e, %begin
  %behind = icmp ule i64 %end, %b
  %o1 = or i1 %before, %behind
  %apart = or i1 %o1, %itself
  br i1 %apart, label %inner, label %yes
done:
  br label %outer
yes:
  ret i1 true
no:
  ret i1 false
}

define internal i64 @address(ptr %inputs, i64 %i) nounwind {
  %p = getelementptr i64, ptr %inputs, i64 %i
  %a = load i64, ptr %p
  ret i64 %a
}
"""
