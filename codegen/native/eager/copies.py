"""LLVM text that copies blocks of bytes to places that are a step apart. See `eager_joins`."""

from __future__ import annotations

from typing import Final


def _elements(type: str) -> str:
    """Blocks of one element each: between two of them there is no call."""
    return f"""
{type}s:
  br label %{type}look
{type}look:
  %{type}i = phi i64 [ 0, %{type}s ], [ %{type}i1, %{type}one ]
  %{type}from = phi ptr [ %from, %{type}s ], [ %{type}from1, %{type}one ]
  %{type}to = phi ptr [ %to, %{type}s ], [ %{type}to1, %{type}one ]
  %{type}more = icmp ult i64 %{type}i, %times
  br i1 %{type}more, label %{type}one, label %done
{type}one:
  %{type}i1 = add i64 %{type}i, 1
  %{type}value = load {type}, ptr %{type}from, align 1
  store {type} %{type}value, ptr %{type}to, align 1
  %{type}from1 = getelementptr i8, ptr %{type}from, i64 %block
  %{type}to1 = getelementptr i8, ptr %{type}to, i64 %step
  br label %{type}look
"""


COPIES: Final = f"""
; Copy %times blocks of %block bytes, which lie one behind the other at %from, to %to, %step bytes apart.
define internal void @copy_blocks(ptr %from, ptr %to, i64 %times, i64 %block, i64 %step) nounwind {{
entry:
  switch i64 %block, label %blocks [
    i64 8, label %i64s
    i64 4, label %i32s
  ]
{_elements("i64")}
{_elements("i32")}
blocks:
  br label %look
look:
  %i = phi i64 [ 0, %blocks ], [ %i1, %one ]
  %source = phi ptr [ %from, %blocks ], [ %source1, %one ]
  %place = phi ptr [ %to, %blocks ], [ %place1, %one ]
  %more = icmp ult i64 %i, %times
  br i1 %more, label %one, label %done
one:
  %i1 = add i64 %i, 1
  call void @llvm.memcpy.p0.p0.i64(ptr %place, ptr %source, i64 %block, i1 false)
  %source1 = getelementptr i8, ptr %source, i64 %block
  %place1 = getelementptr i8, ptr %place, i64 %step
  br label %look
done:
  ret void
}}
"""
