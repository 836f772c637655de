"""What is printed of uncaught errors: the user's frames."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import tracebacks
from tracejit.location import is_own_file


def product(x: Any, y: Any) -> Any:
    return x @ y


def raised(f: Callable[[], Any]) -> BaseException:
    try:
        f()
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


def frames(error: BaseException) -> list[str]:
    files, trace = [], error.__traceback__
    while trace is not None:
        files.append(trace.tb_frame.f_code.co_filename)
        trace = trace.tb_next
    return files


def printed(error: BaseException, capsys: pytest.CaptureFixture[str]) -> str:
    before = frames(error)
    tracebacks._print(type(error), error, error.__traceback__)
    assert frames(error) == before  # debuggers see all
    return capsys.readouterr().err


@pytest.mark.parametrize(
    "call",
    [
        lambda: product(tj.ones(3), tj.ones(4)),
        lambda: tj.jit(product)(np.ones(3), np.ones(4)),
        lambda: tj.grad(lambda x: product(x, np.ones(4)))(np.ones(3)),
        lambda: tj.vmap(product)(np.ones((2, 3)), np.ones((2, 4))),
    ],
)
def test_own_frames_are_not_shown(call: Callable[[], Any], capsys: pytest.CaptureFixture[str]) -> None:
    error = raised(call)
    own = sum(map(is_own_file, frames(error)))
    text = printed(error, capsys)
    assert own > 1
    assert text.count('  File "') == len(frames(error)) - own
    assert text.count("in product") == 1
    assert text.startswith(f"({own} frames of tracejit's own left out; TRACEJIT_TRACEBACK=full shows all)\n")


def test_all_frames_where_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRACEJIT_TRACEBACK", "full")
    error = raised(lambda: product(tj.ones(3), tj.ones(4)))
    text = printed(error, capsys)
    assert text.count('  File "') == len(frames(error))
    assert "left out" not in text


def test_errors_of_the_users_own(capsys: pytest.CaptureFixture[str]) -> None:
    def divided(x: Any) -> Any:
        return x * (1 // 0)

    text = printed(raised(lambda: tj.jit(divided)(1.0)), capsys)
    assert "in divided" in text
    assert "in _slow" not in text
    text = printed(raised(lambda: divided(1.0)), capsys)
    assert "left out" not in text


def test_errors_from_errors(capsys: pytest.CaptureFixture[str]) -> None:
    def fails() -> None:
        try:
            product(tj.ones(3), tj.ones(4))
        except tj.ShapeError as error:
            raise KeyError("what the program makes of it") from error

    text = printed(raised(fails), capsys)
    assert text.count("in product") == 1
    assert "contraction.py" not in text
    assert "KeyError" in text


def test_what_may_be_a_bug_of_ours_is_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tracebacks, "is_own_file", lambda file: file == __file__)

    def bug() -> None:
        raise ZeroDivisionError

    text = printed(raised(bug), capsys)
    assert "in bug" in text
    assert "left out" not in text


def test_other_hooks_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    def hook(*args: Any) -> None:
        """Another tool's."""

    monkeypatch.setattr(sys, "excepthook", hook)
    tracebacks.fold_uncaught()
    assert sys.excepthook is hook
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    tracebacks.fold_uncaught()
    assert sys.excepthook is tracebacks._print
