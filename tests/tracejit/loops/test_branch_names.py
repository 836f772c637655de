"""Loops in which one side of a branch writes an array in place, and the other gives its name another one."""

from __future__ import annotations

import importlib
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import tracejit as tj
from tracejit.base.errors import TracejitError

from ...rotation import SEED

_NAMES: Final = ("w = u", "w = u[1:]", "w = x * 1.5")
_WRITES: Final = ("put(u, s)", "put(u[1:], s)", "put(w, s)", "put(pair[0], s)", "u[0] = s", "u += s", "pass")
_REBINDS: Final = (
    "u = u.copy()", "u = half(u)", "u = x * 1.0", "u, w = w, u", "w = u", "w = w.copy()",
    "pair = [u.copy()]", "pass",
)  # fmt: skip
_BEHIND: Final = ("pass", "put(u, s + 1.0)", "w[1] = 3.0")
_PROGRAMS: Final = list(itertools.product(_NAMES, _WRITES, _REBINDS, _BEHIND))
#: Programs of a run of the tests, and calls of each.
_COUNT, _CALLS = 30, 3

_HEAD: Final = """
def put(r, v):
    r[0] = v


def half(r):
    return r * 0.5
"""
_PROGRAM: Final = """

def f{number}(x, a):
    u = x * 0.5
    {names}
    pair = [u]
    for s in a:
        if s < 0.5:
            {writes}
        else:
            {rebinds}
        {behind}
    return u, w, pair[0]
"""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A module of all programs, whose sources can be read."""
    texts = [
        _PROGRAM.format(number=number, names=names, writes=writes, rebinds=rebinds, behind=behind)
        for number, (names, writes, rebinds, behind) in enumerate(_PROGRAMS)
    ]
    (tmp_path / "branch_programs.py").write_text(_HEAD + "".join(texts))
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("branch_programs")
    del sys.modules["branch_programs"]


def test_each_side_of_a_branch_has_its_array(programs: Any) -> None:
    print(f"TRACEJIT_FUZZ_SEED={SEED}")
    rng = np.random.default_rng(SEED)
    for number in rng.choice(len(_PROGRAMS), _COUNT, replace=False):
        function = getattr(programs, f"f{number}")
        runs = [tj.jit(function), tj.jit(function, loops="compiled")]
        for _ in range(_CALLS):
            x, a = rng.integers(-8, 8, 6) / 4, rng.integers(-4, 8, 7) / 4
            try:
                expected = function(x, a)
            except IndexError:
                continue
            for run in list(runs):
                try:
                    results = run(x, a)
                except TracejitError:
                    assert run is not runs[0]  # it may not compile, and then a call runs as Python
                    runs.remove(run)
                    continue
                for result, value in zip(results, expected, strict=True):
                    np.testing.assert_array_equal(result, value, err_msg=str(_PROGRAMS[number]))
