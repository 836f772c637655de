"""LLVM text that makes a Tensor the view of another, as `tracejit.views.share` does. See `eager_calls`."""

from __future__ import annotations

from typing import Final

VIEWS: Final = """
; Whether %array, which NumPy made of the array of the Tensor %x, is in its memory.
define internal i1 @in_memory_of(ptr %array, ptr %x) nounwind {
  %source = load ptr, ptr [%x+SLOT_data]
  %base = load ptr, ptr [%array+ARRAY_BASE]
  %root = load ptr, ptr [%source+ARRAY_BASE]
  %has = icmp ne ptr %base, null
  %direct = icmp eq ptr %base, %source
  %common = icmp eq ptr %base, %root
  %of = or i1 %direct, %common
  %views = and i1 %has, %of
  %same = icmp eq ptr %array, %source
  %any = or i1 %views, %same
  ret i1 %any
}

; Put %value, of which this takes over a reference, into a slot of an object.
define internal void @put(ptr %slot, ptr %value) nounwind {
  %old = load ptr, ptr %slot
  store ptr %value, ptr %slot
  call void @Py_DecRef(ptr %old)
  ret void
}

; Make the Tensor %view a view of %x, by the step (%step, %how): what `tracejit.views.share` does where %x
; requires no gradient, or where this thread records. False with an exception where that fails.
define internal i1 @share(ptr %x, ptr %view, ptr %step, ptr %how, ptr %pop) nounwind {
entry:
  %xversion = getelementptr i8, ptr %x, i64 SLOT_version
  %known = load ptr, ptr %xversion
  %uncounted = icmp eq ptr %known, @object_None
  br i1 %uncounted, label %count, label %counted
count:
  %list = call ptr @PyList_New(i64 1)
  %nolist = icmp eq ptr %list, null
  br i1 %nolist, label %fail, label %zero
zero:
  %number = call ptr @PyLong_FromLong(i64 0)
  %items = load ptr, ptr [%list+LIST_ITEMS]
  store ptr %number, ptr %items
  call void @put(ptr %xversion, ptr %list)
  br label %counted
counted:
  %version = load ptr, ptr %xversion
  call void @Py_IncRef(ptr %version)
  %viewversion = getelementptr i8, ptr %view, i64 SLOT_version
  call void @put(ptr %viewversion, ptr %version)
  %made = call ptr @PyTuple_New(i64 2)
  %nomade = icmp eq ptr %made, null
  br i1 %nomade, label %fail, label %stepped
stepped:
  call void @Py_IncRef(ptr %step)
  call void @Py_IncRef(ptr %how)
  store ptr %step, ptr [%made+TUPLE_ITEMS]
  %madeitems = getelementptr i8, ptr %made, i64 TUPLE_ITEMS
  store ptr %how, ptr [%madeitems+8]
  %before = load ptr, ptr [%x+SLOT_aliases]
  %beforetype = load ptr, ptr [%before+TYPE]
  %isview = icmp eq ptr %beforetype, @object_tuple
  br i1 %isview, label %longer, label %first
first:
  %pair = call ptr @PyTuple_New(i64 2)
  %nopair = icmp eq ptr %pair, null
  br i1 %nopair, label %dropmade, label %fill
fill:
  call void @Py_IncRef(ptr %x)
  store ptr %x, ptr [%pair+TUPLE_ITEMS]
  br label %chained
longer:
  %n = load i64, ptr [%before+SIZE]
  %n1 = add i64 %n, 1
  %more = call ptr @PyTuple_New(i64 %n1)
  %nomore = icmp eq ptr %more, null
  br i1 %nomore, label %dropmade, label %copy
copy:
  %olditems = getelementptr i8, ptr %before, i64 TUPLE_ITEMS
  %moreitems = getelementptr i8, ptr %more, i64 TUPLE_ITEMS
  call void @with_each(ptr %olditems, i64 %n, ptr @Py_IncRef)
  %bytes = mul i64 %n, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %moreitems, ptr %olditems, i64 %bytes, i1 false)
  br label %chained
chained:
  %chain = phi ptr [ %pair, %fill ], [ %more, %copy ]
  %lastplace = phi i64 [ 1, %fill ], [ %n, %copy ]
  %chainitems = getelementptr i8, ptr %chain, i64 TUPLE_ITEMS
  %lastp = getelementptr ptr, ptr %chainitems, i64 %lastplace
  store ptr %made, ptr %lastp
  %viewaliases = getelementptr i8, ptr %view, i64 SLOT_aliases
  call void @put(ptr %viewaliases, ptr %chain)
  %base = load ptr, ptr %chainitems
  %basealiases = getelementptr i8, ptr %base, i64 SLOT_aliases
  %kept = load ptr, ptr %basealiases
  %none = icmp eq ptr %kept, @object_None
  br i1 %none, label %begin, label %register
begin:
  %dict = call ptr @PyDict_New()
  %nodict = icmp eq ptr %dict, null
  br i1 %nodict, label %fail, label %keep
keep:
  call void @put(ptr %basealiases, ptr %dict)
  br label %register
register:
  %views = load ptr, ptr %basealiases
  %forget = call ptr @PyObject_GetAttr(ptr %views, ptr %pop)
  %noforget = icmp eq ptr %forget, null
  br i1 %noforget, label %fail, label %refer
refer:
  %reference = call ptr @PyWeakref_NewRef(ptr %view, ptr %forget)
  call void @Py_DecRef(ptr %forget)
  %noreference = icmp eq ptr %reference, null
  br i1 %noreference, label %fail, label %enter
enter:
  %status = call i32 @PyDict_SetItem(ptr %views, ptr %reference, ptr @object_None)
  call void @Py_DecRef(ptr %reference)
  %entered = icmp eq i32 %status, 0
  ret i1 %entered
dropmade:
  call void @Py_DecRef(ptr %made)
  br label %fail
fail:
  ret i1 false
}
"""
