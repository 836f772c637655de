"""The last read of a variable behind a loop that may give it another value, in each form that reads: a loop
keeps what something behind it reads."""

from __future__ import annotations

import importlib.util
import itertools
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit as tj

#: Statements that read `m`.
READS = (
    "m //= 2",
    "del m",
    "z = m",
    "assert m is not None",
    "f'{m}'",
    "(m := m + 1)",
    "z = [m for q in range(1)]",
    "z = lambda: m\nz()",
    "def h():\n    return m\nh()",
    "def h():\n    nonlocal m\n    m += 1\nh()",
    "def h():\n    nonlocal m\n    del m\nh()",
)
#: Statements around them.
AROUND = (
    "READ",
    "if n:\n    READ",
    "with np.errstate():\n    READ",
    "match n:\n    case 9:\n        pass\n    case _:\n        READ",
    "try:\n    READ\nfinally:\n    pass",
    "try:\n    [][1]\nexcept IndexError:\n    READ",
    "while True:\n    READ\n    break",
    "for q in range(3):\n    READ\n    if n:\n        break",
    "for q in range(1):\n    pass\nelse:\n    READ",
)
PROGRAM = """import numpy as np

def f(x, n):
    m = x * 1.0
    p = False
    for w in x[::2]:
        if p:
            m = x * 3.0
{}
    return x
"""


def program(read: str, around: str) -> str:
    """A function whose variable `m` is read last by `read`, inside of `around`."""
    line = next(line for line in around.splitlines() if "READ" in line)
    indented = textwrap.indent(read, line.removesuffix("READ"))
    return PROGRAM.format(textwrap.indent(around.replace(line, indented), "    "))


def outcome(function: Any) -> Any:
    try:
        return np.asarray(function(np.arange(6.0), 3)).tolist()
    except NameError as error:
        return repr(error)


@pytest.mark.filterwarnings("ignore::tracejit.UncompiledCallWarning")
@pytest.mark.parametrize("around", AROUND)
def test_last_reads(around: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    functions = []
    for number, read in enumerate(READS):
        path = tmp_path / f"reads_{number}.py"
        path.write_text(program(read, around))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        functions.append(module.f)
    wrong = {
        read: outcome(tj.jit(function))
        for read, function in zip(READS, functions, strict=True)
        if outcome(tj.jit(function)) != outcome(function)
    }
    assert wrong == {}


def test_all_programs_run() -> None:
    for read, around in itertools.product(READS, AROUND):
        compile(program(read, around), "<program>", "exec")


#: Nests of loops that steps leave, in three ways.
NESTS = (
    """\
for i in range(1, 6):
    for j in range(3):
        if i % 2 == 1:
            break
        m[1] = x[i] + j""",
    """\
for i in range(1, 6):
    for j in range(3):
        if (i + j) % 2 == 1:
            continue
        m[j] = x[i] * j""",
    """\
for i in range(6):
    j = 0
    while j < 4:
        j += 1
        if x[i] * j > 6.0:
            break
    else:
        m[i] = m[i] + j""",
)


@pytest.mark.parametrize("nest", NESTS)
@pytest.mark.parametrize("around", AROUND)
def test_nests_that_are_left(around: str, nest: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracejit.loops.running.SHORT", -1)
    path = tmp_path / "nests.py"
    path.write_text(program(nest, around).replace("return x\n", "return m\n"))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert outcome(tj.jit(module.f)) == outcome(module.f)
