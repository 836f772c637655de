"""LLVM text of what the native entry makes and gives back: arrays, Tensors, containers. See `entry_code`."""

from __future__ import annotations

from typing import Final

#: `wrap`, the one part that eager ops use as well.
WRAPPING: Final = """
; A leaf Tensor that takes over %array; null where there is no memory.
define internal ptr @wrap(ptr %array) nounwind {
entry:
  %tensor = call ptr @PyType_GenericAlloc(ptr @object_Tensor, i64 0)
  %none = icmp eq ptr %tensor, null
  br i1 %none, label %failed, label %fill
failed:
  call void @Py_DecRef(ptr %array)
  ret ptr null
fill:
  store ptr %array, ptr [%tensor+SLOT_data]
  call void @Py_IncRef(ptr @object_False)
  store ptr @object_False, ptr [%tensor+SLOT_requires_grad]
  FILL_NONE
  ret ptr %tensor
}
"""

MAKING: Final = """
; The ndarray of a result: the donated input whose memory it reuses, or a new one; null without memory.
define internal ptr @make_array(ptr %node, ptr %arrays) nounwind {
entry:
  %reuses = load i64, ptr [%node+32]
  %isnew = icmp slt i64 %reuses, 0
  br i1 %isnew, label %fresh, label %reuse
reuse:
  %ap = getelementptr ptr, ptr %arrays, i64 %reuses
  %old = load ptr, ptr %ap
  call void @Py_IncRef(ptr %old)
  ret ptr %old
fresh:
  %descr = load ptr, ptr [%node+8]
  %nd = load i64, ptr [%node+16]
  %nd32 = trunc i64 %nd to i32
  %nbytes = load i64, ptr [%node+24]
  %dims = getelementptr i8, ptr %node, i64 48
  call void @Py_IncRef(ptr %descr)
  %big = icmp uge i64 %nbytes, CACHED_BYTES
  br i1 %big, label %cached, label %small
cached:
  %block = call ptr @tracejit_result_array(ptr @object_ndarray, ptr %descr, i32 %nd32, ptr %dims, i64 %nbytes)
  ret ptr %block
small:
  %array = call ptr @PyArray_Empty(i32 %nd32, ptr %dims, ptr %descr, i32 0)
  ret ptr %array
}

; Call the table's recorder with all results and the inputs that it gets; whether it did not raise. There is
; room for these inputs behind the results.
define internal i1 @record(ptr %table, ptr %results, i64 %nresults, ptr %s) nounwind {
entry:
  %ninputs = load i64, ptr [%table+AT_recorded]
  %holders = load ptr, ptr [%s+24]
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %i1, %one ]
  %more = icmp ult i64 %i, %ninputs
  br i1 %more, label %one, label %call
one:
  %i1 = add i64 %i, 1
  %from = getelementptr ptr, ptr %holders, i64 %i
  %holder = load ptr, ptr %from
  %behind = add i64 %nresults, %i
  %to = getelementptr ptr, ptr %results, i64 %behind
  store ptr %holder, ptr %to
  br label %look
call:
  %count = add i64 %nresults, %ninputs
  %recorder = load ptr, ptr [%table+AT_recorder]
  %answer = call ptr @PyObject_Vectorcall(ptr %recorder, ptr %results, i64 %count, ptr null)
  %raised = icmp eq ptr %answer, null
  br i1 %raised, label %no, label %yes
yes:
  call void @Py_DecRef(ptr %answer)
  ret i1 true
no:
  ret i1 false
}

; The object of a structure node whose leaves are at *%cursor on, which it takes over; null where there is no
; memory. *%place goes on to the next node.
define internal ptr @build(ptr %place, ptr %cursor) nounwind {
entry:
  %node = load ptr, ptr %place
  %kind = load i64, ptr %node
  %length = load i64, ptr [%node+8]
  %next = getelementptr i8, ptr %node, i64 %length
  store ptr %next, ptr %place
  switch i64 %kind, label %leaf [
    i64 KIND_tuple, label %tuple
    i64 KIND_list, label %list
    i64 KIND_dict, label %dict
    i64 KIND_none, label %none
  ]
leaf:
  %at = load ptr, ptr %cursor
  %object = load ptr, ptr %at
  %at1 = getelementptr ptr, ptr %at, i64 1
  store ptr %at1, ptr %cursor
  ret ptr %object
none:
  call void @Py_IncRef(ptr @object_None)
  ret ptr @object_None
tuple:
  %tn = load i64, ptr [%node+16]
  %t = call ptr @PyTuple_New(i64 %tn)
  %tbase = getelementptr i8, ptr %t, i64 TUPLE_ITEMS
  br label %made
list:
  %ln = load i64, ptr [%node+16]
  %l = call ptr @PyList_New(i64 %ln)
  %lnone = icmp eq ptr %l, null
  br i1 %lnone, label %failed, label %listed
listed:
  %lbase = load ptr, ptr [%l+LIST_ITEMS]
  br label %made
dict:
  %dn = load i64, ptr [%node+16]
  %d = call ptr @PyDict_New()
  br label %made
made:
  %n = phi i64 [ %tn, %tuple ], [ %ln, %listed ], [ %dn, %dict ]
  %container = phi ptr [ %t, %tuple ], [ %l, %listed ], [ %d, %dict ]
  %base = phi ptr [ %tbase, %tuple ], [ %lbase, %listed ], [ null, %dict ]
  %failedtomake = icmp eq ptr %container, null
  br i1 %failedtomake, label %failed, label %look
look:
  %i = phi i64 [ 0, %made ], [ %i1, %stored ]
  %more = icmp ult i64 %i, %n
  br i1 %more, label %one, label %done
one:
  %i1 = add i64 %i, 1
  %item = call ptr @build(ptr %place, ptr %cursor)
  %noitem = icmp eq ptr %item, null
  br i1 %noitem, label %drop, label %put
put:
  %indict = icmp eq ptr %base, null
  br i1 %indict, label %insert, label %plain
plain:
  %p = getelementptr ptr, ptr %base, i64 %i
  store ptr %item, ptr %p
  br label %stored
insert:
  %keys = getelementptr i8, ptr %node, i64 24
  %kp = getelementptr ptr, ptr %keys, i64 %i
  %key = load ptr, ptr %kp
  %status = call i32 @PyDict_SetItem(ptr %container, ptr %key, ptr %item)
  call void @Py_DecRef(ptr %item)
  %bad = icmp ne i32 %status, 0
  br i1 %bad, label %drop, label %stored
stored:
  br label %look
done:
  ret ptr %container
drop:
  call void @Py_DecRef(ptr %container)
  br label %failed
failed:
  ret ptr null
}
"""
