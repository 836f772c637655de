"""The net catches what it is for: known bugs, put in, are found and made small."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.ir.registry import OPS

from . import known
from .comparing import Failure
from .generator import write_program
from .oracle import run_mode, run_program
from .program import Argument, Program, Statement
from .reducer import reduce_program
from .report import write_test
from .runner import Worker, reduced
from .subject import Subject


def hunt(modes: tuple[str, ...], without: str = "", programs: int = 150) -> tuple[Program, Failure]:
    """The first program that fails, made small; of those that do not have the feature `without`."""
    for index in range(programs):
        program = write_program(11, index)
        if without in program.features:
            continue
        for failure in run_program(program, modes):
            if not failure.known:

                def fails(smaller: Program, kind: str = failure.kind) -> bool:
                    return any(other.kind == kind for other in run_program(smaller, modes))

                return reduce_program(program, fails, 40.0), failure
    raise AssertionError("nothing was found")


def test_a_wrong_kernel_is_found() -> None:
    right = OPS["maximum"].eval
    with tj.extend.isolated():
        OPS.change(OPS["maximum"], eval=lambda x, y, **attrs: right(x, y, **attrs) + (np.ndim(x) > 1))
        program, failure = hunt(("eager",))
    assert failure.mode == "eager"
    assert len(program.statements) == 1
    assert any(word in program.statements[0].text for word in ("max", "clip", "relu", "hardtanh"))


def test_a_wrong_gradient_is_found() -> None:
    with tj.extend.isolated():
        tj.register_gradient("sin", lambda ct, x: ct * tj.cosh(x), inputs_to_save=["x"], override=True)
        program, failure = hunt(("transforms",))
    assert "differences" in failure.message
    assert len(program.statements) <= 2
    assert any("sin" in statement.text for statement in program.statements)


def test_a_conjugate_too_many_is_found() -> None:
    """A gradient that is right for real numbers alone."""
    with tj.extend.isolated():
        tj.register_gradient(
            "mul",
            lambda ct, x, y: (ct * tj.conj(y), ct * tj.conj(x)),
            inputs_to_save=["x", "y"],
            override=True,
        )
        program, failure = hunt(("transforms",))
    assert "backward" in failure.message or "differences" in failure.message
    assert "complex" in program.source()


def stale_jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """A ``jit`` that keeps the results of its first call with given arguments."""
    results: dict[bytes, Any] = {}

    def compiled(*arguments: Any) -> Any:
        key = b"".join(np.asarray(x).tobytes() for x in arguments)
        if key not in results:
            results[key] = function(*arguments)
        return results[key]

    return compiled


def test_a_stale_capture_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tj, "jit", stale_jit)
    program, failure = hunt(("full",), without="written argument")
    assert "after rebinding" in failure.message
    assert len(program.captures) == 1
    assert len(program.statements) == 1


def test_a_warning_and_an_internal_error_are_failures() -> None:
    def run(body: str) -> Failure | None:
        module: dict[str, Any] = {"arguments": lambda: [np.ones(3)]}
        text = f"import warnings\ndef make(xp):\n    def program(x):\n        {body}\n        return (x,)\n"
        text += "    return program, None"
        exec(text, module)
        return run_mode(Subject(lambda: module, [0.0]), "eager")

    assert run("pass") is None
    warned = run("xp.__name__ == 'tracejit' and warnings.warn('odd')")
    assert warned is not None
    assert warned.message.startswith("UserWarning")
    broken = run("xp.__name__ == 'tracejit' and {}['key']")
    assert broken is not None
    assert broken.message.startswith("KeyError")
    narrow = run("x = x.astype('float32') if xp.__name__ == 'tracejit' else x")
    assert narrow is not None
    assert narrow.message.startswith("dtype")


def crashing() -> Program:
    """Dies of a signal where it runs as tracejit."""
    die = "import os\nos.kill(os.getpid(), 11) if xp.__name__ == 'tracejit' else None\nv0 = a0 + 1"
    steps = (Statement(die, ("v0",)), Statement("v1 = v0 * a1", ("v1",)))
    arguments = tuple([Argument(name, "np.ones(())", "float64", ()) for name in ("a0", "a1")])
    return Program((0, 0), arguments, (), steps, ("v1",), (0.0,), None)


def test_a_crash_is_found_and_reduced() -> None:
    program, failure = reduced(crashing(), Failure("eager", "crash: signal SIGSEGV"), seconds=100.0)
    assert failure.message.startswith("crash")
    assert len(program.statements) == 1
    assert "os.kill" in program.statements[0].text


def test_a_hang_ends_in_time() -> None:
    worker = Worker("--check", "eager")  # waits for a program that does not come
    with pytest.raises(TimeoutError):
        worker.read(0.2)
    worker.process.kill()
    assert "SIGKILL" in worker.end()


def test_reports_are_tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = write_program(2, 3)
    path = write_test(tmp_path, program, Failure("eager", "value: 1 of 2"))
    module: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), module)
    (test,) = [f for name, f in module.items() if name.startswith("test_seed")]
    test()  # this program is right
    monkeypatch.setattr(tj, "asarray", lambda x, *_: tj.zeros(np.shape(x)))
    with pytest.raises(AssertionError, match="instead of"):
        test()


def test_known_failures_have_reasons() -> None:
    assert all(reason for reason in known.GATED.values())
    assert all(failure.reason for failure in known.FAILURES)
