"""LLVM text: what the second argument of an eager call must be (`interface.SECOND`), so that NumPy means by
it what we mean. See `eager_calls`.

"key" is an index of ints, slices between ints, None and Ellipsis; "axis" is None, an int or a tuple of ints,
of an array that has axes; "shape" an int or ints that are sizes or -1; "matrix" a matrix of the dtype of the
first argument, which is one too.
"""

from __future__ import annotations

from typing import Final

ARGUMENTS: Final = """
; Whether %number is an int or None.
define internal i1 @bound(ptr %number) nounwind {
  %type = load ptr, ptr [%number+TYPE]
  %int = icmp eq ptr %type, @object_int
  %none = icmp eq ptr %number, @object_None
  %either = or i1 %int, %none
  ret i1 %either
}

; Whether %key is an int, a slice between ints, None or Ellipsis.
define internal i1 @basic(ptr %key) nounwind {
entry:
  %type = load ptr, ptr [%key+TYPE]
  %slice = icmp eq ptr %type, @object_slice
  br i1 %slice, label %bounds, label %other
bounds:
  %start = load ptr, ptr [%key+SLICE_START]
  %stop = load ptr, ptr [%key+SLICE_STOP]
  %stride = load ptr, ptr [%key+SLICE_STEP]
  %a = call i1 @bound(ptr %start)
  %b = call i1 @bound(ptr %stop)
  %c = call i1 @bound(ptr %stride)
  %ab = and i1 %a, %b
  %abc = and i1 %ab, %c
  ret i1 %abc
other:
  %number = call i1 @bound(ptr %key)
  %dots = icmp eq ptr %key, @object_Ellipsis
  %any = or i1 %number, %dots
  ret i1 %any
}

; Whether %check holds of %object or, where that is a tuple, of each of its items.
define internal i1 @each(ptr %object, ptr %check) alwaysinline nounwind {
entry:
  %type = load ptr, ptr [%object+TYPE]
  %tuple = icmp eq ptr %type, @object_tuple
  br i1 %tuple, label %begin, label %single
single:
  %one = call i1 %check(ptr %object)
  ret i1 %one
begin:
  %n = load i64, ptr [%object+SIZE]
  %items = getelementptr i8, ptr %object, i64 TUPLE_ITEMS
  br label %look
look:
  %i = phi i64 [ 0, %begin ], [ %i1, %item ]
  %more = icmp ult i64 %i, %n
  br i1 %more, label %item, label %yes
item:
  %i1 = add i64 %i, 1
  %p = getelementptr ptr, ptr %items, i64 %i
  %entryobject = load ptr, ptr %p
  %fits = call i1 %check(ptr %entryobject)
  br i1 %fits, label %look, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; Whether %axis says which axes of %array to reduce: None, or an int or ints where the array has a rank.
define internal i1 @axis_key(ptr %axis, ptr %array) nounwind {
entry:
  %none = icmp eq ptr %axis, @object_None
  br i1 %none, label %yes, label %ranked
ranked:
  %arraytype = load ptr, ptr [%array+TYPE]
  %isarray = icmp eq ptr %arraytype, @object_ndarray
  br i1 %isarray, label %rank, label %no
rank:
  %dimensions = load i32, ptr [%array+ARRAY_NDIM]
  %zero = icmp eq i32 %dimensions, 0
  br i1 %zero, label %no, label %ints
ints:
  %fits = call i1 @each(ptr %axis, ptr @is_int)
  ret i1 %fits
yes:
  ret i1 true
no:
  ret i1 false
}

define internal i1 @is_int(ptr %object) nounwind {
  %type = load ptr, ptr [%object+TYPE]
  %int = icmp eq ptr %type, @object_int
  ret i1 %int
}

; Whether both are arrays of rank 2 and of one dtype.
define internal i1 @matrices(ptr %a, ptr %b) nounwind {
entry:
  %atype = load ptr, ptr [%a+TYPE]
  %btype = load ptr, ptr [%b+TYPE]
  %aisarray = icmp eq ptr %atype, @object_ndarray
  %bisarray = icmp eq ptr %btype, @object_ndarray
  %arrays = and i1 %aisarray, %bisarray
  br i1 %arrays, label %look, label %no
look:
  %arank = load i32, ptr [%a+ARRAY_NDIM]
  %brank = load i32, ptr [%b+ARRAY_NDIM]
  %adescr = load ptr, ptr [%a+ARRAY_DESCR]
  %bdescr = load ptr, ptr [%b+ARRAY_DESCR]
  %aismatrix = icmp eq i32 %arank, 2
  %bismatrix = icmp eq i32 %brank, 2
  %samedescr = icmp eq ptr %adescr, %bdescr
  %ranks = and i1 %aismatrix, %bismatrix
  %fit = and i1 %ranks, %samedescr
  ret i1 %fit
no:
  ret i1 false
}

; Whether %object is an int from -1 on: NumPy takes the ones below for -1.
define internal i1 @size(ptr %object) nounwind {
entry:
  %place = alloca i64
  %read = call i1 @read_int(ptr %object, ptr %place)
  br i1 %read, label %compare, label %no
compare:
  %value = load i64, ptr %place
  %fits = icmp sge i64 %value, -1
  ret i1 %fits
no:
  ret i1 false
}
"""
