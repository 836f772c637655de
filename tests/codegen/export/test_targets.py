"""Machines that functions are exported for, by name."""

from __future__ import annotations

import pytest

from tracejit.codegen.export.targets import export_target
from tracejit.codegen.llvm.loading import all_targets
from tracejit.codegen.llvm.target import host, target_machine
from tracejit.ir.errors import TracejitError


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
