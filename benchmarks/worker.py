"""A process that measures one library with one number of threads: ``python -m benchmarks.worker LIBRARY``.

It reads commands from its input and answers on its output, both pickled: so contenders do not share a
process, and their turns can still alternate.
"""

from __future__ import annotations

import faulthandler
import gc
import importlib
import os
import pickle
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any, BinaryIO, Final

import numpy as np

from .explore.families import workload_named
from .libraries import HANDWRITTEN, Library, leaves, load
from .timing import CLOCKS, calls_for, mean
from .workload import Workload
from .workloads import GROUPS

#: Seconds per call on each clock, and the mean, by command.
_MEASURES: Final[dict[str, Callable[..., float]]] = {
    "mean": mean,
    **CLOCKS,
}


class _Contender:
    """The workload that was prepared last."""

    def __init__(self, lib: Library, name: str) -> None:
        workload = _named(name)
        self.wait = lib.wait if workload.waits else None
        self.f = workload.function(lib)
        self.args = workload.arguments(lib)
        start = time.perf_counter()
        result = self.f(*self.args)
        if lib.wait is not None:
            lib.wait(result)
        #: Seconds of the first call, with whatever is compiled for it.
        self.first = time.perf_counter() - start
        if lib.settle is not None:
            lib.settle()
        self.values = leaves(result)

    def call(self) -> None:
        result = self.f(*self.args)
        if self.wait is not None:
            self.wait(result)


def _named(name: str) -> Workload:
    """The workload with this name, of the table or of random ones."""
    if name.startswith("explore-"):
        return workload_named(name)
    return next(workload for group in GROUPS.values() for workload in group if workload.name == name)


def _warm_up(lib: Library) -> None:
    """Compile something unrelated, so that what is loaded once does not count as compile time."""
    if lib.name == "numba":
        lib.np.njit(lambda x: x + 1.0)(1.0)
        return
    if lib.name == HANDWRITTEN:
        return
    f: Callable[[Any], Any] = lambda x: x * 2 - 2  # noqa: E731
    jitted = lib.jit(f)
    for _ in range(2):  # the second call links what calls begin at
        result = jitted(lib.array(np.ones(3)))
        if lib.wait is not None:
            lib.wait(result)
    if lib.settle is not None:
        lib.settle()


def serve(lib: Library, commands: BinaryIO, answers: BinaryIO) -> None:
    """Answer ``("prepare", workload)``, and ``(measure, seconds)``, until the input ends."""
    contender: _Contender | None = None
    calls = 0
    while True:
        try:
            command, argument = pickle.load(commands)
        except EOFError:
            return
        answer: dict[str, Any]
        try:
            if command == "prepare":
                contender, calls = None, 0
                gc.collect()
                contender = _Contender(lib, argument)
                answer = {"first": contender.first, "values": contender.values}
                contender.values = []
            else:
                assert contender is not None, "prepare comes first"
                calls = calls or calls_for(contender.f, contender.args, contender.wait, argument)
                measure = _MEASURES[command]
                answer = {"seconds": measure(contender.f, contender.args, contender.wait, calls, argument)}
        except Exception:  # whatever a library raises is the answer
            answer = {"error": traceback.format_exc()}
        pickle.dump(answer, answers)
        answers.flush()


def main() -> None:
    """Load the library and serve; says at first whether it is there."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no answer
    faulthandler.enable()
    name = sys.argv[1]
    lib = load(name)
    if lib is not None:
        if lib.name.startswith("torch"):
            importlib.import_module("torch").set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
        _warm_up(lib)
    pickle.dump(None if lib is None else lib.version, answers)
    answers.flush()
    if lib is not None:
        serve(lib, sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
