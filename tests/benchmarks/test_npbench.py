"""NPBench's programs: a suite of one program, as that one lays it out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import npbench

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = {
    "module_name": "sums", "func_name": "kernel", "relative_path": "own/sums", "parameters": {"S": {"N": 30}},
    "init": {"func_name": "initialize", "input_args": ["N"], "output_args": ["A"]}, "input_args": ["A"],
}  # fmt: skip
KERNEL = """def kernel(A):
    for i in range(1, A.shape[0]):
        A[i, :i] *= A[:i, i].sum()
    return A.sum()
"""
MADE = """import numpy as np


def initialize(N):
    return np.arange(N * N, dtype=float).reshape(N, N) / N**2
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A suite with one program."""
    folder = tmp_path / "npbench" / "benchmarks" / "own" / "sums"
    folder.mkdir(parents=True)
    (tmp_path / "bench_info").mkdir()
    (tmp_path / "bench_info" / "sums.json").write_text(json.dumps({"benchmark": PROGRAM}))
    (folder / "sums.py").write_text(MADE)
    (folder / "sums_numpy.py").write_text(KERNEL)
    return tmp_path


def test_a_suite(checkout: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.npbench", str(checkout), "--threads", "1"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    head, _, line = done.stdout.strip().splitlines()
    assert head.startswith("| program |")
    assert line.startswith("| sums | right, compiled |"), done.stdout


def test_what_is_close() -> None:
    x = np.array([1.0, np.nan, 1e6])
    assert npbench.is_close([x + 1e-3], [x], 1e-5)
    assert not npbench.is_close([x + 100], [x], 1e-5)
    assert not npbench.is_close([np.array([1.0, 2.0, 1e6])], [x], 1e-5)
    assert not npbench.is_close([x[:2]], [x], 1e-5)
    assert not npbench.is_close([], [x], 1e-5)
