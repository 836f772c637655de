"""Wrappers of exported functions, with the signatures that callers or CasADi ask for.

``int f(const double **arg, double **res, long long *iw, double *w, int mem)`` and beside it ``f_n_in``,
``f_name_in``, ``f_sparsity_in`` and so on. An argument that is NULL is zero, a result that is NULL is not
wanted. Matrices lie by columns. Source: CasADi's user guide, "Import of external functions".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ...ir.records import record
from ..llvm.registers import LLVM_SCALAR, bytes_constant

_ALIGNED: Final = 8  # doubles, which room in the workspace begins at multiples of


@record
class CasadiMatrix:
    """An argument or result: its name and size; `zero` where all elements are, which then are not stored."""

    name: str
    rows: int
    columns: int
    zero: bool = False


@record
class CasadiFunction:
    """The function `name` that calls the exported function `program`.

    Attributes:
        inputs: the arguments, of which the program takes the first ones.
        outputs: the results, of which the program writes those that are not zero.
        used: how many arguments the program takes.
        workspace: the bytes that the program needs.
    """

    name: str
    program: str
    inputs: tuple[CasadiMatrix, ...]
    outputs: tuple[CasadiMatrix, ...]
    used: int
    workspace: int

    @property
    def exports(self) -> list[str]:
        """The names of all functions for it."""
        ends = ("", "_n_in", "_n_out", "_name_in", "_name_out", "_sparsity_in", "_sparsity_out", "_work")
        return [f"{self.name}{end}" for end in ends]


def casadi_text(function: CasadiFunction) -> str:
    """LLVM text of a function and of the functions by which CasADi asks about it."""
    parts = [_call(function)]
    for end, matrices in (("in", function.inputs), ("out", function.outputs)):
        name = f"{function.name}_n_{end}"
        parts.append(f"define i64 @{name}() nounwind {{\n  ret i64 {len(matrices)}\n}}")
        for what, constant in (("name", _name), ("sparsity", _sparsity)):
            parts.append(_table(f"{function.name}_{what}_{end}", matrices, constant))
    return "\n".join(parts)


def _call(function: CasadiFunction) -> str:
    """The function itself, and the sizes of its workspace."""
    largest = max([matrix.rows * matrix.columns for matrix in function.inputs], default=1)
    zeros = f"@{function.name}.zeros = internal constant [{max(largest, 1)} x double] zeroinitializer"
    lines, passed, room = [], [], 0
    for number in range(function.used):
        lines += [
            f"  %at{number} = getelementptr ptr, ptr %arg, i64 {number}",
            f"  %in{number} = load ptr, ptr %at{number}",
            f"  %absent{number} = icmp eq ptr %in{number}, null",
            f"  %given{number} = select i1 %absent{number}, ptr @{function.name}.zeros, ptr %in{number}",
        ]
        passed.append(f"ptr %given{number}")
    for number, matrix in enumerate(function.outputs):
        if matrix.zero:
            continue
        lines += [
            f"  %to{number} = getelementptr ptr, ptr %res, i64 {number}",
            f"  %out{number} = load ptr, ptr %to{number}",
            f"  %unasked{number} = icmp eq ptr %out{number}, null",
            f"  %room{number} = getelementptr double, ptr %w, i64 {room}",
            f"  %taken{number} = select i1 %unasked{number}, ptr %room{number}, ptr %out{number}",
        ]
        passed.append(f"ptr %taken{number}")
        room += -(-matrix.rows * matrix.columns // _ALIGNED) * _ALIGNED
    workspace = "null"
    if function.workspace:
        lines.append(f"  %workspace = getelementptr double, ptr %w, i64 {room}")
        room, workspace = room + -(-function.workspace // 8), "%workspace"
    lines += [f"  %status = call i32 @{function.program}({', '.join([*passed, f'ptr {workspace}'])})"]
    sizes = (len(function.inputs), len(function.outputs), 0, room)
    stores = [f"  store i64 {size}, ptr %size{number}" for number, size in enumerate(sizes)]
    return "\n".join(
        [
            zeros,
            f"declare i32 @{function.program}({', '.join(['ptr'] * (len(passed) + 1))})",
            f"define i32 @{function.name}(ptr %arg, ptr %res, ptr %iw, ptr %w, i32 %mem) nounwind {{",
            *lines,
            "  ret i32 %status\n}",
            f"define i32 @{function.name}_work(ptr %size0, ptr %size1, ptr %size2, ptr %size3) nounwind {{",
            *stores,
            "  ret i32 0\n}",
        ]
    )


def _name(place: str, matrix: CasadiMatrix) -> str:
    return bytes_constant(place, matrix.name.encode() + b"\0")


def _sparsity(place: str, matrix: CasadiMatrix) -> str:
    """Rows, columns, and 1 for a dense matrix; or where columns end, of a matrix without elements."""
    numbers = [matrix.rows, matrix.columns, *([0] * (matrix.columns + 1) if matrix.zero else [1])]
    listed = ", ".join([f"i64 {number}" for number in numbers])
    return f"@{place} = internal constant [{len(numbers)} x i64] [{listed}]"


def _table(name: str, matrices: Sequence[CasadiMatrix], constant: Callable[[str, CasadiMatrix], str]) -> str:
    """``const void *name(long long number)``: the `constant` of a matrix by its number, NULL beyond the
    last."""
    places = [f"{name}.{number}" for number in range(len(matrices))]
    constants = [constant(place, matrix) for place, matrix in zip(places, matrices, strict=True)]
    cases = " ".join([f"i64 {number}, label %case{number}" for number in range(len(matrices))])
    lines = [f"define ptr @{name}(i64 %number) nounwind {{", f"  switch i64 %number, label %none [ {cases} ]"]
    for number, place in enumerate(places):
        lines += [f"case{number}:", f"  ret ptr @{place}"]
    return "\n".join([*constants, *lines, "none:", "  ret ptr null", "}"])


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
