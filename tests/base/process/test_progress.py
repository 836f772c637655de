"""Progress bars: what shows them, who sees them, and that nobody does who did not ask."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.base.process.progress import current_progress, no_progress, with_progress


class Recorded:
    """A bar that notes how far it came, with tqdm's arguments."""

    def __init__(self) -> None:
        self.bars: list[tuple[str, int]] = []

    def __call__(self, iterable: Iterable[Any], *, desc: str, delay: float, leave: bool) -> Iterator[Any]:
        assert (delay, leave) == (0.5, False)
        self.bars.append((desc, 0))
        place = len(self.bars) - 1
        for number, item in enumerate(iterable, 1):
            yield item
            self.bars[place] = (desc, number)


@pytest.fixture
def recorded() -> Iterator[Recorded]:
    bar = Recorded()
    with tj.progress(bar=bar):
        yield bar


def test_compilations_show_passes_and_kernels(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEJIT_CACHE", "0")

    @tj.jit
    def towers(x: Any) -> Any:
        return tj.sort(tj.sin(tj.sort(x)))

    np.testing.assert_array_equal(towers(np.array([2.0, 1.0])), np.sort(np.sin([1.0, 2.0])))
    counts = dict(recorded.bars)
    assert counts["passes of towers"] > 1
    assert counts["kernels"] >= 3


def test_view_shows_passes_and_timing(recorded: Recorded) -> None:
    tj.jit(lambda x: tj.exp(x).sum()).view(np.ones(10))
    assert {"passes of lambda", "timing"} <= {what for what, _ in recorded.bars}


def test_optimizers_of_autograd_show_their_steps(recorded: Recorded) -> None:
    from tracejit.compat.autograd.misc.optimizers import adam

    adam(lambda x, i: 2 * x, np.ones(2), num_iters=7)
    assert recorded.bars == [("fit", 7)]


def test_loops_of_ones_own() -> None:
    bar = Recorded()
    with tj.progress(bar=bar) as shown:
        assert list(shown(range(3), "mine")) == [0, 1, 2]
    assert bar.bars == [("mine", 3)]


def test_off_is_the_items_themselves() -> None:
    items = [1, 2]
    assert current_progress() is None
    assert with_progress(items, "nothing") is items


def test_a_single_item_has_no_bar(recorded: Recorded) -> None:
    assert list(with_progress([1], "one")) == [1]
    assert recorded.bars == []


def test_threads_and_work_behind_the_scenes_show_none(recorded: Recorded) -> None:
    seen: list[Any] = []
    thread = threading.Thread(target=lambda: seen.append(current_progress()))
    thread.start()
    thread.join()
    with no_progress():
        seen.append(current_progress())
    assert seen == [None, None]
    assert current_progress() is not None


def test_what_it_was_comes_back_after_errors() -> None:
    with pytest.raises(ZeroDivisionError), tj.progress(bar=Recorded()):
        raise ZeroDivisionError
    assert current_progress() is None


@pytest.mark.parametrize("options", [{"bar": 3}, {"delay": -1.0}, {"delay": "soon"}])
def test_bad_arguments(options: dict[str, Any]) -> None:
    with pytest.raises(tj.ArgumentError, match=f"progress: {next(iter(options))}"), tj.progress(**options):
        pass


def test_without_tqdm_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(tj.TracejitError, match=r"pip install 'tracejit\[progress\]'"), tj.progress():
        pass


def test_the_bars_are_tqdms(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm")
    with tj.progress(delay=0) as shown:
        assert list(shown(range(2), "tqdm's")) == [0, 1]
    assert "tqdm's:" in capsys.readouterr().err


def run(setting: str) -> subprocess.CompletedProcess[str]:
    code = (
        "from tracejit.base.process.progress import current_progress; print(current_progress() is not None)"
    )
    environment = {**os.environ, "TRACEJIT_PROGRESS": setting}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)


def test_the_environment_asks_for_all_threads() -> None:
    pytest.importorskip("tqdm")
    assert run("1").stdout == "True\n"
    assert run("0").stdout == "False\n"


def test_a_wrong_setting_is_an_error() -> None:
    assert "TRACEJIT_PROGRESS must be 0 or 1, got 'yes'" in run("yes").stderr
