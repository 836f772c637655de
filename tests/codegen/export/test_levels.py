"""Functions that run the best level of x86-64 that a machine has."""

from __future__ import annotations

import ctypes
import platform
import re

import numpy as np
import pytest

import tracejit as tj
from tracejit.codegen.export.emission import LinkGroup, emit
from tracejit.codegen.export.levels import LEVELS, Level, dispatch_text, for_cpu, release_text
from tracejit.codegen.export.targets import export_target
from tracejit.codegen.llvm.loading import llvm_binding
from tracejit.runtime.loading.objects import link

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="levels are of x86-64")

#: Notes that it ran, and returns what is in the second place.
_FUNCTION = """\
define i32 @f.{cpu}(ptr %place, ptr %status) nounwind {{
  store i32 {number}, ptr %place
  %result = load i32, ptr %status
  ret i32 %result
}}
"""


def _levels_of_this_machine():
    """The levels that the CPU has, also those that are switched off for code that is compiled here."""
    features = {name for name, on in llvm_binding().get_host_cpu_features().items() if on}
    third = {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"} <= features
    fourth = third and {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"} <= features
    return LEVELS[: 1 + third + fourth]


@pytest.mark.parametrize("chosen", [LEVELS, LEVELS[:2], LEVELS[1:], LEVELS[::2]])
def test_the_best_level_runs(chosen):
    there = _levels_of_this_machine()
    best = max([number for number, cpu in enumerate(chosen) if cpu in there], default=0)
    levels = [Level(cpu, f".{cpu}", 100 * number) for number, cpu in enumerate(chosen)]
    groups = [
        LinkGroup([for_cpu(_FUNCTION.format(cpu=cpu, number=number), export_target(cpu))], [f"f.{cpu}"])
        for number, cpu in enumerate(chosen)
    ]
    image = emit(
        [*groups, LinkGroup([dispatch_text({"f": 2}, levels)], ["f"])], ["f"], export_target(chosen[0])
    ).image
    library = link(image, ["f"], {})
    function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(library.addresses["f"])
    for status, expected in ((0, 0), (3, 3 + 100 * best), (0, 0)):
        place, result = ctypes.c_int(-1), ctypes.c_int(status)
        assert function(ctypes.byref(place), ctypes.byref(result)) == expected
        assert place.value == best


def test_functions_say_what_they_are_for():
    text = for_cpu(_FUNCTION.format(cpu="x", number=1), export_target("x86-64-v3"))
    assert ') nounwind "target-cpu"="x86-64-v3" "target-features"="' in text


def test_memory_of_all_levels_is_released():
    text = release_text("f_release", ["f_release.a", "f_release.b"])
    assert [line.strip() for line in text.splitlines() if "call" in line] == [
        "call void @f_release.a()",
        "call void @f_release.b()",
    ]


def test_a_file_for_all_levels_has_all_functions(tmp_path):
    f = tj.jit(lambda x, i: (x @ x)[i])
    exported = f.export(tmp_path / "f", np.ones((3, 3)), 1, target=LEVELS[::-1], kind="llvm")
    text = exported.code.read_text()
    for level in LEVELS[1:]:  # the first one is inlined
        assert re.search(rf"^define internal .*@f\.{level}\(", text, re.MULTILINE)
        assert f'"target-cpu"="{level}"' in text
    assert len(exported.messages) == 2
