"""The stack and the scratch blocks that the functions of a kernel take together."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tracejit.codegen.llvm.function import FunctionCode
from tracejit.codegen.llvm.loops import FunctionWriter
from tracejit.codegen.llvm.registers import pointer
from tracejit.codegen.llvm.stack import FRAME_BYTES, STACK_BYTES, most_along_calls
from tracejit.codegen.lowering.kernel import Kernel

#: Bytes that a function has on the stack beside others.
MOST = FRAME_BYTES - 64


def function(
    name: str, sizes: Sequence[int] = (), calls: Sequence[str] = (), hands: str = ""
) -> FunctionCode:
    """A function with slots of `sizes` bytes, which calls others, and hands the address of one on."""
    w = FunctionWriter()
    for nbytes in sizes:
        w.slot("u8", nbytes)
    for callee in calls:
        w.run(callee)
    if hands:
        w.run("elsewhere", pointer(f"@{hands}"))
    w.ret()
    return w.function(f"internal void @{name}()", "nounwind")


def test_functions_one_after_the_other_share_the_stack() -> None:
    parts = [function(name, (MOST,)) for name in "abc"]
    assert Kernel("k", [*parts, function("k", calls="abc")], "").stack_bytes == MOST
    kernel = Kernel("k", [*parts, function("k", (64,), calls="abc")], "")
    assert kernel.stack_bytes == MOST + 64 <= STACK_BYTES < 3 * MOST


@pytest.mark.parametrize("by_address", [False, True])
def test_functions_that_call_one_another_add_up(by_address: bool) -> None:
    calls, hands = ("", "a") if by_address else ("a", "")
    code = [function("a", (MOST,)), function("b", (128,), calls, hands), function("c", (256,), "b")]
    assert Kernel("c", [*code, function("d", (64,), "b")], "").stack_bytes == MOST + 128 + 256


def test_a_function_that_calls_itself_counts_once() -> None:
    code = [function("a", (64,), "ab"), function("b", (128,), "a")]
    assert most_along_calls([*code, "declare void @elsewhere(ptr)"], lambda part: part.stack_bytes) == 192


@pytest.mark.parametrize("by_address", [False, True])
def test_of_functions_with_scratch_blocks_none_calls_another(by_address: bool) -> None:
    large, other = (MOST, MOST, 100), (MOST, MOST, 200)
    apart = [function("a", large), function("b", other), function("k", calls="ab")]
    assert Kernel("k", apart, "").scratch_blocks == [FRAME_BYTES + 64, FRAME_BYTES + 192]
    calls, hands = ("", "m") if by_address else ("m", "")
    nested = [function("a", large), function("m", calls="a"), function("k", other, calls, hands)]
    with pytest.raises(AssertionError, match="kernel k: a function that has a scratch block waits"):
        _ = Kernel("k", nested, "").scratch_blocks


@pytest.mark.parametrize("count", [1, 3, 7, 63, 65, 1001])
@pytest.mark.parametrize("dtype", ["u8", "f16", "f32", "f64"])
def test_slots_in_a_scratch_block_are_whole_lines(dtype: str, count: int) -> None:
    w = FunctionWriter()
    w.slot("u8", FRAME_BYTES)
    for _ in range(3):
        w.slot(dtype, count)
    w.ret()
    code = w.function("internal void @f()", "nounwind")
    assert code.scratch_bytes % 64 == 0
    starts = [operation for operation in code.operations if type(operation).__name__ == "ScratchSlot"]
    assert len(starts) == 3
    assert all(slot.nbytes % 64 == 0 for slot in starts)
