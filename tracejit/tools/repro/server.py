"""The process that trials run in: ``python -m tracejit.tools.repro.server [SETUP]...``.

It reads requests, a JSON object a line, and answers each with a line. Each trial is a fork of it, so that it
starts at once and a crash ends nothing else. `SETUP` are programs or modules that register ops and kernels.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import select
import signal
import sys
import time
import warnings
from typing import Any

import numpy as np

from ...base.errors import CompileError, CompilerWarning
from ...codegen.llvm.loading import llvm_binding
from ...codegen.llvm.target import host
from ...ir.graph import Function
from ...ir.interpreter import interpret
from ...ir.text.parser import parse_function
from ...ir.verifier import verify
from ...runtime.executable import Executable
from ..cli.commands.run import difference


def load_setup(setup: str) -> None:
    """Run the ``.py`` file, or import the module, `setup`; what it raises reaches the caller."""
    if setup.endswith(".py"):
        sys.path.insert(0, os.path.dirname(os.path.abspath(setup)))
        runpy.run_path(setup, run_name="tracejit_setup")
    else:
        sys.path.insert(0, os.getcwd())
        importlib.import_module(setup)


def main(setup: list[str]) -> None:
    """Answer requests until standard input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a setup prints is no answer
    try:
        for text in setup:
            load_setup(text)
    except BaseException as error:
        print(json.dumps({"kind": "setup failed", "detail": _said(error)}), file=answers, flush=True)
        return
    llvm_binding()
    host()
    print(json.dumps({"kind": "ready", "detail": ""}), file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(_in_a_fork(json.loads(line))), file=answers, flush=True)


def _in_a_fork(request: dict[str, Any]) -> dict[str, str]:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 2)
        os.dup2(quiet, 1)
        try:
            answer = trial(request)
        except BaseException as error:  # the child must not go on as the server
            answer = {"kind": "unusable", "detail": _said(error)}
        os.write(writing, json.dumps(answer).encode())
        os._exit(0)
    os.close(writing)
    try:
        return _answer_of(child, reading, request["timeout"])
    finally:
        os.close(reading)


def _answer_of(child: int, reading: int, timeout: float) -> dict[str, str]:
    end = time.monotonic() + timeout
    text = b""
    while True:
        ready, _, _ = select.select([reading], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return {"kind": "timeout", "detail": f"no result after {timeout:g} s"}
        part = os.read(reading, 65536)
        if not part:
            break
        text += part
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return {"kind": "crash", "detail": signal.Signals(os.WTERMSIG(status)).name}
    if not text:
        return {"kind": "crash", "detail": f"exit code {os.waitstatus_to_exitcode(status)}"}
    answer: dict[str, str] = json.loads(text)
    return answer


def trial(request: dict[str, Any]) -> dict[str, str]:
    """Run one Function on inputs and return the verdict."""
    function = parse_function(request["tir"])
    verify(function)
    with np.load(request["inputs"], allow_pickle=False) as loaded:
        inputs = [loaded[f"arr_{i}"] for i in range(len(function.params))]
    want, refused = _outcome(lambda: interpret(function, inputs))
    with warnings.catch_warnings():
        warnings.simplefilter("error", CompilerWarning)
        got, failed = _outcome(lambda: Executable(function)(inputs))
    if isinstance(failed, (CompileError, CompilerWarning)):  # never the program's own fault
        return {"kind": "error", "detail": _said(failed)}
    if refused is not None or failed is not None:
        return _of_errors(refused, failed)
    return _of_results(function, want, got, request["rtol"])


def _outcome(run: Any) -> tuple[Any, Exception | None]:
    try:
        return run(), None
    except Exception as error:
        return None, error


def _of_errors(refused: Exception | None, failed: Exception | None) -> dict[str, str]:
    """The verdict if the interpreter or native code raised: an error is right if both did."""
    if refused is not None and failed is not None:
        return {"kind": "agrees", "detail": f"both raise: {_said(failed)}"}
    if failed is not None:
        return {"kind": "error", "detail": _said(failed)}
    assert refused is not None
    return {
        "kind": "differs",
        "detail": f"native code gives a result, the interpreter raises {_said(refused)}",
    }


def _of_results(function: Function, want: Any, got: Any, rtol: float | None) -> dict[str, str]:
    for i, (expected, other) in enumerate(zip(want, got, strict=True)):
        far = difference(expected, other, rtol)
        if far["differs"]:
            at = tuple(far["at"])
            detail = (
                f"result {i} ({function.results[i].type}): native {other[at].item()!r}, interpreter "
                f"{expected[at].item()!r}" + (f" at {list(at)}" if at else "")
            )
            return {"kind": "differs", "detail": detail}
    return {"kind": "agrees", "detail": ""}


def _said(error: BaseException) -> str:
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"


if __name__ == "__main__":
    main(sys.argv[1:])
