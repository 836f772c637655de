"""Tracebacks of uncaught errors: the user's frames."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import tracebacks
from tracejit.base.user_code import is_own_file


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


def added_in_turn(x: Any) -> Any:
    total = x * 0
    for i in range(len(x)):
        total = total + x[i] * np.ones(4)
    return total


def added_to_itself(x: Any) -> Any:
    while x[0] > 0:
        x[0] = np.ones(4)
    return x


def raised_in_a_loop(x: Any) -> Any:
    for _ in range(3):
        raise ValueError
    return x


def added_where_positive(x: Any) -> Any:
    return x + np.ones(4) if x.sum() > 0 else x


def squares_of_a_written_tensor() -> None:
    x = tj.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    total = (y * y).sum()
    y.add_(1)
    total.backward()


def failing_hook() -> None:
    x = tj.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    y.register_hook(lambda gradient: 1 / 0)
    y.sum().backward()


X, WRONG = np.ones(3), np.ones(4)
FAILING: dict[str, Callable[[], Any]] = {
    "eager": lambda: tj.asarray(X) + WRONG,
    "index": lambda: tj.asarray(X)[9],
    "numpy": lambda: np.add(tj.asarray(X), WRONG),
    "traced": lambda: tj.jit(lambda x: x + WRONG)(X),
    "for": lambda: tj.jit(added_in_turn)(X),
    "while": lambda: tj.jit(added_to_itself)(X.copy()),
    "raise": lambda: tj.jit(raised_in_a_loop)(X),
    "branch": lambda: tj.jit(added_where_positive)(X),
    "gradient": lambda: tj.grad(lambda x: (x + WRONG).sum())(X),
    "gradient of a loop": lambda: tj.jit(tj.grad(lambda x: added_in_turn(x).sum()))(X),
    "batched": lambda: tj.vmap(lambda x: x + WRONG)(np.ones((2, 3))),
    "scan": lambda: tj.scan(lambda carry, x: (carry + WRONG, x), X, X),
    "backward": lambda: (tj.tensor([1.0, 2.0], requires_grad=True) * 2).backward(),
    "written": squares_of_a_written_tensor,
    "hook": failing_hook,
    "callback": lambda: tj.jit(lambda x: tj.pure_callback(lambda v: 1 / 0, x, x))(X),
    "native": lambda: tj.jit(lambda x: tj.bincount(x, minlength=2))(np.array([5])),
    "factor": lambda: tj.jit(tj.linalg.cholesky)(-np.eye(2)),
    "value": lambda: tj.jit(lambda x: x.numpy())(X),
}


def without_lines(error: BaseException) -> list[str]:
    names = []
    for part in tracebacks._chain(error):
        trace = part.__traceback__
        while trace is not None:
            if trace.tb_lineno is None:
                names.append(trace.tb_frame.f_code.co_name)
            trace = trace.tb_next
    return names


@pytest.mark.parametrize("kind", FAILING)
def test_every_frame_has_a_line(kind: str) -> None:
    assert without_lines(raised(FAILING[kind])) == []


def stripped(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, whose code says nothing of lines, as that of some tools that make code."""
    code = function.__code__.replace(co_linetable=b"")
    return FunctionType(code, function.__globals__, function.__name__)


@pytest.mark.parametrize("function", [product, added_in_turn, added_where_positive])
def test_code_without_lines(function: Callable[..., Any], capsys: pytest.CaptureFixture[str]) -> None:
    arguments = (X, WRONG)[: function.__code__.co_argcount]
    for run in (lambda f: f, tj.jit, lambda f: tj.jit(tj.grad(f))):
        error = raised(lambda run=run: run(stripped(function))(*map(tj.asarray, arguments)))
        assert isinstance(error, tj.ShapeError)
        assert function.__name__ in without_lines(error)
        assert f"in {function.__name__}" in printed(error, capsys)
