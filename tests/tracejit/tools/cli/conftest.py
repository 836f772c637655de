"""A folder with programs and .tir files in it, and the command line as a function."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from tracejit.tools.cli import main

FILES = {
    "train.py": """
import numpy as np
import tracejit as tj

def loss(w, x):
    return (tj.tanh(x @ w) ** 2).sum()

def example():
    return np.ones(3), np.ones((5, 3))

def mlp(p, x):
    return tj.tanh(x @ p["w"] + p["b"]).sum()

def modal(x, mode, *, scale=1.0):
    return x * scale if mode == "train" else x

@tj.jit
def jitted(x):
    return x + 1

def branch(x):
    return x * 2 if x.sum() > 0 else -x

def many(*xs):
    return sum(xs)

def counts(i):
    return i + 1
""",
    "good.tir": """tir 1

func @square(%x: f64[3]) -> f64[] {
  %y: f64[3] = mul(%x, %x)
  %unused: f64[3] = neg(%x)
  %sum: f64[] = sum(%y) {axes=[0]}
  return %sum
}
""",
    "two.tir": """func @one(%x: f64[]) -> f64[] { return %x }
func @two(%x: f64[]) -> f64[] { %0: f64[] = neg(%x) return %0 }
""",
    "malformed.tir": "func @f(%x: f64[3]) -> f64[3] {\n  %0: f64[3] = sine(%x)\n  return %0\n}\n",
    "invalid.tir": "func @f(%x: f64[3]) -> f64[3] {\n  %0: f64[4] = sin(%x)\n  return %x\n}\n",
    "binary.tir": None,
}


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys):
    """``cli("dump", ...)`` gives the exit code, standard output and standard error."""
    for name, text in FILES.items():
        (tmp_path / name).write_bytes(b"\xff\xfe\x00" if text is None else text.encode())
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)

    def run(*args):
        capsys.readouterr()
        try:
            code = main([str(argument) for argument in args])
        except SystemExit as exit:
            code = exit.code
        out, err = capsys.readouterr()
        return SimpleNamespace(code=code, out=out, err=err)

    run.folder = tmp_path
    return run


@pytest.fixture
def arrays(tmp_path):
    """Files of arrays for good.tir."""
    np.savez(tmp_path / "x.npz", x=np.array([1.0, 2.0, 3.0]))
    np.savez(tmp_path / "position.npz", np.array([1.0, 2.0, 3.0]))
    np.savez(tmp_path / "wrong.npz", x=np.array([1, 2, 3]))
    np.save(tmp_path / "x.npy", np.array([1.0, 2.0, 3.0]))
    (tmp_path / "broken.npz").write_bytes(b"not a file of arrays")
