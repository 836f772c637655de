"""Finished functions: which of them say that they do without long registers."""

from __future__ import annotations

import pytest

from tracejit.codegen.llvm.emitter import Emitter, Reg, constant
from tracejit.codegen.llvm.function import Declarations
from tracejit.codegen.llvm.target import Target
from tracejit.codegen.maths import MathsWriter

SHORT = '"min-legal-vector-width"="0"'
X, Y = Reg("%x", "f64"), Reg("%y", "f64", 8)


def head(writer: Emitter, parameters: str = "ptr %x, ptr %y") -> str:
    writer.ret()
    return writer.function(f"void @f({parameters})", "nounwind").head


def test_scalar_code_needs_short_registers() -> None:
    w = Emitter()
    w.mul(w.add(X, 1.0), X)
    assert SHORT in head(w)


def test_functions_that_only_call_others_need_short_registers() -> None:
    w = Emitter()
    w.run("kernel", Reg("%x", "ptr"))
    assert SHORT in head(w)


@pytest.mark.parametrize(("short", "long", "splits"), [(0, 16, True), (20, 20, True), (20, 21, False)])
def test_long_vectors_are_split_where_they_are_few(short: int, long: int, splits: bool) -> None:
    w = Emitter()
    for _ in range(short):
        w.add(X, 1.0)
    for _ in range(long):
        w.add(Y, 1.0)
    assert (SHORT in head(w)) is splits


def test_loops_keep_long_vectors() -> None:
    w = Emitter()
    w.loop(0, 10, 1, lambda index, carried: [w.add(X, carried[0])], [constant(0.0, "f64")])
    assert SHORT not in head(w)


def test_calls_with_long_vectors_keep_them() -> None:
    w = Emitter()
    w.add(X, 1.0)
    w.add(X, 2.0)
    w.result_of("other", "f64", 1, Y)
    assert SHORT not in head(w)


def test_parameters_that_are_vectors_keep_them() -> None:
    w = Emitter()
    w.add(X, 1.0)
    assert SHORT not in head(w, "<8 x double> %y")


@pytest.mark.parametrize(("lanes", "short"), [(1, True), (4, True), (8, False)])
def test_instructions_of_long_registers_keep_them(lanes: int, short: bool) -> None:
    target = Target("x86_64-unknown-linux-gnu", "cascadelake", "+avx512f,+avx512bw,+avx512dq", 512)
    w = MathsWriter(Declarations(target))
    w.sqrt(X)
    w.sqrt(X)
    w.rsqrt(Reg("%z", "f64", lanes))
    assert (SHORT in head(w)) is short
