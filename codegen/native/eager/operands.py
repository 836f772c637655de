"""LLVM text of what eager ops take: Tensors with contiguous arrays, and Python numbers. See `eager_code`."""

from __future__ import annotations

from typing import Final

OPERANDS: Final = """
; The contiguous ndarray that %value is, or with %tensors that it holds as a Tensor; else null.
define internal ptr @array_of(ptr %value, i1 %tensors) nounwind {
entry:
  br i1 %tensors, label %holder, label %typed
holder:
  %type = load ptr, ptr [%value+TYPE]
  %istensor = icmp eq ptr %type, @object_Tensor
  br i1 %istensor, label %tensor, label %no
tensor:
  %held = load ptr, ptr [%value+SLOT_data]
  %unset = icmp eq ptr %held, null
  br i1 %unset, label %no, label %typed
typed:
  %array = phi ptr [ %value, %entry ], [ %held, %tensor ]
  %arraytype = load ptr, ptr [%array+TYPE]
  %isarray = icmp eq ptr %arraytype, @object_ndarray
  br i1 %isarray, label %flagged, label %no
flagged:
  %flags = load i32, ptr [%array+ARRAY_FLAGS]
  %both = and i32 %flags, ARRAY_PLAIN
  %plain = icmp eq i32 %both, ARRAY_PLAIN
  br i1 %plain, label %yes, label %no
yes:
  ret ptr %array
no:
  ret ptr null
}

define internal i1 @same_shape(ptr %a, ptr %b) nounwind {
entry:
  %rank = load i32, ptr [%a+ARRAY_NDIM]
  %other = load i32, ptr [%b+ARRAY_NDIM]
  %same = icmp eq i32 %rank, %other
  br i1 %same, label %begin, label %no
begin:
  %as = load ptr, ptr [%a+ARRAY_DIMS]
  %bs = load ptr, ptr [%b+ARRAY_DIMS]
  br label %look
look:
  %i = phi i32 [ 0, %begin ], [ %i1, %one ]
  %more = icmp ult i32 %i, %rank
  br i1 %more, label %one, label %yes
one:
  %i1 = add i32 %i, 1
  %ap = getelementptr i64, ptr %as, i32 %i
  %bp = getelementptr i64, ptr %bs, i32 %i
  %an = load i64, ptr %ap
  %bn = load i64, ptr %bp
  %equal = icmp eq i64 %an, %bn
  br i1 %equal, label %look, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; How many elements an array has.
define internal i64 @elements(ptr %array) nounwind {
entry:
  %rank = load i32, ptr [%array+ARRAY_NDIM]
  %sizes = load ptr, ptr [%array+ARRAY_DIMS]
  br label %look
look:
  %i = phi i32 [ 0, %entry ], [ %i1, %one ]
  %n = phi i64 [ 1, %entry ], [ %n1, %one ]
  %more = icmp ult i32 %i, %rank
  br i1 %more, label %one, label %done
one:
  %i1 = add i32 %i, 1
  %p = getelementptr i64, ptr %sizes, i32 %i
  %size = load i64, ptr %p
  %n1 = mul i64 %n, %size
  br label %look
done:
  ret i64 %n
}

; Whether %value is a Python number that fits the %kind of operand; it is then at %slot.
define internal i1 @number(ptr %value, i64 %kind, ptr %slot) nounwind {
entry:
  %type = load ptr, ptr [%value+TYPE]
  %isfloat = icmp eq ptr %type, @object_float
  br i1 %isfloat, label %float, label %other
float:
  %double = load double, ptr [%value+FLOAT_VALUE]
  br label %floating
other:
  %isint = call i1 @read_int(ptr %value, ptr %slot)
  br i1 %isint, label %int, label %no
int:
  %word = load i64, ptr %slot
  switch i64 %kind, label %exact [
    i64 NUMBERS_i64, label %keep
    i64 NUMBERS_i32, label %narrow
  ]
keep:
  ret i1 true
narrow:
  %short = trunc i64 %word to i32
  %back = sext i32 %short to i64
  %fits = icmp eq i64 %back, %word
  br i1 %fits, label %keep32, label %no
keep32:
  store i32 %short, ptr %slot
  ret i1 true
exact:
  ; up to 2**53 a double holds it exactly
  %shifted = add i64 %word, 9007199254740992
  %within = icmp ule i64 %shifted, 18014398509481984
  br i1 %within, label %convert, label %no
convert:
  %converted = sitofp i64 %word to double
  br label %floating
floating:
  %d = phi double [ %double, %float ], [ %converted, %convert ]
  switch i64 %kind, label %no [
    i64 NUMBERS_f64, label %keepdouble
    i64 NUMBERS_f32, label %single
  ]
keepdouble:
  store double %d, ptr %slot
  ret i1 true
single:
  ; NumPy warns of what float32 cannot hold
  %f = fptrunc double %d to float
  %magnitude = call float @llvm.fabs.f32(float %f)
  %infinite = fcmp oeq float %magnitude, 0x7FF0000000000000
  br i1 %infinite, label %no, label %keepsingle
keepsingle:
  store float %f, ptr %slot
  ret i1 true
no:
  ret i1 false
}
"""
