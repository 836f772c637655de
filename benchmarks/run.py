"""Runs workloads: ours and each peer that is installed, their values compared, their times as ratios."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .libraries import OURS, Library, leaves, load
from .processes import first_call, import_seconds
from .timing import Effort, Spread, Turn, call_turn, interleave
from .workloads import Workload


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a workload gave."""

    workload: Workload
    #: Seconds by library, ours first.
    seconds: dict[str, Spread]
    #: The peer's time over ours in the same round, by peer: above 1 ours is faster.
    ratios: dict[str, Spread]
    #: One line for each peer whose values are not ours.
    disagreements: list[str]
    #: None where there is no target, or its peer is not installed.
    met: bool | None
    notes: str = ""


def run(workload: Workload, effort: Effort) -> Outcome:
    """Measure one workload."""
    libraries = {name: lib for name in (OURS, *workload.peers) if (lib := load(name)) is not None}
    if workload.measure == "steady":
        samples, disagreements, notes = _steady(workload, libraries, effort)
    elif workload.measure == "import":
        turns: dict[str, Turn] = {name: _import_turn(name) for name in libraries}
        for turn in turns.values():
            turn()  # leaves bytecode behind
        samples, disagreements, notes = interleave(turns, effort.processes), [], ""
    else:
        samples, disagreements, notes = _first(workload, list(libraries), effort)
    seconds = {name: Spread.of(values) for name, values in samples.items()}
    ratios = {
        name: Spread.of([theirs / ours for theirs, ours in zip(values, samples[OURS], strict=True)])
        for name, values in samples.items()
        if name != OURS
    }
    return Outcome(workload, seconds, ratios, disagreements, _met(workload, seconds, ratios), notes)


def _met(workload: Workload, seconds: dict[str, Spread], ratios: dict[str, Spread]) -> bool | None:
    target = workload.target
    if target is None:
        return None
    if target.seconds is not None:
        return seconds[OURS].median < target.seconds
    assert target.peer is not None
    return ratios[target.peer].median >= 1 if target.peer in ratios else None


def _steady(
    workload: Workload, libraries: dict[str, Library], effort: Effort
) -> tuple[dict[str, list[float]], list[str], str]:
    turns: dict[str, Turn] = {}
    results: dict[str, list[Any]] = {}
    inputs = workload.inputs()
    for name, lib in libraries.items():
        f = workload.program(lib)
        args = tuple(_convert(one, _converter(workload, lib)) for one in inputs)
        results[name] = leaves(f(*args))
        turns[name] = call_turn(f, args, lib.wait if workload.waits else None, effort.turn_seconds)
    disagreements = [
        text for name in results if name != OURS and (text := _difference(workload, name, results))
    ]
    return interleave(turns, effort.rounds), disagreements, ""


def _converter(workload: Workload, lib: Library) -> Callable[[Any], Any]:
    if workload.given == "ndarray":
        return lambda array: array
    if workload.given == "array":
        return lib.array
    assert lib.variable is not None, f"{lib.name} has no eager gradients"
    return lib.variable


def _convert(tree: Any, leaf: Callable[[Any], Any]) -> Any:
    if isinstance(tree, (tuple, list)):
        return type(tree)(_convert(one, leaf) for one in tree)
    return leaf(tree)


def _difference(workload: Workload, name: str, results: dict[str, list[Any]]) -> str:
    """How `name`'s results differ from ours, empty where they agree."""
    ours, theirs = results[OURS], results[name]
    if [one.shape for one in ours] != [one.shape for one in theirs]:
        return f"{name}: shapes {[one.shape for one in theirs]}, ours {[one.shape for one in ours]}"
    for position, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        if mine.dtype != other.dtype:
            return f"{name}: result {position} is {other.dtype}, ours {mine.dtype}"
        scale = max(float(np.max(np.abs(other))), 1e-30)
        difference = float(np.max(np.abs(mine - other))) / scale
        if not difference <= workload.tolerance:
            return f"{name}: result {position} differs by {difference:.1e}, allowed {workload.tolerance:.1e}"
    return ""


def _first(
    workload: Workload, names: list[str], effort: Effort
) -> tuple[dict[str, list[float]], list[str], str]:
    answers: dict[str, list[dict[str, Any]]] = {name: [] for name in names}

    def turn(name: str) -> Turn:
        def measure() -> float:
            answers[name].append(first_call(workload.name, name))
            return float(answers[name][-1]["seconds"])

        return measure

    turns = {name: turn(name) for name in names}
    for name in names:
        turns[name]()  # leaves bytecode behind
        answers[name].clear()
    samples = interleave(turns, effort.processes)
    means = {name: [np.asarray(one) for one in found[0]["means"]] for name, found in answers.items()}
    disagreements = [text for name in means if name != OURS and (text := _difference(workload, name, means))]
    cpu = {name: 1e3 * statistics.median(one["cpu"] for one in found) for name, found in answers.items()}
    times = ", ".join(f"{name} {value:.0f}" for name, value in cpu.items())
    return samples, disagreements, f"CPU milliseconds {times}; ours by phase, {answers[OURS][-1]['phases']}"


def _import_turn(name: str) -> Turn:
    return lambda: import_seconds(name)
