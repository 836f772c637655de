"""SciPy and scikit-learn take tensors, where they are installed."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]
_INSTALLED = all(importlib.util.find_spec(name) for name in ("scipy", "sklearn"))


@pytest.mark.skipif(not _INSTALLED, reason="needs SciPy and scikit-learn")
def test_calls_with_tensors() -> None:
    process = subprocess.run(
        [sys.executable, "-m", "tests.array_api.libraries"],
        cwd=_ROOT,
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stdout + process.stderr
