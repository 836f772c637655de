"""Machines by name: what LLVM says of them, and names that there are not."""

from __future__ import annotations

import pytest

from tracejit.base.errors import TracejitError
from tracejit.codegen.llvm.compiler import assembly, optimized_text
from tracejit.codegen.llvm.target import Target, host
from tracejit.codegen.llvm.targets import named_target
from tracejit.codegen.module.writer import generate
from tracejit.ir.passes import run_passes
from tracejit.ir.text.parser import parse_function

#: name: bits of a vector, masks for every element size, triple, CPU
KNOWN = {
    "x86-64": (128, False, "x86_64-unknown-linux-gnu", "x86-64"),
    "x86_64": (128, False, "x86_64-unknown-linux-gnu", "x86-64"),
    "x86-64-v2": (128, False, "x86_64-unknown-linux-gnu", "x86-64-v2"),
    "x86-64-v3": (256, False, "x86_64-unknown-linux-gnu", "x86-64-v3"),
    "x86-64-v4": (512, True, "x86_64-unknown-linux-gnu", "x86-64-v4"),
    "haswell": (256, False, "x86_64-unknown-linux-gnu", "haswell"),
    "znver4": (512, True, "x86_64-unknown-linux-gnu", "znver4"),
    "x86_64:znver3": (256, False, "x86_64-unknown-linux-gnu", "znver3"),
    "x86-64-v3,+avx512f": (512, False, "x86_64-unknown-linux-gnu", "x86-64-v3"),
    "x86-64-v4,-avx512f": (256, False, "x86_64-unknown-linux-gnu", "x86-64-v4"),
    "x86_64-pc-windows-msvc:znver3": (256, False, "x86_64-pc-windows-msvc", "znver3"),
    "aarch64": (128, False, "aarch64-unknown-linux-gnu", "generic"),
    "aarch64:neoverse-n1": (128, False, "aarch64-unknown-linux-gnu", "neoverse-n1"),
    "arm64-apple-darwin": (128, False, "arm64-apple-darwin", "generic"),
    "riscv64,+v": (128, False, "riscv64-unknown-linux-gnu", "generic-rv64"),
}

#: A fused map, a row reduction, a matrix product, a gather and a loop.
PROGRAM = parse_function("""
func @f(%x: f32[37,29], %y: f32[29,5], %i: i64[4]) -> (f32[37], f32[37,5], f32[4,29], f64[]) {
  %0: f32[37,29] = exp(%x)
  %1: f32[37] = sum(%0) {axes=[1]}
  %2: f32[37,5] = matmul(%0, %y)
  %3: f32[4,29] = gather(%x, %i)
  %4: f64[] = full() {value=1.0, shape=[], dtype=f64}
  %5: f64[] = scan(%4) {carries=1, slices=0, length=10, reverse=false} @body(%a: f64[]) -> f64[] {
    %0: f64[] = sin(%a)
    return %0
  }
  return %1, %2, %3, %5
}""")


@pytest.mark.parametrize("name", KNOWN)
def test_known_machines(name, capfd):
    target = named_target(name)
    assert (target.vector_bits, target.fast_masks, target.triple, target.cpu) == KNOWN[name]
    text = generate(run_passes(PROGRAM), target).text
    optimized_text(text, target)
    assert "main" in assembly(text, target)
    assert capfd.readouterr().err == ""


def test_this_machine():
    assert named_target("native") is host()


SMALL = parse_function("""
func @f(%x: f64[8], %y: f64[]) -> (f64[8], f64[]) {
  %0: f64[] = exp(%y)
  %1: f64[] = log1p(%0)
  %2: f64[8] = broadcast(%0) {shape=[8]}
  %3: f64[8] = mul(%x, %2)
  return %3, %1
}""")


@pytest.mark.parametrize(("cpu", "long"), [("cascadelake", False), ("znver4", True)])
def test_scalars_keep_long_registers_out_where_they_slow_the_cpu_down(cpu, long):
    bare = named_target("x86-64-v4")
    target = Target(bare.triple, cpu, "+avx512f,+avx512bw,+avx512vl,+avx512dq", bare.vector_bits)
    text = assembly(generate(run_passes(SMALL), target).text, target)
    assert "vscalefpd" in text
    assert ("zmm" in text) is long


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("pdp11", "'pdp11' is not a recognized processor"),
        ("x86-64-v9", "'x86-64-v9' is not a recognized processor"),
        ("aarch64:pdp11", "'pdp11' is not a recognized processor"),
        ("pdp11:fast", "'pdp11' is not one of x86_64, aarch64"),
        ("x86-64-v3,+warp", "'[+]warp' is not a recognized feature"),
        ("x86-64-v3,avx2", "a feature begins with [+] or -, got 'avx2'"),
        ("x86-64-v3,", "a feature begins with [+] or -, got ''"),
        ("wasm32-unknown-unknown", "not a recognized processor"),
        ("s390x", "not a recognized processor"),
    ],
)
def test_unknown_machines(name, why, capfd):
    with pytest.raises(TracejitError, match=why):
        named_target(name)
    assert capfd.readouterr().err == ""


def test_the_machine_of_this_process_is_left_as_it_was():
    before = assembly(generate(run_passes(PROGRAM), host()).text)
    named_target("aarch64")
    assert assembly(generate(run_passes(PROGRAM), host()).text) == before
