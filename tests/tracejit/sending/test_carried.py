"""Functions that take their machine code along: a machine with the same CPU and versions compiles nothing."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import carried as machine_code
from tracejit.runtime.cache.keys import environment
from tracejit.runtime.cache.store import CACHE

from ...rotation import one_in
from ...support import check_document
from . import functions

ROOT = Path(__file__).parents[3]
X = np.arange(1.0, 4.0)

#: Writes a pickle of functions of the module, with the machine code of calls, of types, and of gradients.
WRITER = """
    import pickle, sys
    import numpy as np
    import tracejit as tj
    from tests.tracejit.sending import functions as f

    x = tj.tensor(np.arange(1.0, 4.0), requires_grad=True)
    f.scaled(x).backward()
    f.jitted_slope(np.ones(3))
    values = [f.scaled, f.jitted_slope, f.steps]
    carried = [f.scaled.with_machine_code(np.ones(3)), f.jitted_slope.with_machine_code(),
               f.steps.with_machine_code(tj.TensorType(tj.float64, (3,)))]
    assert [float(np.sum(g(np.ones(3)))) for g in carried[:2]] == [9.0, 3.0]
    sys.stdout.buffer.write(pickle.dumps(carried))
"""
#: Reads it, calls them all, and prints what they give and whether LLVM was loaded.
READER = """
    import pickle, sys
    import numpy as np
    import tracejit as tj
    from tests.tracejit.sending import functions as f

    read = pickle.loads(sys.stdin.buffer.read())
    names = [getattr(g, "function", g) for g in read]
    assert all(a is b for a, b in zip(names, [f.scaled, f.jitted_slope, f.steps], strict=True))
    x = tj.tensor(np.arange(1.0, 4.0), requires_grad=True)
    read = pickle.loads(pickle.dumps(read))  # as a scheduler does
    read[0](x).backward()
    results = [read[0](np.ones(3)), *x.grad, *read[1](np.ones(3)), read[2](np.ones(3)).sum()]
    print([round(float(result), 6) for result in results], "llvmlite.binding" in sys.modules)
"""
RESULTS = f"[9.0, 3.0, 3.0, 3.0, 1.0, 1.0, 1.0, {round(3 * 0.99**100, 6)}]"


def run(program: str, folder: Path, sent: bytes = b"", **environment: str) -> bytes:
    own = {"PYTHONPATH": str(ROOT), "TRACEJIT_CACHE": "1", "TRACEJIT_CACHE_DIR": str(folder), **environment}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(program)],
        input=sent, capture_output=True, check=False, timeout=300, env={**os.environ, **own},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def test_another_machine_compiles_nothing(tmp_path: Path) -> None:
    sent = run(WRITER, tmp_path / "here")
    assert run(READER, tmp_path / "there", sent).decode() == f"{RESULTS} False\n"
    # and has them on its disk from then on
    named = pickle.dumps([functions.scaled, functions.jitted_slope, functions.steps])
    assert run(READER, tmp_path / "there", named).decode() == f"{RESULTS} False\n"
    assert run(READER, tmp_path / "elsewhere", named).decode() == f"{RESULTS} True\n"


@one_in(2)
def test_other_machines_compile(tmp_path: Path) -> None:
    sent = run(WRITER, tmp_path / "here")
    keys = {entry.name for entry in (tmp_path / "here").glob("*.tjc")}
    features = os.environ.get("TRACEJIT_CPU_FEATURES", "")
    printed = run(READER, tmp_path / "there", sent, TRACEJIT_CPU_FEATURES=f"{features},-avx512f")
    assert printed.decode() == f"{RESULTS} True\n"
    assert not keys & {entry.name for entry in (tmp_path / "there").glob("*.tjc")}
    assert run(READER, tmp_path / "off", sent, TRACEJIT_CACHE="0").decode() == f"{RESULTS} True\n"


def carried(function: Any) -> Any:
    """A pickle's function and the machine code that goes with it."""
    kind, (read, _, sender, entries) = machine_code.CarriedFunction(function).__reduce__()
    assert (kind, sender) == (machine_code.CarriedFunction, environment())
    return read, entries


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEJIT_CACHE", "1")
    monkeypatch.setenv("TRACEJIT_CACHE_DIR", str(tmp_path))


@pytest.mark.usefixtures("cache")
def test_paths_variants_and_other_signatures_go_along() -> None:
    factor = 2.0
    scaled = tj.jit(lambda x: x * factor if x.sum() > 0 else -x * factor)
    plain = tj.jit(lambda x: x * factor + 1.0)
    counts = [len(carried(scaled)[1])]
    for x in (X, -X, np.ones(5)):
        scaled(x)
        counts.append(len(carried(scaled)[1]))
    assert counts == sorted(set(counts))  # each call has code of its own
    plain(X)
    read, entries = carried(plain)
    assert read is plain
    assert all(CACHE.load(key) == payload for key, payload in entries.items())


@pytest.mark.usefixtures("cache")
def test_functions_of_this_process_go_without() -> None:
    first, called = (
        tj.jit(lambda x: tj.pure_callback(np.sin, tj.TensorType(tj.float64, (3,)), x) + 1.0) for _ in range(2)
    )
    first(X)  # the runtime's own parts are there from then on
    before = len(carried(called)[1])
    called(X)
    assert len(carried(called)[1]) == before


@pytest.mark.usefixtures("cache")
def test_what_is_too_much_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    doubled = tj.jit(lambda x: x * 2.0).with_machine_code(X)
    monkeypatch.setattr(machine_code, "_MAX_BYTES", 100)
    with pytest.raises(tj.TracejitError, match="MB of machine code, and a pickle takes"):
        doubled.__reduce__()


def test_without_a_cache_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEJIT_CACHE", "0")
    with pytest.raises(tj.TracejitError, match="not used: switched off by TRACEJIT_CACHE=0"):
        functions.scaled.with_machine_code(X)


@pytest.mark.usefixtures("cache")
def test_errors_of_compiling_are_raised() -> None:
    wrong = tj.jit(lambda x: x @ np.ones((2, 2)))
    with pytest.raises(tj.ShapeError):
        wrong.with_machine_code(X)
    with pytest.raises(tj.ConcretizationError):
        tj.jit(lambda x: x if x.sum() > 0 else -x).with_machine_code(tj.TensorType(tj.float64, (3,)))
    kind, parts = machine_code.CarriedFunction(wrong, [(X,)]).__reduce__()
    with pytest.raises(tj.ShapeError):  # in the task
        kind(*parts)(X)


@pytest.mark.usefixtures("cache")
def test_the_document() -> None:
    check_document("sending.md", least=6)
