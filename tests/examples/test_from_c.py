"""The sampler in C of examples/from_c: it computes with the same bits as Python, and its means are known."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "from_c"


@pytest.mark.skipif(
    not (shutil.which("make") and shutil.which("cc")), reason="there is no make, or no compiler"
)
def test_the_sampler_and_the_times(tmp_path):
    shutil.copytree(FOLDER, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("build"))
    run = subprocess.run(
        ["make", "-s", "run", "time", f"PYTHON={sys.executable}", "CFLAGS=-O2 -Wall -Wextra -Werror"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    numbers = {name: float(text) for name, text in re.findall(r"^(.*): ([-\d.]+)$", run.stdout, re.MULTILINE)}
    eight_schools = runpy.run_path(str(FOLDER / "export.py"))["eight_schools"]
    assert numbers["log density at 0"] == eight_schools(0.0, 0.0, np.zeros(8)).item()
    assert float(re.search("largest difference: (.*)", run.stdout)[1]) < 1e-14
    assert abs(numbers["mean of mu"] - 4.4) < 0.4  # of Stan's posteriordb: 4.4 and 3.6
    assert abs(numbers["mean of tau"] - 3.6) < 0.4
