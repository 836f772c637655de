"""Kernels as they are planned for arm64, run here: see tests/arm64_plans.py.

Ops are drawn by a seed (``TRACEJIT_FUZZ_SEED``, else of the process's own); the slow test takes all of them,
and the tests of kernels and nests that do not count on this machine's vectors.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tracejit.codegen.kernels.gemm.tiles import tile_for
from tracejit.codegen.llvm.compiler import assembly
from tracejit.codegen.llvm.targets import named_target
from tracejit.codegen.module.writer import generate
from tracejit.ir.passes import run_passes

from ..support import function_of
from ..test_registry import NAMES

ROOT = Path(__file__).parents[2]
SEED = int(os.environ.get("TRACEJIT_FUZZ_SEED", "0")) or os.getpid()
#: One of each family of kernels.
FAMILIES = ("matmul", "sort", "sum", "cumsum", "convolve", "gather", "scatter", "exp", "argmax", "transpose")
DRAWN = 12
OP_TEST = "tests/test_registry.py::test_native_agrees_with_interpreter"
PRODUCTS = "tests/codegen/kernels/test_gemm.py::"


def run_planned(*tests: str) -> None:
    """Run tests in a process whose code is planned for arm64."""
    command = [sys.executable, "-m", "pytest", "-p", "tests.arm64_plans", "-n", "0", "-q", *tests]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert done.returncode == 0, f"seed {SEED}\n{done.stdout[-4000:]}\n{done.stderr[-2000:]}"
    assert re.search(r"arm64 was asked for [1-9]\d* times", done.stdout), "nothing was planned for arm64"


def test_ops_as_they_are_planned_for_arm64() -> None:
    drawn = np.random.default_rng(SEED).permutation(np.array(NAMES))[:DRAWN]
    ops = [f"{OP_TEST}[{name}]" for name in sorted({*FAMILIES, *drawn} & set(NAMES))]
    run_planned(*ops, f"{PRODUCTS}test_batches", f"{PRODUCTS}test_integers", f"{PRODUCTS}test_large_products_are_packed")


@pytest.mark.slow
def test_all_ops_and_kernels_as_they_are_planned_for_arm64() -> None:
    run_planned(OP_TEST, "tests/codegen/kernels", "tests/codegen/nest", "tests/test_filetests.py")


def test_kernels_for_arm64_multiply_and_add_in_one_instruction_in_its_registers() -> None:
    """Products have a tile of 24 vectors in 32 registers: no sum goes to the stack in the innermost loop."""
    target = named_target("aarch64")
    for dtype, lanes in (("f32", 4), ("f64", 2)):
        tile = tile_for(target, dtype)
        assert (tile.rows * tile.vectors, tile.lanes) == (24, lanes)
    x, y = np.zeros((40, 40), "f4"), np.zeros((40, 48), "f4")
    function = function_of("product", [x, y], lambda b, x, y: b.matmul(x, y))
    text = assembly(generate(run_passes(function), target).contracted_text(), target)
    assert re.search(r"fmla\s+v\d+\.4s", text)
    assert not re.search(r"\bfmul\s+v\d+\.4s", text)
    total = function_of("total", [np.zeros(1000), np.zeros(1000)], lambda b, x, y: b.sum(b.mul(x, y), axes=(0,)))
    assert re.search(r"fmla\s+v\d+\.2d", assembly(generate(run_passes(total), target).contracted_text(), target))
