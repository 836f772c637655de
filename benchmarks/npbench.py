"""NPBench's programs as they are, under ``jit``, beside NumPy and the suite's files for Numba.

    python -m benchmarks.npbench CHECKOUT [--preset S] [--only NAME] [--threads 2]

CHECKOUT is a copy of https://github.com/spcl/npbench. Each program runs in a process of its own; results and
written arguments are compared with NumPy's, and times are the least of some calls, taken in turns.
"""

from __future__ import annotations

import argparse
import copy
import importlib
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import tracejit as tj

#: Seconds that a program may take in all.
LIMIT = 300.0
#: Endings of the suite's files for Numba.
_NUMBA = ("n", "np", "npr", "o", "op", "opr")
#: Turns, and seconds after which there are no more of them.
_TURNS, _SECONDS = 9, 20.0


def programs(checkout: Path) -> list[str]:
    """The names of the suite's programs."""
    return sorted(path.stem for path in (checkout / "bench_info").glob("*.json"))


class Program:
    """A program of the suite with its arguments for a preset."""

    def __init__(self, checkout: Path, name: str, preset: str) -> None:
        self.info = json.loads((checkout / "bench_info" / f"{name}.json").read_text())["benchmark"]
        self._module = (
            f"npbench.benchmarks.{self.info['relative_path'].replace('/', '.')}.{self.info['module_name']}"
        )
        self._data: dict[str, Any] = dict(self.info["parameters"][preset])
        if "init" in self.info:
            init = self.info["init"]
            made = getattr(importlib.import_module(self._module), init["func_name"])(
                *[self._data[argument] for argument in init["input_args"]]
            )
            outputs = init["output_args"]
            self._data.update(zip(outputs, made if len(outputs) > 1 else (made,), strict=True))

    def arguments(self) -> list[Any]:
        """Fresh copies of the arguments."""
        return [copy.deepcopy(self._data[name]) for name in self.info["input_args"]]

    def function(self, ending: str) -> Callable[..., Any] | None:
        """The function of the file for a library, None where there is no such file."""
        try:
            module = importlib.import_module(f"{self._module}_{ending}")
        except ImportError:
            return None
        function: Callable[..., Any] = getattr(module, self.info["func_name"])
        return function


def _leaves(value: Any) -> Iterator[np.ndarray]:
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from _leaves(part)
    elif value is not None:
        yield np.asarray(value)


def outcome(function: Callable[..., Any], arguments: list[Any]) -> list[np.ndarray]:
    """The results of a call, and the arrays that it was given."""
    results = list(_leaves(function(*arguments)))
    return [*results, *[argument for argument in arguments if isinstance(argument, np.ndarray)]]


def is_close(results: list[np.ndarray], expected: list[np.ndarray], error: float) -> bool:
    """Whether arrays differ by no more than an `error` of their norms: the suite's rule."""
    if [result.shape for result in results] != [value.shape for value in expected]:
        return False
    for result, value in zip(results, expected, strict=True):
        there = ~np.isnan(value)
        if np.any(np.isnan(result) == there):
            return False
        distance = np.linalg.norm(np.ravel(result[there] - value[there]))
        if distance > error * (np.linalg.norm(np.ravel(value[there])) or 1.0):
            return False
    return True


def measured(program: Program) -> dict[str, Any]:
    """Run one program in turns; what there is to say of it."""
    plain = program.function("numpy")
    assert plain is not None
    expected, error = outcome(plain, program.arguments()), program.info.get("norm_error", 1e-5)
    jitted = tj.jit(plain)
    record: dict[str, Any] = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        results = outcome(jitted, program.arguments())
        record["first"] = time.perf_counter() - start
    record["right"] = is_close(results, expected, error)
    record["warnings"] = sorted({type(warning.message).__name__ for warning in caught})
    loops = [loop.outcome for signature in jitted.explain().signatures for loop in signature.loops]
    record["unrolled"] = loops.count("unrolled")
    runs: dict[str, Callable[..., Any]] = {"tracejit": jitted, "numpy": plain}
    for ending in _NUMBA:
        function = program.function(f"numba_{ending}")
        if function is None:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start = time.perf_counter()
            if is_close(outcome(function, program.arguments()), expected, error):
                record["first numba"] = time.perf_counter() - start
                runs[f"numba {ending}"] = function
    times: dict[str, float] = dict.fromkeys(runs, float("inf"))
    begin = time.perf_counter()
    for _ in range(_TURNS):
        for name, function in runs.items():
            arguments = program.arguments()
            start = time.perf_counter()
            function(*arguments)
            times[name] = min(times[name], time.perf_counter() - start)
        if time.perf_counter() - begin > _SECONDS:
            break
    record["times"] = times
    return record


def row(name: str, record: dict[str, Any]) -> str:
    """The line of a program in the table."""
    if "error" in record:
        return f"| {name} | {record['error']} | | | | |"
    times = record["times"]
    ours = times["tracejit"]
    numba = min((value for key, value in times.items() if key.startswith("numba")), default=None)
    kind = "compiled" if not record["unrolled"] else "unrolled"
    right = "right" if record["right"] else "**wrong**"
    beside = "" if numba is None else f"{numba / ours:.2f}"
    return (
        f"| {name} | {right}, {kind} | {record['first']:.2f} | {ours * 1e3:.3f} | "
        f"{times['numpy'] / ours:.2f} | {beside} |"
    )


def _in_process(checkout: Path, name: str, preset: str, threads: int) -> dict[str, Any]:
    variables = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "TRACEJIT_NUM_THREADS")
    environment = {**os.environ, **dict.fromkeys(variables, str(threads))}
    command = [sys.executable, "-m", "benchmarks.npbench", str(checkout), "--preset", preset, "--run", name]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return {"error": f"more than {LIMIT:.0f} s"}
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["no output"])[-1][:120].replace("|", "/")}
    record: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return record


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.npbench", description=__doc__)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--preset", default="S", choices=("S", "M", "L", "paper"))
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--run", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        sys.path.insert(0, str(options.checkout))
        print(json.dumps(measured(Program(options.checkout, options.run, options.preset))))
        return
    print("| program | under jit | first call, s | ms | NumPy / ours | Numba / ours |")
    print("|---|---|---|---|---|---|")
    for name in options.only or programs(options.checkout):
        print(row(name, _in_process(options.checkout, name, options.preset, options.threads)), flush=True)


if __name__ == "__main__":
    main()
