"""The benchmark suite runs without its peers, says so where values differ or a name is unknown, and writes
what it found."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import xml.dom.minidom
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import chart, render, report
from benchmarks.contest import Outcome, difference
from benchmarks.limits import hardware
from benchmarks.timing import Spread, interleave
from benchmarks.workloads import WORKLOADS

from ..rotation import one_in

ROOT = Path(__file__).resolve().parents[2]
BY_NAME = {workload.name: workload for workload in WORKLOADS}


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=600, check=False
    )


@one_in(5)
def test_quick_run_beside_numpy(tmp_path: Path) -> None:
    files = {kind: tmp_path / f"results.{kind}" for kind in ("json", "markdown", "svg")}
    options = [word for kind, path in files.items() for word in (f"--{kind}", str(path))]
    done = run(
        "benchmarks",
        "--quick",
        "--peers",
        "numpy",
        "--only",
        "dispatch-array",
        "--only",
        "chain-10k-f32",
        *options,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    document: dict[str, Any] = json.loads(files["json"].read_text())
    assert document["versions"]["numpy"] == np.__version__
    results = {result["name"]: result for result in document["results"]}
    assert list(results) == ["dispatch-array", "chain-10k-f32"]
    for result in results.values():
        assert result["disagreements"] == result["failures"] == []
        median, least, most = result["seconds"]["tracejit"]
        assert 0 < least <= median <= most
        assert result["first"]["tracejit"] > median
        assert result["threads"]["tracejit"] in (1, 2)
        assert f"| {result['name']} " in done.stdout
        assert f"`{result['name']}`" in files["markdown"].read_text()
    assert results["chain-10k-f32"]["limit"] > 0
    xml.dom.minidom.parse(str(files["svg"]))
    page = tmp_path / "page.md"
    done = run("benchmarks.render", str(files["json"]), "--page", str(page))
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert "numpy: geometric mean" in text
    rows = [line for line in text.splitlines() if line.startswith("| `dispatch-array`")]
    assert [row.count("|") for row in rows] == [7, 5]


def test_unknown_names_say_which_there_are() -> None:
    done = run("benchmarks", "--only", "nothing")
    assert done.returncode == 2
    assert "dispatch-array, dispatch-ndarray, eager-add-grad" in done.stderr
    done = run("benchmarks", "--peers", "nothing")
    assert done.returncode == 2
    assert "jax, torch, torch.compile, numba, numpy" in done.stderr


def test_ops_of_the_users_are_measured_beside_a_built_in() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from benchmarks import user_ops; user_ops.main(quick=True)"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert [line.split("  ")[0] for line in done.stdout.splitlines()] == [
        "built-in", "emitted by the user", "C function"
    ]  # fmt: skip


@one_in(5)
def test_gradients_of_loops_are_measured() -> None:
    """Memory by `checkpoint_every`, loops of unknown length beside scans, and times to compile."""
    done = subprocess.run(
        [sys.executable, "-c", "from benchmarks import loops; loops.main(quick=True)"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for line in (
        "scan of 3 numbers, checkpoint_every 100",
        "while, gradient",
        "compile a scan over   100 ops",
    ):
        assert line in done.stdout


def test_values_that_differ_are_named() -> None:
    workload, right = BY_NAME["dispatch-array"], np.array([1.0, 2.0])
    values = {"tracejit": [right], "jax": [right + 1e-3]}
    assert difference(workload, "jax", {**values, "jax": [right]}) == ""
    assert difference(workload, "jax", values) == "jax: result 0 differs by 5.0e-04, allowed 1.0e-12"
    assert "is float32" in difference(workload, "jax", {**values, "jax": [right.astype(np.float32)]})
    assert "shapes" in difference(workload, "jax", {**values, "jax": [right[:1]]})
    assert "nan" in difference(workload, "jax", {**values, "jax": [right * np.nan]})


def outcome(name: str, first: float = 0.02, **ratios: float) -> Outcome:
    seconds = {"tracejit": Spread(1e-3, 1e-3, 1e-3)}
    seconds |= {peer: Spread(ratio * 1e-3, 0, 1) for peer, ratio in ratios.items()}
    spreads = {peer: Spread(ratio, ratio, ratio) for peer, ratio in ratios.items()}
    return Outcome(
        BY_NAME[name], seconds, dict.fromkeys(seconds, 1), spreads, {"tracejit": first, "jax": 0.06}
    )


def test_the_goal_is_against_the_best_peer_or_the_named_one() -> None:
    assert outcome("softmax", jax=3.0, numpy=0.5).best_peer == "numpy"
    assert outcome("lorenz-grad", jax=3.5, numba=0.5).best_peer == "jax"
    assert outcome("lorenz-grad", numba=0.5).ratio is None
    outcomes = [outcome("softmax", jax=4.0, numpy=0.5), outcome("max-rows", first=0.06, jax=1.0)]
    assert report.summary(outcomes, ["jax"]) == [
        "jax: geometric mean 2.00 of 2 workloads",
        "first calls: jax takes 1.7 times ours, goal 3; below in 1 of 2",
        "  max-rows: 1.0",
        "behind the goal: 1 of 2 workloads",
        "  softmax: 0.50 of numpy's time, goal 1",
    ]


def test_tables_show_every_peer_and_mark_what_is_slower() -> None:
    text = report.table([outcome("softmax", jax=4.0, numpy=0.5)], ["jax", "numpy"])
    assert text.splitlines()[-1] == "| `softmax` | 1 ms | 4.00 | **0.50** | 20 ms | 3.0 |"
    line = report.row(outcome("softmax", jax=4.0, numpy=0.5), 0.5e-3)
    assert [cell.strip() for cell in line.split("|")[1:-1]] == [
        "softmax", "1 ms/1", "numpy 500 us/1", "0.50 (0.50-0.50)", "50%", "1: MISSED"
    ]  # fmt: skip


def test_goals_beside_single_peers_count_too() -> None:
    both = outcome("softmax", jax=4.0, numpy=3.0)
    workload = dataclasses.replace(both.workload, goals=(("jax", 10.0), ("torch", 2.0)))
    both = dataclasses.replace(both, workload=workload)
    assert both.goals == [("numpy", 3.0, 1.0), ("jax", 4.0, 10.0)], "of peers that took part"
    assert "1: ok, jax 10: MISSED (4.00)" in report.row(both, None)
    assert report.summary([both], [])[-1] == "  softmax: 4.00 of jax's time, goal 10"


def test_charts_stay_in_their_frame() -> None:
    drawn = xml.dom.minidom.parseString(chart.svg([outcome("softmax", jax=1e9, numpy=1e-9)], "a <title>"))
    places = [float(element.getAttribute("cx")) for element in drawn.getElementsByTagName("circle")]
    assert len(places) == 4  # two in the legend
    assert all(0 < place < chart.WIDTH for place in places)


def test_slow_contenders_take_two_turns() -> None:
    asked: list[str] = []

    def turn(name: str, seconds: float) -> Any:
        return lambda: asked.append(name) or seconds

    samples = interleave({"fast": turn("fast", 0.1), "slow": turn("slow", 1.0)}, 5)
    assert samples == {"fast": [0.1] * 5, "slow": [1.0] * 5}
    assert asked.count("fast") == 5
    assert asked.count("slow") == 2
    assert asked[:4] == ["fast", "slow", "slow", "fast"]


def test_limits_are_the_larger_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "copy_bandwidth", lambda nbytes: 1e9)
    monkeypatch.setattr(hardware, "peak", lambda unit: 1e12)
    assert hardware.seconds(BY_NAME["softmax"]) == pytest.approx(2 * 4 * 4096 * 1024 / 1e9)
    assert hardware.seconds(BY_NAME["matmul-2048-f32"]) == pytest.approx(3 * 4 * 2048**2 / 1e9)
    monkeypatch.setattr(hardware, "copy_bandwidth", lambda nbytes: 1e15)
    assert hardware.seconds(BY_NAME["matmul-2048-f32"]) == pytest.approx(2 * 2048**3 / 1e12)
    assert hardware.seconds(BY_NAME["lorenz"]) is None


def test_rates_of_the_machine_are_counts_by_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    def in_a_second(work: Callable[[], object]) -> float:
        work()
        return 1.0

    monkeypatch.setattr(hardware, "_TRIPS", 20_000)
    monkeypatch.setattr(hardware, "_timed", in_a_second)
    copied, peak = hardware.copy_bandwidth.__wrapped__, hardware.peak.__wrapped__
    assert copied(1 << 20) == (1 << 20) * (2_000_000 >> 19)
    assert peak("f32") == 2 * peak("f64") >= 2 * 2 * 20_000 * hardware._CHAINS


def test_results_are_read_back_and_put_together() -> None:
    first, later = outcome("softmax", jax=4.0, numpy=0.5), outcome("softmax", jax=9.0, torch=2.0)
    later.first["torch"] = 0.1
    files = [{"results": [report.as_json(record, limit)]} for record, limit in ((first, 2e-3), (later, 1e-3))]
    files.append({"results": [{**files[0]["results"][0], "name": "a workload that is no more"}]})
    ((merged, limit),) = render.outcomes(json.loads(json.dumps(files)))
    assert limit == 2e-3
    assert {name: ratio.median for name, ratio in merged.ratios.items()} == {
        "jax": 4.0,
        "numpy": 0.5,
        "torch": 2.0,
    }
    assert merged.seconds["torch"].median == 2e-3
    assert merged.first == {"tracejit": 0.02, "jax": 0.06, "torch": 0.1}
