"""Masked stores write their lanes and nothing else; pointers are compared and aligned."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tracejit.codegen.llvm.compiler import emit_object, link_object
from tracejit.codegen.llvm.emitter import Reg
from tracejit.codegen.llvm.function import text_of
from tracejit.codegen.llvm.loops import FunctionWriter


@pytest.mark.parametrize("dtype", ["u8", "u16", "u32"])
@pytest.mark.parametrize("count", [1, 2, 3, 15])
@pytest.mark.parametrize("first", [0, 1])
def test_stores_of_narrowed_lanes(dtype: str, count: int, first: int) -> None:
    """LLVM 22 by itself stores a lane of its own as wide as it was."""
    w = FunctionWriter()
    wide = w.load("%b0", "u32", 16)
    lanes = ", ".join(f"i1 {'true' if first <= i < first + count else 'false'}" for i in range(16))
    w.store(w.cast(wide, dtype), "%b1", Reg(f"<{lanes}>", "bool", 16))
    w.ret()
    text = text_of([*w.declarations.values(), w.function("void @narrowed(ptr %b0, ptr %b1)")])
    image, _ = emit_object(text)
    library = link_object(image, ["narrowed"])
    x, out = np.arange(100, 116, dtype="u4"), np.full(32, 7, f"u{int(dtype[1:]) // 8}")
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(library.addresses["narrowed"])
    run(x.ctypes.data, out.ctypes.data)
    want = np.full_like(out, 7)
    want[first : first + count] = x[first : first + count]
    np.testing.assert_array_equal(out, want)


@pytest.mark.parametrize("shift", [0, 8, 56, 64, 72])
def test_alignment_and_order_of_pointers(shift: int) -> None:
    w = FunctionWriter()
    tests = [
        w.aligned(["%b0", "%b1"]),
        w.same_place(w.aligned_down("%b1", 64), "%b0"),
        w.same_place(w.aligned_down("%b1", Reg("%size", "i64")), "%b0"),
        w.before("%b0", "%b1"),
        w.before("%b1", "%b0"),
    ]
    for number, test in enumerate(tests):
        w.store(test, w.offset("%out", "u8", number))
    w.ret()
    function = w.function("void @places(ptr %b0, ptr %b1, i64 %size, ptr %out)")
    library = link_object(emit_object(text_of([*w.declarations.values(), function]))[0], ["places"])
    memory, out = np.zeros(256, "u1"), np.zeros(len(tests), bool)
    start = -(-memory.ctypes.data // 64) * 64
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)
    kind(library.addresses["places"])(start, start + shift, 128, out.ctypes.data)
    # rounded down to 128 bytes the two are the same where `start` is a multiple of that
    assert out.tolist() == [
        shift % 64 == 0, shift < 64, (start + shift) // 128 * 128 == start, shift > 0, False,
    ]  # fmt: skip
