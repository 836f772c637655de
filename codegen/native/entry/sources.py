"""LLVM text of how the native entry finds what a function reads outside its arguments."""

from __future__ import annotations

from typing import Final

FOLLOWING: Final = """
; The object that a source leads to, else null; %past gets the address of the node behind.
define internal ptr @follow(ptr %source, ptr %past, ptr %s) nounwind {
entry:
  %start = load i64, ptr %source
  %holder = load ptr, ptr [%source+8]
  %count = load i64, ptr [%source+24]
  %steps = getelementptr i8, ptr %source, i64 32
  %bytes = mul i64 %count, 16
  %node = getelementptr i8, ptr %steps, i64 %bytes
  store ptr %node, ptr %past
  switch i64 %start, label %begin [
    i64 START_cell, label %cell
    i64 START_global, label %global
  ]
cell:
  %content = load ptr, ptr [%holder+CELL_REF]
  br label %begin
global:
  %name = load ptr, ptr [%source+16]
  %bound = call ptr @PyDict_GetItemWithError(ptr %holder, ptr %name)
  br label %begin
begin:
  %first = phi ptr [ %holder, %entry ], [ %content, %cell ], [ %bound, %global ]
  br label %look
look:
  %i = phi i64 [ 0, %begin ], [ %i1, %next ]
  %value = phi ptr [ %first, %begin ], [ %found, %next ]
  %unbound = icmp eq ptr %value, null
  br i1 %unbound, label %clear, label %check
clear:
  call void @PyErr_Clear()
  ret ptr null
check:
  %more = icmp ult i64 %i, %count
  br i1 %more, label %one, label %done
one:
  %offset = mul i64 %i, 16
  %step = getelementptr i8, ptr %steps, i64 %offset
  %how = load i64, ptr %step
  %what = load ptr, ptr [%step+8]
  %position = load i64, ptr [%step+8]
  %type = load ptr, ptr [%value+TYPE]
  switch i64 %how, label %no [
    i64 STEP_attr, label %attr
    i64 STEP_key, label %key
    i64 STEP_tuple, label %tuple
    i64 STEP_list, label %list
    i64 STEP_class, label %next
    i64 STEP_code, label %code
  ]
code:
  %isfunction = icmp eq ptr %type, @object_function
  br i1 %isfunction, label %loadcode, label %no
loadcode:
  %functioncode = load ptr, ptr [%value+FUNCTION_CODE]
  br label %next
attr:
  %got = call ptr @PyObject_GetAttr(ptr %value, ptr %what)
  %lacks = icmp eq ptr %got, null
  br i1 %lacks, label %clear, label %own
own:
  %extras = load i64, ptr [%s+40]
  %extra = load ptr, ptr [%s+48]
  %ep = getelementptr ptr, ptr %extra, i64 %extras
  store ptr %got, ptr %ep
  %extras1 = add i64 %extras, 1
  store i64 %extras1, ptr [%s+40]
  br label %next
key:
  %isdict = icmp eq ptr %type, @object_dict
  br i1 %isdict, label %get, label %no
get:
  %item = call ptr @PyDict_GetItemWithError(ptr %value, ptr %what)
  br label %next
tuple:
  %istuple = icmp eq ptr %type, @object_tuple
  br i1 %istuple, label %tsize, label %no
tsize:
  %tn = load i64, ptr [%value+SIZE]
  %tbehind = add i64 %position, %tn
  %tnegative = icmp slt i64 %position, 0
  %tat = select i1 %tnegative, i64 %tbehind, i64 %position
  %tin = icmp ult i64 %tat, %tn
  br i1 %tin, label %titem, label %no
titem:
  %tbase = getelementptr i8, ptr %value, i64 TUPLE_ITEMS
  %tp = getelementptr ptr, ptr %tbase, i64 %tat
  %tvalue = load ptr, ptr %tp
  br label %next
list:
  %islist = icmp eq ptr %type, @object_list
  br i1 %islist, label %lsize, label %no
lsize:
  %ln = load i64, ptr [%value+SIZE]
  %lbehind = add i64 %position, %ln
  %lnegative = icmp slt i64 %position, 0
  %lat = select i1 %lnegative, i64 %lbehind, i64 %position
  %lin = icmp ult i64 %lat, %ln
  br i1 %lin, label %litem, label %no
litem:
  %lbase = load ptr, ptr [%value+LIST_ITEMS]
  %lp = getelementptr ptr, ptr %lbase, i64 %lat
  %lvalue = load ptr, ptr %lp
  br label %next
next:
  %found = phi ptr [ %type, %one ], [ %functioncode, %loadcode ], [ %got, %own ], [ %item, %get ],
    [ %tvalue, %titem ], [ %lvalue, %litem ]
  %i1 = add i64 %i, 1
  br label %look
done:
  ret ptr %value
no:
  ret ptr null
}
"""
