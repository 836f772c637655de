"""Ways to run a program that need another process or the disk."""

from __future__ import annotations

import os
import pickle
import select
import signal
import tempfile
import time
import traceback
from typing import Any

import numpy as np

import tracejit as tj
from tracejit.runtime import tiers

from .comparing import Mismatch
from .modes import check, environment
from .subject import Subject

#: Seconds that a child may take.
SECONDS = 60.0


def forked(subject: Subject) -> None:
    """A child runs what its parent compiled, and compiles it again."""
    function, _ = subject.fresh(tj)
    compiled = tj.jit(function)
    check(subject, compiled(*subject.arguments()), "before fork")
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        _child(subject, compiled, write)
    os.close(write)
    try:
        results = _read(read, child)
    finally:
        os.close(read)
    if isinstance(results, str):
        raise Mismatch(f"fork: {results}")
    for label, arrays in zip(("compiled before", "compiled in the child"), results, strict=True):
        check(subject, arrays, f"after fork, {label}")


def _child(subject: Subject, compiled: Any, write: int) -> None:
    """Write the results, or a traceback, and end without what the parent would do at its end."""
    try:
        again = tj.jit(subject.fresh(tj)[0])
        data = [[np.asarray(x) for x in f(*subject.arguments())] for f in (compiled, again)]
        payload = pickle.dumps(data)
    except BaseException:
        payload = pickle.dumps(traceback.format_exc(limit=-3))
    with os.fdopen(write, "wb") as pipe:
        pipe.write(payload)
    os._exit(0)


def _read(read: int, child: int) -> Any:
    end, parts = time.monotonic() + SECONDS, []
    while True:
        ready, _, _ = select.select([read], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise Mismatch(f"hang: a forked child took more than {SECONDS:.0f} s")
        data = os.read(read, 1 << 20)
        if not data:
            break
        parts.append(data)
    _, status = os.waitpid(child, 0)
    if status != 0:
        raise Mismatch(f"crash: a forked child ended with status {status}")
    return pickle.loads(b"".join(parts))


def from_disk(subject: Subject) -> None:
    """Code written to the disk cache, and read from it."""
    with tempfile.TemporaryDirectory() as folder, environment(TRACEJIT_CACHE="1", TRACEJIT_CACHE_DIR=folder):
        check(subject, tj.jit(subject.fresh(tj)[0])(*subject.arguments()), "written to disk")
        if not tiers.BACKGROUND.wait(60):
            raise Mismatch("hang: the background did not end in a minute")
        check(subject, tj.jit(subject.fresh(tj)[0])(*subject.arguments()), "read from disk")
