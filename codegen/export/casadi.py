"""Wrappers of exported functions with the signature of CasADi's external functions.

``int f(const double **arg, double **res, long long *iw, double *w, int mem)`` and beside it ``f_n_in``,
``f_name_in``, ``f_sparsity_in`` and so on. An argument that is NULL is zero, a result that is NULL is not
wanted. Matrices lie by columns. Source: CasADi's user guide, "Import of external functions".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ...base.records import record
from ..llvm.registers import bytes_constant

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
