"""LLVM text of the native call entry: a ``METH_FASTCALL | METH_KEYWORDS`` function that reads a table.

Its ``self`` is a bytes object that holds the table (`entry`), so the table lives as long as the callable.
It checks that every argument is what the table wants, down through containers: an ndarray or Tensor of the
dtype and shape (contiguous, aligned, requiring a gradient or not), a Python number, or a given object. Then
it allocates the results, runs ``@main`` and wraps them. The entry of calls that record gradients calls the
table's `recorder` with these and the inputs, and drops the residuals, which the tape holds from then on. On
anything else it calls the table's `slow` with the same arguments. What it reads it holds references to:
without the GIL another thread may rebind a name.

A donated argument is taken only where nobody else uses its memory: a writable array that overlaps no other
input and, if a Tensor, has no views, no gradient and no graph that saved it. Where a result reuses its
memory, that result is the Tensor itself.
"""

from __future__ import annotations

from typing import Final

from ...interface import CACHED_BYTES
from .inputs import INPUTS
from .matching import MATCHING
from .names import NUMBERS, filled
from .results import MAKING, WRAPPING
from .sources import FOLLOWING
from .table import AT, GRADIENTS, KINDS, STARTS, STEPS, EntryLayout

_DECLARATIONS: Final = """
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyType_GenericAlloc(ptr, i64)
declare ptr @PyTuple_New(i64)
declare ptr @PyList_New(i64)
declare ptr @PyDict_New()
declare i32 @PyDict_SetItem(ptr, ptr, ptr)
declare i32 @PyDict_Next(ptr, ptr, ptr, ptr)
declare i64 @PyDict_Size(ptr)
declare ptr @PyDict_GetItemWithError(ptr, ptr)
declare ptr @PyObject_GetAttr(ptr, ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare ptr @PyErr_Occurred()
declare void @PyErr_Clear()
declare i64 @PyLong_AsLongLong(ptr)
declare ptr @PyLong_FromLong(i64)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyArray_Empty(i32, ptr, ptr, i32)
declare ptr @tracejit_result_array(ptr, ptr, i32, ptr, i64)
@tracejit_bypass = external global i64
@tracejit_raised = external global i64
"""

# In these texts `[p+8]` stands for the pointer 8 bytes behind p (see `entry_text`).
_ENTRY: Final = """
define ptr @tracejit_entry(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) nounwind {
entry:
  %table = getelementptr i8, ptr %self, i64 BYTES_DATA
  %bypass = load i64, ptr @tracejit_bypass
  %on = icmp eq i64 %bypass, 0
  br i1 %on, label %positional, label %slow
positional:
  %wantargs = load i64, ptr [%table+AT_positional]
  %sameargs = icmp eq i64 %wantargs, %nargs
  br i1 %sameargs, label %named, label %slow
named:
  %wantkw = load i64, ptr [%table+AT_keywords]
  %nokw = icmp eq ptr %kwnames, null
  br i1 %nokw, label %prepare, label %namecount
namecount:
  %given = load i64, ptr [%kwnames+SIZE]
  br label %prepare
prepare:
  %nkw = phi i64 [ 0, %named ], [ %given, %namecount ]
  %samekw = icmp eq i64 %nkw, %wantkw
  br i1 %samekw, label %start, label %slow
start:
  %n = load i64, ptr [%table+AT_inputs]
  %inputs = alloca ptr, i64 %n
  %arrays = alloca ptr, i64 %n
  %holders = alloca ptr, i64 %n
  %numbers = alloca i64, i64 %n
  %nextras = load i64, ptr [%table+AT_extras]
  %extra = alloca ptr, i64 %nextras
  %nresults = load i64, ptr [%table+AT_results]
  %outputs = alloca ptr, i64 %nresults
  %recorded = load i64, ptr [%table+AT_recorded]
  %nobjects = add i64 %nresults, %recorded
  %objects = alloca ptr, i64 %nobjects
  %s = alloca %state
  %past = alloca ptr
  %place = alloca ptr
  %cursor = alloca ptr
  store i64 0, ptr %s
  store ptr %inputs, ptr [%s+8]
  store ptr %arrays, ptr [%s+16]
  store ptr %holders, ptr [%s+24]
  store ptr %numbers, ptr [%s+32]
  store i64 0, ptr [%s+40]
  store ptr %extra, ptr [%s+48]
  store i64 %recorded, ptr [%s+56]
  %args_at = load i64, ptr [%table+AT_arguments_at]
  %args_node = getelementptr i8, ptr %table, i64 %args_at
  br label %arg
arg:
  %i = phi i64 [ 0, %start ], [ %i1, %argmatched ]
  %node = phi ptr [ %args_node, %start ], [ %after, %argmatched ]
  %moreargs = icmp ult i64 %i, %nargs
  br i1 %moreargs, label %onearg, label %keywords
onearg:
  %i1 = add i64 %i, 1
  %argp = getelementptr ptr, ptr %args, i64 %i
  %value = load ptr, ptr %argp
  %after = call ptr @match(ptr %node, ptr %value, ptr %s)
  %noarg = icmp eq ptr %after, null
  br i1 %noarg, label %miss, label %argmatched
argmatched:
  br label %arg
keywords:
  %kw_at = load i64, ptr [%table+AT_keywords_at]
  %kw_node = getelementptr i8, ptr %table, i64 %kw_at
  br label %kw
kw:
  %k = phi i64 [ 0, %keywords ], [ %k1, %kwmatched ]
  %kwnode = phi ptr [ %kw_node, %keywords ], [ %kwafter, %kwmatched ]
  %morekw = icmp ult i64 %k, %nkw
  br i1 %morekw, label %onekw, label %sources
onekw:
  %k1 = add i64 %k, 1
  %name = load ptr, ptr %kwnode
  %kwspec = getelementptr i8, ptr %kwnode, i64 8
  br label %search
search:
  %q = phi i64 [ 0, %onekw ], [ %q1, %other ]
  %in = icmp ult i64 %q, %nkw
  br i1 %in, label %other, label %miss
other:
  %q1 = add i64 %q, 1
  %namebase = getelementptr i8, ptr %kwnames, i64 TUPLE_ITEMS
  %namep = getelementptr ptr, ptr %namebase, i64 %q
  %this = load ptr, ptr %namep
  %isname = icmp eq ptr %this, %name
  br i1 %isname, label %foundkw, label %search
foundkw:
  %kwat = add i64 %nargs, %q
  %kwargp = getelementptr ptr, ptr %args, i64 %kwat
  %kwvalue = load ptr, ptr %kwargp
  %kwafter = call ptr @match(ptr %kwspec, ptr %kwvalue, ptr %s)
  %nokwarg = icmp eq ptr %kwafter, null
  br i1 %nokwarg, label %miss, label %kwmatched
kwmatched:
  br label %kw
sources:
  %nsources = load i64, ptr [%table+AT_sources]
  %sources_at = load i64, ptr [%table+AT_sources_at]
  %source0 = getelementptr i8, ptr %table, i64 %sources_at
  br label %source
source:
  %c = phi i64 [ 0, %sources ], [ %c1, %sourcematched ]
  %sourcep = phi ptr [ %source0, %sources ], [ %nextsource, %sourcematched ]
  %moresources = icmp ult i64 %c, %nsources
  br i1 %moresources, label %onesource, label %donations
onesource:
  %c1 = add i64 %c, 1
  %bound = call ptr @follow(ptr %sourcep, ptr %past, ptr %s)
  %unbound = icmp eq ptr %bound, null
  br i1 %unbound, label %wantabsent, label %checksource
wantabsent:
  %absentnode = load ptr, ptr %past
  %absentkind = load i64, ptr %absentnode
  %isabsent = icmp eq i64 %absentkind, KIND_absent
  %behindabsent = getelementptr i8, ptr %absentnode, i64 16
  br i1 %isabsent, label %sourcematched, label %miss
checksource:
  %sourcenode = load ptr, ptr %past
  %sourceafter = call ptr @match(ptr %sourcenode, ptr %bound, ptr %s)
  %nosource = icmp eq ptr %sourceafter, null
  br i1 %nosource, label %miss, label %sourcematched
sourcematched:
  %nextsource = phi ptr [ %behindabsent, %wantabsent ], [ %sourceafter, %checksource ]
  br label %source
donations:
  %ndonated = load i64, ptr [%table+AT_donated]
  %plaincall = icmp eq i64 %ndonated, 0
  br i1 %plaincall, label %allocate, label %checkoverlap
checkoverlap:
  %shared = call i1 @overlaps(ptr %table, ptr %inputs)
  br i1 %shared, label %miss, label %allocate
allocate:
  %results_at = load i64, ptr [%table+AT_results_at]
  %result0 = getelementptr i8, ptr %table, i64 %results_at
  br label %result
result:
  %r = phi i64 [ 0, %allocate ], [ %r1, %madearray ]
  %rnode = phi ptr [ %result0, %allocate ], [ %rnext, %madearray ]
  %moreresults = icmp ult i64 %r, %nresults
  br i1 %moreresults, label %oneresult, label %run
oneresult:
  %r1 = add i64 %r, 1
  %rsize = load i64, ptr %rnode
  %rnext = getelementptr i8, ptr %rnode, i64 %rsize
  %array = call ptr @make_array(ptr %rnode, ptr %arrays)
  %noarray = icmp eq ptr %array, null
  br i1 %noarray, label %nomemory, label %madearray
madearray:
  %op = getelementptr ptr, ptr %objects, i64 %r
  store ptr %array, ptr %op
  %memory = load ptr, ptr [%array+ARRAY_DATA]
  %outp = getelementptr ptr, ptr %outputs, i64 %r
  store ptr %memory, ptr %outp
  br label %result
nomemory:
  call void @drop_all(ptr %objects, i64 0, i64 %r)
  call void @let_go(ptr %s)
  ret ptr null
run:
  %main = load ptr, ptr [%table+AT_main]
  %release = load i64, ptr [%table+AT_release]
  %keep = icmp eq i64 %release, 0
  br i1 %keep, label %locked, label %unlocked
locked:
  %status1 = call i32 %main(ptr %inputs, ptr %outputs)
  br label %ran
unlocked:
  %thread = call ptr @PyEval_SaveThread()
  %status2 = call i32 %main(ptr %inputs, ptr %outputs)
  call void @PyEval_RestoreThread(ptr %thread)
  br label %ran
ran:
  %status = phi i32 [ %status1, %locked ], [ %status2, %unlocked ]
  %good = icmp eq i32 %status, 0
  br i1 %good, label %finish, label %failure
failure:
  call void @drop_all(ptr %objects, i64 0, i64 %nresults)
  call void @let_go(ptr %s)
  %interrupted = icmp slt i32 %status, 0
  br i1 %interrupted, label %stop, label %failed_call
stop:
  ; a signal's handler raised: the exception is set
  store i64 0, ptr @tracejit_raised
  ret ptr null
failed_call:
  %once = load i64, ptr [%table+AT_once]
  %repeated = icmp eq i64 %once, 0
  br i1 %repeated, label %slow, label %fail
fail:
  ; its arguments may be changed, or Python code that it called raised: it cannot be repeated
  %failed = load ptr, ptr [%table+AT_failed]
  %status64 = sext i32 %status to i64
  %number = call ptr @PyLong_FromLong(i64 %status64)
  %nonumber = icmp eq ptr %number, null
  br i1 %nonumber, label %giveup, label %raise
raise:
  store ptr %number, ptr %past
  %raised = call ptr @PyObject_Vectorcall(ptr %failed, ptr %past, i64 1, ptr null)
  call void @Py_DecRef(ptr %number)
  ret ptr %raised
giveup:
  ret ptr null
finish:
  br label %wrapping
wrapping:
  %w = phi i64 [ 0, %finish ], [ %w1, %wrapped ]
  %wnode = phi ptr [ %result0, %finish ], [ %wnext, %wrapped ]
  %morewraps = icmp ult i64 %w, %nresults
  br i1 %morewraps, label %onewrap, label %record
onewrap:
  %w1 = add i64 %w, 1
  %wsize = load i64, ptr %wnode
  %wnext = getelementptr i8, ptr %wnode, i64 %wsize
  %wp = getelementptr ptr, ptr %objects, i64 %w
  %inside = load ptr, ptr %wp
  %plain = load i64, ptr [%wnode+40]
  %isplain = icmp ne i64 %plain, 0
  br i1 %isplain, label %wrapped, label %totensor
totensor:
  %reuses = load i64, ptr [%wnode+32]
  %isnew = icmp slt i64 %reuses, 0
  br i1 %isnew, label %newtensor, label %oldtensor
oldtensor:
  %hp = getelementptr ptr, ptr %holders, i64 %reuses
  %holder = load ptr, ptr %hp
  %holdertype = load ptr, ptr [%holder+TYPE]
  %istensor = icmp eq ptr %holdertype, @object_Tensor
  br i1 %istensor, label %itself, label %newtensor
itself:
  call void @Py_IncRef(ptr %holder)
  call void @Py_DecRef(ptr %inside)
  br label %wrapped
newtensor:
  %tensor = call ptr @wrap(ptr %inside)
  %notensor = icmp eq ptr %tensor, null
  br i1 %notensor, label %nowrap, label %wrapped
wrapped:
  %object = phi ptr [ %inside, %onewrap ], [ %holder, %itself ], [ %tensor, %newtensor ]
  store ptr %object, ptr %wp
  br label %wrapping
nowrap:
  call void @drop_all(ptr %objects, i64 0, i64 %w)
  call void @drop_all(ptr %objects, i64 %w1, i64 %nresults)
  call void @let_go(ptr %s)
  ret ptr null
record:
  %returned = load i64, ptr [%table+AT_returned]
  %unrecorded = icmp eq i64 %recorded, 0
  br i1 %unrecorded, label %assemble, label %onrecord
onrecord:
  %good_record = call i1 @record(ptr %table, ptr %objects, i64 %nresults, ptr %s)
  br i1 %good_record, label %release_residuals, label %norecord
norecord:
  call void @drop_all(ptr %objects, i64 0, i64 %nresults)
  call void @let_go(ptr %s)
  ret ptr null
release_residuals:
  call void @drop_all(ptr %objects, i64 %returned, i64 %nresults)
  br label %assemble
assemble:
  call void @let_go(ptr %s)
  %structure_at = load i64, ptr [%table+AT_structure_at]
  %structure = getelementptr i8, ptr %table, i64 %structure_at
  store ptr %structure, ptr %place
  store ptr %objects, ptr %cursor
  %made = call ptr @build(ptr %place, ptr %cursor)
  %nothing = icmp eq ptr %made, null
  br i1 %nothing, label %unmade, label %give
unmade:
  %here = load ptr, ptr %cursor
  %here64 = ptrtoint ptr %here to i64
  %objects64 = ptrtoint ptr %objects to i64
  %bytes = sub i64 %here64, %objects64
  %taken = lshr i64 %bytes, 3
  call void @drop_all(ptr %objects, i64 %taken, i64 %returned)
  br label %give
give:
  ret ptr %made
miss:
  call void @let_go(ptr %s)
  br label %slow
slow:
  %otherwise = load ptr, ptr [%table+AT_slow]
  %answer = call ptr @PyObject_Vectorcall(ptr %otherwise, ptr %args, i64 %nargs, ptr %kwnames)
  ret ptr %answer
}
"""


def entry_code(layout: EntryLayout) -> str:
    """The module of the entry for this interpreter's and NumPy's layout."""
    numbers = {
        "CACHED_BYTES": CACHED_BYTES,
        **{f"AT_{name}": at for name, at in AT.items()},
        **{f"KIND_{name}": number for name, number in KINDS.items()},
        **{f"GRADIENT_{gradient}": number for gradient, number in GRADIENTS.items()},
        **{f"STEP_{name}": number for name, number in STEPS.items()},
        **{f"START_{name}": number for name, number in STARTS.items()},
    }
    return filled(
        _DECLARATIONS + NUMBERS + INPUTS + MATCHING + FOLLOWING + MAKING + WRAPPING + _ENTRY, layout, numbers
    )
