"""Code for CPUs with fewer features than this one, as a field of the machine."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tracejit as tj
from tracejit.base.machine import Machine, use_machine
from tracejit.codegen.llvm.compiler import assembly, interruptibly
from tracejit.codegen.llvm.target import host
from tracejit.codegen.module.writer import generate
from tracejit.ir.passes import run_passes
from tracejit.runtime import tiers
from tracejit.runtime.cache.keys import function_key
from tracejit.runtime.executable import Executable

pytestmark = pytest.mark.skipif(not host().triple.startswith("x86_64"), reason="features of x86")
#: The features that are switched off, and the most bits of vectors that are left.
GENERATIONS = [
    ("-avx512f", 256),
    ("-f16c", 256),
    ("-avx2", 128),
    ("-avx", 128),
    ("-sse4.2", 128),
    ("-sse3", 128),
]


def x86_code(features: str) -> str:
    function = tj.trace(lambda x: tj.exp(x) * 2 + tj.floor(x), np.ones(100, "f4"))
    with use_machine(Machine(features=features)):
        return assembly(generate(run_passes(function), host()).text)


@pytest.mark.parametrize(("features", "bits"), GENERATIONS)
def test_what_needs_a_feature_goes_with_it(features: str, bits: int) -> None:
    plain = host()
    with use_machine(Machine(features=features)):
        target = host()
        assert target.vector_bits <= bits
        named = set(target.features.split(","))
        assert features in named
        assert "+avx512bw" not in named
        if bits == 128:
            assert not named & {"+avx2", "+vaes", "+avx512f"}
        if features in ("-avx", "-sse4.2", "-sse3"):
            assert not named & {"+avx", "+f16c", "+fma", "+avxvnni"}
            assert not target.half_conversions
        if features == "-sse3":
            assert not named & {"+sse4.1", "+sse4.2", "+ssse3"}
    assert host() is plain


def test_long_pieces_are_compiled_for_the_same_machine() -> None:
    """Pieces are compiled in a thread of their own; for different CPUs they would pass vectors to one another
    differently."""
    with use_machine(Machine(features="-avx")):
        assert interruptibly(host) == host()


def test_no_instruction_of_a_missing_feature_is_written() -> None:
    """Instructions of AVX begin with v, also those of 128 bits."""
    assert "%zmm" not in x86_code("-avx512f")
    assert not re.search(r"^\s+v[a-z]", x86_code("-avx"), re.MULTILINE)
    assert not re.search(r"^\s+(v[a-z]|round[ps][sd])", x86_code("-sse4.1"), re.MULTILINE)


def test_products_of_several_cpus_in_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Panels have other sizes, and the functions for them stay apart: also in the tier that comes later."""
    monkeypatch.setenv("TRACEJIT_TIERS", "always")
    x, y = np.arange(130.0 * 70).reshape(130, 70) % 7, np.arange(70.0 * 90).reshape(70, 90) % 5
    function = tj.trace(lambda x, y: x @ y, x, y)
    executables = []
    for features in ("", "-avx512f", "-avx", ""):
        with use_machine(Machine(features=features)):
            executables.append(Executable(function))
    for _ in range(2):
        for executable in executables:
            np.testing.assert_array_equal(executable([x, y])[0], x @ y)
        assert tiers.BACKGROUND.wait(60)
    assert {executable.tier for executable in executables} == {"optimized"}


def test_the_cache_keeps_them_apart() -> None:
    function = tj.trace(lambda x: x + 1, np.ones(3))
    keys = {function_key(function, repr(Machine(features=features))) for features in ("", "-avx512f", "-avx")}
    assert len(keys) == 3
