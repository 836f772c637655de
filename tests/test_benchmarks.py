"""The benchmark suite runs without JAX, and says so where values differ or a name is unknown."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
#: A missing module, installed or not: importing it raises ModuleNotFoundError.
WITHOUT_JAX = (
    "import runpy, sys; sys.modules['jax'] = None; runpy.run_module('benchmarks', run_name='__main__')"
)
WITH_NEGATIVE_TOLERANCE = """
import dataclasses, sys
from benchmarks import __main__, workloads
wrong = dataclasses.replace(workloads.WORKLOADS[0], peers=("numpy",), tolerance=-1.0)
__main__.WORKLOADS = (wrong,)
sys.exit(__main__.main())
"""


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_quick_run_without_jax(tmp_path: Path) -> None:
    target = tmp_path / "results.json"
    chosen = ("dispatch", "expression", "first-expression-cold")
    options = [word for name in chosen for word in ("--only", name)]
    done = run(WITHOUT_JAX, "--quick", "--json", str(target), *options)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "jax: not installed, skipped" in done.stdout
    found: dict[str, Any] = json.loads(target.read_text())
    assert found["versions"]["jax"] is None
    results = {one["name"]: one for one in found["results"]}
    assert list(results) == ["dispatch-array", "dispatch-ndarray", "expression", "first-expression-cold"]
    for one in results.values():
        assert one["disagreements"] == []
        assert 0 < one["seconds"]["tracejit"][1] <= one["seconds"]["tracejit"][0]
        assert f"| {one['name']} " in done.stdout
    assert list(results["expression"]["ratios"]) == ["numpy"]
    assert results["expression"]["met"] is None, "its target is JAX's time, which is not known"
    assert results["dispatch-array"]["met"] in (True, False)
    assert "milliseconds: trace" in results["first-expression-cold"]["notes"]


def test_values_that_differ_are_named_and_fail() -> None:
    done = run(WITH_NEGATIVE_TOLERANCE, "--quick")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "dispatch-array: DISAGREES with numpy: result 0 differs by" in done.stdout


def test_unknown_names_say_which_there_are() -> None:
    done = run(WITHOUT_JAX, "--only", "nothing")
    assert done.returncode == 2
    assert "dispatch-array, dispatch-ndarray, expression, softmax" in done.stderr


def test_ops_of_the_users_are_measured_beside_a_built_in() -> None:
    program = "from benchmarks import user_ops; user_ops.main(quick=True)"
    done = run(program)
    assert done.returncode == 0, done.stderr
    assert [line.split("  ")[0] for line in done.stdout.splitlines()] == [
        "built-in", "emitted by the user", "C function"
    ]  # fmt: skip
