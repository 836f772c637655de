"""Modules that a process loads: code generation and LLVM only where something is compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ..rotation import share_of

ROOT = Path(__file__).parents[2]
#: All of codegen that a process needs which compiles nothing: records, names and tables.
LIGHT = {
    "tracejit.codegen",
    "tracejit.codegen.interface",
    "tracejit.codegen.native",
    "tracejit.codegen.native.entry",
    "tracejit.codegen.native.entry.table",
    "tracejit.codegen.tiers",
}
#: Modules of this package that a process has loaded: with an eager product; with a decorated function; with
#: machine code of an element-wise function. Each costs about a quarter of a millisecond.
MAX_MODULES = (205, 282, 387)
#: Modules of others that none of these need: what they define is known by name once somebody has loaded it.
NOT_NEEDED = {
    "dataclasses", "decimal", "hashlib", "locale", "logging", "numpy.random", "pathlib", "random", "secrets",
    "tempfile", "urllib.parse",
}  # fmt: skip
COUNTED = f"""
import sys, numpy
before = set(sys.modules)
import tracejit as tj
def count():
    print(sum(name.split(".")[0] == "tracejit" for name in sys.modules))
tj.array([1.0, 2.0]) * 2
count()
f = tj.jit(lambda x: tj.exp(x) + 1)
count()
print(*sorted({NOT_NEEDED!r} & (set(sys.modules) - before)))
f(numpy.ones(3))
count()
"""
LOADED = "print(*sorted(one for one in sys.modules if 'codegen' in one or one == 'llvmlite'))"
#: A product, a large result, work for threads, a host call, a gradient, and native entries.
WORK = f"""
import sys
import numpy as np, tracejit as tj
f = tj.jit(lambda x, p: {{"y": (x @ x) * p["w"] + tj.tensor(3.0), "order": tj.gcd(tj.arange(300), 12)}})
g = tj.jit(tj.grad(lambda x: tj.sin(x).sum()))
x = np.linspace(0.0, 1.0, 300 * 300).reshape(300, 300)
kept = []  # the code of a function that is collected before the background comes to it is not stored
for _ in range(3):
    print(float(f(x, {{"w": np.ones(300)}})["y"].sum()), float(g(x).sum()))
    kept.append(tj.jit(lambda x: x * 2))
    print(float(kept[-1](np.ones((700, 700)))[0, 0]))
{LOADED}
"""


def run(program: str, cache: Path, tiers: str = "0") -> list[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "TRACEJIT_CACHE_DIR": str(cache),
        "TRACEJIT_TIERS": tiers,
    }
    environment.pop("TRACEJIT_CACHE", None)
    environment.pop("TRACEJIT_CHECK", None)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_importing_loads_no_code_generation(tmp_path: Path) -> None:
    (loaded,) = run(f"import sys, tracejit\n{LOADED}", tmp_path)
    assert set(loaded.split()) <= LIGHT


def test_first_lines_load_few_modules(tmp_path: Path) -> None:
    eager, decorated, unneeded, compiled = run(COUNTED, tmp_path)
    counts = (int(eager), int(decorated), int(compiled))
    assert all(count <= most for count, most in zip(counts, MAX_MODULES, strict=True)), counts
    assert not unneeded


@pytest.mark.parametrize("tiers", share_of(["0", "always"], 2))
def test_a_process_that_finds_its_code_loads_no_code_generation(tmp_path: Path, tiers: str) -> None:
    *cold, compiling = run(WORK, tmp_path, tiers)
    assert {"llvmlite", "tracejit.codegen.module.writer"} < set(compiling.split())
    *warm, finding = run(WORK, tmp_path, tiers)
    assert set(finding.split()) == LIGHT
    assert warm == cold
