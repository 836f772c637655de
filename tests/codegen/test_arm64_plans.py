"""Kernels as they are planned for arm64, run here: see tests/arm64_plans.py.

Ops are drawn by a seed (`rotation.SEED`); the slow test takes all of
them, and the tests of products.
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
from tracejit.ir.graph import Function
from tracejit.ir.passes import run_passes

from ..rotation import SEED
from ..support import function_of
from ..test_registry import NAMES

ROOT = Path(__file__).parents[2]
#: A program of each family of kernels.
FAMILIES = ("matmul", "sort", "sum", "cumsum", "convolve", "gather", "scatter", "exp", "argmax", "transpose")
DRAWN = 12
ARM64 = named_target("aarch64")
OP_TEST = "tests/test_registry.py::test_native_agrees_with_interpreter"
PRODUCTS = "tests/codegen/kernels/gemm/test_gemm.py::"


def run_planned(*tests: str) -> None:
    """Run tests in a process whose code is planned for arm64."""
    command = [sys.executable, "-m", "pytest", "-p", "tests.arm64_plans", "-n", "0", "-q", *tests]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("TRACEJIT_CPU_FEATURES", None)  # arm64's instructions need this machine's (F16C)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, f"seed {SEED}\n{done.stdout[-4000:]}\n{done.stderr[-2000:]}"
    assert re.search(r"arm64 was asked for [1-9]\d* times", done.stdout), "nothing was planned for arm64"


def test_ops_as_they_are_planned_for_arm64() -> None:
    drawn = np.random.default_rng(SEED).permutation(np.array(NAMES))[:DRAWN]
    ops = [f"{OP_TEST}[{name}]" for name in sorted({*FAMILIES, *drawn})]
    run_planned(*ops, *[f"{PRODUCTS}{name}" for name in ("test_batches", "test_integers")])


@pytest.mark.slow
def test_all_ops_and_products_as_they_are_planned_for_arm64() -> None:
    run_planned(OP_TEST, "tests/codegen/kernels/gemm/test_gemm.py")


def test_kernels_for_arm64_multiply_and_add_in_one_instruction() -> None:
    """FMA is there without being asked for, and tiles of products fill 24 of 32 registers."""
    for dtype, lanes in (("f32", 4), ("f64", 2)):
        tile = tile_for(ARM64, dtype)
        assert (tile.rows * tile.vectors, tile.lanes) == (24, lanes)
    x, y = np.zeros((40, 40), "f4"), np.zeros((40, 48), "f4")
    product = code_of(function_of("product", [x, y], lambda b, x, y: b.matmul(x, y)))
    assert re.search(r"fmla\s+v\d+\.4s", product)
    assert not re.search(r"\bfmul\s+v\d+\.4s", product)
    line = np.zeros(1000)
    total = code_of(function_of("total", [line, line], lambda b, x, y: b.sum(b.mul(x, y), axes=(0,))))
    assert re.search(r"fmla\s+v\d+\.2d", total)


def code_of(function: Function) -> str:
    """Assembly for arm64."""
    return assembly(generate(run_passes(function), ARM64).contracted_text(), ARM64)
