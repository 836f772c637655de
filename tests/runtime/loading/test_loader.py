"""Tests of the linker: what LLVM emits is linked as LLVM links it, and what is not understood is refused."""

from __future__ import annotations

import ctypes
import mmap
import platform
import sys
from pathlib import Path

import pytest

from tracejit.codegen.llvm import compiler
from tracejit.codegen.llvm.compiler import emit_object, link_object
from tracejit.codegen.tiers import Effort
from tracejit.runtime.loading import loader
from tracejit.runtime.loading.loader import load
from tracejit.runtime.loading.objects import link
from tracejit.runtime.loading.relocations import ARCHITECTURES, Unlinkable

from ...forked import forked
from ...memory import is_given_back, mapped

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in ARCHITECTURES, reason="for ELF on x86-64 and arm64"
)

TEXT = """
@counter = global i64 5
@hidden = internal global i64 2
@zeros = internal global [100 x i64] zeroinitializer
@table = internal constant [4 x double] [double 1.5, double 2.5, double 3.5, double 4.5], align 64
@pointer = internal global ptr @hidden
@outside = external global i64
declare double @cos(double)
declare i64 @callback(i64)
declare ptr @memset(ptr, i32, i64)

define internal i64 @choose(i64 %x) noinline {
  switch i64 %x, label %other [
    i64 0, label %a i64 1, label %b i64 2, label %c i64 3, label %d i64 4, label %e
  ]
a:
  ret i64 31
b:
  ret i64 17
c:
  ret i64 101
d:
  ret i64 5
e:
  ret i64 77
other:
  ret i64 -1
}

define i64 @main(i64 %x) {
  %old = load i64, ptr @counter
  %new = add i64 %old, 1
  store i64 %new, ptr @counter
  %p = load ptr, ptr @pointer
  %h = load i64, ptr %p
  %chosen = call i64 @choose(i64 %x)
  %z = call ptr @memset(ptr @zeros, i32 1, i64 8)
  %ones = load i64, ptr @zeros
  %q = getelementptr double, ptr @table, i64 %x
  %d = load double, ptr %q
  %c = call double @cos(double 0.0)
  %sum = fadd double %d, %c
  %s = fptosi double %sum to i64
  %back = call i64 @callback(i64 %x)
  %out = load i64, ptr @outside
  %r1 = add i64 %new, %h
  %r2 = add i64 %r1, %chosen
  %r3 = add i64 %r2, %ones
  %r4 = add i64 %r3, %s
  %r5 = add i64 %r4, %back
  %r6 = add i64 %r5, %out
  ret i64 %r6
}
"""

CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(lambda x: 1000 * x)
OUTSIDE = ctypes.c_int64(7)
IMPORTS = {
    "callback": ctypes.cast(CALLBACK, ctypes.c_void_p).value or 0,
    "outside": ctypes.addressof(OUTSIDE),
}


@pytest.mark.parametrize("use_jit_link", [True, platform.machine() == "aarch64"])
@pytest.mark.parametrize("baseline", [True, False])
def test_as_llvm_links_it(baseline: bool, use_jit_link: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code agrees with that of both of LLVM's linkers, the older one where it does not end the process."""
    image, _ = emit_object(TEXT, Effort.PLAIN if baseline else Effort.FULL)
    jit = compiler.new_jit(use_jit_link=use_jit_link)
    monkeypatch.setattr(compiler, "_jit", lambda: jit)
    results = []
    for linker in (load, link_object):
        library = linker(image, ["main", "counter"], IMPORTS)
        main = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(library.addresses["main"])
        results.append([main(x) for x in (0, 1, 2, 3, 3)])
        assert ctypes.c_int64.from_address(library.addresses["counter"]).value == 10
    assert results[0] == results[1]


#: Leaves free memory in pages that lie 5 GB apart by turns, and one larger place below them.
_IN_PIECES = """
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

def reserve(size):
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000  # MAP_NORESERVE
    place = libc.mmap(None, size, 0, flags, -1, 0)
    return None if place == ctypes.c_void_p(-1).value else place

whole, size = reserve(6 << 30), 1 << 46
while size >= mmap.PAGESIZE:
    size = size if reserve(size) is not None else size // 2
for number in range(40):
    libc.munmap(whole + (5 << 30) * (number % 2 == 0) + (number + 1 << 20), mmap.PAGESIZE)
libc.munmap(whole + (1 << 26), 1 << 28)
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="an emulator shares the memory")
@pytest.mark.parametrize("linker", ["load", "link_object"])
def test_memory_in_pieces(linker: str) -> None:
    program = f"""
import ctypes, mmap
from tests.runtime.loading.test_loader import IMPORTS, TEXT, emit_object, link_object, load
image, kept = emit_object(TEXT)[0], []
{linker}(image, ["main"], IMPORTS)
{_IN_PIECES}
for _ in range(8):
    kept.append({linker}(image, ["main"], IMPORTS))
    main = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(kept[-1].addresses["main"])
    print(main(1))
"""
    assert len(set(forked(program).split())) == 1


def test_code_cannot_be_written_and_data_cannot_be_run() -> None:
    image, _ = emit_object(TEXT)
    library = load(image, ["main", "counter"], IMPORTS)
    results = {}
    for line in Path("/proc/self/maps").read_text().splitlines():
        begin, end = (int(bound, 16) for bound in line.split()[0].split("-"))
        for name, address in library.addresses.items():
            if begin <= address < end:
                results[name] = line.split()[1]
    assert results == {"main": "r-xp", "counter": "rw-p"}


@pytest.mark.parametrize("size", [1 << 14, 1 << 16])
def test_pages_may_be_larger(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """macOS has pages of 16 KiB, and Linux on arm64 may have such of 64: what is executable ends where one
    does."""
    image, _ = emit_object(TEXT)
    monkeypatch.setattr(loader.mmap, "PAGESIZE", size)
    sealed = []
    seal = loader.Mapping.seal

    def note(memory: loader.Mapping, bytes_: int, architecture: object) -> None:
        sealed.append(bytes_)
        seal(memory, bytes_, architecture)

    monkeypatch.setattr(loader.Mapping, "seal", note)
    library = load(image, ["main", "counter"], IMPORTS)
    assert sealed == [size]
    assert library.addresses["counter"] >= library.tracker[0].address + size
    assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(library.addresses["main"])(0) != 0


def test_memory_is_given_back() -> None:
    image, _ = emit_object(TEXT)

    def cycle(count: int) -> None:
        for _ in range(count):
            load(image, ["main"], IMPORTS)

    cycle(1)
    assert is_given_back(lambda: cycle(2000), 200 * mmap.PAGESIZE, measure=mapped)


def test_what_is_not_understood_is_refused() -> None:
    image, _ = emit_object(TEXT)
    for bad in (b"", b"\x7fELF", b"\xcf\xfa\xed\xfe" + image[4:], image[:200], image[: len(image) // 2]):
        with pytest.raises(Unlinkable):
            load(bad, ["main"], IMPORTS)
    with pytest.raises(Unlinkable, match="callback is nowhere"):
        load(image, ["main"], {"outside": 0})
    with pytest.raises(Unlinkable):
        load(image, ["nothing"], IMPORTS)
    local, _ = emit_object("@t = thread_local global i64 0\ndefine ptr @main() {\n  ret ptr @t\n}")
    with pytest.raises(Unlinkable):
        load(local, ["main"], {})


def test_llvm_links_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    image, _ = emit_object(TEXT)
    monkeypatch.setattr(platform, "machine", lambda: "another")
    library = link(image, ["main"], IMPORTS)
    assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(library.addresses["main"])(0) != 0


#: Program of everything that is linked: kernels with constants, the pool, products in two tiers, LAPACK,
#: functions that run on the host, loops, signals, eager code, special functions, and variants that flush
#: denormals.
WHOLE = """
import numpy as np, tracejit as tj
from tracejit.runtime.loading import objects

def refused(*_):
    raise AssertionError("LLVM is to link this")

objects.load = refused
rng = np.random.default_rng(0)
x, big = rng.standard_normal((90, 130)), rng.standard_normal(1 << 19)

def halvings(x):
    return tj.while_loop(lambda s: s[1] > 1, lambda s: (s[0] + 1, s[1] / 2), (0, x))[0]

tj.set_num_threads(3)
np.testing.assert_allclose(tj.jit(lambda x: x @ x.T)(x), x @ x.T)
np.testing.assert_allclose(tj.jit(lambda x: (tj.sin(x) * x).sum())(big), (np.sin(big) * big).sum())
assert tj.jit(halvings)(1000.0) == 10
square = x @ x.T + np.eye(90)
np.testing.assert_allclose(tj.jit(tj.linalg.solve)(square, x), np.linalg.solve(square, x))
np.testing.assert_array_equal(tj.jit(lambda x: tj.gcd(x, 12))(np.arange(9)), np.gcd(np.arange(9), 12))
np.testing.assert_allclose(tj.jit(tj.grad(lambda x: tj.erf(x).sum()))(x), 2 / np.sqrt(np.pi) * np.exp(-x * x))
np.testing.assert_allclose(tj.jit(lambda x: x * 1e-300 * 1e-20, flush_denormals=True)(x), 0, atol=0)
with np.testing.assert_raises(tj.LinAlgError):
    tj.jit(tj.linalg.cholesky)(-square)
for _ in range(200):  # eager code that runs often is compiled
    y = tj.tensor(x) * 2 + tj.tensor(x)
np.testing.assert_allclose(y, x * 2 + x)
print("ran")
"""


@pytest.mark.parametrize("tiers", ["0", "always"])
def test_llvm_links_everything(tiers: str) -> None:
    assert forked(WHOLE, TRACEJIT_LINKER="llvm", TRACEJIT_TIERS=tiers).strip() == "ran"
