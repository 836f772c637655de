"""LLVM text of the native entry's checks: whether objects are what a table's nodes want."""

from __future__ import annotations

from typing import Final

MATCHING: Final = """
; The node behind %node where %value is what it wants, else null.
define internal ptr @match(ptr %node, ptr %value, ptr %s) nounwind {
entry:
  %eqslot = alloca i64
  %kind = load i64, ptr %node
  %length = load i64, ptr [%node+8]
  %next = getelementptr i8, ptr %node, i64 %length
  %type = load ptr, ptr [%value+TYPE]
  switch i64 %kind, label %container [
    i64 KIND_array, label %array
    i64 KIND_same, label %same
    i64 KIND_float, label %float
    i64 KIND_int, label %int
    i64 KIND_bool, label %bool
    i64 KIND_none, label %none
    i64 KIND_equal_float, label %equalfloat
    i64 KIND_equal_int, label %equalint
    i64 KIND_sized, label %sized_only
    i64 KIND_absent, label %no
    i64 KIND_anything, label %yes
  ]
equalfloat:
  %eqisfloat = icmp eq ptr %type, @object_float
  br i1 %eqisfloat, label %comparefloat, label %no
comparefloat:
  %bits = load i64, ptr [%value+FLOAT_VALUE]
  %wantbits = load i64, ptr [%node+16]
  %samebits = icmp eq i64 %bits, %wantbits
  br i1 %samebits, label %yes, label %no
equalint:
  %eqisint = call i1 @read_int(ptr %value, ptr %eqslot)
  br i1 %eqisint, label %compareint, label %no
compareint:
  %eqint = load i64, ptr %eqslot
  %wantint = load i64, ptr [%node+16]
  %sameint = icmp eq i64 %eqint, %wantint
  br i1 %sameint, label %yes, label %no
sized_only:
  %wantclass = load ptr, ptr [%node+16]
  %classed = icmp eq ptr %type, %wantclass
  br i1 %classed, label %comparesize, label %no
comparesize:
  %items_now = load i64, ptr [%value+SIZE]
  %items_then = load i64, ptr [%node+24]
  %samesize = icmp eq i64 %items_now, %items_then
  br i1 %samesize, label %yes, label %no
array:
  %fits = call i1 @match_array(ptr %node, ptr %value, ptr %type, ptr %s)
  br i1 %fits, label %yes, label %no
same:
  %want = load ptr, ptr [%node+16]
  %is = icmp eq ptr %want, %value
  br i1 %is, label %yes, label %no
none:
  %isnone = icmp eq ptr %value, @object_None
  br i1 %isnone, label %yes, label %no
float:
  %isfloat = icmp eq ptr %type, @object_float
  br i1 %isfloat, label %takefloat, label %no
takefloat:
  %double = load double, ptr [%value+FLOAT_VALUE]
  %fslot = call ptr @slot(ptr %s)
  store double %double, ptr %fslot
  call void @push_number(ptr %s, ptr %fslot, ptr %value)
  br label %yes
bool:
  %istrue = icmp eq ptr %value, @object_True
  %isfalse = icmp eq ptr %value, @object_False
  %either = or i1 %istrue, %isfalse
  br i1 %either, label %takebool, label %no
takebool:
  %byte = zext i1 %istrue to i8
  %bslot = call ptr @slot(ptr %s)
  store i8 %byte, ptr %bslot
  call void @push_number(ptr %s, ptr %bslot, ptr %value)
  br label %yes
int:
  %islot = call ptr @slot(ptr %s)
  %isint = call i1 @read_int(ptr %value, ptr %islot)
  br i1 %isint, label %takeint, label %no
takeint:
  %number = load i64, ptr %islot
  %low = load i64, ptr [%node+16]
  %high = load i64, ptr [%node+24]
  %ge = icmp sge i64 %number, %low
  %le = icmp sle i64 %number, %high
  %within = and i1 %ge, %le
  br i1 %within, label %keepint, label %no
keepint:
  call void @push_number(ptr %s, ptr %islot, ptr %value)
  br label %yes
container:
  %wanttype = load ptr, ptr [%node+16]
  %typed = icmp eq ptr %type, %wanttype
  br i1 %typed, label %count, label %no
count:
  %n = load i64, ptr [%node+24]
  %isdict = icmp eq i64 %kind, KIND_dict
  br i1 %isdict, label %dict, label %sequence
dict:
  %afterdict = call ptr @match_dict(ptr %node, ptr %value, i64 %n, ptr %next, ptr %s)
  ret ptr %afterdict
sequence:
  %size = load i64, ptr [%value+SIZE]
  %sized = icmp eq i64 %size, %n
  br i1 %sized, label %items, label %no
items:
  %islist = icmp eq i64 %kind, KIND_list
  %inside = getelementptr i8, ptr %value, i64 TUPLE_ITEMS
  %listed = load ptr, ptr [%value+LIST_ITEMS]
  %base = select i1 %islist, ptr %listed, ptr %inside
  br label %look
look:
  %i = phi i64 [ 0, %items ], [ %i1, %matched ]
  %child = phi ptr [ %next, %items ], [ %after, %matched ]
  %more = icmp ult i64 %i, %n
  br i1 %more, label %one, label %all
one:
  %place = getelementptr ptr, ptr %base, i64 %i
  %item = load ptr, ptr %place
  %after = call ptr @match(ptr %child, ptr %item, ptr %s)
  %nope = icmp eq ptr %after, null
  br i1 %nope, label %no, label %matched
matched:
  %i1 = add i64 %i, 1
  br label %look
all:
  ret ptr %child
yes:
  ret ptr %next
no:
  ret ptr null
}

; The keys are expected in the node's order, by identity. In another order, or where a string is equal without
; being the same, they are looked up; no user code runs, as all keys are strings.
define internal ptr @match_dict(ptr %node, ptr %dict, i64 %n, ptr %children, ptr %s) nounwind {
entry:
  %position = alloca i64
  %keyp = alloca ptr
  %valuep = alloca ptr
  %size = call i64 @PyDict_Size(ptr %dict)
  %sized = icmp eq i64 %size, %n
  br i1 %sized, label %begin, label %no
begin:
  store i64 0, ptr %position
  br label %look
look:
  %i = phi i64 [ 0, %begin ], [ %i1, %matched ]
  %child = phi ptr [ %children, %begin ], [ %after, %matched ]
  %plain = phi i1 [ true, %begin ], [ %plain2, %matched ]
  %checked = phi i1 [ false, %begin ], [ %checked2, %matched ]
  %more = icmp ult i64 %i, %n
  br i1 %more, label %one, label %all
one:
  %keys = getelementptr i8, ptr %node, i64 32
  %wantp = getelementptr ptr, ptr %keys, i64 %i
  %want = load ptr, ptr %wantp
  br i1 %plain, label %step, label %search
step:
  %got = call i32 @PyDict_Next(ptr %dict, ptr %position, ptr %keyp, ptr %valuep)
  %none = icmp eq i32 %got, 0
  br i1 %none, label %no, label %compare
compare:
  %key = load ptr, ptr %keyp
  %same = icmp eq ptr %key, %want
  %next = load ptr, ptr %valuep
  br i1 %same, label %have, label %search
search:
  br i1 %checked, label %find, label %strings
strings:
  %allowed = call i1 @all_strings(ptr %dict)
  %wanttype = load ptr, ptr [%want+TYPE]
  %isstr = icmp eq ptr %wanttype, @object_str
  %both = and i1 %allowed, %isstr
  br i1 %both, label %find, label %no
find:
  %found = call ptr @PyDict_GetItemWithError(ptr %dict, ptr %want)
  %missing = icmp eq ptr %found, null
  br i1 %missing, label %clear, label %have
clear:
  call void @PyErr_Clear()
  ret ptr null
have:
  %value = phi ptr [ %next, %compare ], [ %found, %find ]
  %plain2 = phi i1 [ true, %compare ], [ false, %find ]
  %checked2 = phi i1 [ %checked, %compare ], [ true, %find ]
  %after = call ptr @match(ptr %child, ptr %value, ptr %s)
  %nope = icmp eq ptr %after, null
  br i1 %nope, label %no, label %matched
matched:
  %i1 = add i64 %i, 1
  br label %look
all:
  ret ptr %child
no:
  ret ptr null
}

define internal i1 @all_strings(ptr %dict) nounwind {
entry:
  %position = alloca i64
  %keyp = alloca ptr
  %valuep = alloca ptr
  store i64 0, ptr %position
  br label %look
look:
  %got = call i32 @PyDict_Next(ptr %dict, ptr %position, ptr %keyp, ptr %valuep)
  %end = icmp eq i32 %got, 0
  br i1 %end, label %yes, label %one
one:
  %key = load ptr, ptr %keyp
  %type = load ptr, ptr [%key+TYPE]
  %isstr = icmp eq ptr %type, @object_str
  br i1 %isstr, label %look, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

define internal i1 @match_array(ptr %node, ptr %value, ptr %type, ptr %s) nounwind {
entry:
  %donated = load i64, ptr [%node+40]
  %isdonated = icmp ne i64 %donated, 0
  %gradient = load i64, ptr [%node+64]
  %must = icmp eq i64 %gradient, GRADIENT_True
  %either = icmp eq i64 %gradient, GRADIENT_None
  %istensor = icmp eq ptr %type, @object_Tensor
  br i1 %istensor, label %tensor, label %plain
tensor:
  %requires = load ptr, ptr [%value+SLOT_requires_grad]
  %expected = select i1 %must, ptr @object_True, ptr @object_False
  %same_gradient = icmp eq ptr %requires, %expected
  %agrees = or i1 %same_gradient, %either
  br i1 %agrees, label %alone, label %no
alone:
  br i1 %isdonated, label %unshared, label %held
unshared:
  %version = load ptr, ptr [%value+SLOT_version]
  %aliases = load ptr, ptr [%value+SLOT_aliases]
  %grad = load ptr, ptr [%value+SLOT_grad]
  %hooks = load ptr, ptr [%value+SLOT_hooks]
  %c1 = icmp eq ptr %version, @object_None
  %c2 = icmp eq ptr %aliases, @object_None
  %c3 = icmp eq ptr %grad, @object_None
  %c4 = icmp eq ptr %hooks, @object_None
  %c12 = and i1 %c1, %c2
  %c34 = and i1 %c3, %c4
  %c = and i1 %c12, %c34
  br i1 %c, label %held, label %no
held:
  %data = load ptr, ptr [%value+SLOT_data]
  %datatype = load ptr, ptr [%data+TYPE]
  %isarray = icmp eq ptr %datatype, @object_ndarray
  br i1 %isarray, label %look, label %no
plain:
  %isarray_itself = icmp eq ptr %type, @object_ndarray
  %isplain = select i1 %must, i1 false, i1 %isarray_itself
  br i1 %isplain, label %look, label %no
look:
  %array = phi ptr [ %data, %held ], [ %value, %plain ]
  %descr = load ptr, ptr [%array+ARRAY_DESCR]
  %want = load ptr, ptr [%node+16]
  %d = icmp eq ptr %descr, %want
  br i1 %d, label %rank, label %no
rank:
  %nd = load i32, ptr [%array+ARRAY_NDIM]
  %nd64 = sext i32 %nd to i64
  %wantnd = load i64, ptr [%node+24]
  %r = icmp eq i64 %nd64, %wantnd
  br i1 %r, label %flags, label %no
flags:
  %f = load i32, ptr [%array+ARRAY_FLAGS]
  %f64 = zext i32 %f to i64
  %mask = load i64, ptr [%node+32]
  %set = and i64 %f64, %mask
  %has = icmp eq i64 %set, %mask
  br i1 %has, label %sizes, label %no
sizes:
  %dims = load ptr, ptr [%array+ARRAY_DIMS]
  %wanted = getelementptr i8, ptr %node, i64 72
  br label %axis
axis:
  %i = phi i64 [ 0, %sizes ], [ %i1, %same ]
  %more = icmp ult i64 %i, %wantnd
  br i1 %more, label %one, label %elements
one:
  %dp = getelementptr i64, ptr %dims, i64 %i
  %size = load i64, ptr %dp
  %wp = getelementptr i64, ptr %wanted, i64 %i
  %wantsize = load i64, ptr %wp
  %eq = icmp eq i64 %size, %wantsize
  br i1 %eq, label %same, label %no
same:
  %i1 = add i64 %i, 1
  br label %axis
elements:
  %content = load ptr, ptr [%node+48]
  %free_content = icmp eq ptr %content, null
  br i1 %free_content, label %yes, label %compare
compare:
  %now = load ptr, ptr [%array+ARRAY_DATA]
  %bytes = load i64, ptr [%node+56]
  br label %byte
byte:
  %b = phi i64 [ 0, %compare ], [ %b1, %equal ]
  %unfinished = icmp ult i64 %b, %bytes
  br i1 %unfinished, label %look_at, label %yes
look_at:
  %nowp = getelementptr i8, ptr %now, i64 %b
  %thenp = getelementptr i8, ptr %content, i64 %b
  %rest = sub i64 %bytes, %b
  %whole = icmp uge i64 %rest, 8
  br i1 %whole, label %word, label %tail
word:
  %nowword = load i64, ptr %nowp, align 1
  %thenword = load i64, ptr %thenp, align 1
  %sameword = icmp eq i64 %nowword, %thenword
  br i1 %sameword, label %equal, label %no
tail:
  %nowbyte = load i8, ptr %nowp
  %thenbyte = load i8, ptr %thenp
  %samebyte = icmp eq i8 %nowbyte, %thenbyte
  br i1 %samebyte, label %equal, label %no
equal:
  %stride = phi i64 [ 8, %word ], [ 1, %tail ]
  %b1 = add i64 %b, %stride
  br label %byte
yes:
  call void @Py_IncRef(ptr %array)
  %recorded = load i64, ptr [%s+56]
  %isrecorded = icmp ne i64 %recorded, 0
  %isheld = or i1 %isdonated, %isrecorded
  br i1 %isheld, label %hold, label %keep
hold:
  call void @Py_IncRef(ptr %value)
  br label %keep
keep:
  %holder = phi ptr [ null, %yes ], [ %value, %hold ]
  %memory = load ptr, ptr [%array+ARRAY_DATA]
  call void @push(ptr %s, ptr %memory, ptr %array, ptr %holder)
  ret i1 true
no:
  ret i1 false
}
"""
