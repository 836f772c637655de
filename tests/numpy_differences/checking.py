"""Random calls, checked: NumPy against eager code, and that against jitted code of both tiers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest

from tracejit.base.errors import TracejitError

from .allowed import is_allowed, zero_signs_count
from .arguments import Arguments
from .oracle import (
    Call,
    Outcome,
    difference,
    eager_outcome,
    jitted_outcome,
    jitted_outcomes,
    mapped_outcome,
    numpy_outcome,
)

#: Number of calls in one jitted function: compiling has costs of its own.
GROUP = 24


def check(make: Callable[[Arguments], Call], seeds: Sequence[int], *, jitted: int) -> None:
    """Check the calls that `make` makes for `seeds`, of which every `jitted`-th is jitted, too."""
    problems: list[str] = []
    group: list[tuple[Call, Outcome]] = []
    for position, seed in enumerate(seeds):
        call = make(Arguments(seed))
        expected = numpy_outcome(call)
        eager = eager_outcome(call)
        problems += _problems(f"seed {seed}, eager", call, eager, expected)
        if not call.is_method:
            actual = eager_outcome(call, tensors=False)
            problems += _problems(f"seed {seed}, of arrays", call, actual, expected)
        if position % jitted or not call.jitted:
            continue
        if isinstance(eager, Exception):
            problems += _refused(f"seed {seed}, jitted", call, eager)
        else:
            group.append((call, eager))
            if call.arrays():
                problems += _problems(f"seed {seed}, vmap", call, mapped_outcome(call), eager)
    for start in range(0, len(group), GROUP):
        problems += _jitted_problems(group[start : start + GROUP])
    if problems:
        pytest.fail("\n".join(problems[:20]))


def _problems(where: str, call: Call, actual: Outcome, expected: Outcome) -> Iterator[str]:
    text = difference(call, actual, expected, zero_signs=zero_signs_count(call))
    if text and not is_allowed(call, actual, expected):
        yield f"{where}: {call}\n    {text}"


def _refused(where: str, call: Call, eager: Exception) -> Iterator[str]:
    """The problem where jitted code does not refuse a call that eager code refuses."""
    actual = jitted_outcome(call)
    if any(isinstance(actual, kind) and isinstance(eager, kind) for kind in (ValueError, TypeError)):
        return  # also where the call runs as Python, with NumPy's error
    if not isinstance(actual, TracejitError) and not is_allowed(call, actual, eager):
        yield f"{where}: {call}\n    gives {actual!r}, where eager code raises {eager!r}"


def _jitted_problems(group: list[tuple[Call, Outcome]]) -> list[str]:
    try:
        tiers = jitted_outcomes([call for call, _ in group])
    except Exception:  # some call alone is refused: which?
        tiers = [[jitted_outcome(call) for call, _ in group]]
    return [
        problem
        for number, outcomes in enumerate(tiers)
        for (call, eager), actual in zip(group, outcomes, strict=True)
        for problem in _problems(f"jitted, tier {number}", call, actual, eager)
    ]
