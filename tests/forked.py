"""Programs that tests run in processes of their own, without the time that starting one takes.

A server for each environment imports tracejit, compiles something small, and runs each program in a fork of
itself: a crash or what a program leaves behind concerns nothing else. Tests of imports, of the cache on disk
and of first calls need a fresh interpreter: `tests.runtime.programs.python`.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
#: Seconds that a program may take.
LIMIT = 600
#: The server: it reads a request a line, and writes the exit status of each.
_SERVER = f"""
import json, os, signal, sys, traceback, warnings
import pytest
import tests.emission, tests.support
import tracejit as tj
tj.jit(lambda x: (x + 1).sum())(tj.ones(8))

def run(request):
    os.environ.update(request["environment"])
    with open(request["output"], "wb") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    signal.alarm({LIMIT})
    try:
        exec(compile(request["code"], "<string>", "exec"), {{"__name__": "__main__"}})
        return 0
    except BaseException:
        traceback.print_exc()
        return 1

for line in sys.stdin:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks where NumPy has started threads
        child = os.fork()
    if child == 0:
        status = run(json.loads(line))
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def forked(code: str, **environment: str) -> str:
    """Run `code` in a process of its own with these environment variables; returns what it printed.

    LLVM optimizes there as it does for the test that asks."""
    server = _server(**environment)
    assert server.stdin is not None
    assert server.stdout is not None
    with tempfile.NamedTemporaryFile() as output:
        tests = {name: value for name, value in os.environ.items() if name.startswith("TRACEJIT_TEST_")}
        request = {"code": code, "environment": tests, "output": output.name}
        print(json.dumps(request), file=server.stdin, flush=True)
        status = server.stdout.readline().strip()
        printed = output.read().decode()
    assert status == "0", f"exit status {status}\n{printed}"
    return printed


@functools.cache
def _server(**environment: str) -> subprocess.Popen[str]:
    server = subprocess.Popen(
        [sys.executable, "-W", "error", "-X", "faulthandler", "-c", _SERVER],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )  # fmt: skip
    atexit.register(server.communicate)
    return server
