"""Objects for arm64, emitted and linked on any machine: where each relocation leads is read from the
instructions by a decoder of the test's own.

Programs are those of tests/golden, the parts of the runtime, and ops with samples drawn by a seed
(`rotation.SEED`), each with and without LLVM's optimization. They are not
run: tests/arm64.sh does that under emulation.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import struct
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import tracejit as tj
from tracejit.codegen.kernels.gemm.library import driver_text, kernels_text
from tracejit.codegen.llvm import compiler
from tracejit.codegen.llvm.target import Target
from tracejit.codegen.llvm.targets import named_target
from tracejit.codegen.module.single_gemm import single_gemm_text
from tracejit.codegen.module.writer import generate
from tracejit.codegen.native.allocator import results_text
from tracejit.codegen.native.eager import eager_code
from tracejit.codegen.native.eager.special_loops import special_loop
from tracejit.codegen.native.entry.code import entry_code
from tracejit.codegen.native.entry.table import EntryLayout
from tracejit.codegen.native.float_mode import float_mode_text, flushing_main_text
from tracejit.codegen.native.interrupts import interrupts_text
from tracejit.codegen.native.pool import pool_text
from tracejit.codegen.native.structs import TENSOR
from tracejit.codegen.tiers import BASELINE, OPTIMIZED
from tracejit.ir.passes import run_passes
from tracejit.ir.registry import OPS, Op
from tracejit.runtime.loading import loader
from tracejit.runtime.loading.relocations import ARCHITECTURES, Unlinkable

from ..golden.programs import PROGRAMS
from ..rotation import SEED
from ..samples import samples_of
from ..support import function_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="for ELF")

#: Ops drawn in the default run.
DRAWN = 60
#: Imports lie here, farther away than any instruction reaches.
FAR = 0x0000_5A5A_0000_1000

ABS64, PREL64, PREL32, PLT32 = 257, 260, 261, 314
ADR, ADRP, ADD = 274, 275, 277
BRANCHES = {273: (19, 5), 279: (14, 5), 280: (19, 5), 282: (26, 0), 283: (26, 0)}
LOADS = {278: 0, 284: 1, 285: 2, 286: 3, 299: 4}
GOT_PAGE, GOT_LOW = 311, 312


@pytest.fixture(autouse=True)
def on_arm64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")


def emitted(text: str, target: Target, opt: int) -> bytes:
    """Object code for another machine."""
    with compiler.LOCK:
        module = compiler._parse(text, target)
        if opt:
            compiler._optimize(module, target)
        return bytes(compiler._machine(target, opt).emit_object(module))


def signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) & 1 else value


def adr(word: int) -> int:
    return signed((word >> 5 & 0x7FFFF) << 2 | word >> 29 & 3, 21)


def read(address: int, code: str = "<I") -> int:
    (value,) = struct.unpack(code, ctypes.string_at(address, struct.calcsize(code)))
    return int(value)


def linked(image: bytes) -> tuple[loader._Image, dict[str, int]]:
    """The image in this process, as on arm64, and the addresses of its symbols and of what it imports."""
    part = loader._Image(image, ARCHITECTURES["aarch64"])
    names = sorted({name for name, section, _, _ in part.symbols if section == 0 and name})
    addresses = {name: FAR + 16 * place for place, name in enumerate(names)}
    addresses.update(part.place())
    part.relocate(addresses)
    return part, addresses


def check(image: bytes, seen: Counter[int]) -> None:
    """Every relocation leads where it should, and memory is as it was elsewhere."""
    part, addresses = linked(image)
    base = part.memory.address
    assert base % 4096 == 0
    for section, offset, kind, symbol, addend in part.relocations:
        seen[kind] += 1
        place = base + part.offsets[section] + offset
        name, home, value, _ = part.symbols[symbol]
        target = addresses[name] if home == 0 else base + part.offsets[home] + value
        if kind == ABS64:
            assert read(place, "<Q") == target + addend
        elif kind in (PREL64, PREL32, PLT32):
            assert place + read(place, "<q" if kind == PREL64 else "<i") == target + addend
        elif kind in BRANCHES:
            assert reached(place, kind, part.memory) == target + addend
        elif kind == ADR:
            assert place + adr(read(place)) == target + addend
        elif kind == ADRP:
            assert (place >> 12) + adr(read(place)) == target + addend >> 12
        elif kind in (GOT_PAGE, GOT_LOW):
            word = base + part.table[symbol]
            assert read(word, "<Q") == target
            assert addend == 0
            if kind == GOT_PAGE:
                assert (place >> 12) + adr(read(place)) == word >> 12
            else:
                assert (read(place) >> 10 & 0xFFF) * 8 == word & 0xFFF
        else:
            scale = 0 if kind == ADD else LOADS[kind]  # a KeyError here is a kind that nobody handles
            assert (read(place) >> 10 & 0xFFF) << scale == (target + addend) & 0xFFF
        # what is no field of the instruction is as the assembler left it
        old = struct.unpack_from("<I", image, part.sections[section].offset + offset)[0]
        fields = {GOT_PAGE: 0x60FFFFE0, ADRP: 0x60FFFFE0, ADR: 0x60FFFFE0, 282: 0x03FFFFFF, 283: 0x03FFFFFF}
        if kind not in (ABS64, PREL64, PREL32, PLT32, 279, 280):
            assert not (old ^ read(place)) & ~fields.get(kind, 0x003FFC00)


def branch(word: int, kind: int) -> int:
    """The distance that a branch goes."""
    bits, at = BRANCHES[kind]
    return 4 * signed(word >> at & ((1 << bits) - 1), bits)


def reached(place: int, kind: int, memory: loader.Mapping) -> int:
    """The target of a branch, through a stub if there is one."""
    target = place + branch(read(place), kind)
    if not memory.address <= target <= memory.address + memory.size - 12:
        return target
    page, load, jump = (read(target + 4 * number) for number in range(3))
    if (page & 0x9F00001F, load & 0xFFC003FF, jump) != (0x90000010, 0xF9400210, 0xD61F0200):
        return target
    word = ((target >> 12) + adr(page) << 12) + (load >> 10 & 0xFFF) * 8
    return read(word, "<Q")


def parts_of_the_runtime(target: Target) -> dict[str, str]:
    """The LLVM text of each part, for a machine."""
    slots = [offset for offset, _ in TENSOR.fields.values() if isinstance(offset, str)]
    layout = EntryLayout({}, {slot: 16 + 8 * place for place, slot in enumerate(slots)})
    texts = {
        "eager": eager_code(layout, 15),
        "entry": entry_code(layout),
        "results": results_text(),
        "pool": pool_text(target.triple),
        "float mode": float_mode_text(target.triple),
        "flushing main": flushing_main_text(target.triple),
        "interrupts": interrupts_text(target.triple),
    }
    for dtype in ("f32", "f64"):
        texts[f"single gemm {dtype}"] = single_gemm_text(dtype)
        texts[f"special {dtype}"] = special_loop(target, "erf", (0,), dtype, 15)
        texts[f"product {dtype}"] = driver_text(target, dtype)
        for tier in (BASELINE, OPTIMIZED):
            texts[f"product kernels {dtype} {tier.name}"] = kernels_text(target, dtype, tier.parameters)
    return texts


def test_the_parts_of_the_runtime() -> None:
    target, seen = named_target("aarch64"), Counter[int]()
    for text in parts_of_the_runtime(target).values():
        for opt in (0, 1):
            check(emitted(text, target, opt), seen)
    # calls of what is imported, its variables by the table, and what lies in the image itself
    assert {283, GOT_PAGE, GOT_LOW, ADRP, ADD, 286} <= set(seen)


@pytest.mark.parametrize("name", ["aarch64", "aarch64:neoverse-v2"])
def test_whole_programs(name: str) -> None:
    target, seen = named_target(name), Counter[int]()
    for program in PROGRAMS:
        function = tj.jit(program.function()).lower(*program.arguments()).function
        module = generate(run_passes(function), target)
        check(emitted(module.contracted_text(), target, 0 if name == "aarch64" else 1), seen)
    assert {283, ADRP, ADD, 286, 299} <= set(seen)


def test_every_kind_of_op() -> None:
    """One sample of each op drawn."""
    target, seen, rng = named_target("aarch64"), Counter[int](), np.random.default_rng(SEED)
    for op in rng.permutation(np.array(list(OPS), object))[:DRAWN]:
        check_op(op, target, rng, seen)
    print(f"seed {SEED}: {sum(seen.values())} relocations of kinds {sorted(seen)}")


@pytest.mark.slow
def test_every_sample_of_every_op() -> None:
    target, seen, rng = named_target("aarch64"), Counter[int](), np.random.default_rng(SEED)
    for op in OPS:
        check_op(op, target, rng, seen, all_samples=True)
    print(f"{sum(seen.values())} relocations of kinds {sorted(seen)}")


def check_op(
    op: Op, target: Target, rng: np.random.Generator, seen: Counter[int], *, all_samples: bool = False
) -> None:
    try:
        samples = samples_of(op, rng)
    except LookupError:  # those with regions, which the programs have
        return
    chosen = samples if all_samples else [samples[rng.integers(len(samples))]]
    for sample in chosen:
        function = function_of(
            op.name, sample.operands, lambda b, *x, sample=sample: list(b.append(op, x, sample.attrs))
        )
        text = generate(run_passes(function), target).contracted_text()
        try:
            check(emitted(text, target, int(rng.integers(2))), seen)
        except (AssertionError, KeyError, Unlinkable) as error:
            raise AssertionError(f"seed {SEED}, {op.name} {sample}") from error


def permissions(address: int) -> str:
    """Permissions of the page at `address`."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        bounds, kind = line.split()[:2]
        begin, end = (int(bound, 16) for bound in bounds.split("-"))
        if begin <= address < end:
            return kind
    return ""


def test_caches_are_cleared_of_all_code_before_it_can_run(monkeypatch: pytest.MonkeyPatch) -> None:
    image = emitted("define i64 @main() {\n  ret i64 7\n}", named_target("aarch64"), 0)
    cleared: list[tuple[int, int]] = []

    def clear(begin: int, end: int) -> None:
        assert permissions(begin) == "rw-p"
        cleared.append((begin, end))

    monkeypatch.setattr(loader, "_clear_cache", lambda: clear)
    library = loader.load(image, ["main"], {})
    ((begin, end),) = cleared
    assert (begin, end % mmap.PAGESIZE) == (library.tracker[0].address, 0)
    assert begin <= library.addresses["main"] < end
    assert permissions(begin) == "r-xp"

    def nowhere() -> None:
        raise Unlinkable("no libgcc")

    monkeypatch.setattr(loader, "_clear_cache", nowhere)
    with pytest.raises(Unlinkable, match="no libgcc"):
        loader.load(image, ["main"], {})


def test_every_kind_of_relocation() -> None:
    """Written into random instructions, for targets as far as it reaches, and read back."""
    fill, rng = ARCHITECTURES["aarch64"].fill, np.random.default_rng(SEED)
    kinds = [ADR, ADRP, ADD, GOT_PAGE, GOT_LOW, *BRANCHES, *LOADS]
    for kind in kinds * 100:
        old, place = int(rng.integers(1 << 32)), int(rng.integers(1 << 28)) * 4
        reach = 20 if kind == ADR else BRANCHES[kind][0] + 1 if kind in BRANCHES else 32
        target = place + int(rng.integers(-(1 << reach) + 4096, (1 << reach) - 4096)) & -16
        (word,) = struct.unpack("<I", fill(kind, struct.pack("<I", old), place, target))
        if kind in (ADRP, GOT_PAGE):
            mask, right = 0x60FFFFE0, (place >> 12) + adr(word) == target >> 12
        elif kind == ADR:
            mask, right = 0x60FFFFE0, place + adr(word) == target
        elif kind in BRANCHES:
            bits, at = BRANCHES[kind]
            mask, right = ((1 << bits) - 1) << at, place + branch(word, kind) == target
        else:
            scale = {ADD: 0, GOT_LOW: 3}.get(kind, LOADS.get(kind, 0))
            mask, right = 0x003FFC00, (word >> 10 & 0xFFF) << scale == target & 0xFFF
        assert right, f"seed {SEED}: kind {kind}, from {place:#x} to {target:#x}"
        assert not (old ^ word) & ~mask, f"seed {SEED}: kind {kind} changes the instruction"


def test_what_is_out_of_reach_or_not_handled_is_refused() -> None:
    fill = ARCHITECTURES["aarch64"].fill
    nothing = bytes(4)
    for kind, place, target in (
        (283, 0, 1 << 27), (283, 0, 2), (280, 0, 1 << 20), (279, 0, 1 << 15), (ADRP, 0, 1 << 32),
        (ADR, 0, 1 << 20), (286, 0, 4), (299, 0, 8), (263, 0, 0), (9, 0, 0),
    ):  # fmt: skip
        with pytest.raises(Unlinkable):
            fill(kind, nothing, place, target)
    assert fill(283, nothing, 0, (1 << 27) - 4) != nothing
    assert fill(ADRP, nothing, 0, (1 << 32) - 1) != nothing
