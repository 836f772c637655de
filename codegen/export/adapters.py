"""Wrappers of exported functions, with the signatures that callers ask for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...base.records import record
from ..llvm.registers import LLVM_SCALAR

#: Result of a function whose program fails.
_NAN: Final = {"f32": "0x7FF8000000000000", "f64": "0x7FF8000000000000"}


@record
class Adapter:
    """A function `name` that calls the exported function `program`.

    Attributes:
        arguments: the dtypes of the program's arguments, each a number by value.
        result: the dtype of its only result.
        packed: whether the numbers lie behind one pointer, which follows their count, an `i32`; so does one
            array.
        user_data: whether a pointer follows that nobody reads.
        workspace: the bytes that the program needs, which are on the stack.
    """

    name: str
    program: str
    arguments: tuple[str, ...]
    result: str
    packed: bool
    user_data: bool
    workspace: int


@record
class ArrayAdapter:
    """A function `name` that calls the exported function `program` with pointers, and returns its status.

    Attributes:
        result: the dtype of the status; it is -1 where a count is wrong.
        counts: the dtypes of numbers that come before the pointers, with what they must be.
        pointers: how many pointers to arguments and results there are.
        user_data: whether a pointer follows that nobody reads.
        workspace: the bytes that the program needs, which are on the stack.
    """

    name: str
    program: str
    result: str
    counts: tuple[tuple[str, int], ...]
    pointers: int
    user_data: bool
    workspace: int


def array_adapter_text(adapter: ArrayAdapter) -> str:
    """The LLVM text of `adapter`."""
    result, lines, workspace = LLVM_SCALAR[adapter.result], ["  %right0 = add i1 0, 1"], "null"
    if adapter.workspace:
        lines.append(f"  %workspace = alloca [{adapter.workspace} x i8], align 64")
        workspace = "%workspace"
    for number, (dtype, count) in enumerate(adapter.counts):
        lines += [
            f"  %same{number} = icmp eq {LLVM_SCALAR[dtype]} %count{number}, {count}",
            f"  %right{number + 1} = and i1 %right{number}, %same{number}",
        ]
    arrays = [f"ptr %array{number}" for number in range(adapter.pointers)]
    status = "%status"
    if result != "i32":
        status = "%wide"
    lines += [
        f"  br i1 %right{len(adapter.counts)}, label %call, label %wrong",
        "call:",
        f"  %status = call i32 @{adapter.program}({', '.join([*arrays, f'ptr {workspace}'])})",
        *[f"  %wide = sext i32 %status to {result}"] * (result != "i32"),
        f"  ret {result} {status}",
        "wrong:",
        f"  ret {result} -1",
    ]
    parameters = [f"{LLVM_SCALAR[dtype]} %count{number}" for number, (dtype, _) in enumerate(adapter.counts)]
    parameters += [*arrays, *["ptr %user_data"] * adapter.user_data]
    declaration = f"declare i32 @{adapter.program}({', '.join(['ptr'] * (adapter.pointers + 1))})"
    head = f"define {result} @{adapter.name}({', '.join(parameters)}) nounwind {{"
    return "\n".join([declaration, head, *lines, "}"])


def adapter_text(adapter: Adapter) -> str:
    """The LLVM text of `adapter`, whose result is NaN where the program fails."""
    result, pointers = LLVM_SCALAR[adapter.result], len(adapter.arguments) + 2
    lines: list[str] = [f"  %result = alloca {result}"]
    workspace = "null"
    if adapter.workspace:
        lines.append(f"  %workspace = alloca [{adapter.workspace} x i8], align 64")
        workspace = "%workspace"
    if adapter.packed:
        parameters, places = ["i32 %count", "ptr %numbers"], []
        for number, dtype in enumerate(adapter.arguments):
            lines.append(f"  %p{number} = getelementptr {LLVM_SCALAR[dtype]}, ptr %numbers, i64 {number}")
            places.append(f"%p{number}")
    else:
        parameters, places = _by_value(adapter.arguments, lines)
    parameters += ["ptr %user_data"] * adapter.user_data
    passed = ", ".join(f"ptr {place}" for place in (*places, "%result", workspace))
    lines += [
        f"  %status = call i32 @{adapter.program}({passed})",
        f"  %value = load {result}, ptr %result",
        "  %success = icmp eq i32 %status, 0",
        f"  %answer = select i1 %success, {result} %value, {result} {_NAN[adapter.result]}",
        f"  ret {result} %answer",
    ]
    head = f"define {result} @{adapter.name}({', '.join(parameters)}) nounwind {{"
    declaration = f"declare i32 @{adapter.program}({', '.join(['ptr'] * pointers)})"
    return "\n".join([declaration, head, *lines, "}"])


def _by_value(dtypes: Sequence[str], lines: list[str]) -> tuple[list[str], list[str]]:
    """Parameters for numbers of `dtypes`, and the places on the stack to which `lines` write them."""
    parameters, places = [], []
    for number, dtype in enumerate(dtypes):
        kind = LLVM_SCALAR[dtype]
        parameters.append(f"{kind} %x{number}")
        places.append(f"%p{number}")
        lines += [f"  %p{number} = alloca {kind}", f"  store {kind} %x{number}, ptr %p{number}"]
    return parameters, places
