"""The demo: its data, both ways of training, the progress bar, and what the command prints."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from tracejit.tools.demo import Run, load_digits, main, report, train_eager, train_jit
from tracejit.tools.demo.bar import Bar
from tracejit.tools.demo.train import BATCH, accuracy, batches, initial_parameters

_ROOT = Path(__file__).parents[3]


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(scope="module")
def runs() -> tuple[Run, Run]:
    training, held_out = load_digits()
    return train_eager(training, held_out, 12), train_jit(training, held_out, 12)


# -- data -----------------------------------------------------------------------------------------


def test_the_split_deals_out_every_digit_once() -> None:
    training, held_out = load_digits()
    assert training.images.shape == (1437, 64)
    assert held_out.images.shape == (360, 64)
    with files("tracejit.tools.demo").joinpath("digits.npz").open("rb") as file, np.load(file) as arrays:
        images, labels = arrays["images"].reshape(-1, 64) / 16, arrays["labels"]
    together = np.vstack([np.column_stack([split.images, split.labels]) for split in (training, held_out)])
    stored = np.column_stack([images, labels])
    assert np.array_equal(together[np.lexsort(together.T)], stored[np.lexsort(stored.T)])


def test_the_data_names_its_source() -> None:
    with files("tracejit.tools.demo").joinpath("digits.npz").open("rb") as file, np.load(file) as arrays:
        assert arrays["images"].dtype == arrays["labels"].dtype == np.uint8
        assert arrays["images"].shape == (1797, 8, 8)
        assert np.array_equal(np.unique(arrays["images"]), np.arange(17))
        attribution = str(arrays["attribution"])
    for part in ("Alpaydin", "Kaynak", "UCI Machine Learning Repository", "CC BY 4.0"):
        assert part in attribution


def test_an_epoch_has_full_batches_in_an_order_of_its_own() -> None:
    training, _ = load_digits()
    first, again, second = (list(batches(training, epoch)) for epoch in (0, 0, 1))
    assert {labels.shape for _, labels in first} == {(BATCH,)}
    assert len(first) == len(training) // BATCH
    assert all(np.array_equal(a, b) for (a, _), (b, _) in zip(first, again, strict=True))
    assert not np.array_equal(first[0][0], second[0][0])


# -- training -------------------------------------------------------------------------------------


def test_both_ways_learn(runs: tuple[Run, Run]) -> None:
    _, held_out = load_digits()
    assert accuracy(initial_parameters(), held_out) < 0.3
    for run in runs:
        assert run.accuracy >= 0.95
        assert run.epoch_losses[-1] < 0.1 * run.epoch_losses[0]


def test_the_loss_curves_are_equal(runs: tuple[Run, Run]) -> None:
    eager, jit = runs
    assert len(eager.losses) == 12 * 44
    np.testing.assert_allclose(jit.losses, eager.losses, rtol=0, atol=report.TOLERANCE)
    assert jit.epoch_accuracies == eager.epoch_accuracies


def test_only_the_jitted_run_compiles(runs: tuple[Run, Run]) -> None:
    eager, jit = runs
    assert eager.compile_ms == 0
    assert jit.compile_ms > 0
    assert eager.seconds > 0
    assert jit.seconds > 0


# -- the bar --------------------------------------------------------------------------------------


def test_the_bar_redraws_one_line_and_covers_what_was_longer() -> None:
    stream = _Terminal()
    bar = Bar("load", 2, stream)
    bar.advance("a long note")
    bar.advance("short")
    bar.close()
    first, second = stream.getvalue().removeprefix("\r").split("\r")
    assert first == f"load [{'#' * 14}{'.' * 14}] 1/2  a long note"
    assert second == f"load [{'#' * 28}] 2/2  short".ljust(len(first)) + "\n"


def test_the_bar_is_quiet_outside_a_terminal() -> None:
    stream = io.StringIO()
    bar = Bar("load", 1, stream)
    bar.advance("note")
    bar.close()
    assert stream.getvalue() == ""


# -- the command ----------------------------------------------------------------------------------


def test_json_is_one_line_and_nothing_else_is_written(tmp_path: Path) -> None:
    program = "import sys; from tracejit.tools.demo import main; code = main(sys.argv[1:])\n"
    program += "assert 'sklearn' not in sys.modules; sys.exit(code)"
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, "--json", "--epochs", "3"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(_ROOT), "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.count("\n") == 1
    line = json.loads(ran.stdout)
    assert {mode: set(values) for mode, values in line.items()} == {
        "eager": {"accuracy", "seconds"},
        "jit": {"accuracy", "seconds", "compile_ms"},
    }
    assert line["eager"]["accuracy"] == line["jit"]["accuracy"] >= 0.85
    assert line["jit"]["compile_ms"] > 0
    assert list(tmp_path.iterdir()) == [], "without --dump-dir, --json writes no files"


def test_the_report_compares_and_names_the_dumps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new" / "dumps"
    assert main(["--epochs", "2", "--dump-dir", str(folder)]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "\r" not in printed.out
    lines = printed.out.splitlines()
    assert sum(line.startswith(("    1  ", "    2  ")) for line in lines) == 2
    assert sum(line.startswith(("eager ", "jit ")) for line in lines) == 2
    for stage, mark in (("trace", "func @update("), ("optimized", "matmul("), ("loops", "map nest")):
        path = folder / f"update.{stage}.txt"
        assert f"  {path}" in lines
        assert mark in path.read_text(encoding="utf-8")


def test_different_curves_are_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = Run(1.0, 0.0, [1.0, 0.5], [0.75], [0.9])
    worse = Run(1.0, 1.0, [1.0, 0.6], [0.75], [0.9])
    monkeypatch.setattr(report, "train_eager", lambda *arguments: outcome)
    monkeypatch.setattr(report, "train_jit", lambda *arguments: worse)
    assert main(["--json", "--epochs", "1"]) == 1
    assert "the loss curves differ by 1.0e-01" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "message"),
    [(["--epochs", "0"], "expected at least 1, got 0"), (["--dump-dir", __file__], "--dump-dir: ")],
)
def test_bad_options_say_so(argv: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(argv)
    assert message in capsys.readouterr().err
