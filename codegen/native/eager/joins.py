"""LLVM text that joins small Tensors along an axis: ``tracejit_eager_join(arrays, axis)``.

A ``METH_FASTCALL`` function whose ``self`` is a bytes object with the address of a table (`JOIN_TABLE`, then
a `JOIN_KIND` for each dtype that it serves). `arrays` is a list or a tuple of Tensors with contiguous arrays
of one dtype and one shape, of any size along the axis unless the table says that the axis is a new one. They
are copied in blocks (`eager_copies`) to a new array, which is wrapped. Where an operand requires a gradient
and the result is floating, it calls ``remember(axis, result, *operands)``, the axis counted from the front.

Everything else goes to `slow`, in the same call. Making the Tensor may run Python code (a collection of
garbage), which may change the list, or give its Tensors other arrays. So everything is looked at before, to
know what to make, and once more while it is copied, when nothing else can run.
"""

from __future__ import annotations

from typing import Final

EAGER_JOINS: Final = """
; The items of a list or tuple, and how many there are at %count; null for other objects.
define internal ptr @items_of(ptr %object, ptr %count) nounwind {
entry:
  %type = load ptr, ptr [%object+TYPE]
  %istuple = icmp eq ptr %type, @object_tuple
  br i1 %istuple, label %tuple, label %other
tuple:
  %inside = getelementptr i8, ptr %object, i64 TUPLE_ITEMS
  br label %counted
other:
  %islist = icmp eq ptr %type, @object_list
  br i1 %islist, label %list, label %no
list:
  %apart = load ptr, ptr [%object+LIST_ITEMS]
  br label %counted
counted:
  %items = phi ptr [ %inside, %tuple ], [ %apart, %list ]
  %n = load i64, ptr [%object+SIZE]
  store i64 %n, ptr %count
  ret ptr %items
no:
  ret ptr null
}

; The array of %item where that is a Tensor with a contiguous one of %descr and of the %rank %sizes, save for
; the size of the axis %free (-1: none), which is a small one. Else null.
define internal ptr @joinable(ptr %item, ptr %descr, i64 %rank, ptr %sizes, i64 %free) nounwind {
entry:
  %unset = icmp eq ptr %item, null
  br i1 %unset, label %no, label %held
held:
  %array = call ptr @array_of(ptr %item, i1 true)
  %noarray = icmp eq ptr %array, null
  br i1 %noarray, label %no, label %described
described:
  %itsdescr = load ptr, ptr [%array+ARRAY_DESCR]
  %itsrank32 = load i32, ptr [%array+ARRAY_NDIM]
  %itsrank = sext i32 %itsrank32 to i64
  %samedescr = icmp eq ptr %itsdescr, %descr
  %samerank = icmp eq i64 %itsrank, %rank
  %alike = and i1 %samedescr, %samerank
  br i1 %alike, label %shaped, label %no
shaped:
  %itssizes = load ptr, ptr [%array+ARRAY_DIMS]
  br label %look
look:
  %i = phi i64 [ 0, %shaped ], [ %i1, %one ]
  %more = icmp ult i64 %i, %rank
  br i1 %more, label %one, label %yes
one:
  %i1 = add i64 %i, 1
  %itsp = getelementptr i64, ptr %itssizes, i64 %i
  %its = load i64, ptr %itsp
  %wantedp = getelementptr i64, ptr %sizes, i64 %i
  %wanted = load i64, ptr %wantedp
  %equal = icmp eq i64 %its, %wanted
  %small = icmp ule i64 %its, MOST_ELEMENTS
  %isfree = icmp eq i64 %i, %free
  %fits = select i1 %isfree, i1 %small, i1 %equal
  br i1 %fits, label %look, label %no
yes:
  ret ptr %array
no:
  ret ptr null
}

; Go through the %n items of %arrays, a list or tuple, with what `joinable` asks for. Gives the sum of their
; sizes along the axis, -1 where one does not fit. Sets *%tracked where one requires a gradient.
; With %out, which has the size %total along the axis, %before elements before it and %after bytes behind it:
; fill it, and put the items at %given. The sum is then %total, or -1.
define internal i64 @pass(ptr %arrays, i64 %n, ptr %descr, i64 %rank, ptr %sizes, i64 %free, ptr %tracked,
                          ptr %out, i64 %total, i64 %before, i64 %after, ptr %given) alwaysinline nounwind {
entry:
  %count = alloca i64
  %items = call ptr @items_of(ptr %arrays, ptr %count)
  %noitems = icmp eq ptr %items, null
  br i1 %noitems, label %no, label %counted
counted:
  %now = load i64, ptr %count
  %same = icmp eq i64 %now, %n
  br i1 %same, label %begin, label %no
begin:
  %copies = icmp ne ptr %out, null
  %new = icmp slt i64 %free, 0
  %step = mul i64 %total, %after
  br label %look
look:
  %i = phi i64 [ 0, %begin ], [ %i1, %added ]
  %at = phi i64 [ 0, %begin ], [ %end, %added ]
  %more = icmp ult i64 %i, %n
  br i1 %more, label %one, label %all
one:
  %i1 = add i64 %i, 1
  %itemp = getelementptr ptr, ptr %items, i64 %i
  %item = load ptr, ptr %itemp
  %array = call ptr @joinable(ptr %item, ptr %descr, i64 %rank, ptr %sizes, i64 %free)
  %noarray = icmp eq ptr %array, null
  br i1 %noarray, label %no, label %flagged
flagged:
  %requires = call i1 @requires_grad(ptr %item)
  br i1 %requires, label %track, label %sized
track:
  store i1 true, ptr %tracked
  br label %sized
sized:
  br i1 %new, label %add, label %read
read:
  %itssizes = load ptr, ptr [%array+ARRAY_DIMS]
  %sizep = getelementptr i64, ptr %itssizes, i64 %free
  %read64 = load i64, ptr %sizep
  br label %add
add:
  %size = phi i64 [ 1, %sized ], [ %read64, %read ]
  %end = add i64 %at, %size
  br i1 %copies, label %within, label %added
within:
  %inside = icmp ule i64 %end, %total
  br i1 %inside, label %copy, label %no
copy:
  %from = load ptr, ptr [%array+ARRAY_DATA]
  %offset = mul i64 %at, %after
  %to = getelementptr i8, ptr %out, i64 %offset
  %block = mul i64 %size, %after
  call void @copy_blocks(ptr %from, ptr %to, i64 %before, i64 %block, i64 %step)
  %givenp = getelementptr ptr, ptr %given, i64 %i
  store ptr %item, ptr %givenp
  br label %added
added:
  br label %look
all:
  %short = icmp ne i64 %at, %total
  %missing = and i1 %copies, %short
  br i1 %missing, label %no, label %yes
yes:
  ret i64 %at
no:
  ret i64 -1
}

define ptr @tracejit_eager_join(ptr %self, ptr %args, i64 %nargs) nounwind {
entry:
  %axisplace = alloca i64
  %count = alloca i64
  %tracked = alloca i1
  %sizes = alloca [JOIN_RANK x i64]
  %outsizes = alloca [JOIN_RANK x i64]
  %given = alloca [JOIN_GIVEN x ptr]
  %table = load ptr, ptr [%self+BYTES_DATA]
  %bypass = load i64, ptr @tracejit_bypass
  %nobody = icmp eq i64 %bypass, 0
  %onword = load i64, ptr [%table+JOIN_on]
  %ison = icmp ne i64 %onword, 0
  %two = icmp eq i64 %nargs, 2
  %go1 = and i1 %nobody, %ison
  %go = and i1 %go1, %two
  br i1 %go, label %start, label %slow
start:
  %axisobject = load ptr, ptr [%args+8]
  %isint = call i1 @read_int(ptr %axisobject, ptr %axisplace)
  br i1 %isint, label %open, label %slow
open:
  %arrays = load ptr, ptr %args
  %items = call ptr @items_of(ptr %arrays, ptr %count)
  %noitems = icmp eq ptr %items, null
  br i1 %noitems, label %slow, label %counted
counted:
  %n = load i64, ptr %count
  %nless = sub i64 %n, 1
  %few = icmp ult i64 %nless, MOST_JOINED
  br i1 %few, label %first, label %slow
first:
  %item = load ptr, ptr %items
  %unset = icmp eq ptr %item, null
  br i1 %unset, label %slow, label %held
held:
  %lead = call ptr @array_of(ptr %item, i1 true)
  %nolead = icmp eq ptr %lead, null
  br i1 %nolead, label %slow, label %described
described:
  %descr = load ptr, ptr [%lead+ARRAY_DESCR]
  %kinds = load i64, ptr [%table+JOIN_kinds]
  %kind0 = getelementptr i8, ptr %table, i64 JOIN_BYTES
  br label %search
search:
  %k = phi i64 [ 0, %described ], [ %k1, %next ]
  %kind = phi ptr [ %kind0, %described ], [ %nextkind, %next ]
  %morekinds = icmp ult i64 %k, %kinds
  br i1 %morekinds, label %compare, label %slow
compare:
  %wanted = load ptr, ptr [%kind+KIND_descr]
  %found = icmp eq ptr %wanted, %descr
  br i1 %found, label %ranked, label %next
next:
  %k1 = add i64 %k, 1
  %nextkind = getelementptr i8, ptr %kind, i64 KIND_BYTES
  br label %search
ranked:
  %stacking = load i64, ptr [%table+JOIN_stacking]
  %new = icmp ne i64 %stacking, 0
  %rank32 = load i32, ptr [%lead+ARRAY_NDIM]
  %rank = sext i32 %rank32 to i64
  %outrank = add i64 %rank, %stacking
  %rankless = sub i64 %outrank, 1
  %rankfits = icmp ult i64 %rankless, JOIN_RANK
  br i1 %rankfits, label %counting, label %slow
counting:
  ; an axis below 0 counts from the end
  %given64 = load i64, ptr %axisplace
  %below = icmp slt i64 %given64, 0
  %fromend = add i64 %given64, %outrank
  %axis = select i1 %below, i64 %fromend, i64 %given64
  %inrange = icmp ult i64 %axis, %outrank
  br i1 %inrange, label %measure, label %slow
measure:
  %leadsizes = load ptr, ptr [%lead+ARRAY_DIMS]
  %bytes = load i64, ptr [%kind+KIND_bytes]
  %free = select i1 %new, i64 -1, i64 %axis
  br label %sizelook
sizelook:
  ; how many elements there are before the axis and behind it: each factor is at most MOST_ELEMENTS, and so is
  ; each product that goes on
  %d = phi i64 [ 0, %measure ], [ %d1, %within ]
  %before = phi i64 [ 1, %measure ], [ %before1, %within ]
  %behind = phi i64 [ 1, %measure ], [ %behind1, %within ]
  %moresizes = icmp ult i64 %d, %rank
  br i1 %moresizes, label %sizeone, label %measured
sizeone:
  %d1 = add i64 %d, 1
  %leadp = getelementptr i64, ptr %leadsizes, i64 %d
  %size = load i64, ptr %leadp
  %sizep = getelementptr i64, ptr %sizes, i64 %d
  store i64 %size, ptr %sizep
  %sizesmall = icmp ule i64 %size, MOST_ELEMENTS
  br i1 %sizesmall, label %multiply, label %slow
multiply:
  %isbefore = icmp ult i64 %d, %axis
  %isfree = icmp eq i64 %d, %free
  %isjoined = or i1 %isbefore, %isfree
  %beforefactor = select i1 %isbefore, i64 %size, i64 1
  %behindfactor = select i1 %isjoined, i64 1, i64 %size
  %before1 = mul i64 %before, %beforefactor
  %behind1 = mul i64 %behind, %behindfactor
  %beforesmall = icmp ule i64 %before1, MOST_ELEMENTS
  %behindsmall = icmp ule i64 %behind1, MOST_ELEMENTS
  %bothsmall = and i1 %beforesmall, %behindsmall
  br i1 %bothsmall, label %within, label %slow
within:
  br label %sizelook
measured:
  store i1 false, ptr %tracked
  %total = call i64 @pass(ptr %arrays, i64 %n, ptr %descr, i64 %rank, ptr %sizes, i64 %free, ptr %tracked,
      ptr null, i64 0, i64 0, i64 0, ptr null)
  %misfit = icmp slt i64 %total, 0
  br i1 %misfit, label %slow, label %bounded
bounded:
  ; at most MOST_JOINED sizes of MOST_ELEMENTS: no product overflows
  %around = mul i64 %before, %behind
  %elements = mul i64 %around, %total
  %small = icmp ule i64 %elements, MOST_ELEMENTS
  br i1 %small, label %shape, label %slow
shape:
  br label %shapelook
shapelook:
  %o = phi i64 [ 0, %shape ], [ %o1, %shapenext ]
  %moreout = icmp ult i64 %o, %outrank
  br i1 %moreout, label %shapeone, label %allocate
shapeone:
  %o1 = add i64 %o, 1
  %outp = getelementptr i64, ptr %outsizes, i64 %o
  %isaxis = icmp eq i64 %o, %axis
  br i1 %isaxis, label %shapeaxis, label %shapeother
shapeaxis:
  store i64 %total, ptr %outp
  br label %shapenext
shapeother:
  %passed = icmp ugt i64 %o, %axis
  %less = select i1 %passed, i64 %stacking, i64 0
  %from = sub i64 %o, %less
  %fromp = getelementptr i64, ptr %sizes, i64 %from
  %itssize = load i64, ptr %fromp
  store i64 %itssize, ptr %outp
  br label %shapenext
shapenext:
  br label %shapelook
allocate:
  %outrank32 = trunc i64 %outrank to i32
  call void @Py_IncRef(ptr %descr)
  %array = call ptr @PyArray_Empty(i32 %outrank32, ptr %outsizes, ptr %descr, i32 0)
  %noarray = icmp eq ptr %array, null
  br i1 %noarray, label %nomemory, label %wrapping
wrapping:
  ; other Python code may run now; it cannot see the new array before there is the Tensor
  %out = load ptr, ptr [%array+ARRAY_DATA]
  %result = call ptr @wrap(ptr %array)
  %noresult = icmp eq ptr %result, null
  br i1 %noresult, label %nomemory, label %fill
fill:
  store i1 false, ptr %tracked
  %after = mul i64 %behind, %bytes
  %operands = getelementptr ptr, ptr %given, i64 2
  %again = call i64 @pass(ptr %arrays, i64 %n, ptr %descr, i64 %rank, ptr %sizes, i64 %free, ptr %tracked,
      ptr %out, i64 %total, i64 %before, i64 %after, ptr %operands)
  %changed = icmp slt i64 %again, 0
  br i1 %changed, label %drop, label %filled
filled:
  %floating = load i64, ptr [%kind+KIND_floating]
  %isfloating = icmp ne i64 %floating, 0
  %requires = load i1, ptr %tracked
  %telling = and i1 %isfloating, %requires
  br i1 %telling, label %tell, label %done
tell:
  ; a list may let go of its items before they are taken
  call void @with_each(ptr %operands, i64 %n, ptr @Py_IncRef)
  %place = call ptr @PyLong_FromLong(i64 %axis)
  store ptr %place, ptr %given
  store ptr %result, ptr [%given+8]
  %telln = add i64 %n, 2
  %remember = load ptr, ptr [%table+JOIN_remember]
  %answer = call ptr @PyObject_Vectorcall(ptr %remember, ptr %given, i64 %telln, ptr null)
  %failed = icmp eq ptr %answer, null
  call void @with_each(ptr %operands, i64 %n, ptr @Py_DecRef)
  call void @Py_DecRef(ptr %place)
  br i1 %failed, label %unremembered, label %remembered
unremembered:
  call void @Py_DecRef(ptr %result)
  ret ptr null
remembered:
  call void @Py_DecRef(ptr %answer)
  br label %done
done:
  ret ptr %result
drop:
  call void @Py_DecRef(ptr %result)
  br label %slow
nomemory:
  call void @PyErr_Clear()
  br label %slow
slow:
  %otherwise = load ptr, ptr [%table+JOIN_slow]
  %last = call ptr @PyObject_Vectorcall(ptr %otherwise, ptr %args, i64 %nargs, ptr null)
  ret ptr %last
}
"""
