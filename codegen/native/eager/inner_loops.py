"""LLVM text of small eager operations: a ``METH_FASTCALL`` function that runs NumPy's own inner loop.

Its ``self`` is a bytes object that holds the address of an op's table (`EAGER_TABLE`, then an `EAGER_LOOP`
for each dtype that it serves). It takes one or two Tensors, or a Tensor and a Python number, whose arrays are
contiguous, of one dtype, and of one shape or the one of rank 0. It makes the result's array, runs over it the
loop that the ufunc itself would run, and wraps it: the values are NumPy's to the bit, without the ufunc's
search for what to run. Where an operand requires a gradient it calls the table's `remember` to put the result
on the tape. Tables without `tensors` are for ndarrays, as backward passes have them, in and out.

Everything else goes to the table's `slow`, in the same call: other operands, large arrays, whatever sets a
floating-point flag (NumPy decides what a division by zero means), and every call while a thread traces or
somebody looks at kernels. A null without an exception is how parts of this text say that.
"""

from __future__ import annotations

from typing import Final

from ...interface import (
    CALL_TABLE,
    EAGER_LOOP,
    EAGER_NUMBERS,
    EAGER_TABLE,
    JOIN_KIND,
    JOIN_RANK,
    JOIN_TABLE,
    MOST_ARGUMENTS,
    MOST_ELEMENTS,
    MOST_JOINED,
    SECOND,
)
from ..entry.names import NUMBERS, filled
from ..entry.results import WRAPPING
from ..entry.table import EntryLayout
from .arguments import ARGUMENTS
from .calls import EAGER_CALLS
from .copies import COPIES
from .joins import EAGER_JOINS
from .operands import OPERANDS
from .views import VIEWS

_TEXT: Final = """
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyType_GenericAlloc(ptr, i64)
declare ptr @PyErr_Occurred()
declare void @PyErr_Clear()
declare i64 @PyLong_AsLongLong(ptr)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyArray_Empty(i32, ptr, ptr, i32)
declare i32 @fetestexcept(i32)
declare i32 @feclearexcept(i32)
declare float @llvm.fabs.f32(float)
@tracejit_bypass = external global i64

; Whether the Tensor %value requires a gradient.
define internal i1 @requires_grad(ptr %value) nounwind {
  %flag = load ptr, ptr [%value+SLOT_requires_grad]
  %requires = icmp ne ptr %flag, @object_False
  ret i1 %requires
}

; The op of %x and %y, which is null for ops of one operand.
define internal ptr @eager(ptr %table, ptr %x, ptr %y) nounwind {
entry:
  %xnumber = alloca i64
  %ynumber = alloca i64
  %data = alloca [3 x ptr]
  %steps = alloca [3 x i64]
  %count = alloca i64
  %operands = alloca [3 x ptr]
  %bypass = load i64, ptr @tracejit_bypass
  %nobody = icmp eq i64 %bypass, 0
  %onword = load i64, ptr [%table+AT_on]
  %ison = icmp ne i64 %onword, 0
  %go = and i1 %nobody, %ison
  br i1 %go, label %first, label %miss
first:
  %tensorsword = load i64, ptr [%table+AT_tensors]
  %tensors = icmp ne i64 %tensorsword, 0
  %xa = call ptr @array_of(ptr %x, i1 %tensors)
  %alone = icmp eq ptr %y, null
  br i1 %alone, label %leading, label %second
second:
  %ya = call ptr @array_of(ptr %y, i1 %tensors)
  %nox = icmp eq ptr %xa, null
  br i1 %nox, label %leading, label %maybe
maybe:
  %noy = icmp eq ptr %ya, null
  br i1 %noy, label %leading, label %both
both:
  %xdescr = load ptr, ptr [%xa+ARRAY_DESCR]
  %ydescr = load ptr, ptr [%ya+ARRAY_DESCR]
  %samedescr = icmp eq ptr %xdescr, %ydescr
  br i1 %samedescr, label %shapes, label %miss
shapes:
  %sameshape = call i1 @same_shape(ptr %xa, ptr %ya)
  br i1 %sameshape, label %leading, label %xscalar
xscalar:
  %xrank = load i32, ptr [%xa+ARRAY_NDIM]
  %xis0 = icmp eq i32 %xrank, 0
  br i1 %xis0, label %leading, label %yscalar
yscalar:
  %yrank = load i32, ptr [%ya+ARRAY_NDIM]
  %yis0 = icmp eq i32 %yrank, 0
  br i1 %yis0, label %leading, label %miss
leading:
  ; the operand that gives dtype and shape, and whether each of them goes on from element to element
  %lead = phi ptr [ %xa, %first ], [ %ya, %second ], [ %xa, %maybe ],
      [ %xa, %shapes ], [ %ya, %xscalar ], [ %xa, %yscalar ]
  %xgoes = phi i64 [ 1, %first ], [ 0, %second ], [ 1, %maybe ],
      [ 1, %shapes ], [ 0, %xscalar ], [ 1, %yscalar ]
  %ygoes = phi i64 [ 0, %first ], [ 1, %second ], [ 0, %maybe ],
      [ 1, %shapes ], [ 1, %xscalar ], [ 0, %yscalar ]
  %yarray = phi ptr [ null, %first ], [ %ya, %second ], [ null, %maybe ],
      [ %ya, %shapes ], [ %ya, %xscalar ], [ %ya, %yscalar ]
  %nothing = icmp eq ptr %lead, null
  br i1 %nothing, label %miss, label %search
search:
  %descr = load ptr, ptr [%lead+ARRAY_DESCR]
  %nloops = load i64, ptr [%table+AT_loops]
  %loop0 = getelementptr i8, ptr %table, i64 TABLE_BYTES
  br label %look
look:
  %l = phi i64 [ 0, %search ], [ %l1, %next ]
  %loop = phi ptr [ %loop0, %search ], [ %nextloop, %next ]
  %moreloops = icmp ult i64 %l, %nloops
  br i1 %moreloops, label %compare, label %miss
compare:
  %wanted = load ptr, ptr [%loop+LOOP_operand]
  %found = icmp eq ptr %wanted, %descr
  br i1 %found, label %sized, label %next
next:
  %l1 = add i64 %l, 1
  %nextloop = getelementptr i8, ptr %loop, i64 LOOP_BYTES
  br label %look
sized:
  %n = call i64 @elements(ptr %lead)
  store i64 %n, ptr %count
  %small = icmp ule i64 %n, MOST_ELEMENTS
  br i1 %small, label %firstdata, label %miss
firstdata:
  %kind = load i64, ptr [%loop+LOOP_numbers]
  %size = load i64, ptr [%loop+LOOP_operand_bytes]
  %flags = call i32 @fetestexcept(i32 FLAGS)
  %flagged = icmp ne i32 %flags, 0
  br i1 %flagged, label %unflag, label %takex
unflag:
  call i32 @feclearexcept(i32 FLAGS)
  br label %takex
takex:
  %xstep = mul i64 %size, %xgoes
  store i64 %xstep, ptr %steps
  %xisarray = icmp ne ptr %xa, null
  br i1 %xisarray, label %xfromarray, label %xfromnumber
xfromarray:
  %xdata = load ptr, ptr [%xa+ARRAY_DATA]
  store ptr %xdata, ptr %data
  br label %seconddata
xfromnumber:
  %xfits = call i1 @number(ptr %x, i64 %kind, ptr %xnumber)
  store ptr %xnumber, ptr %data
  br i1 %xfits, label %seconddata, label %miss
seconddata:
  br i1 %alone, label %allocate, label %takey
takey:
  %ystep = mul i64 %size, %ygoes
  store i64 %ystep, ptr [%steps+8]
  %yisarray = icmp ne ptr %yarray, null
  br i1 %yisarray, label %yfromarray, label %yfromnumber
yfromarray:
  %ydata = load ptr, ptr [%yarray+ARRAY_DATA]
  store ptr %ydata, ptr [%data+8]
  br label %allocate
yfromnumber:
  %yfits = call i1 @number(ptr %y, i64 %kind, ptr %ynumber)
  store ptr %ynumber, ptr [%data+8]
  br i1 %yfits, label %allocate, label %miss
allocate:
  %rank = load i32, ptr [%lead+ARRAY_NDIM]
  %sizes = load ptr, ptr [%lead+ARRAY_DIMS]
  %outdescr = load ptr, ptr [%loop+LOOP_result]
  call void @Py_IncRef(ptr %outdescr)
  %array = call ptr @PyArray_Empty(i32 %rank, ptr %sizes, ptr %outdescr, i32 0)
  %noarray = icmp eq ptr %array, null
  br i1 %noarray, label %nomemory, label %run
run:
  %outdata = load ptr, ptr [%array+ARRAY_DATA]
  %outstep = load i64, ptr [%loop+LOOP_result_bytes]
  %at = select i1 %alone, i64 1, i64 2
  %outp = getelementptr ptr, ptr %data, i64 %at
  store ptr %outdata, ptr %outp
  %stepp = getelementptr i64, ptr %steps, i64 %at
  store i64 %outstep, ptr %stepp
  %function = load ptr, ptr [%loop+LOOP_function]
  %context = load ptr, ptr [%loop+LOOP_data]
  call void %function(ptr %data, ptr %count, ptr %steps, ptr %context)
  %raised = call i32 @fetestexcept(i32 FLAGS)
  %clean = icmp eq i32 %raised, 0
  br i1 %clean, label %checkerror, label %drop
checkerror:
  %error = call ptr @PyErr_Occurred()
  %fine = icmp eq ptr %error, null
  br i1 %fine, label %computed, label %dropboth
computed:
  br i1 %tensors, label %wrapping, label %bare
bare:
  ret ptr %array
dropboth:
  call void @PyErr_Clear()
  br label %drop
drop:
  call void @Py_DecRef(ptr %array)
  br label %miss
wrapping:
  ; from here on other Python code may run: nothing of the operands' arrays is read again
  %tensor = call ptr @wrap(ptr %array)
  %notensor = icmp eq ptr %tensor, null
  br i1 %notensor, label %nomemory, label %gradients
gradients:
  %can = load i64, ptr [%loop+LOOP_gradients]
  %cannot = icmp eq i64 %can, 0
  br i1 %cannot, label %done, label %askx
askx:
  br i1 %xisarray, label %lookx, label %asky
lookx:
  %ofx = call i1 @requires_grad(ptr %x)
  br i1 %ofx, label %remember, label %asky
asky:
  %hasy = icmp ne ptr %yarray, null
  br i1 %hasy, label %looky, label %done
looky:
  %ofy = call i1 @requires_grad(ptr %y)
  br i1 %ofy, label %remember, label %done
remember:
  store ptr %x, ptr %operands
  store ptr %y, ptr [%operands+8]
  %resultp = getelementptr ptr, ptr %operands, i64 %at
  store ptr %tensor, ptr %resultp
  %given = add i64 %at, 1
  %recorder = load ptr, ptr [%table+AT_remember]
  %answer = call ptr @PyObject_Vectorcall(ptr %recorder, ptr %operands, i64 %given, ptr null)
  %failed = icmp eq ptr %answer, null
  br i1 %failed, label %unrecorded, label %recorded
recorded:
  call void @Py_DecRef(ptr %answer)
  br label %done
unrecorded:
  call void @Py_DecRef(ptr %tensor)
  ret ptr null
done:
  ret ptr %tensor
nomemory:
  call void @PyErr_Clear()
  br label %miss
miss:
  ret ptr null
}

define ptr @tracejit_eager(ptr %self, ptr %args, i64 %nargs) nounwind {
entry:
  %table = load ptr, ptr [%self+BYTES_DATA]
  %wanted = load i64, ptr [%table+AT_operands]
  %fits = icmp eq i64 %wanted, %nargs
  br i1 %fits, label %take, label %slow
take:
  %x = load ptr, ptr %args
  %single = icmp eq i64 %nargs, 1
  br i1 %single, label %compute, label %pair
pair:
  %second = load ptr, ptr [%args+8]
  br label %compute
compute:
  %y = phi ptr [ null, %take ], [ %second, %pair ]
  %result = call ptr @eager(ptr %table, ptr %x, ptr %y)
  %nothing = icmp eq ptr %result, null
  br i1 %nothing, label %look, label %give
look:
  %error = call ptr @PyErr_Occurred()
  %missed = icmp eq ptr %error, null
  br i1 %missed, label %slow, label %give
give:
  ret ptr %result
slow:
  %otherwise = load ptr, ptr [%table+AT_slow]
  %answer = call ptr @PyObject_Vectorcall(ptr %otherwise, ptr %args, i64 %nargs, ptr null)
  ret ptr %answer
}
"""


def eager_code(layout: EntryLayout, flags: int) -> str:
    """The module for this interpreter's and NumPy's layout; `flags` are the floating-point exceptions, as
    <fenv.h> numbers them here, that NumPy may report."""
    numbers = {
        "FLAGS": flags,
        "MOST_ELEMENTS": MOST_ELEMENTS,
        "TABLE_BYTES": 8 * len(EAGER_TABLE),
        "LOOP_BYTES": 8 * len(EAGER_LOOP),
        **{f"AT_{name}": 8 * position for position, name in enumerate(EAGER_TABLE)},
        "MOST_ARGUMENTS": MOST_ARGUMENTS,
        **{f"SECOND_{name}": number for name, number in SECOND.items()},
        **{f"CALL_{name}": 8 * position for position, name in enumerate(CALL_TABLE)},
        "MOST_JOINED": MOST_JOINED,
        "JOIN_RANK": JOIN_RANK,
        "JOIN_GIVEN": MOST_JOINED + 2,
        "JOIN_BYTES": 8 * len(JOIN_TABLE),
        "KIND_BYTES": 8 * len(JOIN_KIND),
        **{f"JOIN_{name}": 8 * position for position, name in enumerate(JOIN_TABLE)},
        **{f"KIND_{name}": 8 * position for position, name in enumerate(JOIN_KIND)},
        **{f"LOOP_{name}": 8 * position for position, name in enumerate(EAGER_LOOP)},
        **{f"NUMBERS_{name}": number for name, number in EAGER_NUMBERS.items()},
    }
    text = _TEXT + EAGER_CALLS + EAGER_JOINS + COPIES + ARGUMENTS + VIEWS + NUMBERS + OPERANDS + WRAPPING
    return filled(text, layout, numbers)
