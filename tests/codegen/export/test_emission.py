"""LLVM modules as one, and as object files of several formats."""

from __future__ import annotations

import ctypes
import gc
import shutil
import subprocess

import pytest

from tracejit.base.errors import CompileError, TracejitError
from tracejit.codegen.export.emission import LinkGroup, emit
from tracejit.codegen.export.symbols import undefined_symbols
from tracejit.codegen.export.targets import export_target, size_type
from tracejit.codegen.llvm.loading import all_targets
from tracejit.codegen.llvm.target import host, target_machine
from tracejit.runtime.loading.objects import link


@pytest.mark.parametrize(
    ("name", "triple", "cpu"),
    [
        ("x86-64-v3", "x86_64-unknown-linux-gnu", "x86-64-v3"),
        ("aarch64:cortex-a72", "aarch64-unknown-linux-gnu", "cortex-a72"),
        ("wasm32,+simd128", "wasm32-unknown-unknown", "generic"),
        ("thumbv7em", "thumbv7em-none-eabihf", "cortex-m7"),
        ("thumbv7em:cortex-m4", "thumbv7em-none-eabihf", "cortex-m4"),
        ("thumbv7em-none-eabi", "thumbv7em-none-eabi", "cortex-m7"),
        ("x86_64-pc-windows-msvc", "x86_64-pc-windows-msvc", "x86-64"),
    ],
)
def test_names(name, triple, cpu):
    target = export_target(name)
    assert (target.triple, target.cpu) == (triple, cpu)


def test_this_machine_and_the_whole_of_risc_v():
    assert export_target("native") == host()
    assert "+d" in export_target("riscv64").features
    assert "+simd128" in export_target("wasm32,+simd128").features


@pytest.mark.parametrize(
    ("name", "bits"),
    [
        ("native", 64), ("riscv64", 64), ("aarch64:cortex-a72", 64),
        ("wasm32", 32), ("thumbv8m.main", 32),
    ],
)  # fmt: skip
def test_addresses_have_as_many_bits_as_in_llvm(name, bits):
    target = export_target(name)
    assert target.address_bits == bits
    all_targets()
    assert ("-p:32:32" in str(target_machine(target).target_data)) == (bits == 32)


@pytest.mark.parametrize("name", ["mips", "wasm33", "thumbv7em:z80", "aarch64,fast"])
def test_names_that_llvm_does_not_know(name):
    with pytest.raises(TracejitError, match="there is no target"):
        export_target(name)


_CALLER = """\
declare i32 @twice(i32)
define i32 @f(i32 %x) nounwind {
  %y = call i32 @twice(i32 %x)
  ret i32 %y
}
"""
_TWICE = """\
declare i32 @own(i32)
define i32 @twice(i32 %x) nounwind {
  %y = call i32 @own(i32 %x)
  ret i32 %y
}
"""


def _own(factor):
    return f"define i32 @own(i32 %x) nounwind {{\n  %y = mul i32 %x, {factor}\n  ret i32 %y\n}}"


def test_groups_have_names_of_their_own():
    groups = [
        LinkGroup([_CALLER, _own(100)], ["f"]),
        LinkGroup([_TWICE, _own(2)], ["twice"]),
    ]
    library = link(emit(groups, ["f"], host()).image, ["f"], {})
    assert ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(library.addresses["f"])(21) == 42


def test_what_is_not_exported_is_not_there():
    emission = emit([LinkGroup([_CALLER, _TWICE, _own(2)], ["f"])], ["f"], host(), "llvm")
    assert "@twice" not in emission.text
    assert emission.undefined == ()


@pytest.mark.parametrize("target", ["native", "thumbv7em", "wasm32"])
def test_undefined_symbols(target):
    assert emit([LinkGroup([_CALLER], ["f"])], ["f"], export_target(target)).undefined == ("twice",)


@pytest.mark.skipif(shutil.which("nm") is None, reason="there is no nm")
@pytest.mark.parametrize("target", ["native", "riscv64", "thumbv7em"])
def test_symbols_are_what_nm_says(target, tmp_path):
    text = "declare double @llvm.sin.f64(double)\ndefine double @f(double %x) nounwind {\n  %y = call double "
    text += "@llvm.sin.f64(double %x)\n  %z = frem double %y, %x\n  ret double %z\n}"
    image = emit([LinkGroup([text], ["f"])], ["f"], export_target(target)).image
    (tmp_path / "f.o").write_bytes(image)
    run = subprocess.run(["nm", "-u", str(tmp_path / "f.o")], capture_output=True, text=True, check=True)
    assert undefined_symbols(image) == sorted(line.split()[-1] for line in run.stdout.splitlines())


def test_other_formats_have_no_table_that_is_read():
    assert undefined_symbols(b"\0asm\1\0\0\0") is None


def test_sizes_have_the_bits_of_addresses():
    assert [size_type(export_target(name)) for name in ("aarch64", "wasm32", "thumbv7em")] == [
        "i64",
        "i32",
        "i32",
    ]


def test_text_that_llvm_rejects():
    with pytest.raises(CompileError, match="LLVM rejects the generated code"):
        emit([LinkGroup(["define i32 @f( {"], ["f"])], ["f"], host())


def test_what_llvm_allocates_is_gone_before_an_exception_is():
    errors = []
    for text in ("define i32 @f() nounwind {\n  ret i32 0\n}", "define i32 @f( {"):
        try:
            emit([LinkGroup([text], ["f"])] * 2, ["f"], host())
        except (CompileError, RuntimeError) as error:
            errors.append(error)
    assert len(errors) == 2
    for error in errors:
        error.cycle = error  # it is the collector that frees its frames, in any order
    del errors, error
    gc.collect()
