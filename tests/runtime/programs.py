"""Functions that the tests of this folder run: large enough for several threads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tracejit.ir.graph import Function

from ..emission import CODE
from ..support import Array, function_of

ROOT = Path(__file__).parent.parent.parent


def softmax(b: Any, x: Any) -> Any:
    rows = x.shape[0]
    e = b.exp(b.sub(x, b.reshape(b.max(x, axes=(1,)), shape=(rows, 1))))
    return b.div(e, b.reshape(b.sum(e, axes=(1,)), shape=(rows, 1)))


def map_of(b: Any, x: Any) -> Any:
    return b.add(b.mul(b.exp(b.mul(x, -0.5)), x), b.sin(x))


def reductions(b: Any, x: Any) -> Any:
    return [
        b.sum(x, axes=(0,)),
        b.sum(x, axes=(1,)),
        b.sum(x, axes=(0, 1)),
        b.max(x, axes=(0, 1)),
        b.mean(x, axes=(1,)),
    ]


def product(b: Any, x: Any) -> Any:
    return b.matmul(b.transpose(x, perm=(1, 0)), x)


def running(b: Any, x: Any) -> Any:
    return [b.cumsum(x, axis=0, reverse=False), b.cumsum(x, axis=1, reverse=True), b.argmax(x, axis=1)]


PROGRAMS: dict[str, Any] = {
    "map": map_of, "softmax": softmax, "reductions": reductions, "product": product, "running": running,
}  # fmt: skip


def large(dtype: str = "float32") -> Array:
    return np.random.default_rng(3).normal(size=(1024, 700)).astype(dtype)


def compiled(name: str, x: Array) -> Function:
    return function_of(name, [x], PROGRAMS[name])


def python(code: str, timeout: float = 600, **environment: str) -> str:
    """Run `code` in a fresh interpreter, where a crash is an exit status; returns what it printed.

    LLVM optimizes there as it does for the test that asks."""
    if os.environ.get(CODE) in ("plain", "shared"):
        code = f"import tests.emission\n{code}"
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-X", "faulthandler", "-c", code],
        capture_output=True, text=True, timeout=timeout, cwd=ROOT, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )  # fmt: skip
    assert ran.returncode == 0, f"exit status {ran.returncode}\n{ran.stdout}\n{ran.stderr}"
    return ran.stdout
