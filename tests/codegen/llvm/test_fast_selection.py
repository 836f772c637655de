"""Choices between numbers in code that LLVM does not optimize read no more than the numbers."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tracejit as tj
from tracejit.base.machine import Machine, use_machine
from tracejit.codegen.llvm.compiler import _Clock, _prepared
from tracejit.codegen.llvm.fast_selection import with_frozen_choices
from tracejit.codegen.llvm.target import host, target_machine
from tracejit.codegen.tiers import Effort

TEXT = """define void @choose(ptr %x, ptr %y, ptr %z, ptr %result) nounwind {
entry:
  %v1 = load TYPE, ptr %x, align ALIGN
  %v2 = load TYPE, ptr %y, align ALIGN
  %v3 = fcmp olt TYPE %v1, %v2
  %v4 = load TYPE, ptr %z, align ALIGN
  %v5 = select i1 %v3, TYPE %v4, TYPE %v1
  store TYPE %v5, ptr %result, align ALIGN
  ret void
}
"""


@pytest.mark.parametrize(("dtype", "size"), [("float", 4), ("double", 8)])
@pytest.mark.parametrize("features", ["", "-avx512f", "-avx"])
def test_no_load_is_folded_into_a_blend(dtype: str, size: int, features: str) -> None:
    if not host().triple.startswith("x86_64"):
        pytest.skip("an instruction of x86")
    with use_machine(Machine(features=features)):
        text = TEXT.replace("TYPE", dtype).replace("ALIGN", str(size))
        module = _prepared(text, Effort.PLAIN, False, _Clock())
        assembly = target_machine(host(), opt=0).emit_assembly(module)
    assert "cmplt" in assembly
    assert not re.search(r"blendv.*\(", assembly), assembly


def test_choices_of_other_types_stay_as_they_are() -> None:
    text = "  %a = select i1 %c, i64 %x, i64 %y\n  %b = select <4 x i1> %c, <4 x float> %x, <4 x float> %y\n"
    assert with_frozen_choices(text) == text
    assert with_frozen_choices("  %a = select i1 %c, float 1.0, float %y\n").count("freeze") == 0


@pytest.mark.parametrize("tiers", ["always", "0"])
@pytest.mark.parametrize("features", ["", "-avx2,-avx512f", "-avx,-avx2,-avx512f,-fma"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_lanes_that_are_missing_add_nothing(
    dtype: str, features: str, tiers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Missing lanes of a quotient are 0 / 0."""
    if features and not host().triple.startswith("x86_64"):
        pytest.skip("features of x86")
    monkeypatch.setenv("TRACEJIT_TIERS", tiers)
    with use_machine(Machine(features=features)):
        for size in range(1, 40):
            x, y = np.arange(1.0, size + 1).astype(dtype), np.full(size, 2, dtype)
            sums = tj.jit(lambda x, y: ((x / y * x).sum(), tj.log(x).max()))(x, y)
            np.testing.assert_allclose(np.asarray(sums[0]), (x / y * x).sum(), rtol=1e-5)
            np.testing.assert_allclose(np.asarray(sums[1]), np.log(x).max(), rtol=1e-5)
