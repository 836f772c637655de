"""Random programs beside peers: that they run, are the same for the same numbers, and are reported."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.contest import Outcome, difference
from benchmarks.explore import findings
from benchmarks.explore.candidate import Candidate
from benchmarks.explore.families import FAMILIES, candidate_of, name_of, workload_named
from benchmarks.explore.findings import Finding
from benchmarks.libraries import FLUSHING, OURS, leaves, load
from benchmarks.timing import Spread


@pytest.mark.parametrize("family", FAMILIES)
def test_programs_of_a_family(family: str) -> None:
    """Each runs here and with NumPy, and gives the same."""
    ours, numpy = load("tracejit"), load("numpy")
    assert ours is not None
    assert numpy is not None
    checked = 0
    for number in range(100):
        candidate = candidate_of(7, number, [family])
        if sum(np.prod(shape) for shape, _ in candidate.arguments) > 20_000:
            continue
        workload = Candidate(family, candidate.lines, candidate.arguments, candidate.dtype).workload("one")
        values = {lib.name: leaves(workload.program(lib)(*workload.arguments(lib))) for lib in (ours, numpy)}
        assert difference(workload, "numpy", values) == "", candidate.source()
        checked += 1
        if checked == 3:
            return
    raise AssertionError(f"{family}: no small program among 100")


def test_gradients_are_measured() -> None:
    lib = load("tracejit")
    assert lib is not None
    candidate = Candidate("line", ("return a0 * 3.0",), (((4,), "normal"),), "float64", gradient=True)
    workload = candidate.workload("one")
    value, (gradient,) = workload.function(lib)(*workload.arguments(lib))
    (x,) = workload.arguments(lib)
    np.testing.assert_allclose(gradient.numpy(), 6 * (3 * x.numpy() + 0.3))
    np.testing.assert_allclose(float(value), ((3 * x.numpy() + 0.3) ** 2).sum())


def test_the_same_numbers_give_the_same_program() -> None:
    for number in range(20):
        first, again = candidate_of(3, number), candidate_of(3, number)
        assert first == again
    workload = workload_named(name_of(3, 4, ["stencil"]))
    assert workload.name == "explore-3-4-stencil"
    assert workload.what == "stencil"


def _finding(number: int, ratio: float, wrong: list[str]) -> Finding:
    candidate = candidate_of(1, number, ["pairwise"])
    times = {"tracejit": Spread(1.0, 1.0, 1.0), "jax": Spread(ratio, ratio, ratio)}
    workload = candidate.workload("one")
    outcome = Outcome(workload, times, {}, {"jax": Spread(ratio, ratio, ratio)}, {"tracejit": 0.1}, wrong, [])
    return Finding.of(1, number, candidate, outcome)


def test_findings_are_kept_and_reported(tmp_path: Path) -> None:
    file = tmp_path / "found.jsonl"
    assert findings.read(file) == []
    for number, (ratio, wrong) in enumerate([(4.0, []), (0.5, []), (2.0, ["jax: result 0 differs"])]):
        findings.append(file, _finding(number, ratio, wrong))
    with file.open("a") as half:
        half.write('{"seed": 1, "num')  # as an interrupt leaves it
    kept = findings.read(file)
    assert [finding.number for finding in kept] == [0, 1, 2]
    assert [finding.is_slow for finding in kept] == [False, True, False]
    page = findings.page(kept)
    assert "3 programs; the best peer takes longer in 66.7 % of them, and 1.59 times as long" in page
    assert "| pairwise | 3 | 66.7 % | 1.59 | 0.50 |" in page
    assert "## Wrong: 1" in page
    assert "## Slower than the best peer by more than 2 times: 0, without a reason 0" in page
    assert "## Slower by 1.3 to 2 times: 1" in page
    assert "number 1\n" in page.split("## Slower")[2]


def test_programs_of_less_than_half_the_speed_want_a_reason() -> None:
    slow, explained = _finding(0, 0.3, []), _finding(1, 0.4, [])
    assert slow.key != explained.key
    page = findings.page(findings.with_reasons([slow, explained], {explained.key: "the machine's limit"}))
    assert "more than 2 times: 2, without a reason 1" in page
    assert "Reason: the machine's limit" in page


def test_denormal_numbers_are_a_reason() -> None:
    """The check that `explore` makes: the same program with and without denormal numbers."""
    lines = ("def step(i, x):", "    return x * 0.9", "return control.fori_loop(0, 900, step, a0)")
    workload = Candidate("decay", lines, (((5000,), "positive"),), "float32").workload("one")
    ours, flushing = load(OURS), load(FLUSHING)
    assert ours is not None
    assert flushing is not None
    kept, gone = [np.asarray(workload.function(lib)(*workload.arguments(lib))) for lib in (ours, flushing)]
    assert kept.any()
    assert not gone.any()


def test_a_failure_of_ours_is_wrong_and_a_peers_is_not() -> None:
    finding = _finding(0, 1.0, [])
    ours = Finding(1, 0, finding.candidate, {}, {}, None, None, [], ["tracejit: ValueError: no"])
    theirs = Finding(1, 0, finding.candidate, {}, {}, None, None, [], ["jax: ValueError: no"])
    assert ours.is_wrong
    assert not theirs.is_wrong
