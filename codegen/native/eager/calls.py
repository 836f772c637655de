"""LLVM text of eager operations that NumPy has as a builtin function: ``tracejit_eager_call``.

A ``METH_FASTCALL`` function whose ``self`` is a bytes object with the address of a table (`CALL_TABLE`). Some
of its arguments are operands: Tensors, or Python numbers. It calls the table's `kernel` with their arrays and
the other arguments as they are, and wraps what comes back. Where an operand requires a gradient and the
result is floating it calls `remember` with the arguments and the result. Where the table has a `step`, what
is in the memory of the first argument is made its view, as `tracejit.views.share` would, by the step ``(step,
second argument)``. `second` says what the second argument must be: see `eager_arguments`.

Everything else goes to `slow`, in the same call: operands that are no Tensors, what the kernel raises an
exception for (which says it in NumPy's words) or gives None for, and every call while a thread traces or
somebody looks at kernels.
"""

from __future__ import annotations

from typing import Final

EAGER_CALLS: Final = """
declare i32 @PyType_IsSubtype(ptr, ptr)
declare i32 @PyErr_ExceptionMatches(ptr)
declare ptr @PyArray_FromScalar(ptr, ptr)
declare ptr @PyList_New(i64)
declare ptr @PyTuple_New(i64)
declare ptr @PyDict_New()
declare i32 @PyDict_SetItem(ptr, ptr, ptr)
declare ptr @PyLong_FromLong(i64)
declare ptr @PyObject_GetAttr(ptr, ptr)
declare ptr @PyWeakref_NewRef(ptr, ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

; Call %action, which takes a reference or gives it back, with each of the %n objects.
define internal void @with_each(ptr %objects, i64 %n, ptr %action) alwaysinline nounwind {
entry:
  br label %look
look:
  %i = phi i64 [ 0, %entry ], [ %i1, %one ]
  %more = icmp ult i64 %i, %n
  br i1 %more, label %one, label %done
one:
  %i1 = add i64 %i, 1
  %p = getelementptr ptr, ptr %objects, i64 %i
  %object = load ptr, ptr %p
  call void %action(ptr %object)
  br label %look
done:
  ret void
}

define ptr @tracejit_eager_call(ptr %self, ptr %args, i64 %nargs) nounwind {
entry:
  %given = alloca [MOST_ARGUMENTS x ptr]
  %table = load ptr, ptr [%self+BYTES_DATA]
  %kernel = load ptr, ptr [%table+CALL_kernel]
  %first = load i64, ptr [%table+CALL_first]
  %operands = load i64, ptr [%table+CALL_operands]
  %all = icmp eq i64 %operands, 0
  %wantedend = add i64 %first, %operands
  %end = select i1 %all, i64 %nargs, i64 %wantedend
  %bypass = load i64, ptr @tracejit_bypass
  %nobody = icmp eq i64 %bypass, 0
  %onword = load i64, ptr [%table+CALL_on]
  %ison = icmp ne i64 %onword, 0
  %few = icmp ult i64 %nargs, MOST_ARGUMENTS
  %second = load i64, ptr [%table+CALL_second]
  %anysecond = icmp eq i64 %second, SECOND_any
  %pair = icmp uge i64 %nargs, 2
  %hassecond = or i1 %anysecond, %pair
  %operandsgiven = icmp ule i64 %end, %nargs
  %enough = and i1 %operandsgiven, %hassecond
  %go1 = and i1 %nobody, %ison
  %go2 = and i1 %few, %enough
  %go = and i1 %go1, %go2
  br i1 %go, label %keyed, label %slow
keyed:
  switch i64 %second, label %look [
    i64 SECOND_key, label %checkkey
    i64 SECOND_shape, label %checkshape
  ]
checkkey:
  %key = load ptr, ptr [%args+8]
  %keyfits = call i1 @each(ptr %key, ptr @basic)
  br i1 %keyfits, label %look, label %slow
checkshape:
  %shape = load ptr, ptr [%args+8]
  %shapefits = call i1 @each(ptr %shape, ptr @size)
  br i1 %shapefits, label %look, label %slow
look:
  %i = phi i64 [ 0, %keyed ], [ 0, %checkkey ], [ 0, %checkshape ], [ %i1, %keep ]
  %tracked = phi i1 [ false, %keyed ], [ false, %checkkey ], [ false, %checkshape ],
      [ %nowtracked, %keep ]
  %more = icmp ult i64 %i, %nargs
  br i1 %more, label %one, label %ready
one:
  %argp = getelementptr ptr, ptr %args, i64 %i
  %arg = load ptr, ptr %argp
  %behind = icmp uge i64 %i, %first
  %before = icmp ult i64 %i, %end
  %isoperand = and i1 %behind, %before
  br i1 %isoperand, label %typed, label %keep
typed:
  %type = load ptr, ptr [%arg+TYPE]
  %istensor = icmp eq ptr %type, @object_Tensor
  br i1 %istensor, label %tensor, label %number
number:
  %isfloat = icmp eq ptr %type, @object_float
  %isint = icmp eq ptr %type, @object_int
  %isnumber = or i1 %isfloat, %isint
  br i1 %isnumber, label %keep, label %slow
tensor:
  %held = load ptr, ptr [%arg+SLOT_data]
  %unset = icmp eq ptr %held, null
  br i1 %unset, label %slow, label %array
array:
  %heldtype = load ptr, ptr [%held+TYPE]
  %isarray = icmp eq ptr %heldtype, @object_ndarray
  br i1 %isarray, label %flag, label %slow
flag:
  %requires = call i1 @requires_grad(ptr %arg)
  %either = or i1 %tracked, %requires
  br label %keep
keep:
  %value = phi ptr [ %arg, %one ], [ %arg, %number ], [ %held, %flag ]
  %nowtracked = phi i1 [ %tracked, %one ], [ %tracked, %number ], [ %either, %flag ]
  %givenp = getelementptr ptr, ptr %given, i64 %i
  store ptr %value, ptr %givenp
  %i1 = add i64 %i, 1
  br label %look
ready:
  switch i64 %second, label %call [
    i64 SECOND_axis, label %checkaxis
    i64 SECOND_matrix, label %checkmatrices
  ]
checkmatrices:
  %leftmatrix = load ptr, ptr %given
  %rightmatrix = load ptr, ptr [%given+8]
  %matricesfit = call i1 @matrices(ptr %leftmatrix, ptr %rightmatrix)
  br i1 %matricesfit, label %call, label %slow
checkaxis:
  %axis = load ptr, ptr [%args+8]
  %firstgiven = load ptr, ptr %given
  %axisfits = call i1 @axis_key(ptr %axis, ptr %firstgiven)
  br i1 %axisfits, label %call, label %slow
call:
  ; the kernel may run Python code, which may give the Tensors other arrays
  call void @with_each(ptr %given, i64 %nargs, ptr @Py_IncRef)
  %outcome = call ptr @PyObject_Vectorcall(ptr %kernel, ptr %given, i64 %nargs, ptr null)
  call void @with_each(ptr %given, i64 %nargs, ptr @Py_DecRef)
  %raised = icmp eq ptr %outcome, null
  br i1 %raised, label %failed, label %made
failed:
  %matches = call i32 @PyErr_ExceptionMatches(ptr @object_Exception)
  %ordinary = icmp ne i32 %matches, 0
  br i1 %ordinary, label %again, label %raise
again:
  call void @PyErr_Clear()
  br label %slow
raise:
  ret ptr null
made:
  %outtype = load ptr, ptr [%outcome+TYPE]
  %outarray = icmp eq ptr %outtype, @object_ndarray
  br i1 %outarray, label %wrapping, label %other
other:
  %subtype = call i32 @PyType_IsSubtype(ptr %outtype, ptr @object_generic)
  %isscalar = icmp ne i32 %subtype, 0
  br i1 %isscalar, label %scalar, label %drop
drop:
  call void @Py_DecRef(ptr %outcome)
  br label %slow
scalar:
  %single = call ptr @PyArray_FromScalar(ptr %outcome, ptr null)
  call void @Py_DecRef(ptr %outcome)
  %nosingle = icmp eq ptr %single, null
  br i1 %nosingle, label %raise, label %wrapping
wrapping:
  %whole = phi ptr [ %outcome, %made ], [ %single, %scalar ]
  %result = call ptr @wrap(ptr %whole)
  %noresult = icmp eq ptr %result, null
  br i1 %noresult, label %raise, label %tell
tell:
  %step = load ptr, ptr [%table+CALL_step]
  %noview = icmp eq ptr %step, null
  br i1 %noview, label %graph, label %viewing
viewing:
  %x = load ptr, ptr %args
  %views = call i1 @in_memory_of(ptr %whole, ptr %x)
  br i1 %views, label %sharing, label %graph
sharing:
  %pop = load ptr, ptr [%table+CALL_pop]
  %how = load ptr, ptr [%args+8]
  %shared = call i1 @share(ptr %x, ptr %result, ptr %step, ptr %how, ptr %pop)
  br i1 %shared, label %graph, label %unremembered
graph:
  %remember = load ptr, ptr [%table+CALL_remember]
  %can = icmp ne ptr %remember, null
  %descr = load ptr, ptr [%whole+ARRAY_DESCR]
  %is32 = icmp eq ptr %descr, @object_float32
  %is64 = icmp eq ptr %descr, @object_float64
  %floating = or i1 %is32, %is64
  %canfloat = and i1 %can, %floating
  %telling = and i1 %tracked, %canfloat
  br i1 %telling, label %copy, label %done
copy:
  br label %copylook
copylook:
  %j = phi i64 [ 0, %copy ], [ %j1, %copyone ]
  %copymore = icmp ult i64 %j, %nargs
  br i1 %copymore, label %copyone, label %copied
copyone:
  %fromp = getelementptr ptr, ptr %args, i64 %j
  %from = load ptr, ptr %fromp
  %top = getelementptr ptr, ptr %given, i64 %j
  store ptr %from, ptr %top
  %j1 = add i64 %j, 1
  br label %copylook
copied:
  %lastp = getelementptr ptr, ptr %given, i64 %nargs
  store ptr %result, ptr %lastp
  %count = add i64 %nargs, 1
  %answer = call ptr @PyObject_Vectorcall(ptr %remember, ptr %given, i64 %count, ptr null)
  %failing = icmp eq ptr %answer, null
  br i1 %failing, label %unremembered, label %remembered
unremembered:
  call void @Py_DecRef(ptr %result)
  ret ptr null
remembered:
  call void @Py_DecRef(ptr %answer)
  br label %done
done:
  ret ptr %result
slow:
  %otherwise = load ptr, ptr [%table+CALL_slow]
  %last = call ptr @PyObject_Vectorcall(ptr %otherwise, ptr %args, i64 %nargs, ptr null)
  ret ptr %last
}
"""
