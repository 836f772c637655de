"""Runs workloads: each library in a process of its own for each number of threads, turns interleaved."""

from __future__ import annotations

import os
import pickle
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .libraries import OURS
from .timing import Effort, Spread, Turn, interleave
from .workload import Workload

ROOT = Path(__file__).resolve().parent.parent


def environment(threads: int, caches: str) -> dict[str, str]:
    """The environment of a worker: so many threads for every library, no compiled code of earlier runs."""
    count = str(threads)
    variables = {
        **os.environ,
        "OMP_NUM_THREADS": count,
        "MKL_NUM_THREADS": count,
        "OPENBLAS_NUM_THREADS": count,
        "NUMBA_NUM_THREADS": count,
        "NPROC": count,  # XLA's pool
        "TRACEJIT_NUM_THREADS": count,
        "TRACEJIT_CACHE_DIR": caches,
        "TORCHINDUCTOR_CACHE_DIR": caches,
        "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1",
    }
    if threads == 1:
        variables["XLA_FLAGS"] = (
            f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_multi_thread_eigen=false".strip()
        )
    return variables


class Worker:
    """A process that runs one library with so many threads.

    It is stopped while it has no turn: the threads of OpenMP and of BLAS spin for some time after their work,
    up to 200 ms, on the cores that the next library is measured on.
    """

    def __init__(self, library: str, threads: int, python: str = sys.executable) -> None:
        self.library, self.threads = library, threads
        self.caches = tempfile.TemporaryDirectory(prefix="tracejit-benchmarks-")
        self.complaints = tempfile.TemporaryFile()  # noqa: SIM115, it lives as long as the worker
        self.process = subprocess.Popen(
            [python, "-m", "benchmarks.worker", library],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.complaints,
            cwd=ROOT,
            env=environment(threads, self.caches.name),
        )
        #: Version of the library, None where it is not installed.
        self.version: str | None = self._read()
        self.process.send_signal(signal.SIGSTOP)

    def _read(self) -> Any:
        assert self.process.stdout is not None
        try:
            return pickle.load(self.process.stdout)
        except EOFError:
            self.complaints.seek(0)
            last = self.complaints.read().decode(errors="replace")[-2000:]
            command = f"python -m benchmarks.worker {self.library}"
            raise RuntimeError(f"{last}\n{command} ended with exit code {self.process.wait()}") from None

    def ask(self, command: str, argument: Any) -> dict[str, Any]:
        """The answer to a command; RuntimeError where the process died of it."""
        assert self.process.stdin is not None
        self.process.send_signal(signal.SIGCONT)
        pickle.dump((command, argument), self.process.stdin)
        self.process.stdin.flush()
        answer: dict[str, Any] = self._read()
        self.process.send_signal(signal.SIGSTOP)
        return answer

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()
        self.complaints.close()
        self.caches.cleanup()


def answer(worker: Worker, command: str, argument: Any) -> dict[str, Any]:
    """The answer to a command; RuntimeError where the library failed at it, or the process died."""
    reply = worker.ask(command, argument)
    if "error" in reply:
        raise RuntimeError(f"{worker.library}: {reply['error']}")
    return reply


@dataclass(frozen=True, slots=True)
class Outcome:
    """Results of a workload."""

    workload: Workload
    #: Seconds by library, at its best number of threads.
    seconds: dict[str, Spread]
    #: The best number of threads by library.
    threads: dict[str, int]
    #: The peer's time over ours in the same round, by peer: above 1 ours is faster.
    ratios: dict[str, Spread]
    #: Seconds of the first call, in a process that compiled something else before.
    first: dict[str, float]
    #: One line for each library that failed or whose values are not ours.
    disagreements: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @property
    def best_peer(self) -> str | None:
        """The peer that the goal is measured against: the fastest one, unless the workload names one."""
        against = self.workload.against
        if against is not None:
            return against if against in self.ratios else None
        return min(self.ratios, key=lambda name: self.ratios[name].median, default=None)

    @property
    def ratio(self) -> Spread | None:
        """Ratio of the best peer's time to tracejit's."""
        return None if self.best_peer is None else self.ratios[self.best_peer]

    @property
    def goals(self) -> list[tuple[str, float, float]]:
        """Goals of the workload: the peer, the ratio of its time to tracejit's, and the ratio to reach."""
        goals = [] if self.best_peer is None else [(self.best_peer, self.workload.goal)]
        goals += [(peer, goal) for peer, goal in self.workload.goals if peer in self.ratios]
        return [(peer, self.ratios[peer].median, goal) for peer, goal in goals]


class Contest:
    """Workers of the chosen libraries, started when first needed."""

    def __init__(
        self,
        libraries: tuple[str, ...],
        threads: tuple[int, ...],
        effort: Effort,
        pythons: Mapping[str, str] | None = None,
    ) -> None:
        self.libraries, self.threads, self.effort = libraries, threads, effort
        #: Interpreter that has each library, where it is another than this process's.
        self.pythons = pythons or {}
        self.workers: dict[tuple[str, int], Worker] = {}

    def __enter__(self) -> Contest:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers.values():
            worker.close()

    def worker(self, library: str, threads: int) -> Worker:
        """The worker for a library with so many threads."""
        key = (library, threads)
        if key not in self.workers or self.workers[key].process.poll() is not None:
            self.workers[key] = Worker(library, threads, self.pythons.get(library, sys.executable))
        return self.workers[key]

    def versions(self) -> dict[str, str | None]:
        """Versions of the libraries, None for what is not installed."""
        return {name: self.worker(name, self.threads[0]).version for name in self.libraries}

    def run(self, workload: Workload) -> Outcome:
        """Measure one workload."""
        values: dict[str, list[Any]] = {}
        first: dict[str, float] = {}
        ready: dict[tuple[str, int], Worker] = {}
        failures: list[str] = []
        for library in self.libraries:
            if not workload.entered(library):
                continue
            for threads in self.threads:
                worker = self.worker(library, threads)
                if worker.version is None:
                    continue
                prepared = _ask(worker, "prepare", workload.name)
                if "error" in prepared:
                    if library == OURS:
                        sys.stderr.write(prepared["error"])
                    failures.append(f"{library}: {prepared['error'].strip().splitlines()[-1]}")
                    break
                values.setdefault(library, prepared["values"])
                first[library] = min(prepared["first"], first.get(library, float("inf")))
                ready[library, threads] = worker
        samples = interleave(
            {f"{library} {threads}": self._turn(turn) for (library, threads), turn in ready.items()},
            self.effort.rounds,
        )
        best, chosen = _best_threads(samples)
        ratios = {
            name: Spread.of([theirs / ours for theirs, ours in zip(mine, best[OURS], strict=True)])
            for name, mine in best.items()
            if name != OURS and OURS in best
        }
        disagreements = [
            text
            for name in values
            if name != OURS and OURS in values and (text := difference(workload, name, values))
        ]
        seconds = {name: Spread.of(mine) for name, mine in best.items()}
        return Outcome(workload, seconds, chosen, ratios, first, disagreements, failures)

    def _turn(self, worker: Worker) -> Turn:
        def turn() -> float:
            return float(answer(worker, self.effort.clock, self.effort.turn_seconds)["seconds"])

        return turn


def _ask(worker: Worker, command: str, argument: Any) -> dict[str, Any]:
    """The answer, or an error's where the process died."""
    try:
        return worker.ask(command, argument)
    except (RuntimeError, BrokenPipeError) as error:
        return {"error": str(error)}


def _best_threads(samples: dict[str, list[float]]) -> tuple[dict[str, list[float]], dict[str, int]]:
    """Each library's samples at the number of threads with the least median, and that number."""
    best: dict[str, list[float]] = {}
    chosen: dict[str, int] = {}
    for key, mine in samples.items():
        name, threads = key.rsplit(" ", 1)
        if name not in best or statistics.median(mine) < statistics.median(best[name]):
            best[name], chosen[name] = mine, int(threads)
    return best, chosen


def difference(workload: Workload, name: str, values: dict[str, list[Any]]) -> str:
    """Description of how `name`'s results differ from tracejit's, empty where they agree."""
    ours, theirs = values[OURS], values[name]
    if [our.shape for our in ours] != [their.shape for their in theirs]:
        return f"{name}: shapes {[leaf.shape for leaf in theirs]}, ours {[leaf.shape for leaf in ours]}"
    for position, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        if mine.dtype != other.dtype:
            return f"{name}: result {position} is {other.dtype}, ours {mine.dtype}"
        wide = np.complex128 if mine.dtype.kind == "c" else np.float64
        same = (mine == other) | ((mine != mine) & (other != other))  # infinities, and NaN in both
        with np.errstate(all="ignore"):
            apart = np.where(same, 0, np.abs(np.subtract(mine, other, dtype=wide)))
            scale = max(float(np.max(np.abs(other), initial=0, where=np.isfinite(other))), 1e-30)
        apart = float(np.max(apart, initial=0)) / scale
        if not apart <= workload.tolerance:
            return f"{name}: result {position} differs by {apart:.1e}, allowed {workload.tolerance:.1e}"
    return ""
